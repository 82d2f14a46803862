// The Cholesky factorization of a whole matrix in double precision by one launch, in tiles of order 64 on the tensor cores.
//
// A = L L'. Tile (i, j) of L is what is left of A's after the products of tiles before column j, divided by L(j, j)'. Two kinds of
// blocks make them:
//
// - The first `leaders` blocks own the diagonal: block l makes tiles (i, i - 1) and (i, i) for i = l, l + leaders, ... The way from
//   one diagonal tile to the next is what a small matrix takes, so they do nothing else, are ready with their products before
//   the tile above is final, and hand it on panel by panel, by `mail`, which needs no flag.
// - The others draw tickets, column by column, each for the two tiles (i, j) and (i + 1, j) of a pair of rows from j + 2 on.
//
// A task waits only for tasks with lower tickets and for diagonal tiles before it, so that the work ends if all blocks of the
// grid are resident: the launch must be cooperative, and leave at least one block beside the leaders where there are more than
// two tiles.
// Every tile is summed in one fixed order by one block: results do not depend on who comes first.
#include "tile_board.cuh"
#include "tile_pivot.cuh"

namespace {
using namespace tile;

// Barriers besides those of `tile_pivot.cuh`. Warps 0 to 3 solve and factor, warps 4 to 7 help; each panel has its own barrier,
// because the helpers may be a panel behind.
constexpr int HELPERS_BARRIER = 2;
constexpr int FACTORED_BARRIER = 3;  // + b: panel b of L is factored, and may be sent
constexpr int READY_BARRIER = 7;     // + b: panel b is divided, and may be squared; or has got all that the helpers subtract

template <Layout LAYOUT>
struct Factor : Board<LAYOUT> {
    using Base = Board<LAYOUT>;
    using typename Base::Tall;
    using typename Base::Wide;
    using Base::info, Base::progress, Base::done, Base::tiles, Base::tile, Base::slabs, Base::word;
    using Base::PANEL, Base::LPANEL;

    // rest[B] <- X with X L' = -rest[B], L the block of the diagonal tile: 16 rows of a warp, which go to panel B of the tile, rows
    // r0 to r0 + 15; then what X takes from the later panels. `tell`: helpers wait for X.
    template <int B>
    __device__ __forceinline__ void solve_panel(Block (&rest)[PANELS], int r0, bool tell) const {
        const double* diagonal = slabs + B * LPANEL;
        Block x;
        divide_block(x, rest[B], tile + B * PANEL, diagonal, this->inverses() + B * 256, r0, 16 * B);
        if (tell) barrier_arrive(READY_BARRIER + B);
#pragma unroll
        for (int p = B + 1; p < PANELS; ++p) block_multiply(rest[p], 1, x, diagonal, 16 * p);
    }
    // Warps 4 to 7: acc += X X' on the right half of a wide product, X panel b of the tile; the lower triangle suffices.
    __device__ __forceinline__ void square(typename Wide::Acc& acc, int b) const {
        const int lane = threadIdx.x & 31, g = lane >> 2, t = lane & 3;
        const int wm = Wide::warp_row(threadIdx.x), wn = Wide::warp_col(threadIdx.x) - T;
        const double* x = tile + b * PANEL;
        if (wm < wn) return;
        auto pair = [&](int row, int half) {
            return *reinterpret_cast<const double2*>(x + panel_at(row, 8 * half + 2 * t));
        };
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            double2 fb[Wide::FN][2];
#pragma unroll
            for (int y = 0; y < Wide::FN; ++y)
#pragma unroll
                for (int h = 0; h < 2; ++h) fb[y][h] = pair(wn + y * 16 + 8 * h + g, half);
#pragma unroll
            for (int m = 0; m < Wide::FM; ++m) {
                // Rows 2g and 2g + 1, as the accumulators of a product are dealt.
                const double2 u = pair(wm + m * 16 + 2 * g, half), v = pair(wm + m * 16 + 2 * g + 1, half);
                const double fa[4] = {u.x, v.x, u.y, v.y};
#pragma unroll
                for (int y = 0; y < Wide::FN; ++y)
#pragma unroll
                    for (int h = 0; h < 2; ++h) {
                        const double two[2] = {fb[y][h].x, fb[y][h].y};
                        mma_16x8x8(acc[m][y][h], fa, two);
                    }
            }
        }
    }
    // A panel of tile (i, i - 1): warps 0 to 3 wait for L's and solve, warps 4 to 7 square and store.
    template <int B>
    __device__ __forceinline__ bool solve_step(int i, typename Wide::Acc& acc) const {
        const int warp = threadIdx.x >> 5;
        if (warp < 4) {
            this->template fetch<128>(true, threadIdx.x, i - 1, B);
            group_sync<FACTOR_BARRIER, 128>();
            const bool ok = word[HAVE + B] >= 0;
            if (ok) solve_panel<B>(reinterpret_cast<Block(&)[PANELS]>(acc), 16 * warp, true);
            else barrier_arrive(READY_BARRIER + B);
            return ok;
        }
        barrier_sync(READY_BARRIER + B);
        if (word[HAVE + B] < 0) return false;
        square(acc, B);
        if (B + 1 < PANELS) this->template store<T, 128>(threadIdx.x - 128, tile, i, i - 1, B, 0, false);
        return true;
    }

    // Warps 0 to 3: the panels of the diagonal tile, one after the other.
    __device__ __forceinline__ bool factor_panels(double* lower, int i) const {
        const int warp = threadIdx.x >> 5;
#pragma unroll 1
        for (int b = 0; b < PANELS; ++b) {
            double* panel = lower + b * PANEL;
            double* inverse = this->inverses() + 256 * b;
            const int below = PANELS - 1 - b;  // blocks of 16 rows under the diagonal block
            const bool ordinary = factor_panel(panel, inverse, this->scratch() + warp * 32, b);
            if (!ordinary && threadIdx.x == 0) word[UNUSUAL] = b + 1;
            group_sync<FACTOR_BARRIER, 128>();
            if (word[UNUSUAL] == b + 1) {
                const int bad = factor_panel_any(panel, inverse, b);
                if (bad && threadIdx.x == 0) {
                    word[FAILED] = 1;
                    store_release(info, i * T + 16 * b + bad);
                }
                group_sync<FACTOR_BARRIER, 128>();
            }
            barrier_arrive(FACTORED_BARRIER + b);
            if (word[FAILED]) return false;
            if (b > 0 && below > 0) barrier_sync(READY_BARRIER + b);
            if (warp < below) update_block(panel + PANEL, panel, panel, (b + 1 + warp) * 16, 16 * (b + 1));
            group_sync<FACTOR_BARRIER, 128>();
        }
        return true;
    }
    // Warps 4 to 7: each panel is sent, subtracted from the panels after the next, which is warps 0 to 3's, and stored.
    __device__ __forceinline__ bool send_panels(double* lower, int i) const {
        const int warp = threadIdx.x >> 5, t = threadIdx.x - 128;
#pragma unroll 1
        for (int b = 0; b < PANELS; ++b) {
            barrier_sync(FACTORED_BARRIER + b);
            if (word[FAILED]) return false;
            double* panel = lower + b * PANEL;
            this->send(t, panel, i, b);
            const int below = PANELS - 2 - b;  // panels after the next
#pragma unroll 1
            for (int w = warp - 4, q = 0, left = w; w < below * (below + 1) / 2; w += 4, left += 4) {
                while (left >= below - q) left -= below - q, ++q;
                update_block(panel + (2 + q) * PANEL, panel, panel, (b + 2 + q + left) * 16, 16 * (b + 2 + q));
            }
            if (below > 0) barrier_arrive(READY_BARRIER + b + 1);
            group_sync<HELPERS_BARRIER, 128>();
            if (t == 0) store_release(progress + i, b + 1);
            this->template store<T, 128>(t, lower, i, i, b, 16 * b, true);
        }
        return true;
    }
    // The second of the two tiles in shared memory <- its Cholesky factor, sent panel by panel as tile (i, i); the last panel of
    // the first is stored on the way, which makes tile (i, i - 1) final.
    __device__ __forceinline__ bool factor(int i) const {
        double* const lower = tile + T * 16;
        if (threadIdx.x == 0) word[UNUSUAL] = 0, word[FAILED] = 0;
        __syncthreads();
        if (threadIdx.x < 128) return factor_panels(lower, i);
        const int t = threadIdx.x - 128;
        if (i > 0) {
            this->template store<T, 128>(t, tile, i, i - 1, PANELS - 1, 0, false);
            group_sync<HELPERS_BARRIER, 128>();
            if (t == 0) store_release(done + (i64)i * tiles + i - 1, 1);
        }
        return send_panels(lower, i);
    }

    // Tiles (i, i - 1) and (i, i) of L; of the first row, (0, 0) alone. False after a failure.
    __device__ __forceinline__ bool diagonal(int i) const {
        typename Wide::Acc acc;
        const int j = i - 1;
        this->expect_mail();
        this->template start<Wide>(acc, i, j);
        if (i > 0) {
            if (!this->template accumulate<Wide>(acc, i, false, j, j)) return false;
            this->template keep<Wide>(acc, 1, tile, 0);
            __syncthreads();
            // Warps 0 to 3 are done with their part of acc: they hold 16 rows of the left tile in its place.
            Block(&rest)[PANELS] = reinterpret_cast<Block(&)[PANELS]>(acc);
            if (threadIdx.x < 128)
#pragma unroll
                for (int p = 0; p < PANELS; ++p) block_load(rest[p], tile + p * PANEL, threadIdx.x / 32 * 16);
            if (!solve_step<0>(i, acc) || !solve_step<1>(i, acc) || !solve_step<2>(i, acc) || !solve_step<3>(i, acc))
                return false;
        }
        this->template keep<Wide>(acc, -1, tile + T * 16, T);
        return factor(i);
    }

    template <int B>
    __device__ __forceinline__ bool next_panel(bool urgent, int j, int& have, Block (&rest)[PANELS], int r0) const {
        if (have == B) {
            this->template fetch<THREADS>(urgent, threadIdx.x, j, B);
            __syncthreads();
            have = word[HAVE + B];
            if (have < 0) return false;
        }
        solve_panel<B>(rest, r0, false);
        return true;
    }
    // Tiles (i, j) and (i + 1, j) of L, of which those from row `first` on are wanted. False after a failure.
    __device__ __forceinline__ bool below(int i, int j, int first) const {
        typename Tall::Acc acc;
        const bool two = i + 1 < tiles;
        this->expect_mail();
        this->template start<Tall>(acc, i, j);
        if (!this->template accumulate<Tall>(acc, i, two, j, j)) return false;
        this->template keep<Tall>(acc, 1, tile, 0);
        __syncthreads();
        const int r0 = threadIdx.x / 32 * 16;
        Block rest[PANELS];
#pragma unroll
        for (int p = 0; p < PANELS; ++p) block_load(rest[p], tile + p * PANEL, r0);
        const bool urgent = first == j + 2;  // the next diagonal tile but one waits for this
        int have = 0;
        if (!next_panel<0>(urgent, j, have, rest, r0) || !next_panel<1>(urgent, j, have, rest, r0) ||
            !next_panel<2>(urgent, j, have, rest, r0) || !next_panel<3>(urgent, j, have, rest, r0))
            return false;
        __syncthreads();
#pragma unroll 1
        for (int b = 0; b < PANELS; ++b)
            this->template store<2 * T, THREADS>(threadIdx.x, tile, i, j, b, (first - i) * T, false);
        __syncthreads();
        if (threadIdx.x == THREADS - 32) {
            store_release(done + (i64)first * tiles + j, 1);
            if (first == i && two) store_release(done + (i64)(i + 1) * tiles + j, 1);
        }
        return true;
    }
};

template <Layout LAYOUT>
__device__ __forceinline__ void cholesky(i64 n, double* a, i64 ld, double* mail, int* info, int* ticket, int* progress, int* done,
                                         int leaders) {
    using F = Factor<LAYOUT>;
    extern __shared__ __align__(128) double shared[];
    __shared__ int words[WORDS];
    F f;
    f.n = n, f.ld = ld, f.a = a, f.mail = mail, f.info = info, f.progress = progress, f.done = done;
    f.tiles = (int)((n + T - 1) / T);
    f.slabs = shared;
    f.tile = shared + F::SLABS;
    f.word = words;
    const int tiles = f.tiles;
    if (blockIdx.x < leaders) {
        for (int i = blockIdx.x; i < tiles; i += leaders) {
            __syncthreads();
            if (!f.diagonal(i)) return;
        }
        return;
    }
    // Column j has tasks for rows j + 2, j + 4, ...; `before` counts the tasks of earlier columns.
    for (int j = 0, before = 0;;) {
        __syncthreads();
        if (threadIdx.x == 0) {
            words[TASK] = atomicAdd(ticket, 1) + 1;
            words[OVER] = f.failed();
        }
        __syncthreads();
        if (words[OVER]) return;
        int left = words[TASK] - before;
        for (int tasks; j < tiles - 2 && left >= (tasks = (tiles - 1 - j) / 2); ++j) before += tasks, left -= tasks;
        if (j >= tiles - 2) return;
        // The last of an odd number of rows goes with the one above it, which is made by another task.
        const int row = j + 2 + 2 * left;
        if (!f.below(min(row, tiles - 2), j, row)) return;
    }
}
}  // namespace

// A <- L for the lower triangle of a matrix of order n, element (i, j) at a[i + j ld] (lower), or A' <- L' for its upper triangle
// seen as a lower one, element (i, j) of L at a[i ld + j] (upper). The other triangle is neither read nor written.
//
// tiles = ceil(n / 64). All bytes of what follows are 0xFF before: `mail`, 4 tiles x 1280 doubles; `info` and `ticket`, one number
// each; `progress`, `tiles` numbers; `done`, tiles^2 numbers. Afterwards *info is the 1-based order of the first leading minor that
// is not positive (NaN too), and L is incomplete; or -1. One block of 256 threads to a multiprocessor; see above for the grid.
#define ENTRY(NAME, LAYOUT)                                                                                                  \
    extern "C" __global__ void __launch_bounds__(256, 1) NAME(i64 n, double* a, i64 ld, double* mail, int* info, int* ticket,  \
                                                              int* progress, int* done, int leaders) {                      \
        cholesky<LAYOUT>(n, a, ld, mail, info, ticket, progress, done, leaders);                                              \
    }
ENTRY(tiles_factor_lower_f64, LINES)
ENTRY(tiles_factor_upper_f64, DEPTH)

// The failing minor of a diagonal block whose first row is row `first` of the whole matrix, as that of the whole: the first counts.
extern "C" __global__ void tiles_report_first(const int* info, i64 first, int* order) {
    if (*info > 0 && *order == 0) *order = (int)(first + *info);
}
