// arch: sm_60
// Triangular systems with one or two right-hand sides, L X = B in place for a lower L in either
// layout. One launch reads L once. An upper triangle is a lower one with both orders reversed.
//
// A block has 64 rows of L. It subtracts the contributions of 64 solved unknowns at a time, as they
// arrive, and then divides by its diagonal tile, as tasks of `triangular_tiles.cu` do. The critical
// path is the transfer of 64 unknowns from one block to the next, once per 64 rows; meanwhile the
// next entries of L are in flight. An unknown is its own flag: a word of all ones until it is
// known. Blocks draw their rows from a ticket, so that a block waits only for running blocks. All
// arithmetic is in double precision.
#include "invert_block.cuh"

namespace {

constexpr int T = 64, PARTS = 4, THREADS = T * PARTS;
constexpr int EACH = T / PARTS;  // entries of a tile's row that a thread has
typedef unsigned long long Word;
constexpr Word UNKNOWN = ~0ull;

__device__ __forceinline__ double wait_for(const volatile Word* p) {
    Word x;
    while ((x = *p) == UNKNOWN) {
    }
    return __longlong_as_double(x);
}

// A NaN with the bits of the flag is stored as another NaN.
__device__ __forceinline__ void publish(volatile Word* p, double x) {
    const Word bits = __double_as_longlong(x);
    *p = bits == UNKNOWN ? 0x7ff8000000000000ull : bits;
}

struct Diagonal {
    double tile[T][T + 1];
    double inverse[T / 16][16][17];
    // Scratch for the inverses, then for partial sums of K right-hand sides.
    double pass[2 * PARTS][T];
    int mild[T / 16];
};

// The inner product of eight numbers, as four independent sums.
__device__ __forceinline__ double inner8(const double* a, const double* b) {
    double s[4];
#pragma unroll
    for (int c = 0; c < 4; ++c) s[c] = a[c] * b[c];
#pragma unroll
    for (int c = 0; c < 4; ++c) s[c] = fma(a[c + 4], b[c + 4], s[c]);
    return (s[0] + s[1]) + (s[2] + s[3]);
}

// One warp: v <- the solution in the 16 rows from `at` on. Every lane returns that of row lane %
// 16.
__device__ __forceinline__ double divide_block(const Diagonal& d, double* v, int at) {
    const int lane = threadIdx.x & 31, row = lane & 15, half = lane & 16 ? 8 : 0;
    const double(*inverse)[17] = d.inverse[at / 16];
    const double* l = &d.tile[at + row][at];
    bool fine = inverse[0][15] == 0;
    double x = 0;
    if (fine) {
        x = inner8(&inverse[row][half], v + at + half);
        x += __shfl_xor_sync(0xffffffffu, x, 16);
        if (!d.mild[at / 16]) {
            double rest = half ? 0 : v[at + row];
#pragma unroll
            for (int c = 0; c < 8; ++c) {
                const double known = __shfl_sync(0xffffffffu, x, half + c);
                rest = half + c <= row ? fma(-l[half + c], known, rest) : rest;
            }
            rest += __shfl_xor_sync(0xffffffffu, rest, 16);
            double more = 0;
#pragma unroll
            for (int c = 0; c < 8; ++c)
                more = fma(inverse[row][half + c], __shfl_sync(0xffffffffu, rest, half + c), more);
            x += more + __shfl_xor_sync(0xffffffffu, more, 16);
        }
        fine = __all_sync(0xffffffffu, isfinite(x));
    }
    if (!fine) {
        x = v[at + row];
        for (int c = 0; c < 16; ++c) {
            if (row == c) x /= l[c];
            const double known = __shfl_sync(0xffffffffu, x, c);
            if (row > c) x -= l[c] * known;
        }
    }
    __syncwarp();
    if (lane < 16) v[at + row] = x;
    __syncwarp();
    return x;
}

// `by_rows`: rows of L are contiguous, not columns. `work`: n words for each of K right-hand sides
// and one for the ticket, all ones.
template <typename E, int K>
__device__ __forceinline__ void solve(i64 n, const E* l, i64 rs, i64 cs, int by_rows, int unit,
                                      E* b, i64 brs, i64 bcs, Word* work) {
    __shared__ Diagonal d;
    __shared__ double known[2][K][T];
    __shared__ int ticket;
    const int thread = threadIdx.x;
    if (thread == 0) ticket = atomicAdd(reinterpret_cast<int*>(work + n * K), 1) + 1;
    __syncthreads();
    const i64 top = (i64)ticket * T;
    const int tiles = ticket, rows = (int)min((i64)T, n - top);
    const int row = by_rows ? thread / PARTS : thread % T,
              part = by_rows ? thread % PARTS : thread / T;
    const E* a = l + (top + (row < rows ? row : 0)) * rs + part * cs;
    E now[EACH], next[EACH];
    if (tiles > 0) {
#pragma unroll
        for (int i = 0; i < EACH; ++i) now[i] = a[i * PARTS * cs];
    }
    for (int e = thread; e < T * T; e += THREADS) {
        const int fast = e % T, slow = e / T, r = by_rows ? slow : fast, c = by_rows ? fast : slow;
        double v = r == c ? 1 : 0;
        if (r < rows && c <= r && !(unit && r == c)) v = l[(top + r) * rs + (top + c) * cs];
        d.tile[r][c] = v;
    }
    // Warp k divides right-hand side k, two rows per lane.
    const int warp = thread / 32, lane = thread % 32;
    double mine[2] = {0, 0};
    if (warp < K) {
#pragma unroll
        for (int h = 0; h < 2; ++h)
            if (lane + 32 * h < rows) mine[h] = b[(top + lane + 32 * h) * brs + warp * bcs];
    }
    __syncthreads();
    if (thread < T) {
        const int p = thread / 16;
        const bool mild = tile::invert_block<T + 1>(
            &d.tile[16 * p][16 * p], d.inverse[p],
            reinterpret_cast<double(*)[T]>(&d.pass[0][16 * p]), thread % 16);
        if (thread % 16 == 0) d.mild[p] = mild;
    }
    const int line = thread / T, place = thread % T;
    double sum[K][2] = {};
    for (int j = 0; j < tiles; ++j) {
        if (j + 1 < tiles) {
            a += T * cs;
#pragma unroll
            for (int i = 0; i < EACH; ++i) next[i] = a[i * PARTS * cs];
        }
        // Two buffers: a thread that still reads the other one has not reached this barrier.
        if (line < K) known[j & 1][line][place] = wait_for(work + line * n + (i64)j * T + place);
        __syncthreads();
#pragma unroll
        for (int i = 0; i < EACH; ++i) {
#pragma unroll
            for (int k = 0; k < K; ++k)
                sum[k][i & 1] =
                    fma((double)now[i], known[j & 1][k][part + i * PARTS], sum[k][i & 1]);
            now[i] = next[i];
        }
    }
#pragma unroll
    for (int k = 0; k < K; ++k)
        if (tiles > 0) d.pass[k * PARTS + part][row] = sum[k][0] + sum[k][1];
    __syncthreads();
    if (warp >= K) return;
    double* v = known[tiles & 1][warp];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
        const int r = lane + 32 * h;
        const double(*parts)[T] = d.pass + warp * PARTS;
        v[r] = tiles > 0 ? mine[h] - ((parts[0][r] + parts[1][r]) + (parts[2][r] + parts[3][r]))
                         : mine[h];
    }
    __syncwarp();
    for (int at = 0; at < rows; at += 16) {
        const double x = divide_block(d, v, at);
        if (lane < 16 && at + lane < rows) {
            publish(work + warp * n + top + at + lane, x);
            b[(top + at + lane) * brs + warp * bcs] = x;
        }
        for (int r = at + 16 + lane; r < T; r += 32)
            v[r] -= inner8(&d.tile[r][at], v + at) + inner8(&d.tile[r][at + 8], v + at + 8);
        __syncwarp();
    }
}

}  // namespace

#define INSTANCE(NAME, E, K)                                                                   \
    extern "C" __global__ void __launch_bounds__(THREADS)                                      \
        NAME(i64 n, const E* l, i64 rs, i64 cs, int by_rows, int unit, E* b, i64 brs, i64 bcs, \
             Word* work, const int* stop) {                                                    \
        if (stopped(stop)) return;                                                             \
        solve<E, K>(n, l, rs, cs, by_rows, unit, b, brs, bcs, work);                           \
    }

INSTANCE(triangle_solve_single_f64, double, 1)
INSTANCE(triangle_solve_single_f32, float, 1)
INSTANCE(triangle_solve_pair_f64, double, 2)
INSTANCE(triangle_solve_pair_f32, float, 2)
