// The reflector that maps a vector to a multiple of the first unit vector.
#pragma once
#include "common.cuh"

// 1 / sqrt(x) to a few units of rounding for an x far from overflow and underflow: the
// approximation, and a step of third order.
__device__ __forceinline__ double quick_rsqrt(double x) {
    double y;
    asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
    const double error = fma(-x * y, y, 1.0);
    return fma(y * error, fma(0.375, error, 0.5), y);
}
__device__ __forceinline__ float quick_rsqrt(float x) {
    float y;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    const float error = fmaf(-x * y, y, 1.0f);
    return fmaf(y * error, 0.5f, y);
}

// Squares below it count as zero, since the largest entry of the matrix should be about one.
template <typename T>
constexpr T UNDERFLOW = sizeof(T) == 8 ? T(1e-280) : T(1e-32);

// I - tau v v' maps (alpha, x) to (beta, 0, ...), where v is (1, x inverse). tau is zero if x
// counts as zero.
template <typename T>
struct Reflection {
    T beta, tau, inverse;

    // `below`: the sum of squares of x.
    __device__ __forceinline__ Reflection(T alpha, T below)
        : beta(alpha), tau(T(0)), inverse(T(0)) {
        const T all = alpha * alpha + below;
        if (below > T(0) && all > UNDERFLOW<T>) {
            const T scale = quick_rsqrt(all), size = all * scale;
            beta = -with_sign(size, alpha);
            tau = T(1) + magnitude(alpha) * scale;  // (beta - alpha) / beta
            inverse = with_sign(rounded_reciprocal(magnitude(alpha) + size), alpha);
        }
    }
};
