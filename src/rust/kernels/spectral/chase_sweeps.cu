// arch: sm_70
// Band to tridiagonal as chase.cu defines it, for a band of B = 32: steps, storage and results are
// the same. Here a block takes several sweeps together, so that few steps wait for other blocks.
//
// Warp g goes through sweep s0 + g, two steps behind warp g - 1. What passes from one to the next
// stays in shared memory: column j of the band in slot j mod W of a ring. Two more warps take turns
// to load what the first sweep needs, and one stores what the last sweep leaves. Each tells by a
// count how many steps it has finished.
//
// A lane has rows 4 (lane / 4) + a and columns lane % 4 + 4 e of a step's two blocks. So loads of
// a column's diagonals have no bank conflicts, and sums over rows or columns are few exchanges.
//
// All blocks must be resident. The largest entry of A should be about one.
#include "block_memory.cuh"
#include "reflection.cuh"
#include "tile_sync.cuh"

namespace {

constexpr int B = 32, LDB = 2 * B;
constexpr int MOST = 5, LOADERS = 2;  // sweeps of a block
constexpr int FINISHED = 0x40000000;

// Numbers of finished steps. A loader's is that of the last tile it loaded, plus one.
struct Counts {
    int loaded[LOADERS], done[MOST], stored;
};

// A sweep's v of this step and the one before, v'R, and w with D <- D - v w' - w v'.
template <typename T>
struct Vectors {
    T v[2][B], u[B], w[B];
};

template <typename T>
struct Shared {
    Counts counts;
    Vectors<T> vectors[1];  // one for each sweep, then the ring
};

template <typename T>
struct Chase {
    static constexpr int ROWS = 4, COLS = 8;  // of a lane

    const int lane, i0, j0, n, width;  // the lane's first row and column, slots of the ring
    const i64 ldv;
    T *const band, *const vs, *const taus;
    int* const progress;  // of each group's last sweep
    Shared<T>& m;
    const int sweeps;  // of a block
    T* const ring;
    int s0, active;  // the group's first sweep, and how many it has

    __device__ __forceinline__ Chase(Shared<T>& memory, int order, int slots, T* diagonals,
                                     T* vectors, i64 ld, T* factors, int* finished)
        : lane(threadIdx.x & 31), i0(lane / 4 * ROWS), j0(lane % 4), n(order), width(slots),
          ldv(ld), band(diagonals), vs(vectors), taus(factors), progress(finished), m(memory),
          sweeps((blockDim.x >> 5) - LOADERS - 1), ring((T*)(memory.vectors + sweeps)) {}

    __device__ __forceinline__ int steps(int s) const { return (n - 2 - s) / B + 1; }

    // B columns of the ring from slot `start` on; those that do not fit begin in slot 0.
    struct Tile {
        T *first, *wrapped;
        int fit;

        __device__ __forceinline__ T* column(int c) const {
            return (c < fit ? first : wrapped) + c * LDB;
        }
    };
    __device__ __forceinline__ Tile tile(int start) const {
        T* first = ring + start * LDB;
        return {first, first - width * LDB, width - start};
    }
    __device__ __forceinline__ int slot(int column) const { return column % width; }

    // The first entry in the lane's row of the blocks R and D that begin in row r0, in global
    // memory. The next column's entry comes LDB - 1 later.
    __device__ __forceinline__ T* block_d(int r0) const { return band + (i64)r0 * LDB + lane; }
    __device__ __forceinline__ T* block_r(int r0) const { return block_d(r0) - B * LDB + B; }

    static __device__ __forceinline__ void wait(const int* count, int least) {
        while (tile::block_load_acquire(count) < least) {}
        __syncwarp();
    }

    __device__ __forceinline__ void tell(int* count, int finished) const {
        __syncwarp();
        if (lane == 0) tile::block_store_release(count, finished);
    }

    // Tiles k, k + LOADERS, ... of the first sweep: its blocks R and D of step k, zero beyond the
    // matrix, and zeros in the rest of the columns that then are whole. A last tile is all zero,
    // since the blocks of later sweeps reach into it.
    __device__ __forceinline__ void load(int group, int which) {
        const int count = steps(s0);
        for (int k = which; k <= count; k += LOADERS) {
            const int r0 = s0 + 1 + k * B;
            const bool there = r0 + lane < n;
            wait(&m.counts.stored, k + 2 - width / B);
            if (group > 0 && k < count)
                while (tile::load_acquire(progress + group - 1) < k + 2) {}
            __syncwarp();
            T r[B], d[B];
#pragma unroll
            for (int c = 0; c < B; ++c)
                r[c] = there && (k > 0 || c == B - 1) ? __ldcg(block_r(r0) + c * (LDB - 1)) : T(0);
#pragma unroll
            for (int c = 0; c < B; ++c)
                d[c] = there && lane >= c ? __ldcg(block_d(r0) + c * (LDB - 1)) : T(0);
            const Tile left = tile(slot(r0 - B + width)), here = tile(slot(r0));
#pragma unroll
            for (int c = 0; c < B; ++c) {
                T* at = left.column(c) + lane - c;
                if (k > 0 || c == B - 1) at[B] = r[c];
                if (k > 0 && lane < c) at[LDB] = T(0);
                if (lane >= c) here.column(c)[lane - c] = d[c];
            }
            tell(m.counts.loaded + which, k + 1);
        }
    }

    // The blocks R and D of the last sweep.
    __device__ __forceinline__ void store(int group) {
        const int s = s0 + active - 1, count = steps(s);
        for (int k = 0; k < count; ++k) {
            const int r0 = s + 1 + k * B;
            const bool there = r0 + lane < n;
            const Tile left = tile(slot(r0 - B + width)), here = tile(slot(r0));
            const int next = k + 1 < count ? k + 1 : FINISHED;
            wait(m.counts.done + active - 1, k + 1);
            T r[B], d[B];
#pragma unroll
            for (int c = 0; c < B; ++c) {
                r[c] = left.column(c)[B - c + lane];
                d[c] = lane >= c ? here.column(c)[lane - c] : T(0);
            }
            tell(&m.counts.stored, next);
#pragma unroll
            for (int c = 0; c < B; ++c) {
                if (there && k > 0) __stcg(block_r(r0) + c * (LDB - 1), r[c]);
                if (there && lane >= c) __stcg(block_d(r0) + c * (LDB - 1), d[c]);
            }
            __syncwarp();
            if (lane == 0) tile::store_release(progress + group, next);
        }
    }

    // The sum over the lanes that share a lane's rows, and over those that share its columns.
    static __device__ __forceinline__ T over_columns(T x) {
        x += __shfl_xor_sync(0xffffffffu, x, 1);
        return x + __shfl_xor_sync(0xffffffffu, x, 2);
    }
    static __device__ __forceinline__ T over_rows(T x) {
        x += __shfl_xor_sync(0xffffffffu, x, 4);
        x += __shfl_xor_sync(0xffffffffu, x, 8);
        return x + __shfl_xor_sync(0xffffffffu, x, 16);
    }

    // Sums over all rows, from those over a lane's.
    __device__ __forceinline__ void over_rows(T (&x)[COLS], T* sums) const {
        int first = 0;
#pragma unroll
        for (int d = 16, left = COLS / 2; left > 0; d >>= 1, left /= 2) {
            const bool upper = lane & d;
#pragma unroll
            for (int e = 0; e < COLS / 2; ++e) {
                if (e >= left) break;
                const T give = upper ? x[e] : x[e + left], keep = upper ? x[e + left] : x[e];
                x[e] = keep + __shfl_xor_sync(0xffffffffu, give, d);
            }
            first += upper ? left : 0;
        }
        sums[j0 + 4 * first] = x[0];
    }

    // Of a lane's rows, the one whose number is the lane's.
    __device__ __forceinline__ T own(const T (&x)[ROWS]) const {
        const T low = j0 & 1 ? x[1] : x[0], high = j0 & 1 ? x[3] : x[2];
        return j0 & 2 ? high : low;
    }

    // Step k of sweep s. `start` is the slot of its first row's column. `left` and tau are those of
    // the step before, then of this one: where the lane's first entry in each column of D is. That
    // of the block below, which is R in the next step, is B later.
    __device__ __forceinline__ void step(int s, int k, int start, Vectors<T>& x, T* (&left)[COLS],
                                         T& tau) {
        const int r0 = s + 1 + k * B;
        T *v = x.v[k & 1], *before = x.v[(k & 1) ^ 1];
        // The first column, in step 0 that of s; w and v before; R.
        T first[ROWS], w[ROWS], v0[COLS], r[ROWS][COLS];
        const int back = k > 0 ? B : 1;
        const int slot = start >= back ? start - back : start - back + width;
        const T* at = ring + slot * LDB + back + i0;
        if (k > 0) {
#pragma unroll
            for (int e = 0; e < COLS; ++e) {
                v0[e] = before[j0 + 4 * e];
#pragma unroll
                for (int a = 0; a < ROWS; ++a) r[a][e] = left[e][B + a];
            }
        }
#pragma unroll
        for (int a = 0; a < ROWS; ++a) first[a] = at[a];

        // R H0 = R - w v0', of which the first column gives the reflector.
        T squares = T(0), mixed = T(0);
#pragma unroll
        for (int a = 0; a < ROWS; ++a) {
            w[a] = T(0);
            if (k > 0) {
#pragma unroll
                for (int e = 0; e < COLS; ++e) w[a] += r[a][e] * v0[e];
                w[a] = tau * over_columns(w[a]);
                first[a] -= w[a];
            }
            if (i0 + a > 0) {
                squares += first[a] * first[a];
                mixed += first[a] * w[a];
            }
        }
        squares = over_rows(squares);
        mixed = over_rows(mixed);
        const Reflection<T> h(__shfl_sync(0xffffffffu, first[0], 0), squares);
        const T vw = __shfl_sync(0xffffffffu, w[0], 0) + h.inverse * mixed;
        tau = h.tau;
        T vi[ROWS];
#pragma unroll
        for (int a = 0; a < ROWS; ++a) vi[a] = i0 + a == 0 ? T(1) : first[a] * h.inverse;
        const T mine = own(vi);
        v[lane] = mine;
        if (r0 + lane < n) vs[r0 + lane + s * ldv] = mine;
        if (lane == 0) taus[s + (i64)k * n] = tau;
        if (k > 0) {
            T sums[COLS];
#pragma unroll
            for (int e = 0; e < COLS; ++e) {
                sums[e] = T(0);
#pragma unroll
                for (int a = 0; a < ROWS; ++a) sums[e] += vi[a] * r[a][e];
            }
            over_rows(sums, x.u);
        }
        __syncwarp();
        if (k > 0) {
            T u[COLS];
#pragma unroll
            for (int e = 0; e < COLS; ++e) u[e] = tau * (x.u[j0 + 4 * e] - vw * v0[e]);
            // R <- H R H0 = R - w v0' - v u'
#pragma unroll
            for (int e = 0; e < COLS; ++e)
#pragma unroll
                for (int a = 0; a < ROWS; ++a) {
                    const T rest = i0 + a == 0 ? h.beta : T(0);
                    left[e][B + a] = j0 + e > 0 ? r[a][e] - w[a] * v0[e] - vi[a] * u[e] : rest;
                }
            // The last sweep's blocks lack the zeros of earlier sweeps.
            if (lane > 0 && r0 + lane < n) __stcg(block_r(r0), T(0));
        }

        // D <- H D H = D - v w' - w v', from both triangles of D.
        T d[ROWS][COLS], vj[COLS], *here[COLS];
        const Tile there = tile(start);
#pragma unroll
        for (int e = 0; e < COLS; ++e) {
            vj[e] = v[j0 + 4 * e];
            here[e] = there.column(j0 + 4 * e) + i0 - (j0 + 4 * e);
        }
#pragma unroll
        for (int a = 0; a < ROWS; ++a) {
            const T* above = there.column(i0 + a) - (i0 + a);
#pragma unroll
            for (int e = 0; e < COLS; ++e) {
                const int j = j0 + 4 * e;
                d[a][e] = j <= i0 + a ? here[e][a] : above[j];
            }
        }
        T vq = T(0), wi[ROWS];
#pragma unroll
        for (int a = 0; a < ROWS; ++a) {
            wi[a] = T(0);
#pragma unroll
            for (int e = 0; e < COLS; ++e) wi[a] += d[a][e] * vj[e];
            wi[a] = tau * over_columns(wi[a]);
            vq += wi[a] * vi[a];
        }
        const T half = T(0.5) * tau * over_rows(vq);
#pragma unroll
        for (int a = 0; a < ROWS; ++a) wi[a] -= half * vi[a];
        x.w[lane] = own(wi);
        __syncwarp();
        T wj[COLS];
#pragma unroll
        for (int e = 0; e < COLS; ++e) wj[e] = x.w[j0 + 4 * e], left[e] = here[e];
#pragma unroll
        for (int e = 0; e < COLS; ++e)
#pragma unroll
            for (int a = 0; a < ROWS; ++a) {
                d[a][e] -= vi[a] * wj[e] + wi[a] * vj[e];
                if (j0 + 4 * e <= i0 + a) here[e][a] = d[a][e];
            }
        // Two entries of the tridiagonal matrix.
        if (k == 0 && lane == 0) {
            __stcg(band + (i64)s * LDB + 1, h.beta);
            __stcg(band + (i64)r0 * LDB, d[0][0]);
        }
    }

    __device__ __forceinline__ void sweep(int g) {
        const int s = s0 + g, count = steps(s);
        int start = (s + 1) % width;
        T tau = T(0), *places_before[COLS];
        for (int k = 0; k < count; ++k) {
            if (g > 0) wait(m.counts.done + g - 1, k + 2);
            // The first sweep's last block reaches into the next tile.
            for (int i = k; g == 0 && i <= k + (k + 1 == count); ++i)
                wait(m.counts.loaded + i % LOADERS, i + 1);
            step(s, k, start, m.vectors[g], places_before, tau);
            tell(m.counts.done + g, k + 1 < count ? k + 1 : FINISHED);
            start = start + B < width ? start + B : start + B - width;
        }
    }

    __device__ __forceinline__ void run() {
        const int warp = threadIdx.x >> 5;
        for (int group = blockIdx.x; group * (i64)sweeps < n - 2; group += gridDim.x) {
            if (threadIdx.x < sizeof(Counts) / sizeof(int)) m.counts.loaded[threadIdx.x] = 0;
            __syncthreads();
            s0 = group * sweeps;
            active = min(sweeps, n - 2 - s0);
            if (warp < active) sweep(warp);
            if (warp == sweeps) store(group);
            if (warp > sweeps) load(group, warp - sweeps - 1);
            __syncthreads();
        }
    }
};

}  // namespace

#define INSTANCE(T, SUFFIX)                                                                     \
    extern "C" __global__ void __launch_bounds__(32 * (MOST + LOADERS + 1), 1)                  \
        band_chase_sweeps32_##SUFFIX(int n, int width, T* band, T* vs, i64 ldv, T* taus,        \
                                     int* progress) {                                           \
        auto* memory = shared_memory<Shared<T>>();                                              \
        Chase<T>(*memory, n, width, band, vs, ldv, taus, progress).run();                       \
    }

INSTANCE(double, f64)
INSTANCE(float, f32)
