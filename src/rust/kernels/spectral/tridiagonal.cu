// arch: sm_60
// Eigenvalues and eigenvectors of symmetric tridiagonal matrices by divide and conquer. README.md
// gives the mathematics. Matrices are scaled so that the largest entry is about 1.
#include "common.cuh"
#include "secular.cuh"

namespace {

// Iterations of QL for each row, at most; two are usual. One eigenvalue of a singular matrix can
// take 50, since its last rows are rounding.
constexpr int SWEEPS = 30;

__device__ __forceinline__ double unit_roundoff(double) { return 1.1102230246251565e-16; }
__device__ __forceinline__ float unit_roundoff(float) { return 5.9604644775390625e-8f; }

#ifndef CUDAFACTOR_SHIM
__device__ __forceinline__ char* shared_memory() {
    extern __shared__ __align__(16) char memory[];
    return memory;
}
#endif

// sqrt(x^2 + y^2) for numbers whose squares may underflow together.
template <typename T>
__device__ __forceinline__ T length(T x, T y) {
    const T a = magnitude(x), b = magnitude(y);
    const T large = larger(a, b), small = a < b ? a : b;
    if (large == T(0)) return T(0);
    const T ratio = small / large;
    return large * root(T(1) + ratio * ratio);
}

// One step of implicit QL on rows l .. m of a tridiagonal matrix that does not split, with
// Wilkinson's shift. The rotation of columns i and i + 1 goes to c[i], s[i]; those of i = m - 1
// down to the returned row exist.
template <typename T>
__device__ int ql_step(int l, int m, T* d, T* e, T* c, T* s) {
    const T half = (d[l + 1] - d[l]) / (T(2) * e[l]);
    T g = d[m] - d[l] + e[l] / (half + with_sign(length(half, T(1)), half));
    T sine = T(1), cosine = T(1), shift = T(0);
    for (int i = m - 1; i >= l; --i) {
        const T f = sine * e[i], b = cosine * e[i];
        const T r = length(f, g);
        e[i + 1] = r;
        if (r == T(0)) {
            // The matrix splits here before the end of the step.
            d[i + 1] -= shift;
            e[m] = T(0);
            return i + 1;
        }
        sine = f / r;
        cosine = g / r;
        g = d[i + 1] - shift;
        const T w = (d[i] - g) * sine + T(2) * cosine * b;
        shift = sine * w;
        d[i + 1] = g + shift;
        g = cosine * w - b;
        c[i] = cosine;
        s[i] = sine;
    }
    d[l] -= shift;
    e[l] = g;
    e[m] = T(0);
    return l;
}

// Eigenvalues, ascending, and eigenvectors of the block of rows bounds[b] .. bounds[b + 1], for
// block b of threads: the values to `values`, the vectors to the diagonal block of Q. e[i] is the
// off-diagonal entry of rows i and i + 1. One thread for each row. Shared memory holds
// order^2 + 4 order elements and two integers. Sets *failed if QL does not converge.
template <typename T>
__device__ __forceinline__ void leaf(int order, const int* bounds, const T* diagonal, const T* off,
                                     T* values, T* q, i64 ld, int* failed) {
    const i64 first = bounds[blockIdx.x];
    const int n = (int)(bounds[blockIdx.x + 1] - first), t = threadIdx.x;
    T* v = reinterpret_cast<T*>(shared_memory());
    T *d = v + order * order, *e = d + order, *c = e + order, *s = c + order;
    int* range = reinterpret_cast<int*>(s + order);
    if (t < n) {
        d[t] = diagonal[first + t];
        e[t] = t + 1 < n ? off[first + t] : T(0);
        for (int j = 0; j < n; ++j) v[j * order + t] = T(j == t ? 1 : 0);
    }
    __syncthreads();
    const T eps = unit_roundoff(T(0));
    int l = 0, sweeps = 0;  // thread 0 alone
    for (;;) {
        if (t == 0) {
            range[0] = range[1] = -1;
            while (l < n) {
                int m = l;
                while (m + 1 < n) {
                    const T near = magnitude(d[m]) + magnitude(d[m + 1]);
                    const T small = eps * larger(near, T(0.001));
                    if (magnitude(e[m]) <= small) break;
                    ++m;
                }
                if (m == l) {
                    ++l;
                } else if (++sweeps > SWEEPS * n) {
                    *failed = 1;
                    l = n;
                } else {
                    range[1] = m;
                    range[0] = ql_step(l, m, d, e, c, s);
                    break;
                }
            }
        }
        __syncthreads();
        const int low = range[0], high = range[1];
        if (high < 0) break;
        if (t < n) {
            T y = v[high * order + t];
            for (int i = high - 1; i >= low; --i) {
                const T x = v[i * order + t];
                v[(i + 1) * order + t] = s[i] * x + c[i] * y;
                y = c[i] * x - s[i] * y;
            }
            v[low * order + t] = y;
        }
        __syncthreads();
    }
    if (t < n) {
        // The place of value t among the others; equal ones keep their order.
        int place = 0;
        for (int j = 0; j < n; ++j) place += d[j] < d[t] || (d[j] == d[t] && j < t);
        values[first + place] = d[t];
        reinterpret_cast<int*>(e)[t] = place;
    }
    __syncthreads();
    if (t < n)
        for (int j = 0; j < n; ++j)
            q[first + t + (first + reinterpret_cast<int*>(e)[j]) * ld] = v[j * order + t];
}

// z of every merge of a level: the last row of the first half's vectors, and the first row of the
// second half's. Merge p = blockIdx.x joins the blocks that begin at bounds[2 p stride] and
// bounds[(2 p + 1) stride].
template <typename T>
__device__ __forceinline__ void gather_ends(const int* bounds, int stride, const T* q, i64 ld,
                                            T* z) {
    const int* at = bounds + 2 * (i64)blockIdx.x * stride;
    const i64 first = at[0], middle = at[stride], end = at[2 * stride];
    for (i64 j = first + blockIdx.y * (i64)blockDim.x + threadIdx.x; j < end;
         j += (i64)gridDim.y * blockDim.x)
        z[j] = q[(j < middle ? middle - 1 : middle) + j * ld];
}

// Rotations of pairs of columns. Chain blockIdx.x: its first rotation, their number, its first row,
// and the number of rows. Rotation r turns columns x = columns[2 r] and y = columns[2 r + 1] into
// c x + s y and c y - s x; the y of a rotation is the x of the next one in a chain. Chains have no
// columns in common.
template <typename T>
__device__ __forceinline__ void rotate_chain(const int* chains, const int* columns,
                                             const T* rotations, T* q, i64 ld) {
    const int* chain = chains + 4 * (i64)blockIdx.x;
    const int begin = chain[0], end = begin + chain[1];
    for (i64 r = blockIdx.y * (i64)blockDim.x + threadIdx.x; r < chain[3];
         r += (i64)gridDim.y * blockDim.x) {
        T* row = q + chain[2] + r;
        T x = row[columns[2 * (i64)begin] * ld];
        T y = row[columns[2 * (i64)begin + 1] * ld];
        for (int k = begin; k < end; ++k) {
            // The next load does not depend on this rotation.
            const T next = k + 1 < end ? row[columns[2 * (i64)k + 3] * ld] : T(0);
            const T c = rotations[2 * (i64)k], s = rotations[2 * (i64)k + 1];
            row[columns[2 * (i64)k] * ld] = c * x + s * y;
            x = c * y - s * x;
            y = next;
        }
        row[columns[2 * (i64)end - 1] * ld] = x;
    }
}

// Copies columns: entry blockIdx.x has the offsets of source and target, and the number of rows.
template <typename T>
__device__ __forceinline__ void copy_listed(const i64* list, const T* from, T* to) {
    const i64* entry = list + 3 * (i64)blockIdx.x;
    const T* x = from + entry[0];
    T* y = to + entry[1];
    for (i64 r = blockIdx.y * (i64)blockDim.x + threadIdx.x; r < entry[2];
         r += (i64)gridDim.y * blockDim.x)
        y[r] = x[r];
}

// 1 / x to a few units of rounding, for a normal x whose inverse is normal.
__device__ __forceinline__ double near_reciprocal(double x) {
    double y;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
    const double error = fma(-x, y, 1.0);
    return fma(y, fma(error, error, error), y);
}
__device__ __forceinline__ float near_reciprocal(float x) { return 1.0f / x; }

// The number of eigenvalues below x, by the signs of the pivots of T - x I. A pivot that vanishes
// counts as negative. squares[i] is the square of the off-diagonal entry before row i.
template <typename T>
__device__ __forceinline__ int count_below(int n, const T* d, const T* squares, T x, T tiny) {
    int count = 0;
    T pivot = T(1);
#pragma unroll 4
    for (int i = 0; i < n; ++i) {
        pivot = d[i] - x - squares[i] * near_reciprocal(pivot);
        if (magnitude(pivot) < tiny) pivot = -tiny;
        count += pivot < T(0);
    }
    return count;
}

// Eigenvalues by multisection of [low, high], which holds all of them: `lanes` threads, a power of
// two up to 32, for each value count at as many points, so that a step divides the interval by
// lanes + 1.
template <typename T>
__device__ __forceinline__ void multisect(int n, int lanes, int steps, T low, T high, T tiny,
                                          const T* d, const T* squares, T* values) {
    const i64 thread = blockIdx.x * (i64)blockDim.x + threadIdx.x;
    const i64 wanted = thread / lanes;
    const int index = (int)(wanted < n ? wanted : n - 1);
    const int lane = (int)(threadIdx.x & 31) & (lanes - 1);
    const unsigned group = ((threadIdx.x & 31) - lane);
    const unsigned mask = lanes == 32 ? 0xffffffffu : ((1u << lanes) - 1) << group;
    for (int step = 0; step < steps; ++step) {
        const T width = (high - low) / T(lanes + 1);
        const T x = low + width * T(lane + 1);
        const bool right = count_below(n, d, squares, x, tiny) <= index;
        const int passed = __popc(__ballot_sync(0xffffffffu, right) & mask);
        const T start = low;
        if (passed > 0) low = start + width * T(passed);
        if (passed < lanes) high = start + width * T(passed + 1);
    }
    if (lane == 0 && wanted < n) values[wanted] = low + (high - low) / T(2);
}

}  // namespace

#define INSTANCES(T, SUFFIX)                                                                       \
    extern "C" __global__ void __launch_bounds__(64) leaves_diagonalize_block_##SUFFIX(            \
        int order, const int* bounds, const T* d, const T* e, T* values, T* q, i64 ld,             \
        int* failed) {                                                                             \
        leaf<T>(order, bounds, d, e, values, q, ld, failed);                                       \
    }                                                                                              \
    extern "C" __global__ void __launch_bounds__(256) ends_gather_plain_##SUFFIX(                  \
        const int* bounds, int stride, const T* q, i64 ld, T* z) {                                 \
        gather_ends<T>(bounds, stride, q, ld, z);                                                  \
    }                                                                                              \
    extern "C" __global__ void __launch_bounds__(256) columns_rotate_chain_##SUFFIX(               \
        const int* chains, const int* columns, const T* rotations, T* q, i64 ld) {                 \
        rotate_chain<T>(chains, columns, rotations, q, ld);                                        \
    }                                                                                              \
    extern "C" __global__ void __launch_bounds__(256) columns_copy_listed_##SUFFIX(                \
        const i64* list, const T* from, T* to) {                                                   \
        copy_listed<T>(list, from, to);                                                            \
    }                                                                                              \
    extern "C" __global__ void __launch_bounds__(128) secular_solve_warp_##SUFFIX(                 \
        i64 roots, const int* owner, const int* merges, const T* rho, const T* d, const T* z,      \
        int* pole, T* offset, T* values) {                                                         \
        secular_solve<T>(roots, owner, merges, rho, d, z, pole, offset, values);                   \
    }                                                                                              \
    extern "C" __global__ void __launch_bounds__(128) secular_restore_warp_##SUFFIX(               \
        i64 roots, const int* owner, const int* merges, const T* d, const T* z, const int* pole,   \
        const T* offset, T* restored) {                                                            \
        secular_restore<T>(roots, owner, merges, d, z, pole, offset, restored);                    \
    }                                                                                              \
    extern "C" __global__ void __launch_bounds__(128) secular_vectors_warp_##SUFFIX(               \
        i64 roots, const int* owner, const int* merges, int half, const int* lists,                \
        const i64* places, const T* d, const T* z, const int* pole, const T* offset, T* work) {    \
        secular_vectors<T>(roots, owner, merges, half, lists, places, d, z, pole, offset, work);   \
    }                                                                                              \
    extern "C" __global__ void __launch_bounds__(128) values_multisect_lanes_##SUFFIX(             \
        int n, int lanes, int steps, T low, T high, T tiny, const T* d, const T* squares,          \
        T* values) {                                                                               \
        multisect<T>(n, lanes, steps, low, high, tiny, d, squares, values);                        \
    }

INSTANCES(double, f64)
INSTANCES(float, f32)
