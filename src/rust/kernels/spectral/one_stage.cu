// arch: sm_70
// Symmetric to tridiagonal in one launch: A = Q T Q', one reflector after the other.
//
// Step j knows the reflector I - tau v v' of column j. Every column behind it is changed by the
// reflector before, A - v w' - w v', and multiplied by the new v in the same pass, p = tau A v.
// Then w = p - tau (p'v) v / 2 and column j + 1 give the next reflector.
//
// Block b of G has the columns b, b + G, ...: as many of the last of them in shared memory as fit,
// the first ones in place. A step needs all of p and all of column j + 1, so each block writes what
// it has of them to a board, and each forms w and the reflector by itself. The board has a place
// for each number of each step, which is EMPTY until the number is there: no other signal is
// needed. All blocks must be resident. A block ends with its last column.
//
// A thread has R rows, THREADS apart: 4 if all columns are in shared memory, else 10. No sum
// depends on G.
//
// v goes to column j of A, without its leading one in row j + 1. The largest entry of A should be
// about one.
#include "block_memory.cuh"
#include "reflection.cuh"
#include "tile_sync.cuh"

namespace {

using tile::Word;

constexpr int THREADS = 256, WARPS = THREADS / 32;
// Columns in a pass over rows, and rows of a thread whose loads are in flight together.
constexpr int BATCH = 4, TOGETHER = 2;
// A NaN that no operation answers.
constexpr Word EMPTY = ~0ull;

// The sum over each WIDTH lanes.
template <int WIDTH>
__device__ __forceinline__ double lane_sum(double x) {
#pragma unroll
    for (int d = WIDTH / 2; d > 0; d >>= 1) x += __shfl_xor_sync(0xffffffffu, x, d);
    return x;
}

__device__ __forceinline__ void put(Word* at, double x) {
    asm volatile("st.relaxed.gpu.global.f64 [%0], %1;" ::"l"(at), "d"(x) : "memory");
}

// The block's memory.
struct Shared {
    double sums[2][WARPS], first, alpha;
    double arrays[1];  // v and w in the rows of the block's columns, WARPS sums for each, columns
};

template <int R, bool IN_PLACE>
struct OneStage {
    int t, lane, warp, n, b, G, most, slots, held;
    double *v_there, *w_there, *partial, *kept, *a;
    i64 lda;
    Shared& m;
    // The reflector and its w in the thread's rows, and v of the reflector before.
    double v[R], w[R], before[R];

    __device__ __forceinline__ OneStage(Shared& memory, int order, double* matrix, i64 ld,
                                        int columns)
        : t(threadIdx.x), lane(t & 31), warp(t >> 5), n(order), b(blockIdx.x), G(gridDim.x),
          held(columns), a(matrix), lda(ld), m(memory) {
        most = (n + G - 1) / G;
        slots = (n - b + G - 1) / G;
        v_there = m.arrays;
        w_there = v_there + most;
        partial = w_there + most;
        kept = partial + most * WARPS;
    }

    // The sum of x over the block; `turn` alternates.
    __device__ __forceinline__ double over_block(double x, int turn) {
        x = lane_sum<32>(x);
        if (lane == 0) m.sums[turn][warp] = x;
        __syncthreads();
        return lane_sum<WARPS>(m.sums[turn][lane & (WARPS - 1)]);
    }

    // The sum of x[e] over the lanes, to sums[e * WARPS], for `count` of them.
    __device__ __forceinline__ void over_lanes(double (&x)[BATCH], int count, double* sums) {
        static_assert(BATCH == 4, "two exchanges leave one sum");
        int first = 0;
#pragma unroll
        for (int d = 16, left = BATCH / 2; left > 0; d >>= 1, left /= 2) {
            const bool upper = lane & d;
#pragma unroll
            for (int e = 0; e < BATCH / 2; ++e) {
                if (e >= left) break;
                const double give = upper ? x[e] : x[e + left], keep = upper ? x[e + left] : x[e];
                x[e] = keep + __shfl_xor_sync(0xffffffffu, give, d);
            }
            first += upper ? left : 0;
        }
        const double sum = lane_sum<8>(x[0]);
        if ((lane & 7) == 0 && first < count) sums[first * WARPS] = sum;
    }

    // Changes columns `first` to before `end`, which lie `step` apart from `c` on, and multiplies
    // them by v: to `partial`. The first of them goes to the board if `next`.
    __device__ __forceinline__ void pass(int j, int first, int end, double* c, i64 step, bool next,
                                         Word* at) {
#pragma unroll 1
        for (; first < end; first += BATCH, c += BATCH * step, next = false) {
            double sums[BATCH], vc[BATCH], wc[BATCH];
            const int count = end - first;
#pragma unroll
            for (int e = 0; e < BATCH; ++e) {
                const int slot = min(first + e, end - 1);
                vc[e] = v_there[slot];
                wc[e] = w_there[slot];
                sums[e] = 0;
            }
            // Rows up to j do no harm, since v is zero there and they are read no more.
#pragma unroll
            for (int q0 = 0; q0 < R; q0 += TOGETHER) {
                if ((q0 + TOGETHER) * THREADS <= j || q0 * THREADS >= n) continue;
                double x[TOGETHER][BATCH];
#pragma unroll
                for (int i = 0; i < TOGETHER; ++i) {
                    const int r = t + (q0 + i) * THREADS;
#pragma unroll
                    for (int e = 0; e < BATCH; ++e)
                        x[i][e] = r < n && e < count ? c[e * step + r] : 0.0;
                }
#pragma unroll
                for (int i = 0; i < TOGETHER; ++i) {
                    const int q = q0 + i, r = t + q * THREADS;
#pragma unroll
                    for (int e = 0; e < BATCH; ++e) {
                        x[i][e] = x[i][e] - before[q] * wc[e] - w[q] * vc[e];
                        sums[e] += x[i][e] * v[q];
                        if (r < n && e < count) c[e * step + r] = x[i][e];
                    }
                    if (next && r > j && r < n) put(at + 2 * r + 1, x[i][0]);
                }
            }
            over_lanes(sums, count, partial + first * WARPS + warp);
        }
    }

    // p to w, and column j + 1 to z, once they are on the board.
    __device__ __forceinline__ void gather(int j, const Word* at, double (&z)[R]) {
        Word p[R], x[R];
#pragma unroll
        for (int q = 0; q < R; ++q) {
            const int r = t + q * THREADS;
            p[q] = x[q] = r > j && r < n ? EMPTY : 0;
        }
        for (bool wait = true; wait;) {
            wait = false;
#pragma unroll
            for (int q = 0; q < R; ++q)
                if (p[q] == EMPTY || x[q] == EMPTY)
                    tile::load_relaxed(at + 2 * (t + q * THREADS), p[q], x[q]);
#pragma unroll
            for (int q = 0; q < R; ++q) wait |= p[q] == EMPTY || x[q] == EMPTY;
        }
#pragma unroll
        for (int q = 0; q < R; ++q) {
            w[q] = __longlong_as_double(p[q]);
            z[q] = __longlong_as_double(x[q]);
        }
    }

    // v <- the reflector of column j, whose entries are in v; `squares` is the sum of their squares
    // from row j + 2 on. Returns tau.
    __device__ __forceinline__ double reflect(double squares, int j, bool own, double* below,
                                              double* taus) {
        const Reflection<double> h(m.alpha, squares);
#pragma unroll
        for (int q = 0; q < R; ++q) {
            const int r = t + q * THREADS;
            v[q] = r <= j ? 0.0 : r == j + 1 ? 1.0 : v[q] * h.inverse;
            if (own && r > j + 1 && r < n) a[r + j * lda] = v[q];
        }
        if (own && t == 0 && j < n - 1) {
            below[j] = h.beta;
            taus[j] = h.tau;
        }
        return h.tau;
    }

    __device__ __forceinline__ void run(double* diagonal, double* below, double* taus,
                                        Word* board) {
        const int in_place = IN_PLACE ? most - held : 0;
#pragma unroll 1
        for (int slot = in_place; slot < slots; ++slot)
#pragma unroll 1
            for (int r = t; r < n; r += THREADS)
                kept[(slot - in_place) * n + r] = a[r + (b + (i64)slot * G) * lda];

        int mine[R];  // the slot of the row's column, if this block has it
        double sum = 0;
#pragma unroll
        for (int q = 0; q < R; ++q) {
            const int r = t + q * THREADS;
            mine[q] = r < n && r % G == b ? r / G : -1;
            w[q] = before[q] = 0;
            // From row 0, since column 0 becomes v.
            v[q] = r < n ? a[r * lda] : 0;
            if (r > 1) sum += v[q] * v[q];
            if (r == 0 && b == 0) diagonal[0] = v[q];
            if (r == 1) m.alpha = v[q];
            if (mine[q] >= 0) v_there[mine[q]] = w_there[mine[q]] = 0;
        }
        double tau = reflect(over_block(sum, 1), 0, b == 0, below, taus);

        // The first column behind j, and the block that has column j + 1.
        int from = b == 0, turn = G > 1;
        for (int j = 0; j < n - 1; ++j, board += 2 * (n - j)) {
            if (from >= slots) return;
            const bool next = turn == b;
            Word* at = board - 2 * (j + 1);
            if (IN_PLACE && from < in_place)
                pass(j, from, in_place, a + (b + (i64)from * G) * lda, G * lda, next, at);
            const int start = max(from, in_place);
            pass(j, start, slots, kept + (start - in_place) * n, n, next && start == from, at);
            __syncthreads();
#pragma unroll 1
            for (int first = from; first < slots; first += THREADS / WARPS) {
                const int slot = first + t / WARPS;
                const bool there = slot < slots;
                const double p = lane_sum<WARPS>(there ? partial[slot * WARPS + t % WARPS] : 0.0);
                if (there && t % WARPS == 0) put(at + 2 * (b + slot * G), tau * p);
            }

            double z[R];
            gather(j, at, z);
            sum = 0;
#pragma unroll
            for (int q = 0; q < R; ++q) {
                sum += w[q] * v[q];
                if (t + q * THREADS == j + 1) m.first = w[q];
            }
            const double half = 0.5 * tau * over_block(sum, 0), w1 = m.first - half;
            sum = 0;
#pragma unroll
            for (int q = 0; q < R; ++q) {
                const int r = t + q * THREADS;
                w[q] -= half * v[q];
                z[q] = r > j ? z[q] - v[q] * w1 - w[q] : 0;
                if (r == j + 1 && next) diagonal[r] = z[q];
                if (r == j + 2) m.alpha = z[q];
                if (r > j + 2) sum += z[q] * z[q];
                before[q] = v[q];
                v[q] = z[q];
                if (mine[q] >= 0) {
                    v_there[mine[q]] = before[q];
                    w_there[mine[q]] = w[q];
                }
            }
            tau = reflect(over_block(sum, 1), j + 1, next, below, taus);
            from += next;
            turn = turn + 1 == G ? 0 : turn + 1;
        }
    }
};

}  // namespace

#define INSTANCE(R, IN_PLACE)                                                                   \
    extern "C" __global__ void __launch_bounds__(THREADS, 1) symmetric_reduce_columns##R##_f64( \
        int n, double* a, i64 lda, int held, double* diagonal, double* below, double* taus,     \
        Word* board) {                                                                          \
        auto* memory = shared_memory<Shared>();                                                 \
        OneStage<R, IN_PLACE>(*memory, n, a, lda, held).run(diagonal, below, taus, board);      \
    }

INSTANCE(4, false)
INSTANCE(10, true)
