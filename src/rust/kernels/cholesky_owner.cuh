// The blocks that own rows of tiles at the diagonal of a Cholesky factorization in tiles.
#pragma once
#include "cholesky_maker.cuh"
#include "tile_pivot.cuh"

namespace tile {

constexpr int SOLVED_BARRIER = 3;   // + b: panel b of the tile in the first half's hands is made
constexpr int LEFT_BARRIER = 7;     // what is left of tile (i, i - 1) is where the first half takes it up
constexpr int READY_BARRIER = 10;   // nothing is left to subtract from the diagonal tile
constexpr int ANY_BARRIER = 11;      // among those that factor a panel of any pivots
constexpr int ELIMINATED_BARRIER = 12, FINISHED_BARRIER = 14;  // + b % 2: panel b is

template <Layout LAYOUT>
__device__ __noinline__ bool own_factor_any(Board<LAYOUT> board, int i, int b);

// Panel b of the diagonal tile eliminated, by warps 0 to 3. REHEARSAL in place of b: of numbers that mean nothing, where letters go.
constexpr int REHEARSAL = -1;
template <Layout LAYOUT>
__device__ __noinline__ bool own_eliminate(int b, int warp) {
    constexpr int LETTERS = Maker<LAYOUT>::P::BYTES / 8, BEHIND = Maker<LAYOUT>::BYTES / 8 + PANELS * PANEL;
    const int more = b == REHEARSAL ? LETTERS + Eliminated::INVERSES - PANEL : BEHIND, panel = max(b, 0);
    return eliminate(block_memory() + panel * PANEL, Eliminated{block_memory() + LETTERS, block_memory() + more}, panel, warp);
}

// A block that makes the last three tiles of rows i of L. Tile (i, i - 2), then (i, i - 1), is made by its first half, the tiles
// to their right are kept up with by its second, and the diagonal tile is factored by all: the way from pivot to pivot, which is
// what a small matrix takes, goes from block to block once for each diagonal tile. A multiprocessor has four parts, a warp is in
// that of its number modulo 4, and a product on a part's tensor core holds up every other operation in double precision there,
// more than ten times: while warps go from pivot to pivot, nothing else is computed in their block.
template <Layout LAYOUT>
struct Owner {
    using First = Maker<LAYOUT>;
    using Second = Crew<LAYOUT, 2, 1>;
    using Wide = typename Second::P;
    static constexpr int BYTES = First::BYTES + Wide::BYTES;
    const Board<LAYOUT>& board;
    double* shared;

    // Shared memory: slabs of the first half, then tile (i, i - 2), then the diagonal tile; letters, then its inverses and what its
    // factorization hands round; slabs of the second half, then tile (i - 1, i - 2), then tile (i, i - 1).
    __device__ __forceinline__ double* diagonal() const { return shared; }
    __device__ __forceinline__ double* image() const { return shared + First::P::BYTES / 8; }
    __device__ __forceinline__ double* wide() const { return shared + First::BYTES / 8; }
    __device__ __forceinline__ Second second() const { return {board, wide(), board.word + CREW_WORDS + 2}; }

    // X = tile (i, j) of L in place of what is left of it, negated, panel by panel as diagonal tile j comes.
    __device__ __forceinline__ void solve(const First& half, double* tile, int i, int j) const {
        const int r0 = half.thread() / 32 * 16;
        typename First::Base::template Letter<LETTER / 2 / CREW_SIZE> mail;
        mail.ask(board.letter(j, 0), 0);
#pragma unroll 1
        for (int b = 0; b < PANELS; ++b) {
            double* letter = image() + b * LETTER;
            Block x, rest;
            block_load(rest, tile + b * PANEL, r0);
            mail.take(half, board.letter(j, b), letter, b);
            if (b + 1 < PANELS) mail.ask(board.letter(j, b + 1), b + 1);
            divide_block(x, rest, tile + b * PANEL, letter, letter + PANEL, r0, 16 * b);
            barrier_arrive(SOLVED_BARRIER + b, THREADS);
            if (j < i - 1) board.put_block(x, i, j, b, r0);
            else if (i + 1 < board.tiles) mail_block(x, board.left_letter(j, b), r0);
#pragma unroll 1
            for (int c = b + 1; c < PANELS; ++c) {
                block_load(rest, tile + c * PANEL, r0);
                block_multiply(rest, x, letter, 16 * c);
                block_store(rest, tile + c * PANEL, r0);
            }
        }
    }
    // The first half's part of row i before its diagonal tile. After a failure what is made is without meaning.
    __device__ __forceinline__ void first_half(int i) const {
        const First half{{board, shared, board.word + CREW_WORDS}, image()};
        if (i >= 2) {
            typename First::P::Acc acc;
            half.sum(acc, i, i - 2, prepared(i), i - 2);
            half.deal(acc);
            half.sync();
        }
#pragma unroll 1
        for (int j = max(i - 2, 0); j < i; ++j) {
            if (j == i - 1) barrier_sync(LEFT_BARRIER, THREADS);
            solve(half, j < i - 1 ? shared : wide(), i, j);
            if (j == i - 1) break;
            half.sync();
            if (half.thread() == 0) store_release(board.flag(i, j), 1);
        }
        barrier_sync(READY_BARRIER, THREADS);
    }

    // Panels up to `last` of tile WHICH of acc += Y X', of tile 1 -=; Y and X 64 rows of a panel.
    template <int WHICH>
    __device__ __forceinline__ void subtract(typename Wide::Acc& acc, const double* y_panel, const double* x_panel, int last) const {
        const int lane = threadIdx.x & 31, g = lane >> 2, t = lane & 3, wm = Wide::warp_row(Second::thread());
        // Rows 2g and 2g + 1, as the accumulators of a product are dealt.
        double fa[2][4];
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const double2 u = *reinterpret_cast<const double2*>(y_panel + panel_at(wm + 2 * g, 8 * half + 2 * t));
            const double2 v = *reinterpret_cast<const double2*>(y_panel + panel_at(wm + 2 * g + 1, 8 * half + 2 * t));
            fa[half][0] = u.x, fa[half][1] = v.x, fa[half][2] = u.y, fa[half][3] = v.y;
            if (WHICH == 1)
#pragma unroll
                for (int e = 0; e < 4; ++e) fa[half][e] = negated(fa[half][e]);
        }
        // Right operands are asked for a product ahead: nothing else goes on in the warp's part of the multiprocessor.
        Right right[2];
        right[0].load(x_panel, 0);
#pragma unroll
        for (int q = 0; q < PANELS; ++q) {
            if (q > last) break;
            if (q + 1 < PANELS) right[(q + 1) & 1].load(x_panel, 16 * (q + 1));
#pragma unroll
            for (int half = 0; half < 2; ++half)
#pragma unroll
                for (int h = 0; h < 2; ++h) {
                    const double2 w = right[q & 1].steps[half][h];
                    const double fb[2] = {w.x, w.y};
                    mma_16x8x8(acc[0][WHICH * PANELS + q][h], fa[half], fb);
                }
        }
    }
    // Panel q of tile WHICH of the accumulators to shared memory.
    template <int WHICH>
    __device__ __forceinline__ void store(const typename Wide::Acc& acc, double* tile, int q) const {
        const int lane = threadIdx.x & 31, g = lane >> 2, t = lane & 3, wm = Wide::warp_row(Second::thread());
        const double(&block)[2][4] = acc[0][WHICH * PANELS + q];
#pragma unroll
        for (int e = 0; e < 4; ++e)
            *reinterpret_cast<double2*>(tile + q * PANEL + panel_at(wm + 2 * g + (e & 1), (e >> 1) * 8 + 2 * t)) =
                make_double2(block[e >> 1][2 * (e & 1)], block[e >> 1][2 * (e & 1) + 1]);
    }
    // acc -= A.
    __device__ __forceinline__ void take_matrix(const Second& half, typename Wide::Acc& acc, int i) const {
        double entries[2][16];
        auto load = [&](int b) {
            half.load_matrix(entries[b & 1], i, i - 1, b);
            half.load_matrix(entries[b & 1] + 8, i, i, b);
        };
        load(0);
#pragma unroll
        for (int b = 0; b < PANELS; ++b) {
            if (b + 1 < PANELS) load(b + 1);
#pragma unroll
            for (int e = 0; e < 16; ++e) acc[0][e / 8 * PANELS + b][e >> 2 & 1][e & 3] -= entries[b & 1][e];
        }
    }
    // The second half's part of row i before its diagonal tile is factored.
    __device__ __forceinline__ void second_half(int i) const {
        const Second half = second();
        const int columns = prepared(i), warp = half.thread() / 32;
        typename Wide::Acc acc;
        Wide::clear(acc);
        if (columns > 0) {
            half.await_flag(board.flag(i, i - 1), 0);
            half.sync();
            half.await_flag(board.flag(i, i), 0);
        }
        // A is taken off late, because sums that include it are rounded at its size, but before what is waited for.
        const int middle = max(columns, i - 3);
#pragma unroll 1
        for (int part = 0; part < 2; ++part) {
            half.accumulate(acc, i, i - 1, part == 0 ? columns : middle, part == 0 ? middle : i - 2);
            if (part == 0) take_matrix(half, acc, i);
        }
#pragma unroll
        for (int q = 0; q < PANELS; ++q) block_negate(acc[0][PANELS + q]);
        for (int e = half.thread(); e < INVERSE; e += CREW_SIZE) eliminated().identity()[panel_at(e / 16, e % 16)] = e / 16 == e % 16;
        typename Second::template Letter<PANEL / 2 / CREW_SIZE> mail;
        if (i >= 2) mail.ask(board.left_letter(i - 2, 0), 0);
        // Column i - 2: first for tile (i, i - 1), which the first half is waiting for; then for (i, i), with column i - 1.
        if (i >= 2)
#pragma unroll 1
            for (int b = 0; b < PANELS; ++b) {
                double* panel = half.slabs + b * PANEL;
                mail.take(half, board.left_letter(i - 2, b), panel, 0);
                if (b + 1 < PANELS) mail.ask(board.left_letter(i - 2, b + 1), 0);
                barrier_sync(SOLVED_BARRIER + b, THREADS);
                subtract<0>(acc, shared + b * PANEL, panel, PANELS - 1);
            }
        if (i >= 1) leave(half, acc);
#pragma unroll 1
        for (int b = i >= 2 ? -PANELS : 0; b < PANELS && i >= 1; ++b) {
            const double* panel = b < 0 ? shared + (b + PANELS) * PANEL : wide() + b * PANEL;
            if (b >= 0) barrier_sync(SOLVED_BARRIER + b, THREADS);
            subtract<1>(acc, panel, panel, warp);
        }
#pragma unroll
        for (int q = 0; q < PANELS; ++q) store<1>(acc, diagonal(), q);
        barrier_arrive(READY_BARRIER, THREADS);
        if (i >= 1) {
            put_tile(i, i - 1);
            half.sync();
            if (half.thread() == 0) store_release(board.flag(i, i - 1), 1);
        }
    }
    // What is left of tile (i, i - 1) goes to the first half.
    __device__ __forceinline__ void leave(const Second& half, const typename Wide::Acc& acc) const {
        half.sync();
#pragma unroll
        for (int q = 0; q < PANELS; ++q) store<0>(acc, wide(), q);
        barrier_arrive(LEFT_BARRIER, THREADS);
    }
    // Tile (i, j) of L to its place, from where the first half left it, by the second.
    __device__ __forceinline__ void put_tile(int i, int j) const {
        const int r0 = Second::thread() / 32 * 16;
#pragma unroll 1
        for (int b = 0; b < PANELS; ++b) {
            Block x;
            block_load(x, wide() + b * PANEL, r0);
            board.put_block(x, i, j, b, r0);
        }
    }

    __device__ __forceinline__ Eliminated eliminated() const { return {image(), wide() + PANELS * PANEL}; }
    static_assert(Eliminated::INVERSES + PANELS * INVERSE <= PANELS * LETTER, "eliminated panels take the place of letters");
    static_assert((PANELS * PANEL + Eliminated::MORE) * 8 <= Wide::BYTES, "and lie behind tile (i, i - 1)");

    // Block (r, c) of the diagonal tile <- what is left of it after panel b.
    __device__ __forceinline__ void update(const Eliminated& by, int b, int r, int c) const {
        Block rest, m;
        Right y;
        block_load(m, by.multipliers(b), 16 * r);
        y.load(by.columns(b), 16 * c);
        block_load(rest, diagonal() + c * PANEL, 16 * r);
        block_multiply(rest, m, y);
        block_store(rest, diagonal() + c * PANEL, 16 * r);
    }
    // L's panel b of the diagonal tile goes to the mail and to its place, by the second half. `fine`: it has yet to be divided by
    // the roots of its pivots.
    __device__ __forceinline__ void finish_panel(const Eliminated& from, bool fine, int i, int b) const {
        const int t = Second::thread(), row = t / 8, column = (2 * (t % 8) ^ panel_at(row, 0)) % 16;
        const bool wanted = i + 1 < board.tiles;
        double* letter = board.letter(i, b);
        // Element 2t of what follows is in column `column`, of the inverse in row `row`.
        const double2 pivot = *reinterpret_cast<const double2*>(from.pivots(b) + column);
        const double2 root = fine ? make_double2(inverse_root(pivot.x), inverse_root(pivot.y)) : make_double2(1, 1);
        const double side = fine ? inverse_root(from.pivots(b)[row]) : 1;
        if (wanted)
            mail_pair(letter + PANEL + 2 * t, from.inverse(b)[panel_at(column, row)] * side,
                      from.inverse(b)[panel_at(column + 1, row)] * side);
        const i64 top = (i64)i * T + row, left = (i64)i * T + 16 * b + column;
        double* place = board.a + board.offset(top, left);
#pragma unroll 1
        for (int q = b; q < PANELS; ++q) {
            const int at = 2 * (t + q * CREW_SIZE);
            double2 x = *reinterpret_cast<const double2*>(from.columns(b) + at);
            x.x *= root.x, x.y *= root.y;
            if (q == b && fine) {
                if (column >= row) x.x = column == row ? pivot_root(pivot.x, root.x) : 0;
                if (column + 1 >= row) x.y = column + 1 == row ? pivot_root(pivot.y, root.y) : 0;
            }
            if (wanted) mail_pair(letter + at, x.x, x.y);
            const bool exists = top + 16 * q < board.n;
            store_if(exists && left < board.n && (q > b || column <= row), place + board.offset(16 * q, 0), x.x);
            store_if(exists && left + 1 < board.n && (q > b || column + 1 <= row), place + board.offset(16 * q, 1), x.y);
        }
        Second::sync();
        // By a warp that has no block of the next panel.
        if (wanted && t == CREW_SIZE - 1) store_release(board.progress + i, b + 1);
    }
    // The first half's part of the diagonal tile, and the second's: panel by panel, a panel is eliminated, its rest updated, while the
    // one before is finished. False where there is no L.
    __device__ __forceinline__ bool eliminate_panels(int i) const {
        const Eliminated done = eliminated();
        const int warp = threadIdx.x >> 5;
#pragma unroll 1
        for (int b = 0; b < PANELS; ++b) {
            if (b >= 2) barrier_sync(FINISHED_BARRIER + b % 2, THREADS);
            bool fine = true;
            if (warp < 2 || warp < PANELS - b) fine = own_eliminate<LAYOUT>(b, warp);
            fine = Second::all(fine);
            if (threadIdx.x == 0) board.word[ORDINARY + b % 2] = fine;
            barrier_arrive(ELIMINATED_BARRIER + b % 2, THREADS);
            if (!fine && !own_factor_any(board, i, b)) return false;
            // Blocks right of panel b, column by column.
            const int left = PANELS - 1 - b;
#pragma unroll 1
            for (int k = warp; k < left * (left + 1) / 2; k += 4) {
                const int c = k < left ? 0 : k < 2 * left - 1 ? 1 : 2, r = k - (c == 0 ? 0 : c == 1 ? left - 1 : 2 * left - 3);
                update(done, b, b + 1 + r, b + 1 + c);
            }
            Second::sync();
        }
        return true;
    }
    __device__ __forceinline__ bool finish_panels(int i) const {
#pragma unroll 1
        for (int b = 0; b < PANELS; ++b) {
            barrier_sync(ELIMINATED_BARRIER + b % 2, THREADS);
            const bool fine = board.word[ORDINARY + b % 2];
            if (!fine && !own_factor_any(board, i, b)) return false;
            finish_panel(eliminated(), fine, i, b);
            if (b < PANELS - 2) barrier_arrive(FINISHED_BARRIER + b % 2, THREADS);
        }
        return true;
    }
    // L of panel b, whose pivots are not all ordinary, in its place, and as it is wanted for an update. False where there is none.
    __device__ __forceinline__ bool factor_any(int i, int b) const {
        const Eliminated to = eliminated();
        // As a row, like the columns of an inverse.
        if (threadIdx.x == 0) to.inverse(b)[panel_at(15, 0)] = 1;
        double* panel = diagonal() + b * PANEL;
        if (threadIdx.x < CREW_SIZE) {
            const int bad = factor_panel_any<ANY_BARRIER, CREW_SIZE>(panel, b, threadIdx.x);
            if (bad && threadIdx.x == 0) {
                board.word[FAILED] = 1;
                if (!board.failed()) store_release(board.info, i * T + 16 * b + bad);
            }
        }
        __syncthreads();
        for (int e = INVERSE * b + threadIdx.x; e < PANEL; e += THREADS) {
            to.columns(b)[e] = panel[e];
            to.multipliers(b)[e] = negated(panel[e]);
        }
        __syncthreads();
        return !board.word[FAILED];
    }

    __device__ __forceinline__ static int prepared(int i) { return max(i - AHEAD, 0); }
};

// Functions that are called, not expanded: together they would not do with a thread's registers. Each finds the block's memory
// anew, so that the compiler sees that it is shared.
template <Layout LAYOUT>
__device__ __noinline__ void own_first_half(Board<LAYOUT> board, int i) {
    board.word = block_words();
    Owner<LAYOUT>{board, block_memory()}.first_half(i);
}
template <Layout LAYOUT>
__device__ __noinline__ void own_second_half(Board<LAYOUT> board, int i) {
    board.word = block_words();
    Owner<LAYOUT>{board, block_memory()}.second_half(i);
}
template <Layout LAYOUT>
__device__ __noinline__ bool own_factor_any(Board<LAYOUT> board, int i, int b) {
    board.word = block_words();
    return Owner<LAYOUT>{board, block_memory()}.factor_any(i, b);
}
// Rows `first`, `first` + `step`, and so on.
template <Layout LAYOUT>
__device__ __forceinline__ void own(const Board<LAYOUT>& board, int first, int step) {
    const Owner<LAYOUT> owner{board, block_memory()};
    const bool first_half = threadIdx.x < CREW_SIZE;
    for (int i = first; i < board.tiles; i += step) {
        if (threadIdx.x == 0) board.word[FAILED] = board.failed();
        __syncthreads();
        if (board.word[FAILED]) return;
        if (first_half) own_first_half(board, i);
        else own_second_half(board, i);
        if (!(first_half ? owner.eliminate_panels(i) : owner.finish_panels(i))) return;
        __syncthreads();
    }
}

}  // namespace tile
