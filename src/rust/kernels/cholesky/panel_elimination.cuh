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

// Pivots whose reciprocals and roots are far from the ends of the range.
constexpr double LEAST_PIVOT = 1e-290, LARGEST_PIVOT = 1e290;

// Doubles that a warp needs to hand round columns: two rounds of so many numbers, and of the next
// pivot.
constexpr int ROUND = 48, PASS = 2 * ROUND + 16;

// What the elimination of panels leaves in shared memory, in a panel's places. Of panel b in place
// b % 2: Y, its columns before their division by the roots of the pivots; M = -Y / pivots, in the
// rows below the diagonal block. Of each panel: the columns of the inverse of its diagonal block,
// as rows, before their division by the same roots; its pivots. And an identity.
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

// Eliminates columns 16 b to 16 b + 15 of the diagonal tile; by warps 0 to 3, of which those come
// that have something to make: warp 1 the inverse, the others a block of 16 rows each below the
// diagonal block. Whether the pivots are ordinary, of those a lane of warp 0 knows.
//
// All warps hold the rows of the diagonal block in their first 16 lanes; in the others, warp 1 has
// the identity, which becomes the inverse, and the others their rows. All lanes compute all pivots,
// from what is handed round a column ahead, so that a column costs no more than the way from one
// pivot to the next: p -> 1 / p -> the next, a - v v / p. Roots are left to others.
//
// Column c is in x[0] when its turn comes, the next in x[1]; what is beyond the last column has no
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
        // Asked for before anything is stored that the compiler must take for the same.
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
// barrier BARRIER: the 1-based column of the first pivot that is not greater than zero (NaN too),
// or 0.
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
