// arch: sm_60
// Reductions of all entries, of columns and of rows, in double precision. Long ones are cut into
// slices, whose results a second launch reduces. The cuts, and so the order of every sum, depend on
// the shape only.
//
// `src/device/elementwise.rs` numbers the reductions. A NaN makes the result NaN, unless `skip`
// omits NaN.
#include "common.cuh"

namespace {

struct Sum {
    static __device__ __forceinline__ double start() { return 0; }
    static __device__ __forceinline__ double take(double s, double x) { return s + x; }
    static __device__ __forceinline__ double join(double s, double t) { return s + t; }
};
struct Min : Sum {
    static __device__ __forceinline__ double start() {
        return __longlong_as_double(0x7ff0000000000000ll);
    }
    static __device__ __forceinline__ double take(double s, double x) {
        return x < s || isnan(x) ? x : s;
    }
    static __device__ __forceinline__ double join(double s, double t) { return take(s, t); }
};
struct Max : Sum {
    static __device__ __forceinline__ double start() {
        return __longlong_as_double(0xfff0000000000000ll);
    }
    static __device__ __forceinline__ double take(double s, double x) {
        return x > s || isnan(x) ? x : s;
    }
    static __device__ __forceinline__ double join(double s, double t) { return take(s, t); }
};
struct Count : Sum {
    static __device__ __forceinline__ double take(double s, double x) {
        return isnan(x) ? s : s + 1;
    }
};
struct Magnitudes : Sum {
    static __device__ __forceinline__ double take(double s, double x) { return s + fabs(x); }
};
struct Squares : Sum {
    static __device__ __forceinline__ double take(double s, double x) { return s + x * x; }
};
struct Largest : Max {
    static __device__ __forceinline__ double start() { return 0; }
    static __device__ __forceinline__ double take(double s, double x) {
        return Max::take(s, fabs(x));
    }
};

template <typename R, typename T>
__device__ __forceinline__ double take(double s, T x, int skip) {
    return skip && isnan(x) ? s : R::take(s, double(x));
}

// One block for slice blockIdx.y, `depth` rows, of column blockIdx.x: out[slice, column].
template <typename R, typename T>
__device__ __forceinline__ void columns_by(int skip, i64 m, const T* a, i64 ld, i64 depth,
                                           double* out) {
    __shared__ double scratch[32];
    const T* x = a + blockIdx.x * ld;
    const i64 end = min(m, (blockIdx.y + 1) * depth), step = blockDim.x;
    i64 r = blockIdx.y * depth + threadIdx.x;
    double s[4] = {R::start(), R::start(), R::start(), R::start()};
    for (; r + 3 * step < end; r += 4 * step) {
#pragma unroll
        for (int k = 0; k < 4; ++k) s[k] = take<R>(s[k], x[r + k * step], skip);
    }
    for (; r < end; r += step) s[0] = take<R>(s[0], x[r], skip);
    double t = R::join(R::join(s[0], s[1]), R::join(s[2], s[3]));
#pragma unroll
    for (int d = 16; d > 0; d >>= 1) t = R::join(t, __shfl_xor_sync(0xffffffffu, t, d));
    if ((threadIdx.x & 31) == 0) scratch[threadIdx.x >> 5] = t;
    __syncthreads();
    if (threadIdx.x > 0) return;
    for (int w = 1; w < (int)(blockDim.x >> 5); ++w) t = R::join(t, scratch[w]);
    out[blockIdx.y + blockIdx.x * (i64)gridDim.y] = t;
}

// One block of 256 threads for slice blockIdx.y, `depth` columns, of 32 rows: out[row, slice]. A
// warp reads 32 rows of a column.
template <typename R, typename T>
__device__ __forceinline__ void rows_by(int skip, i64 m, i64 n, const T* a, i64 ld, i64 depth,
                                        double* out) {
    __shared__ double scratch[8][32];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const i64 i = blockIdx.x * (i64)32 + lane, end = min(n, (blockIdx.y + 1) * depth);
    double s = R::start();
    if (i < m)
        for (i64 j = blockIdx.y * depth + warp; j < end; j += 8)
            s = take<R>(s, a[i + j * ld], skip);
    scratch[warp][lane] = s;
    __syncthreads();
    if (warp > 0 || i >= m) return;
    for (int w = 1; w < 8; ++w) s = R::join(s, scratch[w][lane]);
    out[i + blockIdx.y * m] = s;
}

}  // namespace

#define BY_NUMBER(OP, BODY, ...)                      \
    switch (OP) {                                     \
        case 0: BODY<Sum>(__VA_ARGS__); break;        \
        case 1: BODY<Min>(__VA_ARGS__); break;        \
        case 2: BODY<Max>(__VA_ARGS__); break;        \
        case 3: BODY<Count>(__VA_ARGS__); break;      \
        case 4: BODY<Magnitudes>(__VA_ARGS__); break; \
        case 5: BODY<Largest>(__VA_ARGS__); break;    \
        case 6: BODY<Squares>(__VA_ARGS__); break;    \
    }

#define INSTANCES(T, SUFFIX)                                                          \
    extern "C" __global__ void __launch_bounds__(256) columns_fold_sliced_##SUFFIX(   \
        int op, int skip, i64 m, const T* a, i64 ld, i64 depth, double* out) {        \
        BY_NUMBER(op, columns_by, skip, m, a, ld, depth, out)                         \
    }                                                                                 \
    extern "C" __global__ void __launch_bounds__(256) rows_fold_sliced_##SUFFIX(      \
        int op, int skip, i64 m, i64 n, const T* a, i64 ld, i64 depth, double* out) { \
        BY_NUMBER(op, rows_by, skip, m, n, a, ld, depth, out)                         \
    }

INSTANCES(double, f64)
INSTANCES(float, f32)
