// The diagonal tile of a row, factored by the block that owns the row.
#pragma once
#include "offdiagonal_tiles.cuh"
#include "panel_elimination.cuh"

namespace tile {

// Barriers of the block.
constexpr int ANY_BARRIER = 9;  // of the threads that factor a panel with any pivots
constexpr int ELIMINATED_BARRIER = 10, FINISHED_BARRIER = 12;  // + b % 2: panel b is

// The layout of an owner's shared memory, in doubles.
//
// SUMS: slabs of the first half, then tile (i, i - 2), then the diagonal tile. LETTERS: messages
// from a diagonal tile, then those of the block's own. LEFT: slabs of the second half, then tile (i
// - 1, i - 2), then tile (i, i - 1). BEHIND tile (i, i - 1): the rest of the eliminated diagonal
// tile.
template <Layout LAYOUT>
struct Places {
    using First = Maker<LAYOUT>;
    using Second = Crew<LAYOUT, 2, 1>;
    static constexpr int SUMS = 0, LETTERS = First::P::BYTES / 8, LEFT = First::BYTES / 8,
                         BEHIND = LEFT + PANELS * PANEL;
    static constexpr int BYTES = LEFT * 8 + Second::P::BYTES;
    static_assert(Eliminated::INVERSES + PANELS * INVERSE <= PANELS * LETTER,
                  "eliminated panels take the place of letters");
    static_assert((BEHIND + Eliminated::MORE) * 8 <= BYTES, "and lie behind tile (i, i - 1)");

    // Derived from the block's memory here, so that a called function sees that it is shared.
    static __device__ __forceinline__ double* diagonal() { return block_memory() + SUMS; }
    static __device__ __forceinline__ double* letters() { return block_memory() + LETTERS; }
    static __device__ __forceinline__ double* left() { return block_memory() + LEFT; }
    static __device__ __forceinline__ Eliminated eliminated() {
        return {letters(), block_memory() + BEHIND};
    }
};

// Eliminates panel b of the diagonal tile, by warps 0 to 3. A separate function, because the
// compiler generates better code for it alone.
template <Layout LAYOUT>
__device__ __noinline__ bool own_eliminate(int b, int warp) {
    using Place = Places<LAYOUT>;
    return eliminate(Place::diagonal() + b * PANEL, Place::eliminated(), b, warp);
}
// Computes L of panel b in place if some pivots are not ordinary, and prepares the update; by all
// threads. Returns false if L does not exist.
template <Layout LAYOUT>
__device__ __noinline__ bool own_factor_any(int* info, int i, int b) {
    using Place = Places<LAYOUT>;
    const Eliminated to = Place::eliminated();
    double* panel = Place::diagonal() + b * PANEL;
    int* word = block_words();
    if (threadIdx.x == 0) mark_no_inverse(to.inverse(b));
    if (threadIdx.x < CREW_SIZE) {
        const int bad = factor_panel_any<ANY_BARRIER, CREW_SIZE>(panel, b, threadIdx.x);
        if (bad && threadIdx.x == 0) {
            word[FAILED] = 1;
            // An earlier failure takes precedence.
            if (load_acquire(info) <= 0) store_release(info, i * T + 16 * b + bad);
        }
    }
    __syncthreads();
    for (int e = INVERSE * b + threadIdx.x; e < PANEL; e += THREADS) {
        to.columns(b)[e] = panel[e];
        to.multipliers(b)[e] = negated(panel[e]);
    }
    __syncthreads();
    return !word[FAILED];
}

// Factors the diagonal tile after all subtractions. Its first half goes from pivot to pivot; its
// second takes roots and sends messages. A multiprocessor has four parts, and a warp runs on part
// number (warp modulo 4). A product on a part's tensor core delays every other operation in double
// precision there, more than ten times. So no products run on the parts of warps that go from pivot
// to pivot.
template <Layout LAYOUT>
struct Diagonal : Places<LAYOUT> {
    using typename Places<LAYOUT>::Second;
    using Places<LAYOUT>::diagonal, Places<LAYOUT>::eliminated;
    const Board<LAYOUT>& board;

    __device__ __forceinline__ explicit Diagonal(const Board<LAYOUT>& its) : board(its) {}

    // Block (r, c) of the diagonal tile <- its remainder after panel b.
    __device__ __forceinline__ void update(const Eliminated& by, int b, int r, int c) const {
        Block rest, m;
        Right y;
        block_load(m, by.multipliers(b), 16 * r);
        y.load(by.columns(b), 16 * c);
        block_load(rest, diagonal() + c * PANEL, 16 * r);
        block_take_off(rest, m, y);
        block_store(rest, diagonal() + c * PANEL, 16 * r);
    }
    // The second half sends L's panel b of the diagonal tile and writes it to the matrix. `fine`:
    // it must still be divided by the roots of its pivots.
    __device__ __forceinline__ void finish_panel(const Eliminated& from, bool fine, int i,
                                                 int b) const {
        const int t = Second::thread(), row = t / 8, column = (2 * (t % 8) ^ panel_at(row, 0)) % 16;
        const bool wanted = i + 1 < board.tiles;
        double* letter = board.letter(i, b);
        // Element 2t of a panel is in column `column`, of the inverse in row `row`.
        const double2 pivot = *reinterpret_cast<const double2*>(from.pivots(b) + column);
        const double2 root =
            fine ? make_double2(inverse_root(pivot.x), inverse_root(pivot.y)) : make_double2(1, 1);
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
            store_if(exists && left < board.n && (q > b || column <= row),
                     place + board.offset(16 * q, 0), x.x);
            store_if(exists && left + 1 < board.n && (q > b || column + 1 <= row),
                     place + board.offset(16 * q, 1), x.y);
        }
        Second::sync();
        if (wanted && t == CREW_SIZE - 1) store_release(board.progress + i, b + 1);
    }
    // The part of each half in the diagonal tile, panel by panel: the first eliminates a panel and
    // updates the rest, while the second finishes the panel before. Returns false if L does not
    // exist.
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
            if (!fine && !own_factor_any<LAYOUT>(board.info, i, b)) return false;
            // Blocks right of panel b, column by column.
            const int left = PANELS - 1 - b;
#pragma unroll 1
            for (int k = warp; k < left * (left + 1) / 2; k += 4) {
                const int c = k < left           ? 0
                              : k < 2 * left - 1 ? 1
                                                 : 2,
                          r = k - (c == 0   ? 0
                                   : c == 1 ? left - 1
                                            : 2 * left - 3);
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
            if (!fine && !own_factor_any<LAYOUT>(board.info, i, b)) return false;
            finish_panel(eliminated(), fine, i, b);
            if (b < PANELS - 2) barrier_arrive(FINISHED_BARRIER + b % 2, THREADS);
        }
        return true;
    }
};

}  // namespace tile
