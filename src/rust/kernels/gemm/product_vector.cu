// arch: sm_60
// Products of a matrix and a vector, y <- alpha A x + beta y. Reading A takes the time. All
// arithmetic is in double precision.
//
// Long sums are cut into slices. A second launch adds their sums in order. The cuts depend on the
// shape and the GPU only.
#include "common.cuh"

namespace {

constexpr int THREADS = 256, WARPS = THREADS / 32, UNROLLED = 8;

template <typename E>
struct Vector {
    double alpha, beta;
    E* y;
    i64 stride;

    // y is not read when beta is zero.
    __device__ __forceinline__ void store(i64 i, double sum) const {
        E* to = y + i * stride;
        *to = E(beta == 0 ? alpha * sum : alpha * sum + beta * (double)*to);
    }
};

// The sum of a[k] x[k * stride] over k = from, from + step, ... below end.
template <typename E>
__device__ __forceinline__ double dot(const E* a, const E* x, i64 stride, i64 from, i64 end,
                                      i64 step) {
    double sum[4] = {};
    i64 k = from;
    for (; k + (UNROLLED - 1) * step < end; k += UNROLLED * step) {
        E v[UNROLLED], w[UNROLLED];
#pragma unroll
        for (int u = 0; u < UNROLLED; ++u) v[u] = a[k + u * step];
#pragma unroll
        for (int u = 0; u < UNROLLED; ++u) w[u] = x[(k + u * step) * stride];
#pragma unroll
        for (int u = 0; u < UNROLLED; ++u) sum[u % 4] = fma((double)v[u], (double)w[u], sum[u % 4]);
    }
    for (; k < end; k += step) sum[0] = fma((double)a[k], (double)x[k * stride], sum[0]);
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

// Rows of A are contiguous, `ld` apart. A block has one row, or WARPS rows with one warp each.
// Grid: (rows or groups of rows, slices of `depth` columns).
template <typename E>
__device__ __forceinline__ void by_rows(int together, i64 m, i64 n, const E* a, i64 ld, const E* x,
                                        i64 stride, const Vector<E>& y, double* parts, i64 depth) {
    __shared__ double scratch[32];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const i64 i = together ? blockIdx.x : blockIdx.x * (i64)WARPS + warp;
    const i64 begin = blockIdx.y * depth, end = min(n, begin + depth);
    double sum = 0;
    if (together) {
        sum =
            block_sum(dot(a + i * ld, x, stride, begin + threadIdx.x, end, (i64)THREADS), scratch);
        if (threadIdx.x > 0) return;
    } else {
        if (i >= m) return;
        sum = warp_sum(dot(a + i * ld, x, stride, begin + lane, end, (i64)32));
        if (lane > 0) return;
    }
    if (gridDim.y == 1) y.store(i, sum);
    else parts[i * gridDim.y + blockIdx.y] = sum;
}

// Numbers that one instruction loads.
template <typename E, int PER>
struct alignas(PER * sizeof(E)) Pack {
    E v[PER];
};

// Columns of A are contiguous, `ld` apart. A block has 32 PER rows, and each warp one column at a
// time. Grid: (blocks of rows, slices of `depth` columns). Packs are aligned, and m is a multiple
// of PER.
template <typename E, int PER>
__device__ __forceinline__ void by_columns(i64 m, i64 n, const E* a, i64 ld, const E* x, i64 stride,
                                           const Vector<E>& y, double* parts, i64 depth) {
    __shared__ double scratch[PER][THREADS];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const i64 i = (blockIdx.x * (i64)32 + lane) * PER;
    const i64 begin = blockIdx.y * depth, end = min(n, begin + depth);
    double sum[PER][2] = {};
    if (i < m) {
        i64 k = begin + warp;
        for (; k + (UNROLLED - 1) * WARPS < end; k += UNROLLED * WARPS) {
            Pack<E, PER> v[UNROLLED];
            E w[UNROLLED];
#pragma unroll
            for (int u = 0; u < UNROLLED; ++u)
                v[u] = *reinterpret_cast<const Pack<E, PER>*>(a + i + (k + u * WARPS) * ld);
#pragma unroll
            for (int u = 0; u < UNROLLED; ++u) w[u] = x[(k + u * WARPS) * stride];
#pragma unroll
            for (int u = 0; u < UNROLLED; ++u)
#pragma unroll
                for (int p = 0; p < PER; ++p)
                    sum[p][u & 1] = fma((double)v[u].v[p], (double)w[u], sum[p][u & 1]);
        }
        for (; k < end; k += WARPS) {
            const Pack<E, PER> v = *reinterpret_cast<const Pack<E, PER>*>(a + i + k * ld);
            const double w = x[k * stride];
#pragma unroll
            for (int p = 0; p < PER; ++p) sum[p][0] = fma((double)v.v[p], w, sum[p][0]);
        }
    }
#pragma unroll
    for (int p = 0; p < PER; ++p) scratch[p][threadIdx.x] = sum[p][0] + sum[p][1];
    __syncthreads();
    if (warp > 0 || i >= m) return;
#pragma unroll
    for (int p = 0; p < PER; ++p) {
        double all = scratch[p][lane];
        for (int w = 1; w < WARPS; ++w) all += scratch[p][w * 32 + lane];
        if (gridDim.y == 1) y.store(i + p, all);
        else parts[(i + p) * gridDim.y + blockIdx.y] = all;
    }
}

// y from the sums of the slices, one warp per entry.
template <typename E>
__device__ __forceinline__ void join(i64 m, i64 slices, const double* parts, const Vector<E>& y) {
    const i64 i = blockIdx.x * (i64)WARPS + (threadIdx.x >> 5);
    if (i >= m) return;
    double sum = 0;
    for (i64 s = threadIdx.x & 31; s < slices; s += 32) sum += parts[i * slices + s];
    sum = warp_sum(sum);
    if ((threadIdx.x & 31) == 0) y.store(i, sum);
}

}  // namespace

#define INSTANCES(E, SUFFIX)                                                                       \
    extern "C" __global__ void __launch_bounds__(THREADS) vector_multiply_rows_##SUFFIX(           \
        int together, i64 m, i64 n, E alpha, const E* a, i64 ld, const E* x, i64 xs, E beta, E* y, \
        i64 ys, double* parts, i64 depth, const int* stop) {                                       \
        if (stopped(stop)) return;                                                                 \
        by_rows(together, m, n, a, ld, x, xs, Vector<E>{alpha, beta, y, ys}, parts, depth);        \
    }                                                                                              \
    extern "C" __global__ void __launch_bounds__(THREADS) vector_multiply_columns_##SUFFIX(        \
        int packed, i64 m, i64 n, E alpha, const E* a, i64 ld, const E* x, i64 xs, E beta, E* y,   \
        i64 ys, double* parts, i64 depth, const int* stop) {                                       \
        if (stopped(stop)) return;                                                                 \
        const Vector<E> to{alpha, beta, y, ys};                                                    \
        if (packed) by_columns<E, 16 / (int)sizeof(E)>(m, n, a, ld, x, xs, to, parts, depth);      \
        else by_columns<E, 1>(m, n, a, ld, x, xs, to, parts, depth);                               \
    }                                                                                              \
    extern "C" __global__ void __launch_bounds__(THREADS) vector_join_slices_##SUFFIX(             \
        i64 m, i64 slices, const double* parts, E alpha, E beta, E* y, i64 ys, const int* stop) {  \
        if (stopped(stop)) return;                                                                 \
        join(m, slices, parts, Vector<E>{alpha, beta, y, ys});                                     \
    }

INSTANCES(double, f64)
INSTANCES(float, f32)
