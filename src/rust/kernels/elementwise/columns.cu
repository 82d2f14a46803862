// arch: sm_60
// Columns times numbers, and inner products of columns, in double precision for both types.
//
// The result of a column depends on this column only. Scaling rounds the product and the sum
// separately, so that entries are the same on all machines. Inner products fuse the two, in an
// order that depends on the number of rows only.
#include "common.cuh"

namespace {

// How x changes y, numbered as in the driver: y <- x diag(by), y + x diag(by), x + y diag(by).
constexpr int REPLACE = 0, ADD = 1;

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
    for (i64 i = blockIdx.x * (i64)blockDim.x + threadIdx.x; i < m; i += step) {
        const double mine = double(from[i]);
        if (how == REPLACE) to[i] = T(__dmul_rn(by, mine));
        else if (how == ADD) to[i] = T(__dadd_rn(double(to[i]), __dmul_rn(by, mine)));
        else to[i] = T(__dadd_rn(mine, __dmul_rn(by, double(to[i]))));
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
    }

INSTANCES(double, f64)
INSTANCES(float, f32)
