// arch: sm_60
// C <- alpha A B + beta C on strided views, A m x k, B k x n. A transpose is a swap of strides.
//
// One block computes a 64 x 64 tile of C from slabs of A and B of depth 16 in two alternating
// shared buffers. A thread owns 4 x 4 elements in registers and loads one slab ahead. The lanes of
// a warp read vectors of two elements without bank conflicts: 8 lanes along the rows, 4 along the
// columns.
//
// gridDim.x counts tiles, gridDim.y slices of k. With several slices, c is a workspace of gridDim.y
// column-major m x n matrices, which `product_reduce` sums in order.
#include "common.cuh"

namespace {

constexpr int TILE = 64;
constexpr int SLAB = 16;
constexpr int PITCH = TILE + 2;  // even, so that pairs stay aligned
constexpr int THREADS = 256;
constexpr int LOADS = TILE * SLAB / THREADS;
// Tile rows walked together, so that concurrent blocks share operands in cache.
constexpr int BAND = 8;

enum Triangle { FULL = 0, LOWER = 1, UPPER = 2 };

template <typename T>
struct alignas(2 * sizeof(T)) Pair {
    T x, y;
};

__device__ __forceinline__ bool in_triangle(int triangle, i64 i, i64 j) {
    return triangle == FULL || (triangle == LOWER ? i >= j : i <= j);
}

// Where a thread reads one operand: LOADS elements per slab, neighbours along the contiguous
// dimension.
template <typename T>
struct Reader {
    const T* at[LOADS];
    int line[LOADS];
    int depth[LOADS];
    bool inside[LOADS];
    i64 step;

    // `lines` rows of A (or columns of B) from `first` on; ls and ds are the strides along lines
    // and along k.
    __device__ __forceinline__ Reader(const T* p, i64 ls, i64 ds, i64 first, i64 lines, i64 k0) {
        const bool lines_contiguous = (ls < 0 ? -ls : ls) <= (ds < 0 ? -ds : ds);
        const int t = threadIdx.x;
#pragma unroll
        for (int q = 0; q < LOADS; ++q) {
            line[q] = lines_contiguous ? t % TILE : t / SLAB + q * (THREADS / SLAB);
            depth[q] = lines_contiguous ? t / TILE + q * (THREADS / TILE) : t % SLAB;
            inside[q] = first + line[q] < lines;
            at[q] = p + (first + line[q]) * ls + (k0 + depth[q]) * ds;
        }
        step = SLAB * ds;
    }

    __device__ __forceinline__ void load(T* into, i64 left) {
#pragma unroll
        for (int q = 0; q < LOADS; ++q) {
            into[q] = inside[q] && depth[q] < left ? *at[q] : T(0);
            at[q] += step;
        }
    }

    __device__ __forceinline__ void keep(const T* from, T (*slab)[PITCH]) const {
#pragma unroll
        for (int q = 0; q < LOADS; ++q) slab[depth[q]][line[q]] = from[q];
    }
};

template <typename T>
__device__ __forceinline__ void product_tiled(i64 m, i64 n, i64 k, i64 slice, T alpha, const T* a,
                                              i64 ars, i64 acs, const T* b, i64 brs, i64 bcs,
                                              T beta, T* c, i64 crs, i64 ccs, int triangle,
                                              const int* stop) {
    if (stopped(stop)) return;
    const i64 tiles_m = (m + TILE - 1) / TILE;
    const i64 tiles_n = (n + TILE - 1) / TILE;
    const i64 per_band = BAND * tiles_n;
    const i64 band = blockIdx.x / per_band;
    const i64 band_rows = tiles_m - band * BAND < BAND ? tiles_m - band * BAND : BAND;
    const i64 within = blockIdx.x % per_band;
    const i64 ti = band * BAND + within % band_rows;
    const i64 tj = within / band_rows;
    if ((triangle == LOWER && ti < tj) || (triangle == UPPER && ti > tj)) return;

    __shared__ __align__(16) T as[2][SLAB][PITCH];
    __shared__ __align__(16) T bs[2][SLAB][PITCH];
    const i64 i0 = ti * TILE, j0 = tj * TILE;
    const i64 k0 = blockIdx.y * slice;
    const i64 k1 = k0 + slice < k ? k0 + slice : k;
    if (gridDim.y > 1) c += blockIdx.y * m * n;

    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const int row = (warp & 1) * 32 + (lane & 7) * 2;
    const int col = (warp >> 1) * 16 + (lane >> 3) * 2;

    Reader<T> ra(a, ars, acs, i0, m, k0);
    Reader<T> rb(b, bcs, brs, j0, n, k0);
    T na[LOADS], nb[LOADS];
    T acc[4][4];
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) acc[i][j] = T(0);

    i64 left = k1 - k0;
    if (left > 0) {
        ra.load(na, left);
        rb.load(nb, left);
        ra.keep(na, as[0]);
        rb.keep(nb, bs[0]);
    }
    __syncthreads();
    int now = 0;
    while (left > 0) {
        left -= SLAB;
        if (left > 0) {
            ra.load(na, left);
            rb.load(nb, left);
        }
#pragma unroll
        for (int d = 0; d < SLAB; ++d) {
            T x[4], y[4];
#pragma unroll
            for (int h = 0; h < 2; ++h) {
                const Pair<T> p = *reinterpret_cast<const Pair<T>*>(&as[now][d][row + 16 * h]);
                const Pair<T> q = *reinterpret_cast<const Pair<T>*>(&bs[now][d][col + 8 * h]);
                x[2 * h] = p.x, x[2 * h + 1] = p.y;
                y[2 * h] = q.x, y[2 * h + 1] = q.y;
            }
#pragma unroll
            for (int i = 0; i < 4; ++i)
#pragma unroll
                for (int j = 0; j < 4; ++j) acc[i][j] += x[i] * y[j];
        }
        if (left > 0) {
            ra.keep(na, as[now ^ 1]);
            rb.keep(nb, bs[now ^ 1]);
        }
        __syncthreads();
        now ^= 1;
    }

#pragma unroll
    for (int j = 0; j < 4; ++j) {
        const i64 gj = j0 + col + 8 * (j >> 1) + (j & 1);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const i64 gi = i0 + row + 16 * (i >> 1) + (i & 1);
            if (gi < m && gj < n && in_triangle(triangle, gi, gj)) {
                T* to = c + gi * crs + gj * ccs;
                const T p = alpha * acc[i][j];
                *to = beta == T(0) ? p : p + beta * *to;
            }
        }
    }
}

// C <- alpha (W_0 + W_1 + ...) + beta C, the slices added in order.
template <typename T>
__device__ __forceinline__ void product_reduce(i64 m, i64 n, int slices, T alpha, const T* w,
                                               T beta, T* c, i64 crs, i64 ccs, int triangle,
                                               const int* stop) {
    if (stopped(stop)) return;
    const i64 count = m * n;
    for (i64 e = blockIdx.x * (i64)blockDim.x + threadIdx.x; e < count;
         e += (i64)gridDim.x * blockDim.x) {
        const i64 i = e % m, j = e / m;
        if (!in_triangle(triangle, i, j)) continue;
        T sum = w[e];
        for (int s = 1; s < slices; ++s) sum += w[s * count + e];
        T* to = c + i * crs + j * ccs;
        *to = beta == T(0) ? alpha * sum : alpha * sum + beta * *to;
    }
}

// C <- beta C, for alpha = 0 or k = 0. C is not read when beta is zero.
template <typename T>
__device__ __forceinline__ void product_scale(i64 m, i64 n, T beta, T* c, i64 crs, i64 ccs,
                                              int triangle) {
    const i64 count = m * n;
    for (i64 e = blockIdx.x * (i64)blockDim.x + threadIdx.x; e < count;
         e += (i64)gridDim.x * blockDim.x) {
        const i64 i = e % m, j = e / m;
        if (!in_triangle(triangle, i, j)) continue;
        T* to = c + i * crs + j * ccs;
        *to = beta == T(0) ? T(0) : beta * *to;
    }
}

}  // namespace

#define INSTANCES(T, SUFFIX)                                                                    \
    extern "C" __global__ void __launch_bounds__(THREADS, 2) matrix_multiply_tiled_##SUFFIX(    \
        i64 m, i64 n, i64 k, i64 slice, T alpha, const T* a, i64 ars, i64 acs, const T* b,      \
        i64 brs, i64 bcs, T beta, T* c, i64 crs, i64 ccs, int triangle, const int* stop) {      \
        product_tiled<T>(m, n, k, slice, alpha, a, ars, acs, b, brs, bcs, beta, c, crs, ccs,    \
                         triangle, stop);                                                       \
    }                                                                                           \
    extern "C" __global__ void slices_reduce_ordered_##SUFFIX(                                  \
        i64 m, i64 n, int slices, T alpha, const T* w, T beta, T* c, i64 crs, i64 ccs,          \
        int triangle, const int* stop) {                                                        \
        product_reduce<T>(m, n, slices, alpha, w, beta, c, crs, ccs, triangle, stop);           \
    }                                                                                           \
    extern "C" __global__ void matrix_scale_plain_##SUFFIX(i64 m, i64 n, T beta, T* c, i64 crs, \
                                                           i64 ccs, int triangle) {             \
        product_scale<T>(m, n, beta, c, crs, ccs, triangle);                                    \
    }

INSTANCES(double, f64)
INSTANCES(float, f32)
