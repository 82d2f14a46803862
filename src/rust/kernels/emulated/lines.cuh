// What decides how a line (a row of A or a column of B) becomes integers: its norms, the mean of
// its logarithms, and its lowest bit. Without double precision, which many GPUs compute slowly.
#pragma once
#include "common.cuh"

namespace lines {

// Of no entry but zeros.
constexpr int NOTHING = -4096;
// Of an entry that is not finite.
constexpr int INFINITE = 4096;
// Relative errors of sums of positive numbers stay below 1e-3, so that their logarithms to base 2
// err by less than this.
constexpr float MARGIN = 2e-3f;

// Sums over entries x = f 2^e, 1 <= |f| < 2, with h the largest e: those of |x| 2^-h and of its
// square, and a lower bound of that of log2|x|. No bit of an entry is below 2^low.
struct Sums {
    int high = NOTHING;
    float sum = 0, squares = 0, logs = 0;
    int low = INFINITE, zeros = 0;

    __device__ __forceinline__ void rescale(int h) {
        // At most 1.
        const float unit = exp2f((float)(high - h));
        sum *= unit, squares *= unit * unit;
        high = h;
    }

    __device__ __forceinline__ void add(double x) {
        int top = __double2hiint(x) & 0x7fffffff;
        if ((top | __double2loint(x)) == 0) {
            zeros++;
            return;
        }
        int e = (top >> 20) - 1023;
        if (e == -1023) {
            // Denormal: 2^54 times as large.
            x *= 18014398509481984.0;
            top = __double2hiint(x) & 0x7fffffff;
            e = (top >> 20) - 1023 - 54;
        }
        if (e == 1024) e = INFINITE;
        const int bottom = __double2loint(x), mantissa = top & 0xfffff;
        const float f =
            __int_as_float(0x3f800000 | mantissa << 3 | (unsigned)bottom >> 29);
        if (e > high) rescale(e);
        const float v = f * __int_as_float(max(e - high + 127, 0) << 23);
        sum += v, squares += v * v;
        // log2(f) >= f - 1.
        logs += (float)e + (f - 1);
        const int last = bottom ? __ffs(bottom) - 1 : 31 + __ffs(mantissa | 0x100000);
        low = min(low, e - 52 + last);
    }

    __device__ __forceinline__ void add(const Sums& other) {
        Sums y = other;
        if (y.high > high)
            rescale(y.high);
        else
            y.rescale(high);
        sum += y.sum, squares += y.squares, logs += y.logs;
        low = min(low, y.low), zeros += y.zeros;
    }
};

// The sums of a slice of a line are six words, one array after the other.
__device__ __forceinline__ void store(const Sums& s, int* to, i64 at, i64 count) {
    to[at] = s.high;
    to[at + count] = __float_as_int(s.sum);
    to[at + 2 * count] = __float_as_int(s.squares);
    to[at + 3 * count] = __float_as_int(s.logs);
    to[at + 4 * count] = s.low;
    to[at + 5 * count] = s.zeros;
}
__device__ __forceinline__ Sums load(const int* from, i64 at, i64 count) {
    Sums s;
    s.high = from[at];
    s.sum = __int_as_float(from[at + count]);
    s.squares = __int_as_float(from[at + 2 * count]);
    s.logs = __int_as_float(from[at + 3 * count]);
    s.low = from[at + 4 * count];
    s.zeros = from[at + 5 * count];
    return s;
}

// Integers in the order of the numbers.
__device__ __forceinline__ int ordered(float x) {
    const int bits = __float_as_int(x);
    return bits ^ (bits >> 31 & 0x7fffffff);
}

__device__ __forceinline__ float number(int ordered) {
    return __int_as_float(ordered ^ (ordered >> 31 & 0x7fffffff));
}

// Called by whole warps.
__device__ __forceinline__ void raise(int* most, float x) {
    x = warp_max(x);
    if ((threadIdx.x & 31) == 0) atomicMax(most, ordered(x));
}

}  // namespace lines
