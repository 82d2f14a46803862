// arch: sm_60
// Blocked Householder QR: H = I - tau v v', v with a leading one, beta = -sign(alpha) ||x||, stored
// as in LAPACK.
//
// A panel of at most 32 columns is factored with one launch per column. The rows are cut into
// chunks, one thread block each. The launch before left the chunks' partial dot products of column
// j with the columns to its right. A launch adds them up, forms the reflector, applies it to its
// own rows, and leaves the partial dot products of column j + 1. Partial sums alternate between two
// buffers and are added in one order.
//
// A chunk multiplies column j by a power of two that scales its own largest entry to about 1, so
// that no square overflows or underflows to zero. The scales are equalized when the partial sums
// are added.
#include "common.cuh"

namespace {

constexpr int WIDTH = 32;  // columns of a panel
constexpr int THREADS = 256;
constexpr int WARPS = THREADS / 32;
constexpr int GROUP = 8;  // columns whose loads are in flight together

// What a launch leaves for the next.
template <typename T>
struct Partials {
    T* largest;  // of each chunk: the largest magnitude in the column, below its diagonal
    T* sums;  // WIDTH a chunk: dot products with the scaled column; at its own place its scaled sum
              // of squares
    T* top;   // the panel's row that holds the column's diagonal

    __device__ Partials(T* space, i64 chunks, int parity)
        : largest(space + parity * (chunks * (WIDTH + 1) + WIDTH)),
          sums(largest + chunks),
          top(sums + chunks * WIDTH) {}
};

// Adds `value[c]` over the lanes for every c: lane c returns the sum of value[c]. Halves the values
// at each step.
template <typename T>
__device__ __forceinline__ T warp_sums(T (&value)[WIDTH]) {
    const int lane = threadIdx.x & 31;
#pragma unroll
    for (int d = 16; d > 0; d >>= 1) {
        const bool upper = lane & d;
#pragma unroll
        for (int c = 0; c < d; ++c) {
            const T give = upper ? value[c] : value[c + d];
            const T keep = upper ? value[c + d] : value[c];
            value[c] = keep + __shfl_xor_sync(0xffffffffu, give, d);
        }
    }
    return value[0];
}

// Step j of a panel of m rows and `width` columns at a; j = -1 only prepares column 0.
template <typename T>
__device__ __forceinline__ void qr_column(i64 m, int width, int j, i64 chunk_rows, T* a, i64 ld,
                                          T* space, T* tau) {
    __shared__ T scratch[32];
    __shared__ T added[WARPS][WIDTH];
    __shared__ T w[WIDTH];
    __shared__ T shape[3];  // scale of the reflector's tail, beta, tau
    const int t = threadIdx.x, lane = t & 31, warp = t >> 5;
    const i64 chunks = gridDim.x;
    const i64 begin = blockIdx.x * chunk_rows;
    const i64 end = begin + chunk_rows < m ? begin + chunk_rows : m;
    const int parity = (j + 1) & 1;
    const Partials<T> now(space, chunks, parity ^ 1);
    const Partials<T> next(space, chunks, parity);
    const int following = j + 1;

    if (j >= 0) {
        T largest = T(0);
        for (i64 q = t; q < chunks; q += THREADS) largest = larger(largest, now.largest[q]);
        const T tail = block_max(largest, scratch);
        const T alpha = now.top[j];
        const T g = scale_for(larger(tail, magnitude(alpha)));
        T sum = T(0);
        for (i64 q = warp; q < chunks; q += WARPS) {
            const T ratio = g * inverse_scale(scale_for(now.largest[q]));
            const T part = now.sums[q * WIDTH + lane] * ratio;
            sum += lane == j ? part * ratio : part;
        }
        added[warp][lane] = sum;
        __syncthreads();
        if (warp == 0) {
            T s = added[0][lane];
            for (int q = 1; q < WARPS; ++q) s += added[q][lane];
            const T squares = __shfl_sync(0xffffffffu, s, j);
            const T as = alpha * g;
            T beta = alpha, tail_scale = T(0), factor = T(0), wc = T(0);
            if (tail > T(0) ||
                squares != T(0)) {  // the square of a tail far below alpha may underflow
                const T bs = -with_sign(root(as * as + squares), as);
                const T inverse = T(1) / (as - bs);
                factor = (bs - as) / bs;
                beta = bs * inverse_scale(g);
                tail_scale = inverse;
                if (lane > j && lane < width) wc = factor * (now.top[lane] + s * inverse);
            }
            w[lane] = wc;
            if (lane == 0) {
                shape[0] = tail_scale;
                shape[1] = beta;
                shape[2] = factor;
                scratch[0] = g;
                if (blockIdx.x == 0) tau[j] = factor;
            }
        }
        __syncthreads();
    }

    const bool reflect = j >= 0 && shape[2] != T(0);
    const T g = reflect ? scratch[0] : T(1);
    const T tail_scale = reflect ? shape[0] : T(0);
    const T beta = j >= 0 ? shape[1] : T(0);
    const T w_next = reflect && following < width ? w[following] : T(0);
    __syncthreads();

    // First pass: the reflector's entries and the next column, whose scale the second pass needs.
    T largest = T(0);
    for (i64 r = begin + t; r < end; r += THREADS) {
        if (r < j) continue;
        T v = T(0);
        if (j >= 0) {
            v = T(1);
            if (r == j) {
                a[r + j * ld] = beta;
            } else if (reflect) {
                v = a[r + j * ld] * g * tail_scale;
                a[r + j * ld] = v;
            }
        }
        if (following < width) {
            T x = a[r + following * ld];
            if (reflect) {
                x -= w_next * v;
                a[r + following * ld] = x;
            }
            if (r > following) largest = larger(largest, magnitude(x));
        }
    }
    if (following >= width) return;
    largest = block_max(largest, scratch);
    const T h = scale_for(largest);

    // Second pass: the columns to the right, and their dot products with the next column.
    T sums[WIDTH];
    T squares = T(0);
#pragma unroll
    for (int c = 0; c < WIDTH; ++c) sums[c] = T(0);
    for (i64 r = begin + t; r < end; r += THREADS) {
        if (r < j) continue;
        const T v = reflect ? (r == j ? T(1) : a[r + j * ld]) : T(0);
        const T x = a[r + following * ld] * h;
        const bool counts = r > following;
        if (counts) squares += x * x;
        T* p = a + r;
        // Loads precede stores that may alias them, a group of columns at a time.
#pragma unroll
        for (int group = 0; group < WIDTH; group += GROUP, p += GROUP * ld) {
            if (group + GROUP - 1 <= following || group >= width) continue;
            T y[GROUP];
            T* from = p;
#pragma unroll
            for (int i = 0; i < GROUP; ++i, from += ld) {
                const int c = group + i;
                y[i] = c > following && c < width ? *from : T(0);
            }
            T* to = p;
#pragma unroll
            for (int i = 0; i < GROUP; ++i, to += ld) {
                const int c = group + i;
                if (reflect && c > following && c < width) {
                    y[i] -= w[c] * v;
                    *to = y[i];
                }
                if (counts) sums[c] += x * y[i];
            }
        }
    }
#pragma unroll
    for (int c = 0; c < WIDTH; ++c)
        if (c == following) sums[c] = squares;
    added[warp][lane] = warp_sums(sums);
    __syncthreads();
    if (warp == 1 && lane < width && begin <= following && following < end)
        next.top[lane] = a[following + lane * ld];
    if (warp == 0) {
        T s = added[0][lane];
        for (int q = 1; q < WARPS; ++q) s += added[q][lane];
        next.sums[blockIdx.x * WIDTH + lane] = s;
        if (lane == 0) next.largest[blockIdx.x] = largest;
    }
}

// V (m x width, column-major) <- the panel's reflectors with their ones and zeros written out.
template <typename T>
__device__ __forceinline__ void reflectors_unpack(i64 m, int width, const T* a, i64 ld, T* v,
                                                  i64 ldv) {
    const i64 count = m * width;
    for (i64 e = blockIdx.x * (i64)blockDim.x + threadIdx.x; e < count;
         e += (i64)gridDim.x * blockDim.x) {
        const i64 r = e % m, c = e / m;
        v[r + c * ldv] = r > c ? a[r + c * ld] : (r == c ? T(1) : T(0));
    }
}

// A[i,j] <- below[j] A[i,j] below the diagonal, rows[i] A[i,j] on and above it. A block's threads
// go down a column.
template <typename T>
__device__ __forceinline__ void trapezoids_scale(i64 m, i64 n, const T* below, const T* rows, T* a,
                                                 i64 ld) {
    for (i64 j = blockIdx.x; j < n; j += gridDim.x) {
        const T factor = j < m ? below[j] : T(1);
        for (i64 i = threadIdx.x; i < m; i += blockDim.x) a[i + j * ld] *= i > j ? factor : rows[i];
    }
}

}  // namespace

#define INSTANCES(T, SUFFIX)                                                                  \
    extern "C" __global__ void __launch_bounds__(THREADS) panel_reflect_column_##SUFFIX(      \
        i64 m, int width, int j, i64 chunk_rows, T* a, i64 ld, T* space, T* tau) {            \
        qr_column<T>(m, width, j, chunk_rows, a, ld, space, tau);                             \
    }                                                                                         \
    extern "C" __global__ void reflectors_unpack_plain_##SUFFIX(i64 m, int width, const T* a, \
                                                                i64 ld, T* v, i64 ldv) {      \
        reflectors_unpack<T>(m, width, a, ld, v, ldv);                                        \
    }                                                                                         \
    extern "C" __global__ void __launch_bounds__(THREADS) trapezoids_scale_plain_##SUFFIX(    \
        i64 m, i64 n, const T* below, const T* rows, T* a, i64 ld) {                          \
        trapezoids_scale<T>(m, n, below, rows, a, ld);                                        \
    }

INSTANCES(double, f64)
INSTANCES(float, f32)
