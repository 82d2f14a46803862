// The elimination of a panel: 16 columns of a diagonal tile in shared memory.
#pragma once
#include "reciprocal.cuh"
#include "tile_scoreboard.cuh"

namespace tile {

// sqrt(x), from 1 / sqrt(x).
__device__ __forceinline__ double pivot_root(double x, double inverse) {
    const double s = x * inverse;
    return fma(fma(-s, s, x), 0.5 * inverse, s);
}

// Ordinary pivots: reciprocals and roots neither overflow nor underflow.
constexpr double LEAST_PIVOT = 1e-290, LARGEST_PIVOT = 1e290;

// Doubles of a warp for passing columns: two rounds of ROUND numbers, and of the next pivot.
constexpr int ROUND = 48, PASS = 2 * ROUND + 16;

// The results of the elimination of panels, in shared memory. For panel b, in place b % 2: Y, its
// columns before division by the roots of the pivots; M = -Y / pivots, in the rows below the
// diagonal block. For each panel: the columns of the inverse of its diagonal block, stored as rows,
// before division by the same roots; and its pivots. Also an identity.
struct Eliminated {
    static constexpr int M = 2 * PANEL, INVERSES = 4 * PANEL;  // offsets
    double *y, *more;  // aligned like a panel's rows; `more`: pivots, then the identity

    __device__ __forceinline__ double* columns(int b) const { return y + b % 2 * PANEL; }
    __device__ __forceinline__ double* multipliers(int b) const { return columns(b) + M; }
    __device__ __forceinline__ double* inverse(int b) const { return y + INVERSES + b * INVERSE; }
    __device__ __forceinline__ double* pivots(int b) const { return more + 16 * b; }
    __device__ __forceinline__ double* identity() const { return more + 16 * PANELS; }
    __device__ __forceinline__ double* pass(int warp) const {
        return identity() + INVERSE + warp * PASS;
    }
    static constexpr int MORE = 16 * PANELS + INVERSE + 4 * PASS;
};

// Eliminates columns 16 b to 16 b + 15 of the diagonal tile, by those of warps 0 to 3 that have
// work: warp 1 computes the inverse, each other warp a block of 16 rows below the diagonal block.
// Returns whether the pivots that a lane of warp 0 knows are ordinary.
//
// The first 16 lanes of every warp hold the rows of the diagonal block. The other lanes of warp 1
// hold the identity, which becomes the inverse; those of other warps hold their rows. All lanes
// compute all pivots from numbers that are passed one column ahead. A column thus takes only the
// chain from one pivot to the next: p, 1 / p, a - v v / p. Other threads take the roots.
//
// Column c is in x[0] in its step, the next in x[1]; entries beyond the last column have no
// meaning.
__device__ __forceinline__ bool eliminate(const double* panel, const Eliminated& to, int b,
                                          int warp) {
    const int lane = threadIdx.x & 31;
    const bool identity = warp == 1 && lane >= 16;
    const int r = 16 * (lane < 16 ? b : b + (warp < 2 ? 1 : warp)) + (lane & 15);
    const bool below = r < T && lane >= 16 && warp != 1,
               kept = identity || below || (warp == 0 && lane < 16);
    const int row = identity ? panel_at(lane - 16, 0) : r < T ? panel_at(r, 0) : 0;
    const double* from = identity ? to.identity() : panel;
    double* out =
        to.columns(b) + (identity ? Eliminated::INVERSES + b * INVERSE - b % 2 * PANEL : 0);
    double* pivots = to.pivots(b);
    double* pass = to.pass(warp);
    double x[16], v[16];
#pragma unroll
    for (int c = 0; c < 16; c += 2) {
        const double2 w = *reinterpret_cast<const double2*>(from + (row ^ c));
        x[c] = w.x, x[c + 1] = w.y;
    }
    // Round c: row c + d has number d.
    double* then = pass + 16 + lane;
    *then = x[0];
    if (lane == 1) pass[2 * ROUND] = x[1];
    __syncwarp();
    double next = pass[2 * ROUND];
#pragma unroll
    for (int d = 0; d < 16; d += 2) {
        const double2 w = *reinterpret_cast<const double2*>(pass + 16 + d);
        v[d] = w.x, v[d + 1] = w.y;
    }
    // p, and -1 / p.
    double p = v[0], u = -reciprocal(p);
#pragma unroll
    for (int c = 0; c < 16; ++c) {
        const int round = (~c & 1) * ROUND;
        double* other = pass + 2 * ROUND + (~c & 1);
        if (warp == 0) pivots[c] = p;
        const double y = x[0], m = y * u;
        x[0] = fma(m, v[1], x[1]);
        p = fma(v[1] * u, v[1], next);
        then[round - c - 1] = x[0];
        u = -reciprocal(p);
        x[1] = fma(m, v[2], x[2]);
        if (lane == c + 2) *other = x[1];
        __syncwarp();
        // Loaded before any store that might alias in the compiler's view.
        double w[16];
        next = *other;
#pragma unroll
        for (int d = 0; d < 16; d += 2) {
            const double2 two = *reinterpret_cast<const double2*>(pass + 16 + round + d);
            w[d] = two.x, w[d + 1] = two.y;
        }
#pragma unroll
        for (int d = 3; d < 16; ++d) x[d - 1] = fma(m, v[d], x[d]);
        if (kept) out[row ^ c] = y;
        if (below) out[Eliminated::M + (row ^ c)] = m;
#pragma unroll
        for (int d = 0; d < 16; ++d) v[d] = w[d];
    }
    __syncwarp();
    const double pivot = pivots[lane & 15];
    return warp > 0 || (pivot > LEAST_PIVOT && pivot < LARGEST_PIVOT);
}

// L's panel for any pivots, column by column, without an inverse, by COUNT threads t that meet at
// barrier BARRIER. Returns the 1-based column of the first pivot that is not positive (NaN too), or
// 0.
template <int BARRIER, int COUNT>
__device__ __forceinline__ int factor_panel_any(double* panel, int b, int t) {
    for (int c = 0; c < 16; ++c) {
        const double p = panel[panel_at(16 * b + c, c)];
        group_sync<BARRIER, COUNT>();
        if (!(p > 0)) return c + 1;
        const double s = sqrt(p);
        const int r = 16 * b + c + t;
        if (r < T) {
            if (t == 0) panel[panel_at(r, c)] = s;
            else panel[panel_at(r, c)] /= s;
        }
        group_sync<BARRIER, COUNT>();
        // Zeros above the diagonal, as after ordinary pivots.
        if (t > 0 && t < 16 - c) panel[panel_at(16 * b + c, c + t)] = 0;
        if (r < T && t > 0)
            for (int d = c + 1; d < 16 && 16 * b + d <= r; ++d)
                panel[panel_at(r, d)] -= panel[panel_at(r, c)] * panel[panel_at(16 * b + d, c)];
        group_sync<BARRIER, COUNT>();
    }
    return 0;
}

}  // namespace tile
