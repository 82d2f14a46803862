// Panels of tiles in shared memory, their 16 x 16 blocks in registers, and right-hand sides divided
// by a triangular block.
#pragma once
#include "tile_f64.cuh"

namespace tile {

constexpr int T = 64;           // order of a tile
constexpr int PANELS = T / 16;  // a panel: 16 columns of a tile

// A panel lies row by row, its 16-byte chunks permuted within a row so that neither a thread to a
// row nor the fragments of products meet in a bank.
__device__ __forceinline__ int panel_at(int r, int c) {
    return r * 16 + (c ^ ((r & 1) << 3 | (r & 6)));
}

// A block as an accumulator of a warp: of half h (8 columns), rows g and g + 8, columns 2t and 2t
// + 1. The same registers are the left operand of a product whose steps are dealt in pairs.
typedef double Block[2][4];

// -x by its sign alone: where products of the tensor core are under way, an operation on numbers
// waits for them.
__device__ __forceinline__ double negated(double x) {
    return __hiloint2double(__double2hiint(x) ^ (int)0x80000000, __double2loint(x));
}
__device__ __forceinline__ void block_negate(Block& x) {
#pragma unroll
    for (int e = 0; e < 8; ++e) x[e >> 2][e & 3] = negated(x[e >> 2][e & 3]);
}
// Where a lane's part of a block lies in a panel, from the block's first row on: that of a half.
__device__ __forceinline__ int block_at(int half) {
    const int lane = threadIdx.x & 31;
    return panel_at(lane >> 2, 2 * (lane & 3)) ^ (half << 3);
}
__device__ __forceinline__ void block_load(Block& x, const double* panel, int r0) {
#pragma unroll
    for (int h = 0; h < 2; ++h)
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            const double2 v =
                *reinterpret_cast<const double2*>(panel + block_at(h) + r0 * 16 + r * 128);
            x[h][2 * r] = v.x, x[h][2 * r + 1] = v.y;
        }
}
__device__ __forceinline__ void block_store(const Block& x, double* panel, int r0) {
#pragma unroll
    for (int h = 0; h < 2; ++h)
#pragma unroll
        for (int r = 0; r < 2; ++r)
            *reinterpret_cast<double2*>(panel + block_at(h) + r0 * 16 + r * 128) =
                make_double2(x[h][2 * r], x[h][2 * r + 1]);
}
// Rows q0 to q0 + 15 of a panel as the right operand of a product, transposed.
struct Right {
    double2 steps[2][2];

    __device__ __forceinline__ void load(const double* panel, int q0) {
#pragma unroll
        for (int half = 0; half < 2; ++half)
#pragma unroll
            for (int h = 0; h < 2; ++h)
                steps[half][h] =
                    *reinterpret_cast<const double2*>(panel + block_at(half) + q0 * 16 + h * 128);
    }
};
// acc += left right', or -= where SUBTRACT.
template <bool SUBTRACT = false>
__device__ __forceinline__ void block_multiply(Block& acc, const Block& left, const Right& right) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        double a[4] = {left[half][0], left[half][2], left[half][1], left[half][3]};
        if (SUBTRACT)
#pragma unroll
            for (int e = 0; e < 4; ++e) a[e] = negated(a[e]);
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            const double b[2] = {right.steps[half][h].x, right.steps[half][h].y};
            mma_16x8x8(acc[h], a, b);
        }
    }
}
template <bool SUBTRACT = false>
__device__ __forceinline__ void block_multiply(Block& acc, const Block& left, const double* panel,
                                               int q0) {
    Right right;
    right.load(panel, q0);
    block_multiply<SUBTRACT>(acc, left, right);
}
// x += y.
__device__ __forceinline__ void block_add(Block& x, const Block& y) {
#pragma unroll
    for (int e = 0; e < 8; ++e) x[e >> 2][e & 3] += y[e >> 2][e & 3];
}
__device__ __forceinline__ void block_clear(Block& x) {
#pragma unroll
    for (int e = 0; e < 8; ++e) x[e >> 2][e & 3] = 0;
}
// rest += left right', or -= where SUBTRACT, the product by itself first: what is left may be large
// beside what is taken off, and each addition to it is rounded at its size.
template <bool SUBTRACT = false>
__device__ __forceinline__ void block_take_off(Block& rest, const Block& left, const Right& right) {
    Block product;
    block_clear(product);
    block_multiply<SUBTRACT>(product, left, right);
    block_add(rest, product);
}
// rest <- rows r0 to r0 + 15 of panel b of `tile`, which hold what is left, negated, before its
// panels, X, were made; plus what X takes off: X L', L the rows of panel b in the panels `diagonal`
// of a diagonal tile.
__device__ __forceinline__ void subtract_panels(Block& rest, const double* tile,
                                                const double* diagonal, int stride, int b, int r0) {
    Block sum;
    block_clear(sum);
#pragma unroll 1
    for (int q = 0; q < b; ++q) {
        Block x;
        block_load(x, tile + q * T * 16, r0);
        block_multiply(sum, x, diagonal + q * stride, 16 * b);
    }
    block_load(rest, tile + b * T * 16, r0);
    block_add(rest, sum);
}

// The inverse of a lower triangular block is zero above its diagonal. Its last number of row 0 says
// that there is none; it is marked while columns of the inverse still lie as rows.
__device__ __forceinline__ void mark_no_inverse(double* columns) { columns[panel_at(15, 0)] = 1; }
__device__ __forceinline__ bool has_inverse(const double* inverse) {
    return inverse[panel_at(0, 15)] == 0;
}

// X L' = X by substitution in the rows r0 to r0 + 15 of `panel` whose bits are set in `rows`, by
// one warp; L: rows l0 to l0 + 15 of `diagonal`. For what cannot be multiplied by an inverse: an L
// or right-hand sides that are not finite, an L beyond the scale that an inverse can have.
static __device__ __noinline__ void substitute(double* panel, const double* diagonal, int r0,
                                               int l0, unsigned rows = 0xffff) {
    const int lane = threadIdx.x & 31;
    __syncwarp();
    if (rows >> lane & 1)
        for (int c = 0; c < 16; ++c) {
            double x = panel[panel_at(r0 + lane, c)];
            for (int d = 0; d < c; ++d)
                x -= panel[panel_at(r0 + lane, d)] * diagonal[panel_at(l0 + c, d)];
            panel[panel_at(r0 + lane, c)] = x / diagonal[panel_at(l0 + c, c)];
        }
    __syncwarp();
}

// X with X L' = -rest, kept in x and in rows r0 to r0 + 15 of `panel`; `rest` is used up. L: rows
// l0 to l0 + 15 of `diagonal`.
//
// X is a product with the inverse of L and then, once, with that of what is left over, -rest - X
// L': a step of iterative refinement, after which the residual is that of a substitution where the
// condition of L, its rows scaled alike, is below 1 / sqrt(eps). That of a factor in double
// precision is.
__device__ __forceinline__ void divide_block(Block& x, Block& rest, double* panel,
                                             const double* diagonal, const double* inverse, int r0,
                                             int l0) {
    if (has_inverse(inverse)) {
        Right by, back;
        by.load(inverse, 0);
        back.load(diagonal, l0);
        block_clear(x);
        block_multiply(x, rest, by);
        block_take_off<true>(rest, x, back);
        Block more;
        block_clear(more);
        block_multiply(more, rest, by);
        block_add(x, more);
        block_negate(x);
        block_store(x, panel, r0);
        return;
    }
#pragma unroll
    for (int e = 0; e < 8; ++e) x[e >> 2][e & 3] = negated(rest[e >> 2][e & 3]);
    block_store(x, panel, r0);
    substitute(panel, diagonal, r0, l0);
    block_load(x, panel, r0);
}

}  // namespace tile
