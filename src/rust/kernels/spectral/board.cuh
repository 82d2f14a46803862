// arch: sm_70
// Sums over all rows of products of 32 columns, X'Y, in a launch whose blocks are all resident.
//
// Only the lower triangle is computed, in 36 tiles of 4 x 4. Rows go by sets of 32, and chunks of
// sets: what a chunk adds is computed by one block. Blocks tell one another through a board of
// words, which are EMPTY until they are there: no other signal is needed. A warp adds what all
// chunks have for two entries, in an order that depends on the number of chunks alone.
//
// Eight threads share a tile and have four rows of a set each. They end with two entries each, so
// that a thread has a pair of entries, and the board 288 pairs for every chunk.
#pragma once
#include "tile_sync.cuh"

namespace board {

using tile::Word;

constexpr int SIDE = 32, SQUARE = SIDE * SIDE;  // columns of a panel, rows of a set
constexpr int THREADS = 288, WARPS = THREADS / 32, PAIRS = THREADS;
constexpr int EACH = 4;  // chunks for a lane: at most 128 altogether
// A NaN that is never written.
constexpr Word EMPTY = ~0ull;

__device__ __forceinline__ Word word(double x) {
    return x == x ? (Word)__double_as_longlong(x) : 0x7ff8000000000000ull;
}
__device__ __forceinline__ void put(Word* at, double x, double y) {
    tile::store_relaxed(at, word(x), word(y));
}
__device__ __forceinline__ double2 number(Word x, Word y) {
    return make_double2(__longlong_as_double((long long)x), __longlong_as_double((long long)y));
}

// Empties a board of an earlier launch, by all blocks.
__device__ __forceinline__ void clear(Word* words, i64 count) {
#pragma unroll 1
    for (i64 i = 2 * ((i64)blockIdx.x * THREADS + threadIdx.x); i < count;
         i += 2 * (i64)gridDim.x * THREADS)
        tile::store_relaxed(words + i, EMPTY, EMPTY);
}

// How rows are shared out. Block b has chunks b, b + gridDim.x, ...
struct Rows {
    int count, sets, chunks;  // rows, sets of a chunk, chunks

    // Calls f(slot, first row) for each set of the block, and g(chunk, slot) after those of a
    // chunk. The block's sets are numbered by slots.
    template <typename F, typename G>
    __device__ __forceinline__ int each(F f, G g) const {
        int slot = 0;
#pragma unroll 1
        for (int chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x) {
#pragma unroll 1
            for (int i = 0; i < sets; ++i) f(slot++, (chunk * sets + i) * SIDE);
            g(chunk, slot - sets);
        }
        return slot;
    }
    template <typename F>
    __device__ __forceinline__ int each(F f) const {
        return each(f, [](int, int) {});
    }
};

// Copies a set from global memory, columns contiguous; rows that do not exist are zero.
__device__ __forceinline__ void load_set(double* set, const double* from, i64 ld, int first,
                                         int rows) {
    const int row = first + threadIdx.x % 32, warp = threadIdx.x / 32;
    double x[EACH];
#pragma unroll
    for (int q = 0; q < EACH; ++q) {
        const int column = warp + q * WARPS;
        x[q] = column < SIDE && row < rows ? from[row + column * ld] : 0.0;
    }
#pragma unroll
    for (int q = 0; q < EACH; ++q) {
        const int column = warp + q * WARPS;
        if (column < SIDE) set[column * SIDE + threadIdx.x % 32] = x[q];
    }
}

// The sums of one product.
struct Sums {
    Word* words;  // those of all chunks, then PAIRS pairs for each chunk
    int chunks;
    int tile, group, row, column;  // the thread's pair is (row, column) and (row, column + 1)

    static __device__ __forceinline__ i64 size(int chunks) { return 2 * PAIRS * (i64)(chunks + 1); }

    __device__ __forceinline__ Sums(Word* at, int number)
        : words(at), chunks(number), tile(threadIdx.x / 8), group(threadIdx.x % 8) {
        row = 0;
        while ((row + 1) * (row + 2) / 2 <= tile) ++row;
        column = tile - row * (row + 1) / 2;
        row = 4 * row + group / 2;
        column = 4 * column + group % 2 * 2;
    }

    // What `sets` sets add to X'Y, as that of a chunk.
    __device__ __forceinline__ void add(int chunk, const double* x, const double* y, int sets) {
        double s[4][4] = {};
        const double* left = x + (row & ~3) * SIDE + 2 * group;
        const double* right = y + (column & ~3) * SIDE + 2 * group;
#pragma unroll 1
        for (int half = 0; half < 2 * sets; ++half) {
            double2 l[4], r[4];
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                l[i] = *reinterpret_cast<const double2*>(left + i * SIDE);
                r[i] = *reinterpret_cast<const double2*>(right + i * SIDE);
            }
#pragma unroll
            for (int i = 0; i < 4; ++i)
#pragma unroll
                for (int j = 0; j < 4; ++j) s[i][j] += l[i].x * r[j].x;
#pragma unroll
            for (int i = 0; i < 4; ++i)
#pragma unroll
                for (int j = 0; j < 4; ++j) s[i][j] += l[i].y * r[j].y;
            const int step = half % 2 ? SQUARE - SIDE / 2 : SIDE / 2;
            left += step;
            right += step;
        }
        // Of the eight threads' sums each keeps a half, a quarter, an eighth.
        double* e = &s[0][0];
#pragma unroll
        for (int d = 4; d > 0; d /= 2) {
            const bool upper = group & d;
#pragma unroll
            for (int i = 0; i < 2 * d; ++i) {
                const double give = upper ? e[i] : e[i + 2 * d],
                             keep = upper ? e[i + 2 * d] : e[i];
                e[i] = keep + __shfl_xor_sync(0xffffffffu, give, d);
            }
        }
        put(words + 2 * (PAIRS * (i64)(chunk + 1) + threadIdx.x), e[0], e[1]);
    }

    // Adds up the block's share of the entries.
    __device__ __forceinline__ void add_up() {
        const int lane = threadIdx.x % 32;
#pragma unroll 1
        for (int pair = blockIdx.x + threadIdx.x / 32 * gridDim.x; pair < PAIRS;
             pair += gridDim.x * WARPS) {
            Word x[EACH], y[EACH];
#pragma unroll
            for (int e = 0; e < EACH; ++e) x[e] = y[e] = lane + 32 * e < chunks ? EMPTY : 0;
            const Word* at = words + 2 * (PAIRS * (i64)(lane + 1) + pair);
            for (bool wait = true; wait;) {
                wait = false;
#pragma unroll
                for (int e = 0; e < EACH; ++e)
                    if (x[e] == EMPTY || y[e] == EMPTY)
                        tile::load_relaxed(at + 2 * PAIRS * 32 * (i64)e, x[e], y[e]);
#pragma unroll
                for (int e = 0; e < EACH; ++e) wait |= x[e] == EMPTY || y[e] == EMPTY;
            }
            double sx = 0, sy = 0;
#pragma unroll
            for (int e = 0; e < EACH; ++e) {
                const double2 z = number(x[e], y[e]);
                sx += z.x;
                sy += z.y;
            }
            __syncwarp();
            sx = warp_sum(sx);
            sy = warp_sum(sy);
            if (lane == 0) put(words + 2 * pair, sx, sy);
        }
    }

    // The sums, to a symmetric matrix of order SIDE, and `count` more words of the board, an even
    // number up to 2 (MORE) THREADS. Returns the thread's pair. All loads are in flight together.
    template <int MORE>
    __device__ __forceinline__ double2 read(double* matrix, const Word* from = nullptr,
                                            int count = 0, double* to = nullptr) const {
        Word x[MORE + 1], y[MORE + 1];
        const int first = 2 * threadIdx.x;
#pragma unroll
        for (int e = 0; e <= MORE; ++e)
            x[e] = y[e] = e == 0 || first + 2 * (e - 1) * THREADS < count ? EMPTY : 0;
        for (bool wait = true; wait;) {
            wait = false;
#pragma unroll
            for (int e = 0; e <= MORE; ++e)
                if (x[e] == EMPTY || y[e] == EMPTY)
                    tile::load_relaxed(e ? from + first + 2 * (e - 1) * THREADS : words + first,
                                       x[e], y[e]);
#pragma unroll
            for (int e = 0; e <= MORE; ++e) wait |= x[e] == EMPTY || y[e] == EMPTY;
        }
#pragma unroll
        for (int e = 1; e <= MORE; ++e) {
            const int at = first + 2 * (e - 1) * THREADS;
            if (at < count) *reinterpret_cast<double2*>(to + at) = number(x[e], y[e]);
        }
        const double2 sum = number(x[0], y[0]);
        if (row >= column) matrix[row * SIDE + column] = matrix[column * SIDE + row] = sum.x;
        if (row > column)
            matrix[row * SIDE + column + 1] = matrix[(column + 1) * SIDE + row] = sum.y;
        return sum;
    }
};

}  // namespace board
