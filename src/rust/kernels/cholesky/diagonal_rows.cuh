// The blocks that own rows of tiles at the diagonal in a Cholesky factorization in tiles.
#pragma once
#include "diagonal_tile.cuh"

namespace tile {

// Barriers between the halves of a block.
constexpr int SOLVED_BARRIER = 3;  // + b: panel b of the first half's tile is final
constexpr int LEFT_BARRIER = 7;    // the remainder of tile (i, i - 1) has been passed
constexpr int READY_BARRIER = 8;   // nothing is left to subtract from the diagonal tile

// A block that computes the last three tiles of rows i of L. Its first half computes tile (i, i -
// 2) and then (i, i - 1). Its second half meanwhile updates the tiles to their right. The chain of
// pivots, which takes the time for a small matrix, goes from block to block once per diagonal tile.
//
// Loops are short and hardly unrolled. Instructions that run for the first time, as here nearly all
// do, are fetched more slowly than they execute.
template <Layout LAYOUT>
struct Owner : Places<LAYOUT> {
    using typename Places<LAYOUT>::First;
    using typename Places<LAYOUT>::Second;
    using Places<LAYOUT>::diagonal, Places<LAYOUT>::letters, Places<LAYOUT>::left,
        Places<LAYOUT>::eliminated;
    using Wide = typename Second::P;
    const Board<LAYOUT>& board;

    __device__ __forceinline__ explicit Owner(const Board<LAYOUT>& its) : board(its) {}
    __device__ __forceinline__ First first() const {
        return {{board, diagonal(), board.word + CREW_WORDS}, letters()};
    }
    __device__ __forceinline__ Second second() const {
        return {board, left(), board.word + CREW_WORDS + 2};
    }

    // X = tile (i, j) of L, computed in place of its negated remainder, panel by panel as diagonal
    // tile j arrives.
    __device__ __forceinline__ void solve(const First& half, double* tile, int i, int j) const {
        const int r0 = half.thread() / 32 * 16;
        typename First::Base::template Letter<LETTER / 2 / CREW_SIZE> message;
        message.ask(board.letter(j, 0), 0);
#pragma unroll 1
        for (int b = 0; b < PANELS; ++b) {
            double* letter = letters() + b * LETTER;
            Block x, rest;
            block_load(rest, tile + b * PANEL, r0);
            message.take(half, board.letter(j, b), letter, b);
            if (b + 1 < PANELS) message.ask(board.letter(j, b + 1), b + 1);
            divide_block(x, rest, tile + b * PANEL, letter, letter + PANEL, r0, 16 * b);
            barrier_arrive(SOLVED_BARRIER + b, THREADS);
            if (j < i - 1) board.put_block(x, i, j, b, r0);
            else if (i + 1 < board.tiles) mail_block(x, board.left_letter(j, b), r0);
#pragma unroll 1
            for (int c = b + 1; c < PANELS; ++c) {
                Right right;
                right.load(letter, 16 * c);
                block_load(rest, tile + c * PANEL, r0);
                block_take_off(rest, x, right);
                block_store(rest, tile + c * PANEL, r0);
            }
        }
    }
    // The first half's part of row i before its diagonal tile. After a failure the result has no
    // meaning.
    __device__ __forceinline__ void first_half(int i) const {
        const First half = first();
        if (i >= 2) {
            typename First::P::Acc acc;
            half.sum(acc, i, i - 2, prepared(i), i - 2);
            half.deal(acc);
            half.sync();
        }
#pragma unroll 1
        for (int j = max(i - 2, 0); j < i; ++j) {
            if (j == i - 1) barrier_sync(LEFT_BARRIER, THREADS);
            solve(half, block_memory() + (j < i - 1 ? Places<LAYOUT>::SUMS : Places<LAYOUT>::LEFT),
                  i, j);
            if (j == i - 1) break;
            half.sync();
            if (half.thread() == 0) store_release(board.flag(i, j), 1);
        }
        barrier_sync(READY_BARRIER, THREADS);
    }

    // acc += Y X' for panels up to `last` of tile WHICH, where Y and X are 64 rows of a panel.
    // APART: the product is computed separately first, because acc may be much larger.
    template <int WHICH, bool APART>
    __device__ __forceinline__ void follow(typename Wide::Acc& acc, const double* y_panel,
                                           const double* x_panel, int last) const {
        const int lane = threadIdx.x & 31, g = lane >> 2, t = lane & 3,
                  wm = Wide::warp_row(Second::thread());
        // Rows 2g and 2g + 1, as accumulators of a product hold them.
        double fa[2][4];
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const double2 u =
                *reinterpret_cast<const double2*>(y_panel + panel_at(wm + 2 * g, 8 * half + 2 * t));
            const double2 v = *reinterpret_cast<const double2*>(
                y_panel + panel_at(wm + 2 * g + 1, 8 * half + 2 * t));
            fa[half][0] = u.x, fa[half][1] = v.x, fa[half][2] = u.y, fa[half][3] = v.y;
        }
        // Right operands are loaded one product ahead: the warp's part of the multiprocessor has
        // little else to do.
        Right right[2];
        right[0].load(x_panel, 0);
#pragma unroll
        for (int q = 0; q < PANELS; ++q) {
            if (q > last) break;
            if (q + 1 < PANELS) right[(q + 1) & 1].load(x_panel, 16 * (q + 1));
            double(&sum)[2][4] = acc[0][WHICH * PANELS + q];
            Block product;
            block_clear(product);
#pragma unroll
            for (int half = 0; half < 2; ++half)
#pragma unroll
                for (int h = 0; h < 2; ++h) {
                    const double2 w = right[q & 1].steps[half][h];
                    const double fb[2] = {w.x, w.y};
                    mma_16x8x8(APART ? product[h] : sum[h], fa[half], fb);
                }
            if (APART) block_add(sum, product);
        }
    }
    // Writes panel q of a tile to shared memory from accumulators.
    __device__ __forceinline__ void store(const double (&block)[2][4], double* tile, int q) const {
        const int lane = threadIdx.x & 31, g = lane >> 2, t = lane & 3,
                  wm = Wide::warp_row(Second::thread());
#pragma unroll
        for (int e = 0; e < 4; ++e)
            *reinterpret_cast<double2*>(tile + q * PANEL +
                                        panel_at(wm + 2 * g + (e & 1), (e >> 1) * 8 + 2 * t)) =
                make_double2(block[e >> 1][2 * (e & 1)], block[e >> 1][2 * (e & 1) + 1]);
    }
    // The second half's part of row i before its diagonal tile is factored. A sum that includes A
    // is rounded at A's size for every term. Hence A is added late, but before the results on which
    // others wait.
    __device__ __forceinline__ void second_half(int i) const {
        const Second half = second();
        const int columns = prepared(i), middle = max(columns, i - 3), warp = half.thread() / 32;
        typename Wide::Acc acc;
        Wide::clear(acc);
        if (columns > 0) {
            half.await_flag(board.flag(i, i - 1), 0);
            half.sync();
            half.await_flag(board.flag(i, i), 0);
        }
        // Loads A for one of the tiles.
        Block entries[PANELS];
        auto load = [&](int j) {
#pragma unroll
            for (int q = 0; q < PANELS; ++q) half.load_matrix(&entries[q][0][0], i, j, q);
        };
#pragma unroll 1
        for (int part = 0; part < 2; ++part) {
            half.accumulate(acc, i, i - 1, part == 0 ? columns : middle,
                            part == 0 ? middle : i - 2);
            if (part > 0) break;
            load(i - 1);
#pragma unroll
            for (int q = 0; q < PANELS; ++q) {
                block_negate(entries[q]);
                block_add(acc[0][q], entries[q]);
            }
        }
        for (int e = half.thread(); e < INVERSE; e += CREW_SIZE)
            eliminated().identity()[panel_at(e / 16, e % 16)] = e / 16 == e % 16;
        typename Second::template Letter<PANEL / 2 / CREW_SIZE> message;
        if (i >= 2) message.ask(board.left_letter(i - 2, 0), 0);
        // Column i - 2: first for tile (i, i - 1), for which the first half waits; then for (i, i),
        // with column i - 1.
        if (i >= 2)
#pragma unroll 1
            for (int b = 0; b < PANELS; ++b) {
                double* panel = half.slabs + b * PANEL;
                message.take(half, board.left_letter(i - 2, b), panel, 0);
                if (b + 1 < PANELS) message.ask(board.left_letter(i - 2, b + 1), 0);
                barrier_sync(SOLVED_BARRIER + b, THREADS);
                follow<0, true>(acc, diagonal() + b * PANEL, panel, PANELS - 1);
            }
        if (i >= 1) leave(half, acc);
        load(i);
#pragma unroll 1
        for (int b = i >= 2 ? -PANELS : 0; b < PANELS && i >= 1; ++b) {
            const double* panel = b < 0 ? diagonal() + (b + PANELS) * PANEL : left() + b * PANEL;
            if (b >= 0) barrier_sync(SOLVED_BARRIER + b, THREADS);
            follow<1, false>(acc, panel, panel, warp);
        }
#pragma unroll
        for (int q = 0; q < PANELS; ++q) {
            block_negate(acc[0][PANELS + q]);
            block_add(entries[q], acc[0][PANELS + q]);
            store(entries[q], diagonal(), q);
        }
        barrier_arrive(READY_BARRIER, THREADS);
        if (i >= 1) {
            put_tile(i, i - 1);
            half.sync();
            if (half.thread() == 0) store_release(board.flag(i, i - 1), 1);
        }
    }
    // Passes the remainder of tile (i, i - 1) to the first half.
    __device__ __forceinline__ void leave(const Second& half, const typename Wide::Acc& acc) const {
        half.sync();
#pragma unroll
        for (int q = 0; q < PANELS; ++q) store(acc[0][q], left(), q);
        barrier_arrive(LEFT_BARRIER, THREADS);
    }
    // The second half writes tile (i, j) of L to the matrix, from where the first half left it.
    __device__ __forceinline__ void put_tile(int i, int j) const {
        const int r0 = Second::thread() / 32 * 16;
#pragma unroll 1
        for (int b = 0; b < PANELS; ++b) {
            Block x;
            block_load(x, left() + b * PANEL, r0);
            board.put_block(x, i, j, b, r0);
        }
    }

    __device__ __forceinline__ static int prepared(int i) { return max(i - AHEAD, 0); }
};

// Separate functions, because inlined together they would exceed a thread's registers.
template <Layout LAYOUT>
__device__ __noinline__ void own_first_half(Board<LAYOUT> board, int i) {
    board.word = block_words();
    Owner<LAYOUT>(board).first_half(i);
}
template <Layout LAYOUT>
__device__ __noinline__ void own_second_half(Board<LAYOUT> board, int i) {
    board.word = block_words();
    Owner<LAYOUT>(board).second_half(i);
}
// Rows `first`, `first` + `step`, and so on.
template <Layout LAYOUT>
__device__ __forceinline__ void own(const Board<LAYOUT>& board, int first, int step) {
    const Diagonal<LAYOUT> tile(board);
    const bool first_half = threadIdx.x < CREW_SIZE;
    for (int i = first; i < board.tiles; i += step) {
        if (threadIdx.x == 0) board.word[FAILED] = board.failed();
        __syncthreads();
        if (board.word[FAILED]) return;
        if (first_half) own_first_half(board, i);
        else own_second_half(board, i);
        if (!(first_half ? tile.eliminate_panels(i) : tile.finish_panels(i))) return;
        __syncthreads();
    }
}

}  // namespace tile
