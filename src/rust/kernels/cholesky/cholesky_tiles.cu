// arch: sm_80 sm_90
// Cholesky factorization of a whole matrix in double precision by one launch, in tiles of order 64
// on tensor cores.
//
// A = L L'. Tile (i, j) of L is A(i, j), minus the products of tiles before column j, divided by
// L(j, j)'. Two kinds of blocks compute tiles:
//
// - The first `owners` blocks own rows in turn: the diagonal tile and the two tiles before it.
// - The halves of all other blocks draw tickets, column by column: for column j, the tiles (i, j)
//   from row j + 3 on. In rows far from the first column they also prepare the owner's three tiles,
//   up to AHEAD columns before the diagonal.
//
// A task waits only for tasks with lower tickets and for earlier rows of owners. So the work ends
// if all blocks of the grid are resident: the launch must be cooperative. Every tile has one fixed
// order of summation, by one half block or by one after another. Results do not depend on timing.
#include "diagonal_rows.cuh"

namespace {
using namespace tile;

template <Layout LAYOUT>
__device__ __noinline__ void work(Board<LAYOUT> board, int* ticket) {
    board.word = block_words();
    const int half = threadIdx.x / CREW_SIZE;
    double* mine = block_memory() + half * (Maker<LAYOUT>::BYTES / 8);
    const Maker<LAYOUT> half_block{{board, mine, board.word + CREW_WORDS + 2 * half},
                                   mine + Maker<LAYOUT>::P::BYTES / 8};
    const int tiles = board.tiles;
    // `before`: the number of tasks of columns before j.
    for (int j = 0, before = 0;;) {
        half_block.sync();
        if (half_block.thread() == 0) {
            const int mine = atomicAdd(ticket, 1) + 1;
            half_block.word[0] = board.failed() ? -1 : mine;
        }
        half_block.sync();
        const int task = half_block.word[0];
        if (task < 0) return;
        int left = task - before, prepared, tasks;
        for (;; ++j, before += tasks, left -= tasks) {
            if (j >= tiles - 3) return;
            prepared = j > 0 && j + AHEAD < tiles ? 3 : 0;
            tasks = prepared + tiles - 3 - j;
            if (left < tasks) break;
        }
        half_block.sync();
        const bool ahead = left < prepared;
        const int row = ahead ? j + AHEAD : j + 3 + left - prepared;
        if (!half_block.make(ahead ? PREPARED : FINAL, row, ahead ? row - 2 + left : j, j)) return;
    }
}

template <Layout LAYOUT>
__device__ __forceinline__ void cholesky(i64 n, double* a, i64 ld, double* mailbox, int* info,
                                         int* ticket, int* progress, int* done, int owners) {
    constexpr int BYTES = 2 * Maker<LAYOUT>::BYTES;
    static_assert(Places<LAYOUT>::BYTES <= BYTES, "a block has room for two half blocks");
    const Board<LAYOUT> board{
        n, ld, a, info, progress, done, mailbox, (int)((n + T - 1) / T), block_words()};
    if (blockIdx.x < owners) own(board, blockIdx.x, owners);
    else work(board, ticket);
}
}  // namespace

// A <- L for the lower triangle of a matrix of order n, element (i, j) at a[i + j ld] (lower). Or
// A' <- L' for its upper triangle, viewed as a lower one with element (i, j) of L at a[i ld + j]
// (upper). The other triangle is neither read nor written.
//
// tiles = ceil(n / 64). All bytes of the following must be 0xFF: `mailbox`, tiles x MAIL
// doubles; `info` and `ticket`, one number each; `progress`, `tiles` numbers; `done`, tiles^2
// numbers. On return *info is -1, or the 1-based order of the first leading minor that is not
// positive (NaN too), and then L is incomplete. One block of 256 threads per multiprocessor; see
// above for the grid.
#define ENTRY(NAME, LAYOUT)                                                                    \
    extern "C" __global__ void __launch_bounds__(256, 1)                                       \
        NAME(i64 n, double* a, i64 ld, double* mailbox, int* info, int* ticket, int* progress, \
             int* done, int owners) {                                                          \
        cholesky<LAYOUT>(n, a, ld, mailbox, info, ticket, progress, done, owners);             \
    }
ENTRY(tiles_factor_lower_f64, LINES)
ENTRY(tiles_factor_upper_f64, DEPTH)

// Writes the failing minor of a diagonal block, whose row 0 is row `first` of the whole matrix, as
// a minor of the whole matrix. Only the first failure counts.
extern "C" __global__ void tiles_report_first(const int* info, i64 first, int* order) {
    if (*info > 0 && *order == 0) *order = (int)(first + *info);
}
