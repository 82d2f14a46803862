// The block that owns the diagonal of a Cholesky factorization in tiles.
#pragma once
#include "tile_board.cuh"
#include "tile_pivot.cuh"

namespace tile {

// The block's warps: 0, 1 and 4 factor diagonal tiles, 5 is their clerk, 2, 3, 6 and 7 help. A multiprocessor has four parts, a warp
// is in that of its number modulo 4, and a product on a part's tensor core holds up every other operation in double precision
// there, more than ten times: while warps 0 and 1 go from pivot to pivot, nothing else may be computed beside them.
constexpr int HALF = THREADS / 2;
constexpr int FACTORING = 96;                            // threads that factor
constexpr int FACTOR_BARRIER = 1, HELP_BARRIER = 2;      // among those that factor, or help
constexpr int FACTORED_BARRIER = 3, CLERK_BARRIER = 10;  // + b: panel b of the diagonal tile is factored, for those that help; the clerk
constexpr int READY_BARRIER = 7;  // nothing is left to subtract from panel 0 of the next diagonal tile
constexpr int ALL_READY_BARRIER = 8;  // nor from the rest, and the clerk is done with the one before: all threads
constexpr int NOT_CLERK = HALF + FACTORING;  // threads

// L(i, i), L(i + 1, i) and what is left of (i + 1, i + 1) are made here, one i after the other, so that the way from pivot to
// pivot, which is what a small matrix takes, never leaves the multiprocessor. Row i + 1 of tiles is prepared by a scout, and comes
// by mail.
template <Layout LAYOUT>
struct Leader {
    static constexpr int BYTES = (3 * PANELS * PANEL + PANELS * INVERSE + 2 * PASS) * 8;
    const Board<LAYOUT>& board;
    double* shared;

    __device__ __forceinline__ double* diagonal(int i) const { return shared + (i & 1) * PANELS * PANEL; }
    __device__ __forceinline__ double* left() const { return shared + 2 * PANELS * PANEL; }
    __device__ __forceinline__ double* inverses() const { return shared + 3 * PANELS * PANEL; }
    __device__ __forceinline__ double* scratch() const { return inverses() + PANELS * INVERSE; }

    // Tile (0, 0), with ones on the diagonal past its end.
    __device__ __forceinline__ void first_tile() const {
        double* to = diagonal(0);
#pragma unroll
        for (int q = 0; q < T * T / THREADS; ++q) {
            const int e = threadIdx.x + q * THREADS;
            const int r = LAYOUT == LINES ? e % T : e / T, c = LAYOUT == LINES ? e / T : e % T;
            const double x = load_if(r < board.n && r >= c, board.a + board.offset(r, c), r == c ? 1 : 0);
            to[c / 16 * PANEL + panel_at(r, c % 16)] = x;
        }
    }

    // Number of a warp in its half, and of a thread.
    static __device__ __forceinline__ int warp() { return (threadIdx.x >> 7) * 2 + (threadIdx.x >> 5 & 1); }
    static __device__ __forceinline__ int thread() { return warp() * 32 + (threadIdx.x & 31); }

    // Block (r, b + 1) of a diagonal tile, after panels up to b: what those take off.
    static __device__ __forceinline__ void update(double* tile, int b, int r) {
        double* target = tile + (b + 1) * PANEL;
        Block rest;
        block_load(rest, target, 16 * r);
#pragma unroll 1
        for (int q = 0; q <= b; ++q) {
            Block x;
            block_load(x, tile + q * PANEL, 16 * r);
            block_multiply<true>(rest, x, tile + q * PANEL, 16 * (b + 1));
        }
        block_store(rest, target, 16 * r);
    }
    __device__ __forceinline__ void factor_tiles() const {
        const int warp = this->warp();
        for (int i = 0; i < board.tiles; ++i) {
            double* tile = diagonal(i);
            if (i > 0) barrier_sync(READY_BARRIER, NOT_CLERK);
#pragma unroll 1
            for (int b = 0; b < PANELS; ++b) {
                double* panel = tile + b * PANEL;
                double* inverse = inverses() + INVERSE * b;
                const int mark = i * PANELS + b + 1;
                if (warp < 2) {
                    const int found = factor_panel(panel, inverse, scratch() + warp * PASS, b, warp);
                    if (warp == 1 && (threadIdx.x & 31) == 0) board.word[EXACT + b] = found == EXACT_INVERSE;
                    if (found == NOT_ORDINARY && thread() == 0) board.word[UNUSUAL] = mark;
                }
                group_sync<FACTOR_BARRIER, FACTORING>();
                if (board.word[UNUSUAL] == mark) {
                    const int bad = factor_panel_any<FACTOR_BARRIER, FACTORING>(panel, inverse, b, thread());
                    if (bad && thread() == 0) {
                        board.word[FAILED] = mark;
                        store_release(board.info, i * T + 16 * b + bad);
                    }
                    group_sync<FACTOR_BARRIER, FACTORING>();
                }
                barrier_arrive(FACTORED_BARRIER + b, NOT_CLERK);
                if (board.word[FAILED] == mark || b == PANELS - 1) barrier_arrive(CLERK_BARRIER + b, HALF);
                if (board.word[FAILED] == mark) return;
                if (b == PANELS - 1) break;
                if (b == 0 && i > 0) barrier_sync(ALL_READY_BARRIER, THREADS);
                // The rest of the panel: rows from b + 2 on, by one warp each; then the next panel.
                const int r = b + 1 + warp;
                if (r < PANELS) {
                    if (warp > 0) {
                        Block x, rest;
                        block_load(rest, panel, 16 * r);
                        block_negate(rest);
                        divide_block(x, rest, panel, panel, inverse, 16 * r, 16 * b, board.word[EXACT + b]);
                    }
                    update(tile, b, r);
                }
                barrier_arrive(CLERK_BARRIER + b, HALF);
                group_sync<FACTOR_BARRIER, FACTORING>();
            }
        }
    }
    // The clerk puts panels of diagonal tiles into the mail, and into their place.
    __device__ __forceinline__ void keep_record() const {
        const int lane = threadIdx.x & 31;
        for (int i = 0; i < board.tiles; ++i)
#pragma unroll 1
            for (int b = 0; b < PANELS; ++b) {
                const double* panel = diagonal(i) + b * PANEL;
                barrier_sync(CLERK_BARRIER + b, HALF);
                if (board.word[FAILED] == i * PANELS + b + 1) return;
                if (i + 2 < board.tiles) {
                    board.template mail_diagonal<32>(lane, panel, inverses() + b * INVERSE, i, b);
                    __syncwarp();
                    if (lane == 0) store_release(board.progress + i, b + 1);
                }
                board.template put_diagonal<32>(lane, panel, i, b);
                if (b == PANELS - 1 && i + 1 < board.tiles) barrier_arrive(ALL_READY_BARRIER, THREADS);
            }
    }

    // left() <- what is left of tile (i, i - 1), negated, as soon as it is in the mail; by the second half.
    __device__ __forceinline__ void receive(int i) const {
        constexpr int EACH = PANELS * PANEL / 2 / HALF;
        double* to = left();
        const double* from = board.rest_letter(i, 0, 0) + 2 * thread();
        Word x[EACH][2];
        bool missing;
        do {
            missing = false;
#pragma unroll
            for (int q = 0; q < EACH; ++q) load_relaxed(reinterpret_cast<const Word*>(from + 2 * q * HALF), x[q][0], x[q][1]);
#pragma unroll
            for (int q = 0; q < EACH; ++q) missing |= (x[q][0] == NOTHING) | (x[q][1] == NOTHING);
        } while (missing && !board.failed());
#pragma unroll
        for (int q = 0; q < EACH; ++q)
            *reinterpret_cast<double2*>(to + 2 * (thread() + q * HALF)) =
                make_double2(__longlong_as_double(x[q][0]), __longlong_as_double(x[q][1]));
    }
    // x <- 16 rows of a panel as mailed; and whether one of them is not there yet.
    static __device__ __forceinline__ void receive_block(Block& x, const double* letter, int r0) {
        const int lane = threadIdx.x & 31, g = lane >> 2, t = lane & 3;
#pragma unroll
        for (int e = 0; e < 4; ++e) {
            Word u, v;
            load_relaxed(reinterpret_cast<const Word*>(letter + panel_at(r0 + 8 * (e & 1) + g, 8 * (e >> 1) + 2 * t)), u, v);
            x[e >> 1][2 * (e & 1)] = __longlong_as_double(u), x[e >> 1][2 * (e & 1) + 1] = __longlong_as_double(v);
        }
    }
    static __device__ __forceinline__ bool missing(const Block& x) {
        bool some = false;
#pragma unroll
        for (int e = 0; e < 8; ++e) some |= (Word)__double_as_longlong(x[e >> 2][e & 3]) == NOTHING;
        return some;
    }
    // The second half: each warp divides 16 rows of tile (i + 1, i), panel by panel, and takes them off its rows of (i + 1, i + 1).
    __device__ __forceinline__ void help_tiles() const {
        // Rows 0 and 3, and 1 and 2, share a part: the lower triangle is work for each alike.
        const int warp = this->warp() < 2 ? this->warp() : 5 - this->warp(), r0 = 16 * warp;
        for (int i = 0; i < board.tiles; ++i) {
            const double* tile = diagonal(i);
            double* next = diagonal(i + 1);
            const bool more = i + 1 < board.tiles, mail = i + 2 < board.tiles;
            Block below[PANELS];
            if (more) {
                receive(i + 1);
                group_sync<HELP_BARRIER, HALF>();
#pragma unroll
                for (int e = 0; e < 8 * PANELS; ++e) below[e >> 3][e >> 2 & 1][e & 3] = 0;
            }
#pragma unroll 1
            for (int b = 0; b < PANELS; ++b) {
                const double* panel = tile + b * PANEL;
                double* x_panel = left() + b * PANEL;
                const bool last = b == PANELS - 1, add = b == 1 && more;
                Block x, rest, corner[PANELS];
                if (more) subtract_panels(rest, left(), tile, PANEL, b, r0);
                barrier_sync(FACTORED_BARRIER + b, NOT_CLERK);
                if (board.word[FAILED] == i * PANELS + b + 1) return;
                if (!more) continue;
                // What is left of (i + 1, i + 1) comes a little after what is left of (i + 1, i).
                if (add)
#pragma unroll
                    for (int c = 0; c < PANELS; ++c)
                        if (c <= warp) receive_block(corner[c], board.rest_letter(i + 1, 1, c), r0);
                divide_block(x, rest, x_panel, panel, inverses() + b * INVERSE, r0, 16 * b, board.word[EXACT + b]);
                group_sync<HELP_BARRIER, HALF>();
#pragma unroll
                for (int c = 0; c < PANELS; ++c) {
                    if (c <= warp) {
                        block_multiply(below[c], x, x_panel, 16 * c);
                        if (last) {
                            block_negate(below[c]);
                            block_store(below[c], next + c * PANEL, r0);
                        }
                    }
                    if (last && c == 0) barrier_arrive(READY_BARRIER, NOT_CLERK);
                    if (mail && c == 0) mail_block(x, board.left_letter(i, b), r0);
                }
                if (last) barrier_arrive(ALL_READY_BARRIER, THREADS);
                if (add)
#pragma unroll
                    for (int c = 0; c < PANELS; ++c)
                        if (c <= warp) {
                            while (__any_sync(0xffffffffu, missing(corner[c]) && !board.failed()))
                                receive_block(corner[c], board.rest_letter(i + 1, 1, c), r0);
#pragma unroll
                            for (int e = 0; e < 8; ++e) below[c][e >> 2][e & 3] += corner[c][e >> 2][e & 3];
                        }
                board.put_block(x, i + 1, i, b, r0);
            }
            group_sync<HELP_BARRIER, HALF>();
            if (thread() == 0 && more) store_release(board.flag(i + 1, i), 1);
        }
    }

    __device__ __forceinline__ void run() const {
        if (threadIdx.x == 0) board.word[UNUSUAL] = 0, board.word[FAILED] = 0;
        first_tile();
        __syncthreads();
        if ((threadIdx.x & 64) != 0) help_tiles();
        else if (warp() < FACTORING / 32) factor_tiles();
        else keep_record();
    }
};

}  // namespace tile
