// The way of a tile of a product from the accumulators to C, and to its mirror image.
#pragma once
#include "tile_f64.cuh"

namespace tile {

// BOTH: the lower triangle is computed and stored twice, at (i, j) and at (j, i).
enum Triangle { FULL = 0, LOWER = 1, UPPER = 2, BOTH = 3 };

// C <- alpha acc + beta C; C is not read when beta is zero.
struct Scale {
    double alpha, beta;
};

// The part of a tile that is stored: rows and columns from a first to before a last one, counted in the tile.
struct Window {
    int row0, row1, col0, col1;
    __device__ __forceinline__ bool has(int row, int col) const {
        return row >= row0 && row < row1 && col >= col0 && col < col1;
    }
};

// All of a tile, two elements at a time: neighbours in a column of C (ALONG_ROWS: rows are 1 apart, columns `stride`) or in a
// row. Old values are fetched ahead of the stores, so that their latencies overlap.
template <class P, bool ALONG_ROWS>
__device__ __forceinline__ void store_pairs(const typename P::Acc& acc, double* c, i64 stride, Scale scale) {
    const int thread = thread_again();
    const int row = P::warp_row(thread) + ((thread & 31) >> 2) * 2, col = P::warp_col(thread) + (thread & 3) * 2;
    double* at = c + (ALONG_ROWS ? row + col * stride : row * stride + col);
    constexpr int AT_ONCE = 2;
#pragma unroll
    for (int ij = 0; ij < P::FM * P::FN; ij += AT_ONCE) {
        auto place = [&](int b, int v) {
            const int i = (ij + b) / P::FN, j = (ij + b) % P::FN, h = v >> 1, u = v & 1;
            return reinterpret_cast<double2*>(ALONG_ROWS ? at + 16 * i + (16 * j + 8 * h + u) * stride
                                                         : at + (16 * i + u) * stride + 16 * j + 8 * h);
        };
        // Unknown to the compiler, so that it neither keeps multiples of all accumulators from one image to the next nor makes
        // one version for each beta.
        asm volatile("" : "+d"(scale.alpha), "+d"(scale.beta));
        double2 old[AT_ONCE][4];
#pragma unroll
        for (int b = 0; b < AT_ONCE; ++b)
#pragma unroll
            for (int v = 0; v < 4; ++v) old[b][v] = make_double2(0, 0);
        if (scale.beta != 0) {
#pragma unroll
            for (int b = 0; b < AT_ONCE; ++b)
#pragma unroll
                for (int v = 0; v < 4; ++v) old[b][v] = *place(b, v);
        }
#pragma unroll
        for (int b = 0; b < AT_ONCE; ++b)
#pragma unroll
            for (int v = 0; v < 4; ++v) {
                const double(&four)[4] = acc[(ij + b) / P::FN][(ij + b) % P::FN][v >> 1];
                const double x = ALONG_ROWS ? four[v & 1] : four[2 * (v & 1)];
                const double y = ALONG_ROWS ? four[2 + (v & 1)] : four[2 * (v & 1) + 1];
                *place(b, v) = make_double2(scale.alpha * x + scale.beta * old[b][v].x,
                                            scale.alpha * y + scale.beta * old[b][v].y);
            }
    }
}

// Any part of a tile, to any strides: each warp brings 16 rows and 32 columns at a time in order through its share of `stage`,
// and its lanes then store neighbours along the shorter stride. `below`: how far row 0 of the tile lies below its column 0.
template <class P>
__device__ __forceinline__ void store_any(const typename P::Acc& acc, double* stage, double* c, i64 rs, i64 cs, Scale scale,
                                          Window window, int triangle, i64 below) {
    const int thread = thread_again(), lane = thread & 31, g = lane >> 2, t = lane & 3;
    constexpr int ACROSS = P::FN / 2;
    static_assert(P::FN % 2 == 0 && P::WARPS * 512 * 8 <= P::STAGE, "");
    stage += (thread >> 5) * 512;
    auto place = [](int row, int col) { return col * 16 + (row ^ (((col >> 1) & 3) << 2)); };
    const bool along_rows = (rs < 0 ? -rs : rs) <= (cs < 0 ? -cs : cs);
#pragma unroll 1
    for (int block = 0; block < P::FM * ACROSS; ++block) {
        __syncwarp();
#pragma unroll
        for (int b = 0; b < P::FM * ACROSS; ++b) {
            if (b != block) continue;
#pragma unroll
            for (int v = 0; v < 8; ++v) {
                const double(&four)[4] = acc[b / ACROSS][b % ACROSS * 2 + (v >> 2)][(v >> 1) & 1];
                *reinterpret_cast<double2*>(stage + place(2 * g, (v >> 1) * 8 + 2 * t + (v & 1))) =
                    make_double2(four[v & 1], four[2 + (v & 1)]);
            }
        }
        __syncwarp();
        const int row0 = P::warp_row(thread) + block / ACROSS * 16, col0 = P::warp_col(thread) + block % ACROSS * 32;
#pragma unroll 1
        for (int x = 0; x < 16; x += 4) {
            double* to[4];
            double value[4], old[4];
            bool on[4];
#pragma unroll
            for (int y = 0; y < 4; ++y) {
                const int row = along_rows ? lane & 15 : y * 4 + (lane >> 3);
                const int col = along_rows ? 2 * (x + y) + (lane >> 4) : x * 2 + (lane & 7);
                const i64 under = below + row0 + row - col0 - col;
                on[y] = window.has(row0 + row, col0 + col) &&
                        (triangle == FULL || (triangle == UPPER ? under <= 0 : under >= 0));
                value[y] = stage[place(row, col)];
                to[y] = c + (row0 + row) * rs + (col0 + col) * cs;
                old[y] = on[y] && scale.beta != 0 ? *to[y] : 0;
            }
#pragma unroll
            for (int y = 0; y < 4; ++y)
                if (on[y]) *to[y] = scale.alpha * value[y] + scale.beta * old[y];
        }
    }
}

// A tile whose first element belongs at (i0, j0) of C.
template <class P>
__device__ __forceinline__ void store_tile(const typename P::Acc& acc, double* stage, double* c, i64 rs, i64 cs, i64 i0, i64 j0,
                                           Scale scale, Window window, int triangle) {
    const bool inside = triangle == FULL || (triangle == UPPER ? i0 + P::LINES_M - 1 <= j0 : i0 >= j0 + P::LINES_N - 1);
    const bool whole = inside && window.row0 == 0 && window.col0 == 0 && window.row1 == P::LINES_M && window.col1 == P::LINES_N;
    const auto paired = [](const double* p, i64 stride) { return (((unsigned long long)p & 15) | (stride & 1)) == 0; };
#pragma unroll 1
    for (int image = 0; image < (triangle == BOTH ? 2 : 1); ++image) {
        double* to = c + i0 * rs + j0 * cs;
        if (whole && rs == 1 && paired(to, cs)) store_pairs<P, true>(acc, to, cs, scale);
        else if (whole && cs == 1 && paired(to, rs)) store_pairs<P, false>(acc, to, rs, scale);
        else store_any<P>(acc, stage, to, rs, cs, scale, window, triangle, i0 - j0);
        const i64 other = rs;
        rs = cs, cs = other;
    }
}

}  // namespace tile
