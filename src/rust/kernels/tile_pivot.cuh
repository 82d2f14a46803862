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

// A barrier at which the warp that makes the inverse tells the one that makes L that it has read what that is to overwrite.
constexpr int READ_BARRIER = 9;
// What is found of a panel's pivots: one is not an ordinary number; they are; they are, and the condition of the block is so small
// that a product with its inverse is as good as a substitution.
enum { NOT_ORDINARY = 0, ORDINARY, EXACT_INVERSE };
// How large the sum of |L^-1| |L| may be in its parts, column by row, for that.
constexpr double SMALL_CONDITION = 8;

// Doubles that a warp needs to hand round columns.
constexpr int PASS = 64;

// Columns 16 b to 16 b + 15 of the diagonal tile <- those of L, in the 16 rows of the diagonal block and the 16 below it, and the
// inverse of the diagonal block; by two warps, `which` 0 and 1. Returns what was found, of the condition only warp 1; nothing is
// written where a pivot is not ordinary. `pass`: PASS doubles of the warp.
//
// Both warps hold the rows of the diagonal block in their first 16 lanes. In the others, warp 0 has the rows below, warp 1 the
// identity, which becomes the inverse. All lanes compute all pivots, from what is handed round a column ahead, so that a column
// costs no more than the way from one pivot to the next: p -> 1 / p -> the next, a - v v / p. Roots come at the end.
__device__ __forceinline__ int factor_panel(double* panel, double* inverse, double* pass, int b, int which) {
    const int lane = threadIdx.x & 31;
    const int r = 16 * b + lane;
    const bool exists = r < T;
    double x[16];
#pragma unroll
    for (int c = 0; c < 16; c += 2) {
        const double2 v = *reinterpret_cast<const double2*>(panel + panel_at(exists ? r : 0, c));
        x[c] = v.x, x[c + 1] = v.y;
    }
    if (which == 1 && lane >= 16)
#pragma unroll
        for (int c = 0; c < 16; ++c) x[c] = c == lane - 16 ? 1 : 0;
    if (lane < 16) pass[lane] = x[0];
    if (lane == 1) pass[16] = x[1];
    __syncwarp();
    double p = pass[0], pivot = 1, u = reciprocal(p);
#pragma unroll
    for (int c = 0; c < 16; ++c) {
        if (lane == c) pivot = p;
        if (c == 15) break;
        const double m = x[c] * u;
        const double* now = pass + (c & 1) * 32;
        double* then = pass + (~c & 1) * 32;
        double v[16];
#pragma unroll
        for (int d = (c + 1) & ~1; d < 16; d += 2) {
            const double2 w = *reinterpret_cast<const double2*>(now + d);
            v[d] = w.x, v[d + 1] = w.y;
        }
        x[c + 1] = fma(-m, v[c + 1], x[c + 1]);
        p = fma(-(v[c + 1] * u), v[c + 1], now[16]);
        u = reciprocal(p);
        if (lane < 16) then[lane] = x[c + 1];
        if (c < 14) {
            x[c + 2] = fma(-m, v[c + 2], x[c + 2]);
            if (lane == c + 2) then[16] = x[c + 2];
        }
        __syncwarp();
#pragma unroll
        for (int d = c + 3; d < 16; ++d) x[d] = fma(-m, v[d], x[d]);
    }
    if (which == 0) group_sync<READ_BARRIER, 64>();
    else group_arrive<READ_BARRIER, 64>();
    if (!__all_sync(0xffffffffu, pivot > LEAST_PIVOT && pivot < LARGEST_PIVOT)) return NOT_ORDINARY;
    const double root = inverse_root(pivot);
    if (lane < 16) pass[lane] = root;
    __syncwarp();
#pragma unroll
    for (int c = 0; c < 16; c += 2) {
        const double2 w = *reinterpret_cast<const double2*>(pass + c);
        x[c] *= w.x, x[c + 1] *= w.y;
    }
    __syncwarp();
    if (lane < 16) {
        double s = pivot * root;
        s = fma(fma(-s, s, pivot), 0.5 * root, s);
#pragma unroll
        for (int c = 0; c < 16; ++c) x[c] = c < lane ? x[c] : c == lane ? s : 0;
    }
    if (which == 0 && exists)
#pragma unroll
        for (int c = 0; c < 16; c += 2)
            *reinterpret_cast<double2*>(panel + panel_at(r, c)) = make_double2(x[c], x[c + 1]);
    if (which == 1 && lane >= 16)
#pragma unroll
        for (int c = 0; c < 16; ++c) inverse[panel_at(c, lane - 16)] = x[c];
    if (which == 0) return ORDINARY;
    // A row of L in one lane, the column of the inverse that meets it in the other.
    double size[4] = {0, 0, 0, 0};
#pragma unroll
    for (int c = 0; c < 16; ++c) size[c % 4] += fabs(x[c]);
    const double sum = size[0] + size[1] + (size[2] + size[3]);
    return __all_sync(0xffffffffu, sum * __shfl_xor_sync(0xffffffffu, sum, 16) < SMALL_CONDITION) ? EXACT_INVERSE : ORDINARY;
}

// The same for any pivots, column by column, without an inverse, by COUNT threads t that meet at barrier BARRIER: the 1-based column
// of the first pivot that is not greater than zero (NaN too), or 0.
template <int BARRIER, int COUNT>
static __device__ __noinline__ int factor_panel_any(double* panel, double* inverse, int b, int t) {
    const int end = min(16 * (b + 2), T);
    for (int c = 0; c < 16; ++c) {
        const double p = panel[panel_at(16 * b + c, c)];
        group_sync<BARRIER, COUNT>();
        if (!(p > 0)) return c + 1;
        const double s = sqrt(p);
        const int r = 16 * b + c + t;
        if (r < end) {
            if (t == 0) {
                panel[panel_at(r, c)] = s;
                mark_no_inverse(inverse);
            } else {
                panel[panel_at(r, c)] /= s;
            }
        }
        group_sync<BARRIER, COUNT>();
        // Zeros above the diagonal, as after ordinary pivots.
        if (t > 0 && t < 16 - c) panel[panel_at(16 * b + c, c + t)] = 0;
        if (r < end && t > 0)
            for (int d = c + 1; d < 16 && 16 * b + d <= r; ++d)
                panel[panel_at(r, d)] -= panel[panel_at(r, c)] * panel[panel_at(16 * b + d, c)];
        group_sync<BARRIER, COUNT>();
    }
    return 0;
}

}  // namespace tile
