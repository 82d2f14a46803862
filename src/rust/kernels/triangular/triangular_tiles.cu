// arch: sm_80 sm_90
// Triangular systems with many right-hand sides in double precision, by one launch on tensor cores.
//
// X M' = B in place: a row of B is a right-hand side of n entries, M a triangle of order n with
// contiguous rows. Every system has this form, with B or its transpose in either layout.
//
// A task is a tile of 64 columns of 64 right-hand sides. It subtracts the products with the final
// tiles before it, and then divides by the diagonal tile, 16 columns at a time. Elimination starts
// with the first tile if the triangle is lower, with the last if it is upper. Blocks draw tasks in
// this order from one ticket. A task thus waits only for tasks of running blocks, and other blocks
// need not be resident. A row of X depends on that row of B only. Its sums have one order, however
// many tiles were final when they were read.
//
// The division by a block of order 16 is a product with its inverse, and another one with the
// residual. This is as accurate as substitution unless the block is nearly singular. Such blocks,
// and right-hand sides that are not finite, go through substitution. Inverses of larger blocks
// would need fewer steps, but two small pivots in one block would then multiply.
#include "invert_block.cuh"
#include "tile_panel.cuh"
#include "tile_sync.cuh"

namespace {
using namespace tile;

constexpr int PREPARING = 256;  // threads of a block that prepares
constexpr int THREADS = 128;    // of one that solves; two of them share a multiprocessor
constexpr int STAGES = 4;
constexpr int ROWS = T;           // right-hand sides of a task
constexpr int PANEL = ROWS * 16;  // doubles of a panel of a task
constexpr int DIAGONAL = T * 16,
              INVERSE = 16 * 16;  // the same of a diagonal tile, and of an inverse
// A diagonal tile for the solver, in the order of elimination: its panels and the inverses of its
// blocks, laid out as in shared memory.
constexpr int PREPARED = PANELS * (DIAGONAL + INVERSE);

// Prepares the diagonal tiles in `prepared` and sets `state` to zero. Grid: (tiles, 1). With a grid
// of (tiles, tiles) it also copies M to `rows` with contiguous rows: block (t, d) copies the tile
// of the triangle that is d tiles away from diagonal tile t.
__device__ __forceinline__ void prepare(i64 n, const double* m, i64 rs, i64 cs, int upper, int unit,
                                        double* prepared, double* rows, i64 ldr, int* state,
                                        i64 words) {
    __shared__ double tile[T][T + 1];
    __shared__ double inverse[PANELS][16][17];
    __shared__ double pass[4][T];
    const int tiles = gridDim.x, here = blockIdx.x, there = here + blockIdx.y;
    if (there >= tiles) return;
    const i64 r0 = (i64)(upper ? here : there) * T, c0 = (i64)(upper ? there : here) * T;
    const bool diagonal = here == there, reversed = diagonal && upper;
    for (int e = threadIdx.x; e < T * T; e += PREPARING) {
        const int fast = e % T, slow = e / T;
        const int r = rs == 1 ? fast : slow, c = rs == 1 ? slow : fast;
        const bool inside = !diagonal || (upper ? c >= r : c <= r) && !(unit && r == c);
        double v = diagonal && r == c ? 1 : 0;
        if (inside && r0 + r < n && c0 + c < n) v = m[(r0 + r) * rs + (c0 + c) * cs];
        tile[reversed ? T - 1 - r : r][reversed ? T - 1 - c : c] = v;
    }
    __syncthreads();
    if (!diagonal) {
        for (int e = threadIdx.x; e < T * T; e += PREPARING) {
            const int r = e / T, c = e % T;
            if (r0 + r < n && c0 + c < n) rows[(r0 + r) * ldr + c0 + c] = tile[r][c];
        }
        return;
    }
    for (i64 e = here * PREPARING + threadIdx.x; e < words; e += (i64)tiles * PREPARING)
        state[e] = 0;
    if (threadIdx.x < T) {
        const int p = threadIdx.x / 16;
        invert_block<T + 1>(&tile[16 * p][16 * p], inverse[p],
                            reinterpret_cast<double(*)[T]>(&pass[0][16 * p]), threadIdx.x % 16);
    }
    __syncthreads();
    double* to = prepared + (i64)here * PREPARED;
    for (int e = threadIdx.x; e < PANELS * DIAGONAL; e += PREPARING) {
        const int p = e / DIAGONAL, r = e / 16 % T, c = e % 16;
        to[p * DIAGONAL + panel_at(r, c)] = tile[r][16 * p + c];
    }
    to += PANELS * DIAGONAL;
    for (int e = threadIdx.x; e < PANELS * INVERSE; e += PREPARING) {
        const int p = e / INVERSE, r = e / 16 % 16, c = e % 16;
        to[p * INVERSE + panel_at(r, c)] = inverse[p][r][c];
    }
}

// The rows of an accumulator's block with a number that is not finite, as bits.
__device__ __forceinline__ unsigned rows_not_finite(const Block& x) {
    unsigned found[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
        int largest = 0;
#pragma unroll
        for (int e = 0; e < 4; ++e)
            largest = max(largest, __double2hiint(x[e >> 1][2 * r + (e & 1)]) & 0x7fffffff);
        unsigned s = __ballot_sync(0xffffffffu, largest >= 0x7ff00000);
        // Four lanes hold a row.
        s |= s >> 1;
        s = (s | s >> 2) & 0x11111111;
        s = (s | s >> 3) & 0x03030303;
        s = (s | s >> 6) & 0x000f000f;
        found[r] = (s | s >> 12) & 0xff;
    }
    return found[0] | found[1] << 8;
}

template <Layout LAYOUT, bool UPPER>
struct Solver {
    using Tall = tile::Product<ROWS, T, STAGES, 2, 2, LAYOUT, DEPTH, UPPER>;
    static_assert(PANEL * PANELS * 8 <= Tall::BYTES && Tall::THREADS == THREADS, "");

    i64 n, lines, ldb, ldm;
    double* b;
    const double* m;
    const double* prepared;
    int* done;  // per ROWS right-hand sides: how many tiles are final
    int tiles;
    double* diagonal;  // shared: the task's diagonal tile
    double* slabs;     // shared: slabs of products, then the task's panels
    int* word;         // shared

    __device__ __forceinline__ i64 offset(i64 r, i64 c) const {
        return LAYOUT == LINES ? r + c * ldb : r * ldb + c;
    }

    // Solves for panel P of a warp's 16 rows, whose negated remainder is `rest`, and subtracts it
    // from the later panels.
    template <int P>
    __device__ __forceinline__ void solve_panel(Block (&rest)[PANELS], int r0) {
        const double *l = diagonal + P * DIAGONAL,
                     *inverse = diagonal + PANELS * DIAGONAL + P * INVERSE;
        double* panel = slabs + P * PANEL;
        Block x = {}, before;
#pragma unroll
        for (int e = 0; e < 8; ++e) before[e >> 2][e & 3] = rest[P][e >> 2][e & 3];
        unsigned rows = 0xffff;
        if (has_inverse(inverse)) {
            block_multiply(x, rest[P], inverse, 0);
            block_multiply<true>(rest[P], x, l, 16 * P);
            block_multiply(x, rest[P], inverse, 0);
            block_negate(x);
            rows = rows_not_finite(x);
        }
        if (rows) {
            const int row = (threadIdx.x & 31) >> 2;
#pragma unroll
            for (int e = 0; e < 8; ++e)
                if (rows >> (row + 8 * (e >> 1 & 1)) & 1)
                    x[e >> 2][e & 3] = negated(before[e >> 2][e & 3]);
            block_store(x, panel, r0);
            substitute(panel, l, r0, 16 * P, rows);
            block_load(x, panel, r0);
        } else {
            block_store(x, panel, r0);
        }
#pragma unroll
        for (int p = P + 1; p < PANELS; ++p) block_multiply(rest[p], x, l, 16 * p);
    }

    // acc += X M' over the tiles before number j, as these become final.
    __device__ __forceinline__ void subtract(typename Tall::Acc& acc, int i, int j, i64 top,
                                             i64 column) {
        for (int have = 0; have < j;) {
            if (threadIdx.x == 0) {
                int now;
                while ((now = load_acquire(done + i)) <= have) {
                }
                *word = min(now, j);
            }
            __syncthreads();
            const int now = *word;
            const i64 end = UPPER ? min((i64)(tiles - have) * T, n) : (i64)now * T;
            const i64 depth = end - (i64)(UPPER ? tiles - now : have) * T;
            const i64 from = UPPER ? end - depth % Tall::BK - Tall::BK : end - depth;
            Tall product;
            product.sa.start(b, ldb, top, lines, from);
            product.sb.start(m, ldm, column, n, from);
            product.begin(slabs, depth);
            product.run(acc, slabs);
            have = now;
        }
    }

    // Tile number j in the order of elimination, for ROWS right-hand sides from ROWS i on.
    __device__ __forceinline__ void task(int i, int j) {
        const int at = UPPER ? tiles - 1 - j : j;
        const int thread = threadIdx.x, g = (thread & 31) >> 2, t = thread & 3;
        const i64 column = (i64)at * T, first = (i64)i * ROWS;
        // The last task ends with the last row of B, and repeats rows of the task before instead of
        // having fewer. This keeps copies wide. Another block changes the repeated rows meanwhile;
        // they affect no other row and are not stored.
        const bool repeats =
            first + ROWS > lines && lines >= ROWS && (LAYOUT == DEPTH || lines % 2 == 0);
        const i64 top = repeats ? lines - ROWS : first;
        const int skip = (int)(first - top), rows = (int)min((i64)ROWS, lines - top),
                  cols = (int)min((i64)T, n - column);
        {
            const unsigned to = shared_address(diagonal) + thread * 16;
            const char* from =
                reinterpret_cast<const char*>(prepared + (i64)at * PREPARED) + thread * 16;
#pragma unroll
            for (int q = 0; q < PREPARED / 2 / THREADS; ++q)
                copy16(to + q * THREADS * 16, from + q * THREADS * 16, true);
            copies_commit();
        }
        double* const mine = b + offset(top, column);
        const int wm = Tall::warp_row(thread) + 2 * g, wn = Tall::warp_col(thread) + 2 * t;
        typename Tall::Acc acc;
#pragma unroll
        for (int x = 0; x < Tall::FM; ++x)
#pragma unroll
            for (int y = 0; y < Tall::FN; ++y)
#pragma unroll
                for (int e = 0; e < 8; ++e) {
                    const int r = wm + x * 16 + (e >> 1 & 1),
                              c = wn + y * 16 + (e >> 2) * 8 + (e & 1);
                    acc[x][y][e >> 2][e & 3] =
                        negated(load_if(r >= skip && r < rows && c < cols, mine + offset(r, c), 0));
                }
        subtract(acc, i, j, top, column);
#pragma unroll
        for (int x = 0; x < Tall::FM; ++x)
#pragma unroll
            for (int y = 0; y < Tall::FN; ++y)
#pragma unroll
                for (int e = 0; e < 4; ++e) {
                    const int r = wm + x * 16 + (e & 1), c = wn + y * 16 + (e >> 1) * 8,
                              to = UPPER ? T - 2 - c : c;
                    const double u = acc[x][y][e >> 1][2 * (e & 1)],
                                 v = acc[x][y][e >> 1][2 * (e & 1) + 1];
                    *reinterpret_cast<double2*>(slabs + to / 16 * PANEL + panel_at(r, to % 16)) =
                        UPPER ? make_double2(v, u) : make_double2(u, v);
                }
        copies_wait<0>();
        __syncthreads();
        const int r0 = thread / 32 * 16;
        Block rest[PANELS];
#pragma unroll
        for (int p = 0; p < PANELS; ++p) block_load(rest[p], slabs + p * PANEL, r0);
        solve_panel<0>(rest, r0);
        solve_panel<1>(rest, r0);
        solve_panel<2>(rest, r0);
        solve_panel<3>(rest, r0);
        __syncthreads();
#pragma unroll 8
        for (int q = 0; q < ROWS * T / THREADS; ++q) {
            const int e = thread + q * THREADS;
            const int r = LAYOUT == LINES ? e % ROWS : e / T,
                      c = LAYOUT == LINES ? e / ROWS : e % T, of = UPPER ? T - 1 - c : c;
            store_if(r >= skip && r < rows && c < cols, mine + offset(r, c),
                     slabs[of / 16 * PANEL + panel_at(r, of % 16)]);
        }
        __syncthreads();
        if (thread == 0) store_release(done + i, j + 1);
    }
};

template <Layout LAYOUT, bool UPPER>
__device__ __forceinline__ void solve(i64 n, i64 lines, double* b, i64 ldb, const double* m,
                                      i64 ldm, const double* prepared, int* state) {
    extern __shared__ __align__(128) double shared[];
    __shared__ int words[2];
    Solver<LAYOUT, UPPER> s;
    s.n = n, s.lines = lines, s.b = b, s.ldb = ldb, s.m = m, s.ldm = ldm, s.prepared = prepared,
    s.done = state + 1;
    s.tiles = (int)((n + T - 1) / T);
    s.diagonal = shared, s.slabs = shared + PREPARED, s.word = words;
    const int blocks = (int)((lines + ROWS - 1) / ROWS);
    for (;;) {
        if (threadIdx.x == 0) words[1] = atomicAdd(state, 1);
        __syncthreads();
        const int task = words[1];
        if (task >= blocks * s.tiles) return;
        s.task(task % blocks, task / blocks);
    }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(PREPARING)
    triangle_prepare_tiles_f64(i64 n, const double* m, i64 rs, i64 cs, int upper, int unit,
                               double* prepared, double* rows, i64 ldr, int* state, i64 words,
                               const int* stop) {
    if (stopped(stop)) return;
    prepare(n, m, rs, cs, upper, unit, prepared, rows, ldr, state, words);
}

#define INSTANCE(NAME, LAYOUT, UPPER)                                        \
    extern "C" __global__ void __launch_bounds__(THREADS, 2)                 \
        NAME(i64 n, i64 lines, double* b, i64 ldb, const double* m, i64 ldm, \
             const double* prepared, int* state, const int* stop) {          \
        if (stopped(stop)) return;                                           \
        solve<LAYOUT, UPPER>(n, lines, b, ldb, m, ldm, prepared, state);     \
    }

INSTANCE(triangle_solve_lower_lines_f64, LINES, false)
INSTANCE(triangle_solve_lower_depth_f64, DEPTH, false)
INSTANCE(triangle_solve_upper_lines_f64, LINES, true)
INSTANCE(triangle_solve_upper_depth_f64, DEPTH, true)
