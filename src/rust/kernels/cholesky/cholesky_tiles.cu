// arch: sm_80 sm_90
// The Cholesky factorization of a whole matrix in double precision by one launch, in tiles of order
// 64 on the tensor cores.
//
// A = L L'. Tile (i, j) of L is what is left of A's after the products of tiles before column j,
// divided by L(j, j)'. Two kinds of blocks make them:
//
// - The first `owners` blocks own rows, one after the other: the diagonal tile and the two before
// it.
// - The halves of all others draw tickets, column by column: of column j, the tiles (i, j) from row
// j + 3 on. Of a row far from
//   the first column they also prepare its owner's three tiles, up to AHEAD columns before the
//   diagonal.
//
// A task waits only for tasks with lower tickets and for rows of owners before it, so that the work
// ends if all blocks of the grid are resident: the launch must be cooperative. Every tile is summed
// in one fixed order by one half block, or by one after another: results do not depend on who comes
// first.
#include "diagonal_rows.cuh"

namespace {
using namespace tile;

template <Layout LAYOUT>
__device__ __noinline__ void work(Board<LAYOUT> board, int* ticket) {
    board.word = block_words();
    const int half = threadIdx.x / CREW_SIZE;
    double* mine = block_memory() + half * (Maker<LAYOUT>::BYTES / 8);
    const Maker<LAYOUT> maker{{board, mine, board.word + CREW_WORDS + 2 * half},
                              mine + Maker<LAYOUT>::P::BYTES / 8};
    const int tiles = board.tiles;
    // `before` counts the tasks of columns before j.
    for (int j = 0, before = 0;;) {
        maker.sync();
        if (maker.thread() == 0) {
            const int mine = atomicAdd(ticket, 1) + 1;
            maker.word[0] = board.failed() ? -1 : mine;
        }
        maker.sync();
        const int task = maker.word[0];
        if (task < 0) return;
        int left = task - before, prepared, tasks;
        for (;; ++j, before += tasks, left -= tasks) {
            if (j >= tiles - 3) return;
            prepared = j > 0 && j + AHEAD < tiles ? 3 : 0;
            tasks = prepared + tiles - 3 - j;
            if (left < tasks) break;
        }
        maker.sync();
        const bool ahead = left < prepared;
        const int row = ahead ? j + AHEAD : j + 3 + left - prepared;
        if (!maker.make(ahead ? PREPARED : FINAL, row, ahead ? row - 2 + left : j, j)) return;
    }
}

template <Layout LAYOUT>
__device__ __forceinline__ void cholesky(i64 n, double* a, i64 ld, double* mail, int* info,
                                         int* ticket, int* progress, int* done, int owners) {
    constexpr int BYTES = 2 * Maker<LAYOUT>::BYTES;
    static_assert(Places<LAYOUT>::BYTES <= BYTES, "a block has room for two makers");
    const Board<LAYOUT> board{
        n, ld, a, info, progress, done, mail, (int)((n + T - 1) / T), block_words()};
    if (blockIdx.x < owners) own(board, blockIdx.x, owners);
    else work(board, ticket);
}
}  // namespace

// A <- L for the lower triangle of a matrix of order n, element (i, j) at a[i + j ld] (lower), or
// A' <- L' for its upper triangle seen as a lower one, element (i, j) of L at a[i ld + j] (upper).
// The other triangle is neither read nor written.
//
// tiles = ceil(n / 64). All bytes of what follows are 0xFF before: `mail`, tiles x MAIL doubles;
// `info` and `ticket`, one number each; `progress`, `tiles` numbers; `done`, tiles^2 numbers.
// Afterwards *info is the 1-based order of the first leading minor that is not positive (NaN too),
// and L is incomplete; or -1. One block of 256 threads to a multiprocessor; see above for the grid.
#define ENTRY(NAME, LAYOUT)                                                                 \
    extern "C" __global__ void __launch_bounds__(256, 1)                                    \
        NAME(i64 n, double* a, i64 ld, double* mail, int* info, int* ticket, int* progress, \
             int* done, int owners) {                                                       \
        cholesky<LAYOUT>(n, a, ld, mail, info, ticket, progress, done, owners);             \
    }
ENTRY(tiles_factor_lower_f64, LINES)
ENTRY(tiles_factor_upper_f64, DEPTH)

// The failing minor of a diagonal block whose first row is row `first` of the whole matrix, as that
// of the whole: the first counts.
extern "C" __global__ void tiles_report_first(const int* info, i64 first, int* order) {
    if (*info > 0 && *order == 0) *order = (int)(first + *info);
}
