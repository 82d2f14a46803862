// arch: sm_80
// LU factorization with partial pivoting of as many columns as the blocks of one launch hold, in a
// pipeline.
//
// A block keeps some columns in registers, and rows stay in place. It applies the columns before
// its own, one by one as their blocks send them. Then it factors its own, without asking another
// block, and sends these. A mark in a column tells a receiver where its pivot is. A warp without
// rows, the clerk, records the exchanges, which are carried out at the end.
#include "lu_safe_pivot.cuh"

namespace {

using namespace lu;
using namespace pipeline;

// All threads of a block meet, including the clerk.
__device__ __forceinline__ void all_meet() { __syncthreads(); }

template <typename T, int THREADS, int WIDTH>
struct Shared {
    static constexpr int WARPS = THREADS / 32;  // with rows
    T row[2][WIDTH];                            // the row of a pivot, in the columns of this block
    int picked[2];  // its number, or -1 if `chosen_carefully` must choose it
    unsigned best[2][WARPS];
    Choice tied[THREADS];
};

template <typename T, int THREADS, int ROWS, int WIDTH>
struct Worker {
    using R = Rows<T, THREADS, ROWS>;
    Shared<T, THREADS, WIDTH>& s;
    const unsigned short* place;
    const int t, warp, lane;
    T x[ROWS][WIDTH];

    // Row h of this thread is the pivot of column j: writes it, and removes it from the rows.
    __device__ __forceinline__ void pick(int h, int j) {
        s.picked[j & 1] = R::of(t, h);
#pragma unroll
        for (int e = 0; e < WIDTH; ++e) s.row[j & 1][e] = x[h][e];
#pragma unroll
        for (int e = 0; e < WIDTH; ++e) x[h][e] = T(0);
    }

    __device__ __forceinline__ void follow(T (&l)[ROWS], const T* column, int j) {
        R::await(column, t, l);
#pragma unroll
        for (int h = 0; h < ROWS; ++h)
            if (head(l[h]) == MARK<T>) {
                pick(h, j);
                l[h] = T(0);
            }
        all_meet();
#pragma unroll
        for (int e = 0; e < WIDTH; ++e) {
            const T u = s.row[j & 1][e];
#pragma unroll
            for (int h = 0; h < ROWS; ++h) x[h][e] -= l[h] * u;
        }
    }

    template <int E>
    __device__ __forceinline__ Numbers<T, ROWS> column() const {
        Numbers<T, ROWS> v;
#pragma unroll
        for (int h = 0; h < ROWS; ++h) v.x[h] = x[h][E];
        return v;
    }

    // Updates the columns from FROM on with the pivot of this block's column E.
    template <int E, int FROM, int TO>
    __device__ __forceinline__ void change(int parity) {
#pragma unroll
        for (int e = FROM; e < TO; ++e) {
            const T u = s.row[parity][e];
#pragma unroll
            for (int h = 0; h < ROWS; ++h) x[h][e] -= x[h][E] * u;
        }
    }

    // Factors this block's column E, which is column j of all. At the start only this column has
    // the update by the column before; the later ones get it here.
    template <int E>
    __device__ __forceinline__ void factor(int j, int m, T* message) {
        constexpr int WARPS = THREADS / 32, NEXT = E + 1 < WIDTH ? E + 1 : E;
        constexpr unsigned INFINITE = sizeof(T) == 8 ? 0x7ff00000u : 0x7f800000u;
        const int parity = j & 1;
        unsigned key[ROWS], top = 0;
#pragma unroll
        for (int h = 0; h < ROWS; ++h) key[h] = head(x[h][E]) & 0x7fffffffu, top = max(top, key[h]);
        s.best[parity][warp] = __reduce_max_sync(ALL, top);
        asm volatile("bar.sync 1, %0;" ::"n"(THREADS) : "memory");
        const unsigned offered = lane < WARPS ? s.best[parity][lane] : 0;
        if constexpr (E > 0) change<E - 1, E + 1, WIDTH>(parity ^ 1);
        const unsigned found = __reduce_max_sync(ALL, offered);
        const unsigned who = __ballot_sync(ALL, offered == found);
        T inverse = rough(found, T());
        const bool glance = found - 1 < INFINITE - 1 && (who & (who - 1)) == 0;
        if (glance && who == 1u << warp) {
            int equal = 0;
#pragma unroll
            for (int h = 0; h < ROWS; ++h) equal += key[h] == found;
            const unsigned lanes = __ballot_sync(ALL, equal > 0);
            if (equal == 1 && (lanes & (lanes - 1)) == 0) {
#pragma unroll
                for (int h = 0; h < ROWS; ++h)
                    if (key[h] == found) pick(h, j);
            } else if (equal > 0) {
                s.picked[parity] = -1;
            }
        }
        if (!glance) s.picked[parity] = -1;
        all_meet();
        T p = s.row[parity][E], u = s.row[parity][NEXT];
        int picked = s.picked[parity];
        if (__builtin_expect(picked < 0, 0)) {
            // All have seen it, and the clerk has recorded all columns before.
            all_meet();
            const int row = chosen_carefully<T, THREADS, ROWS>(column<E>(), s.tied, place, t, j, m);
#pragma unroll
            for (int h = 0; h < ROWS; ++h)
                if (R::of(t, h) == row) pick(h, j);
            all_meet();
            p = s.row[parity][E], u = s.row[parity][NEXT], picked = s.picked[parity];
            inverse = rough(head(p) & 0x7fffffffu, T());
        }
        const Choice c = choice(p, 0, 0);
        if (__builtin_expect(is_ordinary(c, T()), 1)) {
            inverse = refined(p, inverse);
#pragma unroll
            for (int h = 0; h < ROWS; ++h) x[h][E] *= inverse;
        } else {
            const Numbers<T, ROWS> v = divided_carefully(column<E>(), p);
#pragma unroll
            for (int h = 0; h < ROWS; ++h) x[h][E] = v.x[h];
        }
        if constexpr (NEXT > E) {
#pragma unroll
            for (int h = 0; h < ROWS; ++h) x[h][NEXT] -= x[h][E] * u;
        }
        T l[ROWS];
#pragma unroll
        for (int h = 0; h < ROWS; ++h) {
            l[h] = x[h][E];
            if (R::of(t, h) == picked) put_word(l[h], MARK<T>);
        }
        R::write(message, t, l);
    }

    template <int E>
    __device__ __forceinline__ void factor_from(int end, int c0, int m, T* messages, i64 ldm) {
        if constexpr (E < WIDTH) {
            const int j = c0 + E;
            if (j >= end) return;
            factor<E>(j, m, messages + j * ldm);
            factor_from<E + 1>(end, c0, m, messages, ldm);
        }
    }
};

template <typename T, int THREADS, int ROWS, int WIDTH>
__device__ __forceinline__ void stripe(int m, int n, T* a, i64 lda, T* messages, i64 first,
                                       int* pivots, int* zero, int* moves, int room) {
    using R = Rows<T, THREADS, ROWS>;
    constexpr i64 LDM = THREADS * ROWS;
    extern __shared__ __align__(16) unsigned char memory[];
    auto& s = *at_hand(reinterpret_cast<Shared<T, THREADS, WIDTH>*>(memory));
    // The place of a row, and the row at a place.
    unsigned short *const place = reinterpret_cast<unsigned short*>(&s + 1), *const row_at =
                                                                                 place + m;
    int t = threadIdx.x, lane = t & 31, warp = t >> 5;
    asm volatile("" : "+r"(t), "+r"(lane), "+r"(warp));  // reading these registers takes long
    const int c0 = blockIdx.x * WIDTH, k = min(m, n), before = min(c0, k), end = min(c0 + WIDTH, k);
    constexpr int blank = (int)BLANK<T>;
    T* const own = a + c0 * lda;
    int* const picks = reinterpret_cast<int*>(messages + (k + 1) * LDM);  // the pivots' rows again
    for (int r = t; r < m; r += THREADS + 32) place[r] = row_at[r] = r;
    if (t >= THREADS) {
        __syncthreads();
        const auto note = [&](int r, int j) {
            const int from = place[r], other = row_at[j];
            place[other] = from;
            row_at[from] = other;
            place[r] = j;
            row_at[j] = r;
            return from;
        };
#pragma unroll 1
        for (int j = 0; j < end; ++j) {
            all_meet();
            if (s.picked[j & 1] < 0) {
                all_meet();
                all_meet();
            }
            const int r = s.picked[j & 1];
            const T u = s.row[j & 1][lane % WIDTH];
            if (lane < WIDTH && c0 + lane < n) own[j + lane * lda] = u;
            if (lane == 0) {
                const int from = note(r, j);
                if (j >= before) {
                    post(picks + j, r);
                    pivots[first + j] = (int)first + from;
                }
            }
            if (j >= before && lane == j - c0 && u == T(0))
                atomicMin(reinterpret_cast<unsigned*>(zero), (unsigned)(first + j));
        }
        // Later exchanges move rows of these columns too.
#pragma unroll 1
        for (int j = end; j < k;) {
            const int r = j + lane < k ? glance(picks + j + lane) : blank;
            const int there = __ffs(~__ballot_sync(ALL, r != blank)) - 1,
                      count = there < 0 ? 32 : there;
#pragma unroll 1
            for (int i = 0; i < count; ++i) {
                const int picked = __shfl_sync(ALL, r, i);
                if (lane == 0) note(picked, j + i);
            }
            j += count;
        }
        all_meet();
        return;
    }
    Worker<T, THREADS, ROWS, WIDTH> b = {s, place, t, warp, lane};
    R::load(own, lda, m, c0, n, t, b.x);
    __syncthreads();
    T l[ROWS];
    R::read(messages, t, l);
#pragma unroll 1
    for (int j = 0; j < before; ++j) {
        b.follow(l, messages + j * LDM, j);
        R::read(messages + (j + 1) * LDM, t, l);
    }
    b.template factor_from<0>(end, c0, m, messages, LDM);
    all_meet();
#pragma unroll
    for (int h = 0; h < ROWS; ++h) {
        const int r = R::of(t, h), at = r < m ? place[r] : 0;
        if (r >= m) continue;
        if (at >= end) {
#pragma unroll
            for (int e = 0; e < WIDTH; ++e)
                if (c0 + e < n) own[at + e * lda] = b.x[h][e];
        }
        if (blockIdx.x == 0 && at != r) {
            const int i = 1 + atomicAdd(moves, 1);
            moves[i] = (int)first + at;
            moves[i + room] = (int)first + r;
        }
    }
}

}  // namespace

// Factors a matrix of m rows and n columns at a, from pivot number `first` on. L and U replace the
// matrix. pivots[first + j]: the row exchanged for row first + j. *zero: the least number of a
// column without a pivot, as an unsigned integer, unless it is less already. `moves`: the
// composition of the exchanges, in rows of the whole matrix: their number, which must be 0 at the
// start, destinations, and then `room` places for sources.
//
// One launch of n / 8 blocks, all resident, of THREADS + 32 threads, for m <= THREADS * ROWS rows.
// `messages`: min(m, n) + 1 columns of THREADS * ROWS numbers, then min(m, n) integers; all words
// must be blank. Shared memory: `Shared`, and 2 * m short integers.
#define ENTRY(T, SUFFIX, THREADS, ROWS)                                                        \
    extern "C" __global__ void __launch_bounds__(THREADS + 32, 1)                              \
        columns_eliminate_pipeline##THREADS##x##ROWS##_##SUFFIX(                               \
            int m, int n, T* a, i64 lda, T* messages, i64 first, int* pivots, int* zero,       \
            int* moves, int room) {                                                            \
        stripe<T, THREADS, ROWS, 8>(m, n, a, lda, messages, first, pivots, zero, moves, room); \
    }
ENTRY(double, f64, 256, 2)
ENTRY(double, f64, 512, 2)
ENTRY(double, f64, 512, 4)
ENTRY(float, f32, 256, 4)
ENTRY(float, f32, 256, 8)
ENTRY(float, f32, 512, 8)
