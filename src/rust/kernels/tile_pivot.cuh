// The Cholesky factorization of a panel: 16 columns of a diagonal tile in shared memory.
#pragma once
#include "tile_panel.cuh"
#include "tile_sync.cuh"

namespace tile {

// 1 / x and 1 / sqrt(x) of positive normal numbers, within an ulp or so.
__device__ __forceinline__ double reciprocal(double x) {
    double y;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
    const double e = fma(-x, y, 1.0);
    return fma(y, fma(e, e, e), y);
}
__device__ __forceinline__ double inverse_root(double x) {
    double y;
    asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
    const double e = fma(-x * y, y, 1.0);
    return fma(y * e, fma(0.375, e, 0.5), y);
}

// Pivots whose reciprocals and roots are far from the ends of the range.
constexpr double LEAST_PIVOT = 1e-290, LARGEST_PIVOT = 1e290;

// A barrier of warps 0 to 3, and one at which warps 1 to 3 tell warp 0 that they have read what it is to overwrite.
constexpr int FACTOR_BARRIER = 1, READ_BARRIER = 11;

// Columns 16 b to 16 b + 15 of the diagonal tile <- those of L, from row 16 b down, and the inverse of their diagonal block; by
// warps 0 to 3. Returns whether every pivot was an ordinary number; nothing is written otherwise. `pass`: 32 doubles of each warp.
//
// Every warp holds the 16 rows of the diagonal block in its first 16 lanes and 16 rows below it in the others, so that none waits
// for another; in warp 3 the identity takes the place of rows below, and becomes the inverse. Elimination runs without roots:
// column c costs no more than the way from one pivot to the next, p -> 1 / p, handed round, next p = x - x x / p in the lane that
// owns it. Columns are scaled by 1 / sqrt(p) at the end.
__device__ __forceinline__ bool factor_panel(double* panel, double* inverse, double* pass, int b) {
    const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    const int below = PANELS - 1 - b;  // blocks of 16 rows under the diagonal block
    if (warp >= below && warp != 0 && warp != 3) {
        group_arrive<READ_BARRIER, 128>();
        return true;
    }
    const int r = lane < 16 ? 16 * b + lane : min(16 * (b + 1 + warp) + lane - 16, T - 1);
    double x[16];
#pragma unroll
    for (int c = 0; c < 16; c += 2) {
        const double2 v = *reinterpret_cast<const double2*>(panel + panel_at(r, c));
        x[c] = v.x, x[c + 1] = v.y;
    }
    if (warp == 3 && lane >= 16)
#pragma unroll
        for (int c = 0; c < 16; ++c) x[c] = c == lane - 16 ? 1 : 0;
    double p = x[0], pivot = p;
    if (lane < 16) pass[lane] = x[0];
    __syncwarp();
#pragma unroll
    for (int c = 0; c < 16; ++c) {
        const double u = __shfl_sync(0xffffffffu, reciprocal(p), c);
        const double m = x[c] * u;
        if (c < 15) {
            double v[16];
#pragma unroll
            for (int d = (c + 1) & ~1; d < 16; d += 2) {
                const double2 w = *reinterpret_cast<const double2*>(pass + (c & 1) * 16 + d);
                v[d] = w.x, v[d + 1] = w.y;
            }
            p = fma(-m, x[c], x[c + 1]);
            if (lane == c + 1) pivot = p;
#pragma unroll
            for (int d = c + 1; d < 16; ++d) x[d] = fma(-m, v[d], x[d]);
            if (lane < 16) pass[((c + 1) & 1) * 16 + lane] = x[c + 1];
            __syncwarp();
        }
    }
    if (warp == 0) group_sync<READ_BARRIER, 128>();
    else group_arrive<READ_BARRIER, 128>();
    if (!__all_sync(0xffffffffu, (pivot > LEAST_PIVOT && pivot < LARGEST_PIVOT) || lane >= 16)) return false;
    const double ri = inverse_root(pivot);
#pragma unroll
    for (int c = 0; c < 16; ++c) x[c] *= __shfl_sync(0xffffffffu, ri, c);
    if (warp == 0 && lane < 16) {
        double s = pivot * ri;
        s = fma(fma(-s, s, pivot), 0.5 * ri, s);
#pragma unroll
        for (int c = 0; c < 16; ++c)
            if (c <= lane) panel[panel_at(r, c)] = c == lane ? s : x[c];
    }
    if (warp == 3 && lane >= 16)
#pragma unroll
        for (int c = 0; c < 16; ++c) inverse[panel_at(c, lane - 16)] = x[c];
    if (lane >= 16 && warp < below)
#pragma unroll
        for (int c = 0; c < 16; c += 2)
            *reinterpret_cast<double2*>(panel + panel_at(r, c)) = make_double2(x[c], x[c + 1]);
    return true;
}

// The same for any pivots, column by column, without an inverse: the 1-based column of the first pivot that is not greater than
// zero (NaN too), or 0.
static __device__ __noinline__ int factor_panel_any(double* panel, double* inverse, int b) {
    for (int c = 0; c < 16; ++c) {
        const double p = panel[panel_at(16 * b + c, c)];
        group_sync<FACTOR_BARRIER, 128>();
        if (!(p > 0)) return c + 1;
        const double s = sqrt(p);
        const int r = 16 * b + c + threadIdx.x;
        if (r < T) {
            if (threadIdx.x == 0) {
                panel[panel_at(r, c)] = s;
                mark_no_inverse(inverse);
            } else {
                panel[panel_at(r, c)] /= s;
            }
        }
        group_sync<FACTOR_BARRIER, 128>();
        if (r < T && threadIdx.x > 0)
            for (int d = c + 1; d < 16 && 16 * b + d <= r; ++d)
                panel[panel_at(r, d)] -= panel[panel_at(r, c)] * panel[panel_at(16 * b + d, c)];
        group_sync<FACTOR_BARRIER, 128>();
    }
    return 0;
}

}  // namespace tile
