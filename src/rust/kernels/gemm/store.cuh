// Writes a tile of a product from the accumulators to C, and to its mirror image.
#pragma once
#include "common.cuh"

namespace tile {

// BOTH: the lower triangle is computed and stored twice, at (i, j) and at (j, i).
enum Triangle { FULL = 0, LOWER = 1, UPPER = 2, BOTH = 3 };

// C <- alpha acc + beta C; C is not read when beta is zero.
template <typename Real>
struct Scale {
    Real alpha, beta;
};

// The part of a tile that is stored: a range of rows, a range of columns, each counted in the tile
// and without its end, and a range of diagonals (row - column) with its end.
struct Window {
    int row0, row1, col0, col1, low, high;
    __device__ __forceinline__ bool has(int row, int col) const {
        return row >= row0 && row < row1 && col >= col0 && col < col1 && row - col >= low &&
               row - col <= high;
    }
};

// One definition per type of element. Stores a tile in pieces of 16 bytes, neighbours in a column
// of C (ALONG_ROWS: rows are 1 apart, columns `stride`) or in a row. It stores all of the tile
// along this dimension, and from `first` to before `last` along the other.
template <class P, bool ALONG_ROWS>
__device__ __forceinline__ void store_packed(const typename P::Acc& acc, typename P::Real* c,
                                             i64 stride, Scale<typename P::Real> scale, int first,
                                             int last);
// Stores any part of a tile, with any strides. `stage`: unused memory for one slab of the product.
template <class P>
__device__ __forceinline__ void store_any(const typename P::Acc& acc, typename P::Real* stage,
                                          typename P::Real* c, i64 rs, i64 cs,
                                          Scale<typename P::Real> scale, Window window);

// Stores rows row0 to row1 and columns col0 to col1 of a tile whose first element belongs at (i0,
// j0) of C.
template <class P>
__device__ __forceinline__ void store_tile(const typename P::Acc& acc, typename P::Real* stage,
                                           typename P::Real* c, i64 rs, i64 cs, i64 i0, i64 j0,
                                           Scale<typename P::Real> scale, int row0, int row1,
                                           int col0, int col1, int triangle) {
    using Real = typename P::Real;
    // The diagonal of C in the tile's coordinates, or one beyond the tile's corners.
    constexpr int FAR = P::LINES_M + P::LINES_N;
    const int diagonal = (int)max(min(j0 - i0, (i64)FAR), (i64)-FAR);
    Window window = {row0,
                     row1,
                     col0,
                     col1,
                     triangle == LOWER || triangle == BOTH ? diagonal : -FAR,
                     triangle == UPPER ? diagonal : FAR};
    const bool inside = window.low <= 1 - P::LINES_N && window.high >= P::LINES_M - 1;
    const bool rows = inside && row0 == 0 && row1 == P::LINES_M,
               cols = inside && col0 == 0 && col1 == P::LINES_N;
    const auto packed = [](const Real* p, i64 stride) {
        return (((unsigned long long)p & 15) | (stride & (16 / sizeof(Real) - 1))) == 0;
    };
#pragma unroll 1
    for (int image = 0; image < (triangle == BOTH ? 2 : 1); ++image) {
        Real* to = c + i0 * rs + j0 * cs;
        if (rows && rs == 1 && packed(to, cs))
            store_packed<P, true>(acc, to, cs, scale, col0, col1);
        else if (cols && cs == 1 && packed(to, rs))
            store_packed<P, false>(acc, to, rs, scale, row0, row1);
        else store_any<P>(acc, stage, to, rs, cs, scale, window);
        // The mirror image is stored without the diagonal, which the first pass has stored.
        const i64 other = rs;
        rs = cs, cs = other;
        window.low = diagonal + 1;
    }
}

}  // namespace tile
