// arch: sm_70
// Band to tridiagonal: A = Q T Q' for a symmetric A of bandwidth B, whose lower part is stored by
// diagonals: A(i, j) at band[i - j + j * 2B]. The upper half of each column of `band`, which begins
// as zero, has room for bulges.
//
// Sweep s makes column s tridiagonal. Its step k has rows s + 1 + kB and the next B - 1. Step 0
// reflects column s; step k > 0 multiplies the block left of the diagonal one by the reflector of
// step k - 1 from the right, which fills it, and reflects its first column. Both then multiply the
// block's other columns and, from both sides, the diagonal block. Later sweeps remove the rest of
// the bulge.
//
// One block of threads goes through a sweep. Step k of sweep s needs step k + 1 of sweep s - 1, so
// that sweeps run two steps behind one another. All blocks must be resident.
//
// The reflector I - tau v v' of step k of sweep s, v with a leading one, goes to the step's rows of
// column s of `vs`, and its tau to taus[s + k n]. The largest entry of A should be about one.
#include "block_memory.cuh"
#include "reflection.cuh"
#include "tile_sync.cuh"

namespace {

constexpr int FINISHED = 0x40000000;

template <typename T, int B>
struct Chase {
    static constexpr int PARTS = 4;  // threads of a row
    static constexpr int THREADS = PARTS * B, EACH = B / PARTS, WARPS = THREADS / 32;
    static constexpr int LD = B + 1;
    static constexpr i64 LDB = 2 * B;

    struct Shared {
        T d[B * LD];
        T partial[WARPS * B];
        T u[B], w[B], v[2][B];
        T scratch[2][WARPS + 1];
    };

    int t, lane, warp, i, p;  // the thread's row of the step, and which of its PARTS
    Shared& m;

    __device__ __forceinline__ Chase(Shared& memory)
        : t(threadIdx.x), lane(t & 31), warp(t >> 5), i(t / PARTS), p(t % PARTS), m(memory) {}

    static __device__ __forceinline__ T over_row(T x) {
        x += __shfl_xor_sync(0xffffffffu, x, 1);
        return x + __shfl_xor_sync(0xffffffffu, x, 2);
    }

    // The sum of x over the rows, of each row's first thread. `turn` alternates between two calls
    // with a barrier between them.
    __device__ __forceinline__ T over_block(T x, int turn) {
        x = warp_sum(p == 0 ? x : T(0));
        if (lane == 0) m.scratch[turn][warp] = x;
        __syncthreads();
        T sum = T(0);
#pragma unroll
        for (int q = 0; q < WARPS; ++q) sum += m.scratch[turn][q];
        return sum;
    }

    // The reflector of x, of which each row's first thread has its entry. v goes to shared memory,
    // zero beyond `rows`. Returns tau; x becomes beta in the first row and zero below.
    __device__ __forceinline__ T reflector(T& x, int rows, T* v) {
        if (t == 0) m.scratch[0][WARPS] = x;
        const T below = over_block(i > 0 ? x * x : T(0), 0);
        const Reflection<T> h(m.scratch[0][WARPS], below);
        if (p == 0) {
            v[i] = i == 0 ? T(1) : i < rows ? x * h.inverse : T(0);
            x = i == 0 ? h.beta : T(0);
        }
        __syncthreads();
        return h.tau;
    }

    // Adds x[e] over the rows of a warp. The sums of columns p + 4e go to m.partial.
    __device__ __forceinline__ void over_warp_rows(T (&x)[EACH]) {
        int first = 0;
#pragma unroll
        for (int d = 16, left = EACH / 2; d >= PARTS; d >>= 1, left /= 2) {
            const bool upper = lane & d;
#pragma unroll
            for (int e = 0; e < EACH / 2; ++e) {
                if (e >= left) break;
                const T give = upper ? x[e] : x[e + left], keep = upper ? x[e + left] : x[e];
                x[e] = keep + __shfl_xor_sync(0xffffffffu, give, d);
            }
            first += upper ? left : 0;
        }
#pragma unroll
        for (int e = 0; e < EACH / 8; ++e) m.partial[warp * B + p + PARTS * (first + e)] = x[e];
    }

    // From one of a thread's entries of R to the next, PARTS columns to the right.
    static constexpr i64 STEP = PARTS * (LDB - 1);

    // The first of the thread's entries of R, the block of rows from r0 on in the B columns before.
    __device__ __forceinline__ T* left(T* band, i64 r0) {
        return band + B + i - p + (r0 - B + p) * LDB;
    }

    // R <- H R H0 for the thread's entries r of R, with H0 of the step before, and H that of the
    // first column of R H0. Returns the tau of H.
    __device__ __forceinline__ T side(T* at, T (&r)[EACH], int rows, const T* v0, T tau0, T* v) {
        T x[EACH], w = T(0);
#pragma unroll
        for (int e = 0; e < EACH; ++e) w += r[e] * v0[p + PARTS * e];
        w = tau0 * over_row(w);
#pragma unroll
        for (int e = 0; e < EACH; ++e) r[e] -= w * v0[p + PARTS * e];
        const T tau = reflector(r[0], rows, v);
        // reflector() changes r[0] of a row's first thread alone, which has column 0.
        const T vi = v[i];
#pragma unroll
        for (int e = 0; e < EACH; ++e) x[e] = p + e == 0 ? T(0) : vi * r[e];
        over_warp_rows(x);
        __syncthreads();
        if (t < B) {
            T u = T(0);
#pragma unroll
            for (int q = 0; q < WARPS; ++q) u += m.partial[q * B + t];
            m.u[t] = tau * u;
        }
        __syncthreads();
#pragma unroll
        for (int e = 0; e < EACH; ++e)
            if (i < rows) __stcg(at + e * STEP, r[e] - vi * m.u[p + PARTS * e]);
        return tau;
    }

    // Column s, whose entries below the diagonal become (beta, 0, ...). Returns tau.
    __device__ __forceinline__ T head(T* band, i64 s, int rows, T* v) {
        T* at = band + 1 + i + s * LDB;
        const bool own = p == 0 && i < rows;
        T x = own ? __ldcg(at) : T(0);
        const T tau = reflector(x, rows, v);
        if (own) __stcg(at, x);
        return tau;
    }

    // The thread's entries of R, zero in step 0, and those of the lower triangle of the diagonal
    // block, which goes to shared memory as a whole matrix. All loads come before the first store,
    // since each takes as long as all of them together.
    __device__ __forceinline__ void load(const T* at, bool has_left, T (&r)[EACH], const T* band,
                                         i64 r0, int rows) {
        T d[EACH];
#pragma unroll
        for (int e = 0; e < EACH; ++e)
            r[e] = has_left && i < rows ? __ldcg(at + e * STEP) : T(0);
#pragma unroll
        for (int e = 0; e < EACH; ++e) {
            const int j = p + PARTS * e;
            d[e] = j <= i && i < rows ? __ldcg(band + i - j + (r0 + j) * LDB) : T(0);
        }
#pragma unroll
        for (int e = 0; e < EACH; ++e) {
            const int j = p + PARTS * e;
            if (j > i) continue;
            m.d[i * LD + j] = d[e];
            m.d[j * LD + i] = d[e];
        }
    }

    // D <- H D H
    __device__ __forceinline__ void both_sides(T* band, i64 r0, int rows, const T* v, T tau) {
        T q = T(0);
#pragma unroll
        for (int e = 0; e < EACH; ++e) q += m.d[i * LD + p + PARTS * e] * v[p + PARTS * e];
        q = tau * over_row(q);
        const T vi = v[i], half = T(0.5) * tau * over_block(q * vi, 1), wi = q - half * vi;
        if (p == 0) m.w[i] = wi;
        __syncthreads();
#pragma unroll
        for (int e = 0; e < EACH; ++e) {
            const int j = p + PARTS * e;
            if (j <= i && i < rows)
                __stcg(band + i - j + (r0 + j) * LDB, m.d[i * LD + j] - vi * m.w[j] - wi * v[j]);
        }
    }

    // All sweeps that fall to this block.
    __device__ __forceinline__ void run(int n, T* band, T* vs, i64 ldv, T* taus, int* progress) {
        for (int s = blockIdx.x; s < n - 2; s += gridDim.x) {
            T tau = T(0);
            for (int k = 0;; ++k) {
                const i64 r0 = s + 1 + (i64)k * B;
                __syncthreads();
                if (t == 0) {
                    tile::store_release(progress + s, r0 < n ? k : FINISHED);
                    if (s > 0 && r0 < n)
                        while (tile::load_acquire(progress + s - 1) < k + 2) {}
                }
                if (r0 >= n) break;
                __syncthreads();
                const int rows = n - r0 < B ? int(n - r0) : B;
                T* v = m.v[k & 1];
                T r[EACH];
                T* at = left(band, r0);
                load(at, k > 0, r, band, r0, rows);
                const T* before = m.v[(k & 1) ^ 1];
                tau = k == 0 ? head(band, s, rows, v) : side(at, r, rows, before, tau, v);
                if (p == 0 && i < rows) vs[r0 + i + s * ldv] = v[i];
                if (t == 0) taus[s + (i64)k * n] = tau;
                both_sides(band, r0, rows, v, tau);
            }
        }
    }
};

// The lower part of bandwidth B of the n x n matrix at `a`, to `band`, and zero for bulges.
template <typename T, int B>
__device__ __forceinline__ void load_band(int n, const T* a, i64 lda, T* band) {
    const i64 count = (i64)n * 2 * B;
    for (i64 e = blockIdx.x * (i64)blockDim.x + threadIdx.x; e < count;
         e += (i64)gridDim.x * blockDim.x) {
        const i64 j = e / (2 * B), d = e % (2 * B);
        band[e] = d <= B && j + d < n ? a[j + d + j * lda] : T(0);
    }
}

// The diagonal and the one below it, which is zero at the end.
template <typename T, int B>
__device__ __forceinline__ void read_band(int n, const T* band, T* diagonal, T* below) {
    const int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= n) return;
    diagonal[j] = band[(i64)j * 2 * B];
    below[j] = j + 1 < n ? band[(i64)j * 2 * B + 1] : T(0);
}

}  // namespace

#define MOVES(T, B, SUFFIX)                                                                  \
    extern "C" __global__ void band_load_plain##B##_##SUFFIX(int n, const T* a, i64 lda,      \
                                                             T* band) {                       \
        load_band<T, B>(n, a, lda, band);                                                     \
    }                                                                                         \
    extern "C" __global__ void band_read_plain##B##_##SUFFIX(int n, const T* band,            \
                                                             T* diagonal, T* below) {         \
        read_band<T, B>(n, band, diagonal, below);                                            \
    }

MOVES(double, 32, f64)
MOVES(double, 64, f64)
MOVES(float, 32, f32)

// chase_sweeps.cu has the narrow band.
extern "C" __global__ void __launch_bounds__(256) band_chase_bulges64_f64(int n, double* band,
                                                                        double* vs, i64 ldv,
                                                                        double* taus,
                                                                        int* progress) {
    auto* memory = shared_memory<Chase<double, 64>::Shared>();
    Chase<double, 64>(*memory).run(n, band, vs, ldv, taus, progress);
}
