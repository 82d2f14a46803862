// The choice of a pivot in a panel of the LU factorization: candidates, and which one wins.
#pragma once
#include "common.cuh"

namespace lu {

constexpr int NO_ROW = 0x7fffffff;
constexpr unsigned ALL = 0xffffffffu;

// A candidate: the bits of its magnitude with the highest one set, or all set if it counts as
// infinite, or 0 if there is none; the place of its row; the first place of that row.
struct alignas(16) Choice {
    unsigned high, low;
    int place, row;
};
__device__ __forceinline__ Choice choice(double v, int place, int row) {
    const unsigned long long bits = (unsigned long long)__double_as_longlong(v);
    return {(unsigned)(bits >> 32) | 0x80000000u, (unsigned)bits, place, row};
}
__device__ __forceinline__ Choice choice(float v, int place, int row) {
    return {(unsigned)__float_as_int(v) | 0x80000000u, 0, place, row};
}
__device__ __forceinline__ bool is_nan(Choice c, double) {
    return c.high > 0xfff00000u || (c.high == 0xfff00000u && c.low != 0);
}
__device__ __forceinline__ bool is_nan(Choice c, float) { return c.high > 0xff800000u; }
__device__ __forceinline__ bool is_zero(Choice c) { return c.high == 0x80000000u && c.low == 0; }
// Far from overflow and underflow: 2^-1000 to 2^1000, 2^-120 to 2^120.
__device__ __forceinline__ bool is_ordinary(Choice c, double) {
    return c.high >= 0x81700000u && c.high < 0xfe700000u;
}
__device__ __forceinline__ bool is_ordinary(Choice c, float) {
    return c.high >= 0x83800000u && c.high < 0xfb800000u;
}

// The largest; among equal ones the first by place.
__device__ __forceinline__ Choice better(Choice a, Choice b) {
    const bool more = b.high != a.high ? b.high > a.high
                      : b.low != a.low ? b.low > a.low
                                       : b.place < a.place;
    return more ? b : a;
}
// The lane with the best candidate of a warp, as a bit. The slow path is rare. It is a function, so
// that its instructions are not fetched in vain.
__device__ __noinline__ unsigned best_of_tied(unsigned tied, unsigned low, int place) {
    const unsigned lane = threadIdx.x & 31;
    low = tied >> lane & 1 ? low : 0;
    const unsigned lowest = __reduce_max_sync(ALL, low);
    tied &= __ballot_sync(ALL, low == lowest);
    const unsigned at = tied >> lane & 1 ? (unsigned)place : 0xffffffffu;
    const unsigned first = __reduce_min_sync(ALL, at);
    tied &= __ballot_sync(ALL, at == first);
    return tied & (0u - tied);
}
__device__ __forceinline__ unsigned best_bit(Choice c) {
    const unsigned best = __ballot_sync(ALL, c.high == __reduce_max_sync(ALL, c.high));
    return __builtin_expect(best & (best - 1), 0) ? best_of_tied(best, c.low, c.place) : best;
}
__device__ __forceinline__ int best_lane(Choice c) { return __ffs(best_bit(c)) - 1; }

// Division, for pivots whose reciprocal may overflow or underflow.
__device__ __noinline__ double divided(double x, double p) { return x / p; }
__device__ __noinline__ float divided(float x, float p) { return x / p; }

}  // namespace lu
