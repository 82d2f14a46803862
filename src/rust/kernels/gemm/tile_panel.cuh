// Panels of tiles in shared memory, their 16 x 16 blocks in registers, and the division of
// right-hand sides by a triangular block.
#pragma once
#include "tile_f64.cuh"

namespace tile {

constexpr int T = 64;           // order of a tile
constexpr int PANELS = T / 16;  // a panel: 16 columns of a tile

// The place of element (r, c) in a panel. Rows are contiguous; the 16-byte chunks of a row are
// permuted so that neither one thread per row nor fragments of products have bank conflicts.
__device__ __forceinline__ int panel_at(int r, int c) {
    return r * 16 + (c ^ ((r & 1) << 3 | (r & 6)));
}

// A block as the accumulator of a warp: half h (8 columns) has rows g and g + 8, columns 2t and 2t
// + 1. The same registers are the left operand of a product whose steps are assigned in pairs.
typedef double Block[2][4];

// -x by its sign bit: while products of the tensor core are in flight, a floating-point operation
// waits for them.
__device__ __forceinline__ double negated(double x) {
    return __hiloint2double(__double2hiint(x) ^ (int)0x80000000, __double2loint(x));
}
__device__ __forceinline__ void block_negate(Block& x) {
#pragma unroll
    for (int e = 0; e < 8; ++e) x[e >> 2][e & 3] = negated(x[e >> 2][e & 3]);
}
// The place of a lane's part of a block in a panel, counted from the block's first row, for one
// half.
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
// acc += left right', or acc -= left right' if SUBTRACT.
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
// rest += left right', or -= if SUBTRACT. The product is computed first: `rest` may be much larger
// than the product, and each addition to it is rounded at the size of `rest`.
template <bool SUBTRACT = false>
__device__ __forceinline__ void block_take_off(Block& rest, const Block& left, const Right& right) {
    Block product;
    block_clear(product);
    block_multiply<SUBTRACT>(product, left, right);
    block_add(rest, product);
}
// rest <- rows r0 to r0 + 15 of panel b of `tile` plus X L'. The panels of `tile` before b are X;
// panel b holds the negated remainder. L is the rows of panel b in the panels `diagonal` of a
// diagonal tile.
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

// The inverse of a lower triangular block is zero above its diagonal. The last number of its row 0
// marks a block without an inverse. The mark is set while columns of the inverse are stored as
// rows.
__device__ __forceinline__ void mark_no_inverse(double* columns) { columns[panel_at(15, 0)] = 1; }
__device__ __forceinline__ bool has_inverse(const double* inverse) {
    return inverse[panel_at(0, 15)] == 0;
}

// X L' = X by substitution, in rows r0 to r0 + 15 of `panel` whose bits are set in `rows`, by one
// warp. L: rows l0 to l0 + 15 of `diagonal`. This serves what an inverse cannot: non-finite L or
// right-hand sides, and an L beyond the scale for which an inverse exists.
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

// Computes X with X L' = -rest, in x and in rows r0 to r0 + 15 of `panel`; `rest` is overwritten.
// L: rows l0 to l0 + 15 of `diagonal`.
//
// X is the product of `-rest` with the inverse of L, and then of the residual -rest - X L': one
// step of iterative refinement. After it the residual is that of substitution, if the condition
// number of L with rows scaled alike is below 1 / sqrt(eps). A factor in double precision satisfies
// this.
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
