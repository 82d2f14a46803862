// arch: sm_60
// Columns times numbers, inner products of columns, in double precision for both types, and the
// signs of columns.
//
// The result of a column depends on this column only. Scaling rounds the product and the sum
// separately, so that entries are the same on all machines. Inner products fuse the two, in an
// order that depends on the number of rows only.
#include "common.cuh"

namespace {

// How x changes y, numbered as in the driver: y <- x diag(by), y + x diag(by), x + y diag(by).
constexpr int REPLACE = 0, ADD = 1;

// Entries of a thread whose loads are under way together.
constexpr int ENTRIES = 4;

// For at most eight columns; blockIdx.y is the column.
template <typename T>
__device__ __forceinline__ void scale(i64 m, const T* x, i64 ldx, const double (&factors)[8],
                                      int how, T* y, i64 ldy) {
    double by = factors[0];
#pragma unroll
    for (int c = 1; c < 8; ++c)
        if (blockIdx.y == c) by = factors[c];
    const T* from = x + blockIdx.y * ldx;
    T* to = y + blockIdx.y * ldy;
    const i64 step = (i64)gridDim.x * blockDim.x;
    for (i64 i = blockIdx.x * (i64)blockDim.x + threadIdx.x; i < m; i += ENTRIES * step) {
        T given[ENTRIES], old[ENTRIES];
#pragma unroll
        for (int k = 0; k < ENTRIES; ++k) {
            const bool there = i + k * step < m;
            given[k] = there ? from[i + k * step] : T(0);
            old[k] = there && how != REPLACE ? to[i + k * step] : T(0);
        }
#pragma unroll
        for (int k = 0; k < ENTRIES; ++k) {
            const double mine = double(given[k]), before = double(old[k]);
            double now;
            if (how == REPLACE) now = __dmul_rn(by, mine);
            else if (how == ADD) now = __dadd_rn(before, __dmul_rn(by, mine));
            else now = __dadd_rn(mine, __dmul_rn(by, before));
            if (i + k * step < m) to[i + k * step] = T(now);
        }
    }
}

// The sum of x y over slice blockIdx.y, `depth` rows, of column blockIdx.x: out[slice, column].
template <typename T>
__device__ __forceinline__ void dot(i64 m, const T* a, i64 lda, const T* b, i64 ldb, i64 depth,
                                    double* out) {
    __shared__ double scratch[32];
    const T* x = a + blockIdx.x * lda;
    const T* y = b + blockIdx.x * ldb;
    const i64 end = min(m, (blockIdx.y + 1) * depth), step = blockDim.x;
    i64 r = blockIdx.y * depth + threadIdx.x;
    double s[4] = {0, 0, 0, 0};
    for (; r + 3 * step < end; r += 4 * step) {
#pragma unroll
        for (int k = 0; k < 4; ++k) s[k] += double(x[r + k * step]) * double(y[r + k * step]);
    }
    for (; r < end; r += step) s[0] += double(x[r]) * double(y[r]);
    double t = (s[0] + s[1]) + (s[2] + s[3]);
#pragma unroll
    for (int d = 16; d > 0; d >>= 1) t += __shfl_xor_sync(0xffffffffu, t, d);
    if ((threadIdx.x & 31) == 0) scratch[threadIdx.x >> 5] = t;
    __syncthreads();
    if (threadIdx.x > 0) return;
    for (int w = 1; w < (int)(blockDim.x >> 5); ++w) t += scratch[w];
    out[blockIdx.y + blockIdx.x * (i64)gridDim.y] = t;
}

// The sign of the first entry of column x whose magnitude is at least `enough` times the largest.
// Every thread must call, and gets it.
template <typename T>
__device__ __forceinline__ T leading_sign(i64 m, const T* x, double enough) {
    __shared__ T scratch[32];
    __shared__ unsigned long long first;
    T largest = 0;
    for (i64 i = threadIdx.x; i < m; i += blockDim.x) largest = larger(largest, magnitude(x[i]));
    const double bound = double(block_max(largest, scratch)) * enough;
    if (threadIdx.x == 0) first = m;
    __syncthreads();
    for (i64 i = threadIdx.x; i < m; i += blockDim.x) {
        if (double(magnitude(x[i])) < bound) continue;
        atomicMin(&first, (unsigned long long)i);
        break;
    }
    __syncthreads();
    return (i64)first < m && x[first] < 0 ? T(-1) : T(1);
}

// Column blockIdx.x and, if the order is reversed, its counterpart from the end, which change
// places. The entries of column blockIdx.x of `follow`, if any, get the sign that those of q get.
template <typename T>
__device__ __forceinline__ void turn(i64 m, i64 n, T* q, i64 ldq, i64 rows, T* follow, i64 ldf,
                                     double enough, int reversed) {
    const i64 j = blockIdx.x, other = reversed ? n - 1 - j : j;
    T *x = q + j * ldq, *y = q + other * ldq;
    const T of_x = leading_sign(m, x, enough), of_y = leading_sign(m, y, enough);
    // All have read their columns before one is written.
    __syncthreads();
    if (!reversed && of_x > 0) return;
    for (i64 i = threadIdx.x; i < m; i += blockDim.x) {
        const T now = x[i], then = y[i];
        x[i] = of_y * then;
        if (other != j) y[i] = of_x * now;
    }
    for (i64 i = threadIdx.x; i < rows; i += blockDim.x) follow[j * ldf + i] = -follow[j * ldf + i];
}

}  // namespace

#define INSTANCES(T, SUFFIX)                                                               \
    extern "C" __global__ void __launch_bounds__(256) columns_scale_plain_##SUFFIX(        \
        i64 m, const T* x, i64 ldx, double b0, double b1, double b2, double b3, double b4, \
        double b5, double b6, double b7, int how, T* y, i64 ldy) {                         \
        const double by[8] = {b0, b1, b2, b3, b4, b5, b6, b7};                             \
        scale<T>(m, x, ldx, by, how, y, ldy);                                              \
    }                                                                                      \
    extern "C" __global__ void __launch_bounds__(256) columns_dot_sliced_##SUFFIX(         \
        i64 m, const T* a, i64 lda, const T* b, i64 ldb, i64 depth, double* out) {         \
        dot<T>(m, a, lda, b, ldb, depth, out);                                             \
    }                                                                                      \
    extern "C" __global__ void __launch_bounds__(256) columns_turn_plain_##SUFFIX(         \
        i64 m, i64 n, T* q, i64 ldq, i64 rows, T* follow, i64 ldf, double enough,          \
        int reversed) {                                                                    \
        turn<T>(m, n, q, ldq, rows, follow, ldf, enough, reversed);                        \
    }

INSTANCES(double, f64)
INSTANCES(float, f32)
