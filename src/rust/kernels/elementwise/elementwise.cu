// arch: sm_60
// Functions of one and of two matrices, entry by entry, with R's values, in double precision for
// both types.
//
// Matrices are contiguous. `src/device/elementwise.rs` numbers the functions; each has its own
// loop.
#include "common.cuh"

namespace {

// Removes the sign of zero, for the three functions of multiples of pi.
__device__ __forceinline__ double unsigned_zero(double x) { return x + 0.0; }

__device__ __forceinline__ double sign_of(double x) {
    return x > 0 ? 1 : x < 0 ? -1 : x == 0 ? 0 : x;
}

// tan(pi x): exact at quarters, NaN at halves.
__device__ __forceinline__ double tangent_of_turn(double x) {
    const double r = x - rint(x), d = fabs(r);
    if (d == 0.5) return nan("");
    if (d == 0.25) return copysign(1.0, r);
    double s, c;
    sincospi(r, &s, &c);
    return unsigned_zero(s / c);
}

// x^y. It differs from the C library for an infinite number to a fraction, for a negative number to
// an infinite power, and in the sign of zeros and infinities of a negative zero or infinity.
__device__ __forceinline__ double power(double x, double y) {
    if (y == 2) return x * x;
    if (x == 1 || y == 0) return 1;
    if (x < 0 && (isinf(y) || (isinf(x) && y != floor(y)))) return nan("");
    const double p = pow(x, y);
    return x == 0 || (x < 0 && isinf(x) && y < 0) ? fabs(p) : p;
}

// x - y floor(x / y), exact before one final rounding.
__device__ __forceinline__ double modulo(double x, double y) {
    const double r = fmod(x, y);
    return r != 0 && (r < 0) != (y < 0) ? r + y : unsigned_zero(r);
}

// floor(x / y), exact while it is an integer of double precision; beyond, x / y.
__device__ __forceinline__ double quotient(double x, double y) {
    const double q = x / y;
    if (y == 0 || !isfinite(q) || fabs(q) > 4503599627370496.0) return q;
    if (fabs(q) < 1) return x != 0 && (x < 0) != (y < 0) ? -1 : 0;
    return rint((x - modulo(x, y)) / y);
}

// out[e] <- f(a[e]). `made`, unless null, becomes 1 if a number became NaN.
template <typename T, typename F>
__device__ __forceinline__ void map_entries(F f, i64 count, const T* a, T* out, int* made) {
    bool fresh = false;
    for (i64 e = blockIdx.x * (i64)blockDim.x + threadIdx.x; e < count;
         e += (i64)gridDim.x * blockDim.x) {
        const double x = double(a[e]), y = f(x);
        fresh |= isnan(y) && !isnan(x);
        out[e] = T(y);
    }
    if (fresh && made != nullptr) *made = 1;
}

template <typename T>
__device__ __forceinline__ void map_by_number(int op, i64 count, const T* a, T* out, int* made) {
#define CASE(NUMBER, VALUE)                                                            \
    case NUMBER:                                                                       \
        map_entries<T>([](double x) -> double { return VALUE; }, count, a, out, made); \
        break;
    switch (op) {
        CASE(0, x)
        CASE(1, -x)
        CASE(2, fabs(x))
        CASE(3, sign_of(x))
        CASE(4, sqrt(x))
        CASE(5, ceil(x))
        CASE(6, floor(x))
        CASE(7, trunc(x))
        CASE(8, rint(x))
        CASE(9, exp(x))
        CASE(10, expm1(x))
        CASE(11, log(x))
        CASE(12, log1p(x))
        CASE(13, log10(x))
        CASE(14, log2(x))
        CASE(15, cos(x))
        CASE(16, sin(x))
        CASE(17, tan(x))
        CASE(18, unsigned_zero(cospi(x)))
        CASE(19, unsigned_zero(sinpi(x)))
        CASE(20, tangent_of_turn(x))
        CASE(21, acos(x))
        CASE(22, asin(x))
        CASE(23, atan(x))
        CASE(24, cosh(x))
        CASE(25, sinh(x))
        CASE(26, tanh(x))
        CASE(27, acosh(x))
        CASE(28, asinh(x))
        CASE(29, atanh(x))
    }
#undef CASE
}

// An operand of `of` entries for a result of `count`: as many, fewer that are recycled, or none for
// a single number.
template <typename T>
struct Operand {
    const T* entries;
    i64 of, count;
    double number;

    __device__ __forceinline__ double at(i64 e) const {
        if (of == count) return double(entries[e]);
        if (of == 0) return number;
        return double(entries[count < (i64(1) << 32) ? (unsigned)e % (unsigned)of : e % of]);
    }
};

// out[e] <- f(a[e], b[e])
template <typename T, typename F>
__device__ __forceinline__ void zip_entries(F f, Operand<T> a, Operand<T> b, T* out) {
    for (i64 e = blockIdx.x * (i64)blockDim.x + threadIdx.x; e < a.count;
         e += (i64)gridDim.x * blockDim.x)
        out[e] = T(f(a.at(e), b.at(e)));
}

template <typename T>
__device__ __forceinline__ void zip_by_number(int op, Operand<T> a, Operand<T> b, T* out) {
#define CASE(NUMBER, VALUE)                                                            \
    case NUMBER:                                                                       \
        zip_entries<T>([](double x, double y) -> double { return VALUE; }, a, b, out); \
        break;
    switch (op) {
        CASE(0, x + y)
        CASE(1, x - y)
        CASE(2, x * y)
        CASE(3, x / y)
        CASE(4, power(x, y))
        CASE(5, modulo(x, y))
        CASE(6, quotient(x, y))
    }
#undef CASE
}

}  // namespace

#define INSTANCES(T, SUFFIX)                                                                 \
    extern "C" __global__ void __launch_bounds__(256)                                        \
        entries_map_plain_##SUFFIX(int op, i64 count, const T* a, T* out, int* made) {       \
        map_by_number<T>(op, count, a, out, made);                                           \
    }                                                                                        \
    extern "C" __global__ void __launch_bounds__(256)                                        \
        entries_zip_plain_##SUFFIX(int op, i64 count, const T* a, i64 of_a, double number_a, \
                                   const T* b, i64 of_b, double number_b, T* out) {          \
        zip_by_number<T>(op, Operand<T>{a, of_a, count, number_a},                           \
                         Operand<T>{b, of_b, count, number_b}, out);                         \
    }

INSTANCES(double, f64)
INSTANCES(float, f32)
