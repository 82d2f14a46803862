// A panel of the LU factorization with partial pivoting, by one cluster of blocks and one launch.
//
// The panel stays in registers, WIDTH columns of it at a time, and rows stay where they are: exchanges move nothing until the end.
// For a column each block finds its largest candidate and sends it, with what is left of its row, to the mailboxes of all
// blocks; all choose the same, and eliminate. Nobody waits for memory on the way: entries of L and U go to `work`, where rows
// keep their first places.
//
// A warp has 32 rows in each of SETS sets. A lane answers for one of them, and holds every fourth column of four of them: a number
// that is read from shared memory to all lanes costs as much as four products.
//
// Before the next WIDTH columns are eliminated the blocks meet, and bring them up to those before from L in `work`.
#include "cluster.cuh"

namespace {

constexpr int WIDTH = 32;     // columns held at a time
constexpr int PARTS = 4;      // lanes that share a row: lane p has columns p, p + 4, ...
constexpr int SLOTS = WIDTH / PARTS;
constexpr int LARGEST = 128;  // columns of a panel
constexpr int BLOCKS = 16;    // of a cluster, at most
constexpr int GROUP = 8;      // loads in flight together
constexpr int NO_ROW = 0x7fffffff;
constexpr unsigned ALL = 0xffffffffu;

// A candidate for the pivot: the bits of its magnitude with the highest one set, all where it counts as infinite, 0 where there is
// none; where it stands; in which row it was at first.
struct alignas(16) Choice {
    unsigned high, low;
    int place, row;
};
__device__ __forceinline__ Choice choice(double v, int place, int row) {
    const unsigned long long bits = (unsigned long long)__double_as_longlong(v);
    return {(unsigned)(bits >> 32) | 0x80000000u, (unsigned)bits, place, row};
}
__device__ __forceinline__ Choice choice(float v, int place, int row) {
    return {(unsigned)__float_as_int(v) | 0x80000000u, 0, place, row};
}
__device__ __forceinline__ bool is_nan(Choice c, double) { return c.high > 0xfff00000u || (c.high == 0xfff00000u && c.low != 0); }
__device__ __forceinline__ bool is_nan(Choice c, float) { return c.high > 0xff800000u; }
__device__ __forceinline__ Choice better(Choice a, Choice b) {
    const bool more = b.high != a.high ? b.high > a.high : b.low != a.low ? b.low > a.low : b.place < a.place;
    return more ? b : a;
}
// The lane that has the best of a warp's choices; of several that are as large the first by place.
__device__ __noinline__ int best_of_tied(unsigned tied, unsigned low, int place) {
    const unsigned lane = threadIdx.x & 31;
    low = tied >> lane & 1 ? low : 0;
    const unsigned lowest = __reduce_max_sync(ALL, low);
    tied &= __ballot_sync(ALL, low == lowest);
    const unsigned at = tied >> lane & 1 ? (unsigned)place : 0xffffffffu;
    const unsigned first = __reduce_min_sync(ALL, at);
    return __ffs(tied & __ballot_sync(ALL, at == first)) - 1;
}
__device__ __forceinline__ int best_lane(Choice c) {
    const unsigned best = __ballot_sync(ALL, c.high == __reduce_max_sync(ALL, c.high));
    if (__builtin_expect(best & (best - 1), 0)) return best_of_tied(best, c.low, c.place);
    return __ffs(best) - 1;
}

// A number that the compiler does not know: else comparisons with it become an index, and registers an array in memory.
__device__ __forceinline__ int opaque(int x) {
    asm("" : "+r"(x));
    return x;
}

// A candidate and what is left of its row: column p + 4 s at row[p][s]. In place of the candidate itself stands its reciprocal, if that
// is ordinary.
template <typename T>
struct alignas(16) Offer {
    Choice choice;
    T row[PARTS][SLOTS];
};

template <typename T, int WARPS>
struct Shared {
    Offer<T> offers[2][BLOCKS];   // of all blocks, by the parity of the column
    Offer<T> mine[2][WARPS];      // of this block's warps,
    T pivots[2][WARPS];           // and their candidates
    unsigned long long boxes[2];
    T u[LARGEST - WIDTH][PARTS][SLOTS];  // rows of U above the columns in hand
    T l[LARGEST - WIDTH][LARGEST - WIDTH + 1];
    int origin[LARGEST];          // the first place of the row that became row j
};

// 1 / p of a pivot far from the ends of the range, rounded: LAPACK too multiplies by it.
__device__ __forceinline__ double reciprocal(double p) {
    double y;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(p));
    const double e = fma(-p, y, 1.0);
    y = fma(y, fma(e, e, e), y);
    return fma(fma(-p, y, 1.0), y, y);
}
__device__ __forceinline__ float reciprocal(float p) { return __frcp_rn(p); }
// Far from the ends: 2^-1000 to 2^1000, 2^-120 to 2^120.
__device__ __forceinline__ bool ordinary(Choice c, double) { return c.high >= 0x81700000u && c.high < 0xfe700000u; }
__device__ __forceinline__ bool ordinary(Choice c, float) { return c.high >= 0x83800000u && c.high < 0xfb800000u; }
__device__ __forceinline__ bool is_zero(Choice c) { return c.high == 0x80000000u && c.low == 0; }

// C += A B for tiles of 16 x 8, 8 deep: m16n8k8.
__device__ __forceinline__ void multiply_tile(double& c0, double& c1, double& c2, double& c3, double a0, double a1, double a2, double a3,
                                              double b0, double b1) {
    asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+d"(c0), "+d"(c1), "+d"(c2), "+d"(c3)
        : "d"(a0), "d"(a1), "d"(a2), "d"(a3), "d"(b0), "d"(b1));
}

// Where the threads' rows are.
template <int SETS>
struct Rows {
    int row[SETS];    // the lane's own, at first
    int place[SETS];  // and where it stands now
    i64 four[SETS];   // the first of those of which it holds columns
    i64 ld;           // of `work`: rows of all blocks
};

// U above columns c0 to c0 + w - 1, by substitution; to shared memory and to `work`. A warp has a few columns to itself, a lane a row.
template <typename T, int WARPS>
__device__ __forceinline__ void upper_rows(Shared<T, WARPS>& s, const T* a, i64 lda, T* work, i64 ld, int c0, int w) {
    constexpr int MINE = WIDTH / WARPS;
    const int t = threadIdx.x, lane = t & 31, warp = t / 32;
    for (int b = 0; b < c0; b += 32) {
        const T* from = work + s.origin[b + lane];
        for (int i = warp; i < b + 32; i += WARPS * GROUP) {
            T y[GROUP];
#pragma unroll
            for (int g = 0; g < GROUP; ++g) y[g] = i + g * WARPS < b + lane ? __ldcg(from + (i + g * WARPS) * ld) : T(0);
#pragma unroll
            for (int g = 0; g < GROUP; ++g)
                if (i + g * WARPS < b + 32) s.l[b + lane][i + g * WARPS] = y[g];
        }
    }
    __syncthreads();
#pragma unroll 1
    for (int b = 0; b < c0; b += 32) {
        T v[MINE];
        const i64 from = s.origin[b + lane];
#pragma unroll
        for (int p = 0; p < MINE; ++p) {
            const int c = warp * MINE + p;
            v[p] = c < w ? a[from + (c0 + c) * lda] : T(0);
        }
#pragma unroll 4
        for (int k = 0; k < b; ++k) {
            const T l = s.l[b + lane][k];
#pragma unroll
            for (int p = 0; p < MINE; ++p) v[p] -= l * s.u[k][p % PARTS][warp * (MINE / PARTS) + p / PARTS];
        }
#pragma unroll 4
        for (int k = 0; k < 31; ++k) {
            const T l = s.l[b + lane][b + k];
#pragma unroll
            for (int p = 0; p < MINE; ++p) {
                const T y = __shfl_sync(ALL, v[p], k);
                if (lane > k) v[p] -= l * y;
            }
        }
#pragma unroll
        for (int p = 0; p < MINE; ++p) {
            const int c = warp * MINE + p;
            s.u[b + lane][p % PARTS][warp * (MINE / PARTS) + p / PARTS] = v[p];
            if (cluster::rank() == 0 && c < w) work[from + (c0 + c) * ld] = v[p];
        }
        __syncwarp();
    }
    __syncthreads();
}

// Columns in hand, from c0 on, brought up to the columns before.
template <int WARPS, int SETS>
__device__ __forceinline__ void bring_up(const Shared<float, WARPS>& s, const float* work, int c0, const Rows<SETS>& at,
                                         float (&x)[SETS][4][SLOTS]) {
    const int part = threadIdx.x % PARTS;
#pragma unroll
    for (int h = 0; h < SETS; ++h) {
        const float* from = work + at.four[h];
#pragma unroll 1
        for (int k = 0; k < c0; k += GROUP) {
            float l[GROUP][4];
#pragma unroll
            for (int g = 0; g < GROUP; ++g, from += at.ld)
#pragma unroll
                for (int q = 0; q < 4; ++q) l[g][q] = from[q];
#pragma unroll
            for (int g = 0; g < GROUP; ++g)
#pragma unroll
                for (int e = 0; e < SLOTS; ++e)
#pragma unroll
                    for (int q = 0; q < 4; ++q) x[h][q][e] -= l[g][q] * s.u[k + g][part][e];
        }
    }
}
// In double by the tensor cores, whose tiles the lanes' numbers are: rows q and q + 1 of a lane's four are rows lane / 4 and
// lane / 4 + 8 of a tile, columns e and e + 1 of its part columns 2 part and 2 part + 1.
template <int WARPS, int SETS>
__device__ __forceinline__ void bring_up(const Shared<double, WARPS>& s, const double* work, int c0, const Rows<SETS>& at,
                                         double (&x)[SETS][4][SLOTS]) {
    const int lane = threadIdx.x & 31, part = lane % PARTS, n = lane / 4;
#pragma unroll 1
    for (int k = 0; k < c0; k += 16) {
        double l[SETS][4][4];
#pragma unroll
        for (int h = 0; h < SETS; ++h)
#pragma unroll
            for (int g = 0; g < 4; ++g)
#pragma unroll
                for (int q = 0; q < 4; ++q) l[h][g][q] = -work[at.four[h] + q + (k + 4 * g + part) * at.ld];
#pragma unroll
        for (int e = 0; e < SLOTS; e += 2) {
            double u[4];
#pragma unroll
            for (int g = 0; g < 4; ++g) u[g] = s.u[k + 4 * g + part][n >> 1][e + (n & 1)];
#pragma unroll
            for (int h = 0; h < SETS; ++h)
#pragma unroll
                for (int q = 0; q < 4; q += 2)
#pragma unroll
                    for (int g = 0; g < 4; g += 2) multiply_tile(x[h][q][e], x[h][q][e + 1], x[h][q + 1][e], x[h][q + 1][e + 1], l[h][g][q], l[h][g][q + 1], l[h][g + 1][q], l[h][g + 1][q + 1], u[g], u[g + 1]);
        }
    }
}

// Element `part` of four.
template <typename T>
__device__ __forceinline__ T fourth(const T (&v)[4], int part) {
    const T low = part & 1 ? v[1] : v[0], high = part & 1 ? v[3] : v[2];
    return part & 2 ? high : low;
}

// By division, where a reciprocal may leave the range.
__device__ __noinline__ double divided(double x, double p) { return x / p; }
__device__ __noinline__ float divided(float x, float p) { return x / p; }

template <typename T, int THREADS, int SETS>
__device__ __forceinline__ void panel(i64 m, int n, T* a, i64 lda, T* work, i64 first, int* pivots, int* zero,
                                      int* moves) {
    constexpr int WARPS = THREADS / 32, PIECE = 16 / sizeof(T);
    extern __shared__ __align__(16) unsigned char memory[];
    Shared<T, WARPS>& s = *cluster::own(reinterpret_cast<Shared<T, WARPS>*>(memory));
    const int t = threadIdx.x, lane = t & 31, warp = t / 32, part = t % PARTS;
    const int blocks = cluster::size(), me = cluster::rank();
    Rows<SETS> at;
    at.ld = (i64)blocks * THREADS * SETS;
    int none = -1;
    T* out[SETS];  // of the column in hand, the lane's own rows
#pragma unroll
    for (int h = 0; h < SETS; ++h) {
        out[h] = work + (h * blocks + me) * THREADS + t;
        const int r = (h * blocks + me) * THREADS + t;
        at.row[h] = at.place[h] = r < m ? r : NO_ROW;
        at.four[h] = r - part;
    }
    if (t < 2) cluster::mailbox_open(&s.boxes[t]);
#pragma unroll 1
    for (int c0 = 0; c0 < n; c0 += WIDTH) {
        const int w = min(WIDTH, n - c0);
        T x[SETS][4][SLOTS];
#pragma unroll
        for (int h = 0; h < SETS; ++h)
#pragma unroll
            for (int e = 0; e < SLOTS; ++e) {
                const int c = part + PARTS * e;
#pragma unroll
                for (int q = 0; q < 4; ++q) x[h][q][e] = at.four[h] + q < m && c < w ? a[at.four[h] + q + (c0 + c) * lda] : T(0);
            }
        cluster::meet();
        if (c0 > 0) {
            upper_rows(s, a, lda, work, at.ld, c0, w);
            bring_up(s, work, c0, at, x);
        }
        T v[SETS][4];  // the column in hand, of four rows
#pragma unroll
        for (int h = 0; h < SETS; ++h)
#pragma unroll
            for (int q = 0; q < 4; ++q) v[h][q] = __shfl_sync(ALL, x[h][q][0], lane & ~3);
#pragma unroll 1
        for (int j = c0; j < c0 + w; ++j) {
            const int parity = j & 1, turn = (j - c0) % PARTS, live = (c0 + w - j + turn + PARTS - 1) / PARTS;
            // The column's head counts as the largest where it is a NaN, and no other NaN counts: as in BLAS's idamax.
            Choice best;
            T candidate;
#pragma unroll
            for (int h = 0; h < SETS; ++h) {
                const T own = fourth(v[h], part);
                Choice c = choice(own, at.place[h], at.row[h]);
                if (is_nan(c, T())) c.high = c.low = at.place[h] == j ? 0xffffffffu : 0;
                if (at.row[h] >= m || at.place[h] < j) c.high = c.low = 0;
                best = h == 0 ? c : better(best, c);
                candidate = h == 0 || best.row == c.row ? own : candidate;
            }
            const T inverse_candidate = ordinary(best, T()) ? reciprocal(candidate) : candidate;
            const int leader = best_lane(best);
            Offer<T>& mine = s.mine[parity][warp];
            const int set = SETS > 1 ? __shfl_sync(ALL, best.row, leader) / THREADS / blocks : 0;
            if (lane / 4 == leader / 4) {
#pragma unroll
                for (int h = 0; h < SETS; ++h)
#pragma unroll
                    for (int q = 0; q < 4; ++q)
                        if (opaque(q) == leader % 4 && (SETS == 1 || opaque(h) == set))
#pragma unroll
                            for (int e = 0; e < SLOTS; ++e) mine.row[part][e] = x[h][q][e];
                __syncwarp(15u << (leader & ~3));
                if (lane == leader) {
                    mine.choice = best;
                    mine.row[turn][0] = inverse_candidate;
                    s.pivots[parity][warp] = candidate;
                }
            }
            __syncthreads();
            // As many threads for each block.
            const int first_warp = best_lane(lane < WARPS ? s.mine[parity][lane].choice : Choice{0, 0, NO_ROW, 0});
            const Offer<T>& offer = s.mine[parity][first_warp];
            constexpr int EACH = THREADS / BLOCKS;
            if (const int to = t / EACH; to < blocks) {
                constexpr int PIECES = SLOTS / PIECE;
#pragma unroll
                for (int i = 0; i < PARTS * PIECES; i += EACH) {
                    const int p = (i + t % EACH) / PIECES, e = t % PIECES * PIECE;
                    if (p < PARTS && e < live)
                        cluster::mailbox_send16(&s.boxes[parity], &s.offers[parity][me].row[p][e], to, &offer.row[p][e]);
                }
                if (t % EACH == 0) cluster::mailbox_send16(&s.boxes[parity], &s.offers[parity][me].choice, to, &offer.choice);
            }
            if (t == THREADS - 1) cluster::mailbox_expect(&s.boxes[parity], blocks * (1 + PARTS * ((live + PIECE - 1) / PIECE)) * 16);
            cluster::mailbox_wait(&s.boxes[parity], j >> 1 & 1);
            const Choice offered = lane < blocks ? s.offers[parity][lane % BLOCKS].choice : Choice{0, 0, NO_ROW, 0};
            const int which = best_lane(offered);
            const Offer<T>& taken = s.offers[parity][which];
            const Choice found = taken.choice;
            const T inverse = taken.row[turn][0];
            if (__builtin_expect(ordinary(found, T()), 1)) {
#pragma unroll
                for (int h = 0; h < SETS; ++h)
#pragma unroll
                    for (int q = 0; q < 4; ++q) v[h][q] *= inverse;
            } else if (!is_zero(found)) {
#pragma unroll
                for (int h = 0; h < SETS; ++h)
#pragma unroll
                    for (int q = 0; q < 4; ++q) v[h][q] = divided(v[h][q], inverse);
            }
            T l[SETS][4];
#pragma unroll
            for (int h = 0; h < SETS; ++h)
#pragma unroll
                for (int q = 0; q < 4; ++q) l[h][q] = v[h][q];
            // Rows that are done have no more use for x. The next column goes first.
#pragma unroll
            for (int e = 0; e < SLOTS; ++e) {
                const T u = taken.row[part][e];
#pragma unroll
                for (int h = 0; h < SETS; ++h)
#pragma unroll
                    for (int q = 0; q < 4; ++q) x[h][q][e] -= l[h][q] * u;
                if (e == 1)
#pragma unroll
                    for (int h = 0; h < SETS; ++h)
#pragma unroll
                        for (int q = 0; q < 4; ++q)
                            v[h][q] = __shfl_sync(ALL, turn == PARTS - 1 ? x[h][q][1] : x[h][q][0], (lane & ~3) | (turn + 1) % PARTS);
            }
#pragma unroll
            for (int h = 0; h < SETS; ++h) {
                if (at.place[h] == found.place) at.place[h] = j;
                else if (at.place[h] == j) at.place[h] = found.place;
                if (at.place[h] > j && at.row[h] < m) out[h][0] = fourth(l[h], part);
                out[h] += at.ld;
            }
            // The row of U, by the block that had it.
            if (which == me && warp == 1 && lane < c0 + w - j) {
                const int c = turn + lane;
                const T u = lane == 0 ? s.pivots[parity][first_warp] : taken.row[c % PARTS][c / PARTS];
                work[found.row + (j + lane) * at.ld] = u;
            }
            if (t == 64) {
                s.origin[j] = found.row;
                if (me == 0) pivots[first + j] = (int)(first + found.place);
                if (is_zero(found) && none < 0) none = (int)(first + j);
            }
            if (turn == PARTS - 1) {
                asm volatile("");  // a branch, for one column of four
#pragma unroll
                for (int e = 1; e < SLOTS; ++e)
#pragma unroll
                    for (int h = 0; h < SETS; ++h)
#pragma unroll
                        for (int q = 0; q < 4; ++q) x[h][q][e - 1] = x[h][q][e];
            }
        }
    }
    // All of U is in `work`, and nobody has a message under way.
    cluster::meet();
#pragma unroll
    for (int h = 0; h < SETS; ++h) {
        if (at.row[h] >= m) continue;
        constexpr int GROUP = 16;
        const T* from = work + at.row[h];
        T* to = a + at.place[h];
#pragma unroll 1
        for (int c = 0; c < n; c += GROUP) {
            T y[GROUP];
#pragma unroll
            for (int i = 0; i < GROUP; ++i) y[i] = c + i < n ? __ldcg(from + (c + i) * at.ld) : T(0);
#pragma unroll
            for (int i = 0; i < GROUP; ++i)
                if (c + i < n) to[(c + i) * lda] = y[i];
        }
        // Moves have no order among them.
        if (at.place[h] != at.row[h]) {
            const int e = 1 + atomicAdd(moves, 1);
            moves[e] = (int)first + at.place[h];
            moves[e + 2 * LARGEST] = (int)first + at.row[h];
        }
    }
    if (me == 0 && t == 64 && none >= 0 && *zero < 0) *zero = none;
}

}  // namespace

// A panel of m rows and n <= 128 columns at a, first pivot number `first`: its L and U in place, pivots[first + j] the row that
// was exchanged for row first + j, *zero the first column without a pivot unless it is set already. One cluster of up to 16 blocks,
// as many that blocks * THREADS * SETS >= m; `work`: blocks * THREADS * SETS * n elements. `moves`: what the exchanges amount
// to, in rows of the whole matrix: their number, which is 0 before, destinations, and 256 further sources.
#define ENTRY(T, SUFFIX, ROWS, THREADS)                                                                                    \
    extern "C" __global__ void __launch_bounds__(THREADS, 1)                                                               \
        panel_eliminate_cluster##ROWS##_##SUFFIX(i64 m, int n, T* a, i64 ld, T* work, i64 first, int* pivots, int* zero, int* moves) {   \
        panel<T, THREADS, ROWS / THREADS>(m, n, a, ld, work, first, pivots, zero, moves);                                  \
    }
ENTRY(double, f64, 128, 128)
ENTRY(double, f64, 256, 128)
ENTRY(double, f64, 512, 256)
ENTRY(float, f32, 128, 128)
ENTRY(float, f32, 256, 128)
ENTRY(float, f32, 512, 128)
ENTRY(float, f32, 1024, 256)
