// arch: sm_60
// Small triangular solves, and copies of whole triangles.
//
// On a suitable strided view every triangular system is L X = B with L lower. A solve from the
// right transposes both operands; an upper triangle reverses the order of both.
#include "common.cuh"

namespace {

constexpr int BLOCK = 64;    // order of the triangle of a leaf
constexpr int COLUMNS = 16;  // right-hand sides of one thread block
constexpr int LANES = 16;    // threads that share one right-hand side
constexpr int ROWS = BLOCK / LANES;

// x / d, given 1 / d: a product and one correction by the remainder, rounded as a division rounds.
// Non-finite numbers go through the division.
template <typename T>
__device__ __forceinline__ T quotient(T x, T d, T inverse) {
    const T q = x * inverse;
    const T corrected = fma(fma(-q, d, x), inverse, q);
    return isfinite(corrected) ? corrected : x / d;
}

// B <- L^-1 B for L of order n <= 64, by substitution. Sixteen lanes hold a column of B in
// registers and pass each solved unknown around with shuffles, so that no barrier is needed. Grid:
// one block of 256 threads for 16 columns of B.
template <typename T>
__device__ __forceinline__ void triangle_solve(int n, i64 columns, const T* l, i64 lrs, i64 lcs,
                                               int unit, T* b, i64 brs, i64 bcs, const int* stop) {
    if (stopped(stop)) return;
    __shared__ T ls[BLOCK][BLOCK + 1];  // ls[j][i] = L(i, j)
    __shared__ T xs[COLUMNS][BLOCK + 1];
    __shared__ T inverse[BLOCK];
    const int t = threadIdx.x;
    const i64 first = blockIdx.x * (i64)COLUMNS;

    const bool l_rows = (lrs < 0 ? -lrs : lrs) <= (lcs < 0 ? -lcs : lcs);
    for (int e = t; e < BLOCK * BLOCK; e += blockDim.x) {
        const int i = l_rows ? e % BLOCK : e / BLOCK;
        const int j = l_rows ? e / BLOCK : e % BLOCK;
        T v = i == j ? T(1) : T(0);
        if (i < n && j < i) v = l[i * lrs + j * lcs];
        if (i < n && j == i && !unit) v = l[i * lrs + j * lcs];
        ls[j][i] = v;
    }
    const bool b_rows = (brs < 0 ? -brs : brs) <= (bcs < 0 ? -bcs : bcs);
    for (int e = t; e < BLOCK * COLUMNS; e += blockDim.x) {
        const int i = b_rows ? e % BLOCK : e / COLUMNS;
        const int c = b_rows ? e / BLOCK : e % COLUMNS;
        xs[c][i] = i < n && first + c < columns ? b[i * brs + (first + c) * bcs] : T(0);
    }
    __syncthreads();
    if (t < BLOCK) inverse[t] = T(1) / ls[t][t];
    __syncthreads();

    const int lane = t % LANES, mine = t / LANES;
    T x[ROWS];
#pragma unroll
    for (int q = 0; q < ROWS; ++q) x[q] = xs[mine][lane + LANES * q];
#pragma unroll
    for (int q = 0; q < ROWS; ++q) {
        for (int s = 0; s < LANES; ++s) {
            const int j = q * LANES + s;
            if (!unit && lane == s) x[q] = quotient(x[q], ls[j][j], inverse[j]);
            const T solved = __shfl_sync(0xffffffffu, x[q], s, LANES);
            if (lane > s) x[q] -= ls[j][lane + LANES * q] * solved;
#pragma unroll
            for (int r = q + 1; r < ROWS; ++r) x[r] -= ls[j][lane + LANES * r] * solved;
        }
    }
    __syncwarp();
#pragma unroll
    for (int q = 0; q < ROWS; ++q) xs[mine][lane + LANES * q] = x[q];
    __syncthreads();
    for (int e = t; e < BLOCK * COLUMNS; e += blockDim.x) {
        const int i = b_rows ? e % BLOCK : e / COLUMNS;
        const int c = b_rows ? e / BLOCK : e % COLUMNS;
        if (i < n && first + c < columns) b[i * brs + (first + c) * bcs] = xs[c][i];
    }
}

// Sets entries outside the kept triangle of a column-major m x n matrix to zero (lower: keeps those
// on and below the diagonal).
template <typename T>
__device__ __forceinline__ void triangle_keep(i64 m, i64 n, int lower, T* a, i64 ld) {
    const i64 count = m * n;
    for (i64 e = blockIdx.x * (i64)blockDim.x + threadIdx.x; e < count;
         e += (i64)gridDim.x * blockDim.x) {
        const i64 i = e % m, j = e / m;
        if (lower ? i < j : i > j) a[i + j * ld] = T(0);
    }
}

// A <- I, column-major m x n.
template <typename T>
__device__ __forceinline__ void identity_set(i64 m, i64 n, T* a, i64 ld) {
    const i64 count = m * n;
    for (i64 e = blockIdx.x * (i64)blockDim.x + threadIdx.x; e < count;
         e += (i64)gridDim.x * blockDim.x) {
        const i64 i = e % m, j = e / m;
        a[i + j * ld] = i == j ? T(1) : T(0);
    }
}

// A(j, i) <- A(i, j) for i > j, through 32 x 32 tiles in shared memory. Grid: one block of 32 x 8
// threads per tile of the square; blocks of tiles above the diagonal do nothing.
template <typename T>
__device__ __forceinline__ void triangle_mirror(i64 n, T* a, i64 ld) {
    __shared__ T tile[32][33];
    const i64 tiles = (n + 31) / 32;
    const i64 ti = blockIdx.x % tiles, tj = blockIdx.x / tiles;
    if (ti < tj) return;
    const int x = threadIdx.x & 31, y = threadIdx.x >> 5;
    for (int r = y; r < 32; r += 8) {
        const i64 i = ti * 32 + x, j = tj * 32 + r;
        if (i < n && j < n) tile[r][x] = a[i + j * ld];
    }
    __syncthreads();
    for (int r = y; r < 32; r += 8) {
        const i64 j = tj * 32 + x, i = ti * 32 + r;  // writes A(j, i)
        if (i < n && j < n && i > j) a[j + i * ld] = tile[x][r];
    }
}

}  // namespace

#define INSTANCES(T, SUFFIX)                                                                      \
    extern "C" __global__ void __launch_bounds__(256)                                             \
        triangle_solve_block_##SUFFIX(int n, i64 columns, const T* l, i64 lrs, i64 lcs, int unit, \
                                      T* b, i64 brs, i64 bcs, const int* stop) {                  \
        triangle_solve<T>(n, columns, l, lrs, lcs, unit, b, brs, bcs, stop);                      \
    }                                                                                             \
    extern "C" __global__ void triangle_keep_plain_##SUFFIX(i64 m, i64 n, int lower, T* a,        \
                                                            i64 ld) {                             \
        triangle_keep<T>(m, n, lower, a, ld);                                                     \
    }                                                                                             \
    extern "C" __global__ void identity_set_plain_##SUFFIX(i64 m, i64 n, T* a, i64 ld) {          \
        identity_set<T>(m, n, a, ld);                                                             \
    }                                                                                             \
    extern "C" __global__ void __launch_bounds__(256)                                             \
        triangle_mirror_tiled_##SUFFIX(i64 n, T* a, i64 ld) {                                     \
        triangle_mirror<T>(n, a, ld);                                                             \
    }

INSTANCES(double, f64)
INSTANCES(float, f32)
