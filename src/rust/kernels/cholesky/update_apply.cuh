// Applies blocks of reflections to a warp's sixteen columns of a factor and of W = V'. See
// cholesky_update.cu.
//
// Lane (g, t), g = lane / 4 and t = lane % 4, has rows 2t and 2t + 1 of columns g and g + 8: entry
// 2 h + j is row 2t + j of column g + 8 h. Tensor cores leave a product in this order, and take a
// factor of the next one in it if rows keep this order.
#pragma once
#include "update_layout.cuh"

namespace reflect {

template <int K>
struct Columns {
    using L = Layout<K>;
    static constexpr int TILES = L::TILES, PITCH = L::PITCH;
    double w[TILES][4];  // eight rows of W each

    // u = W'Y.
    __device__ __forceinline__ void meet(const double* rows, int g, int t, double (&u)[4]) const {
        double more[4] = {0, 0, 0, 0};
#pragma unroll
        for (int e = 0; e < 4; ++e) u[e] = 0;
#pragma unroll
        for (int i = 0; i < TILES; ++i) {
            const double2 y = *reinterpret_cast<const double2*>(rows + g * PITCH + 8 * i + 2 * t);
            const double b[2] = {y.x, y.y}, a[4] = {w[i][0], w[i][2], w[i][1], w[i][3]};
            tile::mma_16x8x8(i % 2 ? more : u, a, b);
        }
        if constexpr (TILES > 1) {
#pragma unroll
            for (int e = 0; e < 4; ++e) u[e] += more[e];
        }
    }
    // W -= Y x'.
    __device__ __forceinline__ void leave(const double* rows, int g, int t, const double (&x)[4]) {
        const double a[4] = {-x[0], -x[2], -x[1], -x[3]};
#pragma unroll
        for (int i = 0; i < TILES; ++i) {
            const double b[2] = {rows[2 * t * PITCH + 8 * i + g],
                                 rows[(2 * t + 1) * PITCH + 8 * i + g]};
            tile::mma_16x8x8(w[i], a, b);
        }
    }

    // Applies the reflections to eight rows x.
    __device__ __forceinline__ void follow(const Slot<K>& slot, int g, int t, double kind,
                                           double (&x)[4]) {
        const double* rows = slot.rows;
        const double2 signs = *reinterpret_cast<const double2*>(slot.signs + 2 * t);
        if (fabs(slot.signs[0]) > 1) return follow_each(slot, g, t, kind, x);
        double u[4], n[4] = {0, 0, 0, 0};
        meet(rows, g, t, u);
#pragma unroll
        for (int e = 0; e < 4; ++e) {
            x[e] *= e % 2 ? signs.y : signs.x;
            u[e] = fma(kind, u[e], x[e]);
        }
        const double2 l = *reinterpret_cast<const double2*>(rows + g * PITCH + K + 2 * t);
        const double a[4] = {u[0], u[2], u[1], u[3]}, b[2] = {l.x, l.y};
        tile::mma_16x8x8(n, a, b);
        leave(rows, g, t, n);
#pragma unroll
        for (int e = 0; e < 4; ++e) x[e] = n[e] - x[e];
    }

    // The same, one row after the other.
    __device__ __forceinline__ void follow_each(const Slot<K>& slot, int g, int t, double kind,
                                                double (&x)[4]) {
#pragma unroll 1
        for (int i = 0; i < ROWS; ++i) {
            const double own = slot.rows[i * PITCH + K + i], sign = with_sign(1.0, slot.signs[i]);
            double u[4], n[4];
            meet(slot.rows, g, t, u);
#pragma unroll
            for (int e = 0; e < 4; ++e) {
                const bool mine = 2 * t + e % 2 == i;
                n[e] = mine ? own * fma(kind, u[e], sign * x[e]) : 0;
            }
            leave(slot.rows, g, t, n);
#pragma unroll
            for (int e = 0; e < 4; ++e)
                if (2 * t + e % 2 == i) x[e] = n[e] - sign * x[e];
        }
    }
};

}  // namespace reflect
