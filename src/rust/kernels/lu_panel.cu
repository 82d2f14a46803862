// A panel of the LU factorization with partial pivoting, by one cluster of blocks and one launch.
//
// A thread holds rows of the panel in registers, WIDTH columns of them at a time, and where each of its rows stands: exchanges
// move nothing until the end. A column costs one meeting of the cluster: each block finds its largest candidate and gives it, with
// what is left of its row, to all the others; all choose the same, and eliminate.
//
// Before the next WIDTH columns are eliminated they are brought up to those before, from L in `work`, where rows keep their first
// places, so that no thread waits for another's memory. Loops are short: instructions are fetched more slowly than they are worked
// off when they are met for the first time.
#include "cluster.cuh"

namespace {

constexpr int THREADS = 256;
constexpr int WIDTH = 32;     // columns held at a time
constexpr int LARGEST = 128;  // columns of a panel
constexpr int BLOCKS = 16;    // of a cluster, at most
constexpr int NO_ROW = 0x7fffffff;

// A candidate for the pivot: the bits of its magnitude and one, 0 where there is none; where it stands; in which row it was at first.
struct alignas(16) Choice {
    unsigned high, low;
    int place, row;
};
__device__ __forceinline__ Choice choice(double v, int place) {
    const unsigned long long key = (unsigned long long)__double_as_longlong(v) + 1;
    return {(unsigned)(key >> 32), (unsigned)key, place, 0};
}
__device__ __forceinline__ Choice choice(float v, int place) { return {(unsigned)__float_as_int(v) + 1, 0, place, 0}; }
__device__ __forceinline__ Choice better(Choice a, Choice b) {
    const bool more = b.high != a.high ? b.high > a.high : b.low != a.low ? b.low > a.low : b.place < a.place;
    return more ? b : a;
}
// The best of a warp's, by its place; of several that are as large the first.
template <typename T>
__device__ __forceinline__ Choice warp_best(Choice c) {
    const unsigned high = __reduce_max_sync(0xffffffffu, c.high);
    const unsigned low = sizeof(T) == 8 ? __reduce_max_sync(0xffffffffu, c.high == high ? c.low : 0) : 0;
    const bool mine = c.high == high && c.low == low;
    return {high, low, (int)__reduce_min_sync(0xffffffffu, mine ? (unsigned)c.place : (unsigned)NO_ROW), 0};
}

template <typename T>
struct Shared {
    Choice choices[2][BLOCKS];         // by the parity of the column: what the blocks offer,
    T rows[2][BLOCKS][WIDTH];          // and what is left of those rows
    Choice mine[THREADS / 32];         // what warps offer
    Choice offer;
    T row[WIDTH];
    T u[LARGEST - WIDTH][WIDTH];       // rows of U above the columns in hand
    T l[LARGEST - WIDTH][LARGEST - WIDTH + 1];
    int origin[LARGEST];               // the first place of the row that became row j
};

// 1 / p of a pivot far from the ends of the range, within an ulp or so.
__device__ __forceinline__ double reciprocal(double p) {
    double y;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(p));
    const double e = fma(-p, y, 1.0);
    return fma(y, fma(e, e, e), y);
}
__device__ __forceinline__ float reciprocal(float p) { return __frcp_rn(p); }
__device__ __forceinline__ bool ordinary(double p) { return magnitude(p) > 1e-290 && magnitude(p) < 1e290; }
__device__ __forceinline__ bool ordinary(float p) { return magnitude(p) > 1e-30f && magnitude(p) < 1e30f; }
// x / p, from 1 / p: with what is left over taken into account, as good as a division.
template <typename T>
__device__ __forceinline__ T quotient(T x, T p, T inverse) {
    const T y = x * inverse;
    return fma(fma(-y, p, x), inverse, y);
}

// Columns c0 to c0 + w - 1 of the threads' rows brought up to the columns before.
template <typename T, int ROWS>
__device__ __forceinline__ void bring_up(Shared<T>& s, i64 m, const T* a, i64 ld, const T* work, int c0, int w, T (&x)[ROWS][WIDTH],
                                         const int (&row)[ROWS], const int (&place)[ROWS]) {
    const int t = threadIdx.x;
    __syncthreads();  // the last column's row is known
    for (int e = t; e < c0 * c0; e += THREADS) {
        const int j = e % c0, i = e / c0;
        s.l[j][i] = i < j ? __ldcg(work + s.origin[j] + i * m) : T(0);
    }
    for (int e = t; e < c0 * WIDTH; e += THREADS) {
        const int j = e % c0, c = e / c0;
        s.u[j][c] = c < w ? a[s.origin[j] + (c0 + c) * ld] : T(0);
    }
    __syncthreads();
    for (int j = 0; j + 1 < c0; ++j) {
        const T y = s.u[j][t % WIDTH];
        for (int i = j + 1 + t / WIDTH; i < c0; i += THREADS / WIDTH) s.u[i][t % WIDTH] -= s.l[i][j] * y;
        __syncthreads();
    }
#pragma unroll 1
    for (int k = 0; k < c0; ++k)
#pragma unroll
        for (int q = 0; q < ROWS; ++q) {
            if (row[q] >= m || place[q] < c0) continue;
            const T l = work[row[q] + k * m];
#pragma unroll
            for (int c = 0; c < WIDTH; ++c) x[q][c] -= l * s.u[k][c];
        }
#pragma unroll
    for (int q = 0; q < ROWS; ++q)
        if (row[q] < m && place[q] < c0)
#pragma unroll
            for (int c = 0; c < WIDTH; ++c) x[q][c] = s.u[place[q]][c];
}

template <typename T, int ROWS>
__device__ __forceinline__ void panel(i64 m, int n, T* a, i64 ld, T* work, i64 first, int* pivots, int* zero,
                                      int* moves) {
    extern __shared__ __align__(16) unsigned char memory[];
    Shared<T>& s = *reinterpret_cast<Shared<T>*>(memory);
    const int t = threadIdx.x, lane = t & 31, blocks = cluster::size(), me = cluster::rank();
    int row[ROWS], place[ROWS], none = -1;
#pragma unroll
    for (int q = 0; q < ROWS; ++q) {
        const i64 r = (i64)me * THREADS + t + (i64)q * blocks * THREADS;
        row[q] = place[q] = r < m ? (int)r : NO_ROW;
    }
#pragma unroll 1
    for (int c0 = 0; c0 < n; c0 += WIDTH) {
        const int w = min(WIDTH, n - c0);
        T x[ROWS][WIDTH];
#pragma unroll
        for (int c = 0; c < WIDTH; ++c)
#pragma unroll
            for (int q = 0; q < ROWS; ++q) x[q][c] = row[q] < m && c < w ? a[row[q] + (c0 + c) * ld] : T(0);
        if (c0 > 0) bring_up(s, m, a, ld, work, c0, w, x, row, place);
#pragma unroll 1
        for (int j = c0; j < c0 + w; ++j) {
            const int parity = j & 1;
            // The column's head counts as the largest where it is a NaN, and no other NaN counts: as in BLAS's idamax.
            Choice best = {0, 0, NO_ROW, 0};
#pragma unroll
            for (int q = 0; q < ROWS; ++q) {
                const T v = magnitude(x[q][0]);
                const bool head = place[q] == j && v != v;
                if (row[q] < m && place[q] >= j && (v == v || head))
                    best = better(best, choice(head ? T(__int_as_float(0x7f800000)) : v, place[q]));
            }
            best = warp_best<T>(best);
            if (lane == 0) s.mine[t / 32] = best;
            __syncthreads();
            best = warp_best<T>(s.mine[lane % (THREADS / 32)]);
            // The warp that has the row gives it to all blocks.
            bool mine = false;
#pragma unroll
            for (int q = 0; q < ROWS; ++q)
                if (place[q] == best.place && best.place != NO_ROW) {
                    mine = true;
                    s.offer = {best.high, best.low, best.place, row[q]};
#pragma unroll
                    for (int c = 0; c < WIDTH; ++c) s.row[c] = x[q][c];
                }
            if (__any_sync(0xffffffffu, mine)) {
                __syncwarp();
                constexpr int PIECE = 16 / sizeof(T), PIECES = WIDTH / PIECE;
                for (int e = lane; e < blocks * PIECES; e += 32)
                    cluster::store16(&s.rows[parity][me][e % PIECES * PIECE], e / PIECES, &s.row[e % PIECES * PIECE]);
                if (lane < blocks) cluster::store16(&s.choices[parity][me], lane, &s.offer);
            } else if (best.place == NO_ROW && t < 32) {
                if (t == 0) s.offer = best;
                __syncwarp();
                if (lane < blocks) cluster::store16(&s.choices[parity][me], lane, &s.offer);
            }
            cluster::arrive();
            cluster::wait();
            const Choice offered = lane < blocks ? s.choices[parity][lane] : Choice{0, 0, NO_ROW, 0};
            Choice found = warp_best<T>(offered);
            found.row = __shfl_sync(0xffffffffu, offered.row, __ffs(__ballot_sync(0xffffffffu, offered.place == found.place)) - 1);
            const T* from = s.rows[parity][found.row / THREADS % blocks];
            const T pivot = from[0], inverse = reciprocal(pivot);
            const bool usual = ordinary(pivot);
            if (t == 0) s.origin[j] = found.row;
            if (me == 0 && t == 0) {
                pivots[first + j] = (int)(first + found.place);
                if (pivot == T(0) && none < 0) none = (int)(first + j);
            }
#pragma unroll
            for (int q = 0; q < ROWS; ++q) {
                if (place[q] == found.place) place[q] = j;
                else if (place[q] == j) place[q] = found.place;
                const bool below = place[q] > j && row[q] < m;
                T l = x[q][0];
                if (below && pivot != T(0)) l = usual ? quotient(l, pivot, inverse) : l / pivot;
                if (row[q] < m) work[row[q] + j * m] = l;
                // Not by a factor of zero: the row may have infinities.
                if (below)
#pragma unroll
                    for (int c = 1; c < WIDTH; ++c) x[q][c - 1] = x[q][c] - l * from[c];
                else
#pragma unroll
                    for (int c = 1; c < WIDTH; ++c) x[q][c - 1] = x[q][c];
            }
        }
    }
    // What others read of the panel is read.
    cluster::arrive();
    cluster::wait();
#pragma unroll 1
    for (int c = 0; c < n; ++c)
#pragma unroll
        for (int q = 0; q < ROWS; ++q)
            if (row[q] < m) a[place[q] + c * ld] = work[row[q] + c * m];
    // Moves have no order among them.
#pragma unroll
    for (int q = 0; q < ROWS; ++q)
        if (row[q] < m && place[q] != row[q]) {
            const int e = 1 + atomicAdd(moves, 1);
            moves[e] = (int)first + place[q];
            moves[e + 2 * LARGEST] = (int)first + row[q];
        }
    if (me == 0 && t == 0 && none >= 0 && *zero < 0) *zero = none;
}

}  // namespace

// A panel of m rows and n <= 128 columns at a, first pivot number `first`: its L and U in place, pivots[first + j] the row that
// was exchanged for row first + j, *zero the first column without a pivot unless it is set already. `work`: m n elements. One cluster
// of up to 16 blocks of 256 threads; ROWS rows to a thread, so that blocks * 256 * ROWS >= m. `moves`: what the exchanges amount to,
// in rows of the whole matrix: their number, which is 0 before, destinations, and 256 further sources.
#define ENTRY(T, SUFFIX, ROWS)                                                                                             \
    extern "C" __global__ void __launch_bounds__(THREADS, 1)                                                               \
        panel_eliminate_cluster##ROWS##_##SUFFIX(i64 m, int n, T* a, i64 ld, T* work, i64 first, int* pivots, int* zero, int* moves) {   \
        panel<T, ROWS>(m, n, a, ld, work, first, pivots, zero, moves);                                                     \
    }
ENTRY(double, f64, 1)
ENTRY(double, f64, 2)
ENTRY(float, f32, 1)
ENTRY(float, f32, 2)
ENTRY(float, f32, 4)
