// arch: sm_60
// Covariances of points, from their coordinates, in double precision for both types of result.
//
// `src/device/covariance.rs` has the formulas. Products and sums are rounded separately, never
// fused, so that the CPU gets the same distances bit for bit. Only the two exponential functions
// differ, in the last place.
#include "common.cuh"

namespace {

// Columns that a thread computes of its row, one after the other. The exponential takes longer than
// reading the cached coordinates again.
constexpr int COLUMNS = 8;

__device__ __forceinline__ double times(double x, double y) { return __dmul_rn(x, y); }
__device__ __forceinline__ double plus(double x, double y) { return __dadd_rn(x, y); }

// The polynomial may be infinite where the exponential is zero.
__device__ __forceinline__ double fading(double polynomial, double e) {
    return e > 0 ? times(polynomial, e) : 0;
}

__device__ __forceinline__ double matern32(double squared) {
    const double a = sqrt(times(3.0, squared));
    return fading(plus(1.0, a), exp(-a));
}

__device__ __forceinline__ double matern52(double squared) {
    const double a = sqrt(times(5.0, squared));
    return fading(plus(1.0, plus(a, times(squared, 5.0 / 3.0))), exp(-a));
}

// `count` points in `dimensions`, one coordinate after the other.
struct Points {
    const double* coordinates;
    i64 count;
};

// out[i, j] <- the covariance of points row + i and col + j for an m x n block, and zero in the
// rest of `rows` x `cols`. Neighbouring threads have neighbouring rows, so that writes are
// contiguous; all threads of a warp have the same column.
template <typename T, typename F>
__device__ __forceinline__ void covariances(F correlation, int dimensions, const double* scales,
                                            Points x, i64 row, i64 m, Points y, i64 col, i64 n,
                                            double variance, double nugget, i64 rows, i64 cols,
                                            T* out, i64 ld) {
    const i64 down = (rows + blockDim.x - 1) / blockDim.x,
              tasks = down * ((cols + COLUMNS - 1) / COLUMNS);
    for (i64 task = blockIdx.x; task < tasks; task += gridDim.x) {
        const i64 i = task % down * blockDim.x + threadIdx.x, first = task / down * COLUMNS;
        if (i >= rows) continue;
        const i64 last = min(first + COLUMNS, cols);
#pragma unroll 1
        for (i64 j = first; j < last; ++j) {
            double value = 0;
            if (i < m && j < n) {
                const double *a = x.coordinates + row + i, *b = y.coordinates + col + j;
                double squared = 0;
#pragma unroll 1
                for (int k = 0; k < dimensions; ++k, a += x.count, b += y.count) {
                    const double difference = times(*a - *b, scales[k]);
                    squared = plus(squared, times(difference, difference));
                }
                value = times(variance, correlation(squared));
                if (row + i == col + j) value = plus(value, nugget);
            }
            out[i + j * ld] = T(value);
        }
    }
}

template <typename T>
__device__ __forceinline__ void covariances_by_number(int op, int dimensions, const double* scales,
                                                      Points x, i64 row, i64 m, Points y, i64 col,
                                                      i64 n, double variance, double nugget,
                                                      i64 rows, i64 cols, T* out, i64 ld) {
#define CASE(NUMBER, VALUE)                                                                        \
    case NUMBER:                                                                                   \
        covariances<T>([](double squared) -> double { return VALUE; }, dimensions, scales, x, row, \
                       m, y, col, n, variance, nugget, rows, cols, out, ld);                       \
        break;
    switch (op) {
        CASE(0, exp(-sqrt(squared)))
        CASE(1, matern32(squared))
        CASE(2, matern52(squared))
        CASE(3, exp(times(squared, -0.5)))
    }
#undef CASE
}

}  // namespace

#define INSTANCES(T, SUFFIX)                                                                       \
    extern "C" __global__ void __launch_bounds__(256) covariances_evaluate_block_##SUFFIX(         \
        int op, int dimensions, const double* scales, const double* x, i64 of_x, i64 row, i64 m,   \
        const double* y, i64 of_y, i64 col, i64 n, double variance, double nugget, i64 rows,       \
        i64 cols, T* out, i64 ld) {                                                                \
        covariances_by_number<T>(op, dimensions, scales, Points{x, of_x}, row, m, Points{y, of_y}, \
                                 col, n, variance, nugget, rows, cols, out, ld);                   \
    }

INSTANCES(double, f64)
INSTANCES(float, f32)
