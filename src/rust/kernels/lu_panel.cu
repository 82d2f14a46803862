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

constexpr int PARTS = 4;      // lanes that share a row: lane p has columns p, p + 4, ...
constexpr int LARGEST = 128;  // columns of a panel
constexpr int BLOCKS = 16;    // of a cluster, at most
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
// The lane that has the best of a warp's choices, as a bit; of several that are as large the first by place.
__device__ __noinline__ unsigned best_of_tied(unsigned tied, unsigned low, int place) {
    const unsigned lane = threadIdx.x & 31;
    low = tied >> lane & 1 ? low : 0;
    const unsigned lowest = __reduce_max_sync(ALL, low);
    tied &= __ballot_sync(ALL, low == lowest);
    const unsigned at = tied >> lane & 1 ? (unsigned)place : 0xffffffffu;
    const unsigned first = __reduce_min_sync(ALL, at);
    tied &= __ballot_sync(ALL, at == first);
    return tied & (0u - tied);
}
__device__ __forceinline__ unsigned best_bit(Choice c) {
    const unsigned best = __ballot_sync(ALL, c.high == __reduce_max_sync(ALL, c.high));
    return __builtin_expect(best & (best - 1), 0) ? best_of_tied(best, c.low, c.place) : best;
}
__device__ __forceinline__ int best_lane(Choice c) { return __ffs(best_bit(c)) - 1; }

// A candidate, its reciprocal if it is ordinary, and what is left of its row: column p + 4 s at row[p][s].
template <typename T, int SLOTS>
struct alignas(16) Offer {
    Choice choice;
    struct alignas(16) {
        T inverse, value;
    } head;
    T row[PARTS][SLOTS];
};

// SLOTS columns to a lane in hand, WARPS that have rows.
template <typename T, int WARPS, int SLOTS>
struct Shared {
    static constexpr int WIDTH = PARTS * SLOTS;
    Offer<T, SLOTS> offers[2][BLOCKS];   // of all blocks, by the parity of the column
    Offer<T, SLOTS> mine[2][WARPS];      // of this block's warps
    unsigned long long boxes[2];
    T u[LARGEST - WIDTH][PARTS][SLOTS];  // rows of U above the columns in hand
    T l[LARGEST - WIDTH][LARGEST - WIDTH + 1];
    double inverse[(LARGEST - WIDTH) / 8][8][9];  // of L's diagonal blocks, by columns
    int origin[LARGEST];                 // the first place of the row that became row j
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

// C += A B for tiles of 8 x 8, 4 deep: a lane has A(lane / 4, lane % 4), B(lane % 4, lane / 4), C(lane / 4, 2 (lane % 4)) and the next.
__device__ __forceinline__ void multiply_small(double& c0, double& c1, double a, double b) {
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};" : "+d"(c0), "+d"(c1) : "d"(a), "d"(b));
}
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
};

// The rows of L that have come since the last call, from row b on, and the inverses of their diagonal blocks of 8, to shared memory.
template <typename T, int WARPS, int SLOTS>
__device__ __forceinline__ void lower_rows(Shared<T, WARPS, SLOTS>& s, const T* work, i64 ld, int b) {
    constexpr int GROUP = 16, WIDTH = PARTS * SLOTS;  // loads in flight together
    const int t = threadIdx.x, lane = t & 31, warps = blockDim.x / 32;
    const int r = b + lane % WIDTH;
    const T* from = work + s.origin[r];
#pragma unroll 1
    for (int i = t / 32; i < b + WIDTH; i += warps * GROUP) {
        T y[GROUP];
#pragma unroll
        for (int g = 0; g < GROUP; ++g) y[g] = i + g * warps < r ? __ldcg(from + (i + g * warps) * ld) : T(0);
#pragma unroll
        for (int g = 0; g < GROUP; ++g)
            if (i + g * warps < b + WIDTH) s.l[r][i + g * warps] = y[g];
    }
    __syncthreads();
    if (t < WIDTH) {
        // A lane has a column of an inverse.
        const int first = b + t / 8 * 8, c = t % 8;
        double x[8];
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            x[i] = i == c;
#pragma unroll
            for (int k = 0; k < i; ++k) x[i] -= (double)s.l[first + i][first + k] * x[k];
        }
#pragma unroll
        for (int i = 0; i < 8; ++i) s.inverse[first / 8][c][i] = i < c ? 0 : x[i];
    }
}

// U above columns c0 to c0 + w - 1, by substitution, 8 rows at a time on the tensor cores; to shared memory and to `work`. A warp
// has 8 columns: number n of them is column n / 2 + 4 (2 warp + n % 2).
template <typename T, int WARPS, int SLOTS>
__device__ __forceinline__ void upper_rows(Shared<T, WARPS, SLOTS>& s, const T* a, i64 lda, T* work, i64 ld, int c0, int w) {
    constexpr int WIDTH = PARTS * SLOTS, MINE = WIDTH / 4;
    const int t = threadIdx.x, lane = t & 31, warp = t / 32, g = lane / 4, part = lane % 4;
    if (warp < 4)
        for (int r = lane; r < c0; r += 32) {
            const T* from = a + s.origin[r] + (c0 + warp) * lda;
            T y[MINE];
#pragma unroll
            for (int i = 0; i < MINE; ++i) y[i] = warp + PARTS * i < w ? from[PARTS * i * lda] : T(0);
#pragma unroll
            for (int i = 0; i < MINE; ++i) s.u[r][warp][i] = y[i];
        }
    __syncthreads();
    if (warp < WIDTH / 8) {
        T* own = &s.u[0][0][0] + 2 * warp;
        const auto factor = [&](int k) { return (double)own[(k * PARTS + (g >> 1)) * SLOTS + (g & 1)]; };
#pragma unroll 1
        for (int r = 0; r < c0; r += 8) {
            T* tile = own + ((r + g) * PARTS + part) * SLOTS;
            double x[2][2] = {{(double)tile[0], (double)tile[1]}, {0, 0}};
            const T* l = s.l[r + g] + part;
#pragma unroll 2
            for (int k = 0; k < r; k += 8)
#pragma unroll
                for (int h = 0; h < 2; ++h) multiply_small(x[h][0], x[h][1], -(double)l[k + 4 * h], factor(k + 4 * h + part));
            __syncwarp();
            tile[0] = (T)(x[0][0] + x[1][0]);
            tile[1] = (T)(x[0][1] + x[1][1]);
            __syncwarp();
            double y[2][2] = {};
#pragma unroll
            for (int h = 0; h < 2; ++h) multiply_small(y[h][0], y[h][1], s.inverse[r / 8][4 * h + part][g], factor(r + 4 * h + part));
            __syncwarp();
            tile[0] = (T)(y[0][0] + y[1][0]);
            tile[1] = (T)(y[0][1] + y[1][1]);
            __syncwarp();
        }
    }
    __syncthreads();
    if (cluster::rank() == 0)
#pragma unroll 1
        for (int e = t; e < c0 * PARTS; e += blockDim.x) {
            const int r = e / PARTS, p = e % PARTS;
#pragma unroll
            for (int i = 0; i < SLOTS; ++i)
                if (p + PARTS * i < w) work[s.origin[r] + (c0 + p + PARTS * i) * ld] = s.u[r][p][i];
        }
}

// Columns in hand, from c0 on, brought up to the columns before.
template <int WARPS, int SLOTS, int SETS>
__device__ __forceinline__ void bring_up(const Shared<float, WARPS, SLOTS>& s, const float* work, int c0, const Rows<SETS>& at, i64 ld,
                                         float (&x)[SETS][4][SLOTS]) {
    const int part = threadIdx.x % PARTS;
#pragma unroll
    for (int h = 0; h < SETS; ++h) {
        constexpr int GROUP = 8;  // loads in flight together
        const float* from = work + at.four[h];
#pragma unroll 1
        for (int k = 0; k < c0; k += GROUP) {
            float l[GROUP][4];
#pragma unroll
            for (int g = 0; g < GROUP; ++g, from += ld)
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
template <int WARPS, int SLOTS, int SETS>
__device__ __forceinline__ void bring_up(const Shared<double, WARPS, SLOTS>& s, const double* work, int c0, const Rows<SETS>& at, i64 ld,
                                         double (&x)[SETS][4][SLOTS]) {
    const int lane = threadIdx.x & 31, part = lane % PARTS, n = lane / 4;
#pragma unroll(SETS == 1 ? 2 : 1)
    for (int k = 0; k < c0; k += 16) {
        double l[SETS][4][4];
#pragma unroll
        for (int h = 0; h < SETS; ++h)
#pragma unroll
            for (int g = 0; g < 4; ++g)
#pragma unroll
                for (int q = 0; q < 4; ++q) l[h][g][q] = -work[at.four[h] + q + (k + 4 * g + part) * ld];
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

__device__ __forceinline__ void keep(double& x) { asm volatile("" : "+d"(x)); }
__device__ __forceinline__ void keep(float& x) { asm volatile("" : "+f"(x)); }

// By division, where a reciprocal may leave the range.
__device__ __noinline__ double divided(double x, double p) { return x / p; }
__device__ __noinline__ float divided(float x, float p) { return x / p; }

// The panel's constants, as all threads of a block know them.
template <typename T, int WARPS, int SLOTS>
struct Panel {
    Shared<T, WARPS, SLOTS>& s;
    i64 m, lda, ld, first;  // of `work`: ld, rows of all blocks
    int n, blocks, me, t, lane, warp;
    T *a, *work;
    int *pivots, *zero, *moves;
};

// Column j of the panel by the warps that have its rows; those before c0 + w are in hand.
template <typename T, int WARPS, int SLOTS, int SETS>
__device__ __forceinline__ void columns(const Panel<T, WARPS, SLOTS>& p, int c0, int w, Rows<SETS>& at, T* (&out)[SETS], T (&x)[SETS][4][SLOTS]) {
    Shared<T, WARPS, SLOTS>& s = p.s;
    const int lane = p.lane, part = lane % PARTS;
    T v[SETS][4];  // the column in hand, of four rows
#pragma unroll
    for (int h = 0; h < SETS; ++h)
#pragma unroll
        for (int q = 0; q < 4; ++q) v[h][q] = __shfl_sync(ALL, x[h][q][0], lane & ~3);
#pragma unroll 1
    for (int j0 = c0; j0 < c0 + w; j0 += PARTS) {
#pragma unroll 1
        for (int j = j0; j < min(j0 + PARTS, c0 + w); ++j) {
        const int parity = j & 1, turn = j % PARTS;
        // The column's head counts as the largest where it is a NaN, and no other NaN counts: as in BLAS's idamax.
        Choice best;
        T candidate;
        int set = 0;
#pragma unroll
        for (int h = 0; h < SETS; ++h) {
            const T own = fourth(v[h], part);
            Choice c = choice(own, at.place[h], at.row[h]);
            if (is_nan(c, T())) c.high = c.low = at.place[h] == j ? 0xffffffffu : 0;
            if (at.row[h] == NO_ROW || at.place[h] < j) c.high = c.low = 0;
            best = h == 0 ? c : better(best, c);
            if (h == 0 || best.row == c.row) candidate = own, set = h;
        }
        T inverse_candidate = reciprocal(candidate);
        keep(inverse_candidate);  // here, not where it is stored
        const unsigned bit = best_bit(best);
        Offer<T, SLOTS>& mine = s.mine[parity][p.warp];
        const unsigned group = bit >> (lane & ~3) & 15;
        if (SETS > 1) set = __shfl_sync(ALL, set, __ffs(bit) - 1);
#pragma unroll
        for (int h = 0; h < SETS; ++h)
#pragma unroll
            for (int q = 0; q < 4; ++q)
#pragma unroll
                for (int e = 0; e < SLOTS; e += 2) cluster::store_shared_if((group >> q & 1) && (SETS == 1 || set == h), &mine.row[part][e], x[h][q][e], x[h][q][e + 1]);
        if (bit >> lane & 1) {
            mine.choice = best;
            mine.head = {inverse_candidate, candidate};
        }
        __syncthreads();
        // The clerks send it.
        cluster::mailbox_wait(&s.boxes[parity], j >> 1 & 1);
        const Choice offered = lane < p.blocks ? s.offers[parity][lane % BLOCKS].choice : Choice{0, 0, NO_ROW, 0};
        const Offer<T, SLOTS>& taken = s.offers[parity][best_lane(offered)];
        const Choice found = taken.choice;
        const auto head = taken.head;
        if (__builtin_expect(ordinary(found, T()), 1)) {
#pragma unroll
            for (int h = 0; h < SETS; ++h)
#pragma unroll
                for (int q = 0; q < 4; ++q) v[h][q] *= head.inverse;
        } else if (!is_zero(found)) {
#pragma unroll
            for (int h = 0; h < SETS; ++h)
#pragma unroll
                for (int q = 0; q < 4; ++q) v[h][q] = divided(v[h][q], head.value);
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
                    for (int q = 0; q < 4; ++q) v[h][q] = __shfl_sync(ALL, turn == PARTS - 1 ? x[h][q][1] : x[h][q][0], (lane & ~3) | (turn + 1) % PARTS);
        }
#pragma unroll
        for (int h = 0; h < SETS; ++h) {
            at.place[h] = at.place[h] == found.place ? j : at.place[h] == j ? found.place : at.place[h];
            cluster::store_if(at.row[h] != NO_ROW && at.place[h] > j, out[h], fourth(l[h], part));
            out[h] += p.ld;
        }
        }
        // The next columns in hand come to the front.
#pragma unroll
        for (int e = 1; e < SLOTS; ++e)
#pragma unroll
            for (int h = 0; h < SETS; ++h)
#pragma unroll
                for (int q = 0; q < 4; ++q) x[h][q][e - 1] = x[h][q][e];
    }
}

// What the clerks do meanwhile: send the block's offer, and write down what was taken.
template <typename T, int WARPS, int SLOTS, int CLERKS>
__device__ __forceinline__ void clerks(const Panel<T, WARPS, SLOTS>& p, int c0, int w, int& none) {
    constexpr int PIECE = 16 / sizeof(T), PIECES = SLOTS / PIECE, ALL_PIECES = 2 + PARTS * PIECES;
    Shared<T, WARPS, SLOTS>& s = p.s;
    const int lane = p.lane, i0 = p.t - WARPS * 32;
#pragma unroll 1
    for (int j = c0; j < c0 + w; ++j) {
        const int parity = j & 1, turn = j % PARTS, rest = c0 + w - j, live = (rest + turn + PARTS - 1) / PARTS;
        unsigned long long* box = &s.boxes[parity];
        if (i0 == 0) cluster::mailbox_expect(box, p.blocks * (2 + PARTS * ((live + PIECE - 1) / PIECE)) * 16);
        __syncthreads();
        const int warp = best_lane(lane < WARPS ? s.mine[parity][lane % WARPS].choice : Choice{0, 0, NO_ROW, 0});
        const uint4* from = reinterpret_cast<const uint4*>(&s.mine[parity][warp]);
        uint4* place = reinterpret_cast<uint4*>(&s.offers[parity][p.me]);
#pragma unroll
        for (int k = 0; k < ALL_PIECES * BLOCKS; k += CLERKS * 32) {
            const int i = k + i0, to = i % BLOCKS, piece = i / BLOCKS;
            const bool really = to < p.blocks && piece < ALL_PIECES && (piece < 2 || (piece - 2) % PIECES * PIECE < live);
            const int at = piece < ALL_PIECES ? piece : 0;
            cluster::mailbox_send16(really, box, place + at, to, from + at);
        }
        cluster::mailbox_wait(box, j >> 1 & 1);
        if (i0 / 32 == CLERKS - 1) {
            const int which = best_lane(lane < p.blocks ? s.offers[parity][lane % BLOCKS].choice : Choice{0, 0, NO_ROW, 0});
            const Offer<T, SLOTS>& taken = s.offers[parity][which];
            const Choice found = taken.choice;
            const int c = turn + lane;
            // The row of U, by the block that had it.
            if (which == p.me && lane < rest) p.work[found.row + (j + lane) * p.ld] = lane == 0 ? taken.head.value : taken.row[c % PARTS][c / PARTS % SLOTS];
            if (lane == 0) {
                s.origin[j] = found.row;
                if (p.me == 0) p.pivots[p.first + j] = (int)(p.first + found.place);
                if (is_zero(found) && none < 0) none = (int)(p.first + j);
            }
        }
    }
}

template <typename T, int THREADS, int CLERKS, int SETS, int SLOTS>
__device__ __forceinline__ void panel(i64 m, int n, T* a, i64 lda, T* work, i64 first, int* pivots, int* zero, int* moves) {
    constexpr int WARPS = THREADS / 32, WIDTH = PARTS * SLOTS;
    extern __shared__ __align__(16) unsigned char memory[];
    int t = threadIdx.x;
    asm volatile("" : "+r"(t));  // it too takes long to ask for
    const Panel<T, WARPS, SLOTS> p = {*cluster::own(reinterpret_cast<Shared<T, WARPS, SLOTS>*>(memory)), m, lda, (i64)cluster::size() * THREADS * SETS, first,
                               n, cluster::size(), cluster::rank(), t, t & 31, t / 32, a, work, pivots, zero, moves};
    Shared<T, WARPS, SLOTS>& s = p.s;
    const int part = t % PARTS;
    Rows<SETS> at;
    T* out[SETS];  // of the column in hand, the lane's own rows
    int none = -1;
#pragma unroll
    for (int h = 0; h < SETS; ++h) {
        const int r = (h * p.blocks + p.me) * THREADS + t;
        out[h] = work + r;
        at.row[h] = at.place[h] = r < m && t < THREADS ? r : NO_ROW;
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
                for (int q = 0; q < 4; ++q) x[h][q][e] = at.four[h] + q < m && c < w && t < THREADS ? a[at.four[h] + q + (c0 + c) * lda] : T(0);
            }
        cluster::meet();
        if (c0 > 0) {
            lower_rows(s, work, p.ld, c0 - WIDTH);
            upper_rows(s, a, lda, work, p.ld, c0, w);
        }
        if (p.warp < WARPS) {
            if (c0 > 0) bring_up(s, work, c0, at, p.ld, x);
            columns(p, c0, w, at, out, x);
        } else {
            clerks<T, WARPS, SLOTS, CLERKS>(p, c0, w, none);
        }
    }
    // All of U is in `work`, and nobody has a message under way.
    cluster::meet();
#pragma unroll
    for (int h = 0; h < SETS; ++h) {
        if (at.row[h] == NO_ROW) continue;
        constexpr int GROUP = 16;
        const T* from = work + at.row[h];
        T* to = a + at.place[h];
#pragma unroll 1
        for (int c = 0; c < n; c += GROUP) {
            T y[GROUP];
#pragma unroll
            for (int i = 0; i < GROUP; ++i) y[i] = c + i < n ? __ldcg(from + (c + i) * p.ld) : T(0);
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
    if (p.me == 0 && t == THREADS + (CLERKS - 1) * 32 && none >= 0 && *zero < 0) *zero = none;
}

}  // namespace

// A panel of m rows and n <= 128 columns at a, first pivot number `first`: its L and U in place, pivots[first + j] the row that
// was exchanged for row first + j, *zero the first column without a pivot unless it is set already. One cluster of up to 16 blocks,
// as many that blocks * ROWS >= m; `work`: blocks * ROWS * n elements. `moves`: what the exchanges amount to, in rows of the
// whole matrix: their number, which is 0 before, destinations, and 256 further sources.
#define ENTRY(T, SUFFIX, ROWS, THREADS, CLERKS, SLOTS)                                                                            \
    extern "C" __global__ void __launch_bounds__(THREADS + 32 * CLERKS, 1)                                                 \
        panel_eliminate_cluster##ROWS##_##SUFFIX(i64 m, int n, T* a, i64 ld, T* work, i64 first, int* pivots, int* zero, int* moves) {   \
        panel<T, THREADS, CLERKS, ROWS / THREADS, SLOTS>(m, n, a, ld, work, first, pivots, zero, moves);                          \
    }
ENTRY(double, f64, 128, 128, 4, 8)
ENTRY(double, f64, 256, 128, 4, 8)
ENTRY(double, f64, 512, 256, 4, 4)
ENTRY(float, f32, 128, 128, 4, 8)
ENTRY(float, f32, 256, 128, 4, 8)
ENTRY(float, f32, 512, 128, 4, 8)
ENTRY(float, f32, 1024, 256, 4, 4)
