// The reflector that maps a vector to a multiple of the first unit vector.
#pragma once
#include "common.cuh"

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
            beta = -with_sign(root(all), alpha);
            tau = (beta - alpha) / beta;
            inverse = T(1) / (alpha - beta);
        }
    }
};
