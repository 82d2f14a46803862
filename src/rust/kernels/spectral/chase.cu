// arch: sm_70
// Band to tridiagonal: A = Q T Q' for a symmetric A of bandwidth B = 32, whose lower part is stored
// by diagonals: A(i, j) at band[i - j + j * 2B]. The upper half of each column of `band`, which
// begins as zero, has room for bulges.
//
// Sweep s makes column s tridiagonal. Its step k has rows s + 1 + kB and the next B - 1. Step 0
// reflects column s; step k > 0 multiplies R, the block left of the diagonal one D, by the
// reflector of step k - 1 from the right, which fills it, and reflects its first column. Both then
// multiply R's other columns and, from both sides, D. Later sweeps remove the rest of the bulge.
//
// A block takes several sweeps together, so that few steps wait for other blocks. What passes from
// one sweep to the next stays in shared memory (chase_ring.cuh). Two warps of a sweep make its
// reflectors and change R, two more change D one step behind. Sweep s + 1 begins step k when sweep
// s has the reflector of step k + 1.
//
// Warp q of a pair has rows 4 m + 2 q + a of a block, a < 2, where m is the lane's number by 4, and
// a lane columns lane % 4 + 4 e. So loads of a column's diagonals have no bank conflicts, and sums
// over rows or columns are few exchanges.
//
// The reflector I - tau v v' of step k of sweep s, v with a leading one, goes to the step's rows of
// column s of `vs`, and its tau to taus[s + k n]. All blocks must be resident. The largest entry of
// A should be about one.
#include "block_memory.cuh"
#include "chase_ring.cuh"
#include "reflection.cuh"

namespace chase {

constexpr unsigned ALL = 0xffffffffu;

template <typename T>
struct Chase : Ring<T> {
    static constexpr int ROWS = 2, COLS = 8;  // of a lane

    using Ring<T>::lane;
    using Ring<T>::n;
    using Ring<T>::m;
    using Ring<T>::steps;
    using Ring<T>::ring;
    using Ring<T>::width;
    const int j0;  // the lane's first column
    const i64 ldv;
    T *const vs, *const taus;

    __device__ __forceinline__ Chase(Shared<T>& memory, int order, int slots, T* diagonals,
                                     T* vectors, i64 ld, T* factors, int* finished)
        : Ring<T>(memory, order, slots, diagonals, finished), j0(lane & 3), ldv(ld), vs(vectors),
          taus(factors) {}

    // Sums over the lanes that share a row or a column.
    static __device__ __forceinline__ T over_columns(T x) {
        x += __shfl_xor_sync(ALL, x, 1);
        return x + __shfl_xor_sync(ALL, x, 2);
    }
    static __device__ __forceinline__ T over_rows(T x) {
        x += __shfl_xor_sync(ALL, x, 4);
        x += __shfl_xor_sync(ALL, x, 8);
        return x + __shfl_xor_sync(ALL, x, 16);
    }
    // Sums over the warp's rows, from those over a lane's.
    __device__ __forceinline__ void over_rows(T (&x)[COLS], T* sums) const {
        int first = 0;
#pragma unroll
        for (int d = 16, left = COLS / 2; left > 0; d >>= 1, left /= 2) {
            const bool upper = lane & d;
#pragma unroll
            for (int e = 0; e < COLS / 2; ++e) {
                if (e >= left) break;
                const T give = upper ? x[e] : x[e + left], keep = upper ? x[e + left] : x[e];
                x[e] = keep + __shfl_xor_sync(ALL, give, d);
            }
            first += upper ? left : 0;
        }
        sums[j0 + 4 * first] = x[0];
    }
    // A row of a block times x.
    static __device__ __forceinline__ T dot(const T (&row)[COLS], const T (&x)[COLS]) {
        T even = row[0] * x[0], odd = row[1] * x[1];
#pragma unroll
        for (int e = 2; e < COLS; e += 2) even += row[e] * x[e], odd += row[e + 1] * x[e + 1];
        return over_columns(even + odd);
    }
    // The lane's column e of a tile; the last ones may be in front of the first.
    __device__ __forceinline__ int column_of(const Tile& tile, int e) const {
        return e + 1 < COLS ? tile.first + (j0 + 4 * e) * LDB : tile.column(j0 + 4 * e);
    }
    // Whether the warp has the row whose number is the lane's, and its entry of x.
    __device__ __forceinline__ bool has_own(int q) const { return j0 >> 1 == q; }
    __device__ __forceinline__ T own(const T (&x)[ROWS]) const { return j0 & 1 ? x[1] : x[0]; }

    // For the warps of R: H0 is the reflector of the step before. At step 0, R is column s alone.
    __device__ __forceinline__ void reflect(int g, int q) {
        const int s = this->s0() + g, count = steps(s), i0 = (lane & ~3) + 2 * q, c = lane & 7;
        Vectors<T>& x = m.vectors[g];
        Steps& mine = m.counts.steps[g];
        // The lane's count: of the sweep before, or how far D is, so that v may be replaced.
        const bool before = g > 0 && c < 6;
        const int* watched = before ? m.counts.steps[g - 1].reflected + c : mine.diagonal + (c & 1);
        const int ahead = before ? (c < 2 ? 2 : 1) : -1;
        int start = g;
        T tau = T(0);
        for (int k = 0; k < count; ++k) {
            const int r0 = s + 1 + k * B, back = k > 0 ? B : 1;
            const int finished = k + 1 < count ? k + 1 : FINISHED;
            const Tile left = this->at(this->before(start, back));
            T *column[COLS], *const origin = ring + B + i0 - j0;
#pragma unroll
            for (int e = 0; e < COLS; ++e) column[e] = origin + column_of(left, e) - 4 * e;
            // The first sweep's last block reaches into the next tile.
            if (g == 0) {
                const int tile = k + (lane & 1 & (k + 1 == count));
                this->wait(m.counts.loaded[0] + tile % LOADERS, tile + 1);
            }
            this->wait(watched, k + ahead);
            // The first column, in step 0 that of s; w and v of the step before; R.
            T first[ROWS], w[ROWS], v0[COLS], r[ROWS][COLS];
#pragma unroll
            for (int a = 0; a < ROWS; ++a) {
                first[a] = ring[left.first + back + i0 + a];
                w[a] = T(0);
            }
            if (k > 0) {
#pragma unroll
                for (int e = 0; e < COLS; ++e) {
                    v0[e] = x.v[(k & 1) ^ 1][j0 + 4 * e];
#pragma unroll
                    for (int a = 0; a < ROWS; ++a) r[a][e] = column[e][a];
                }
#pragma unroll
                for (int a = 0; a < ROWS; ++a) w[a] = tau * dot(r[a], v0);
            }

            // R H0 = R - w v0', of which the first column gives the reflector.
            T squares = T(0), mixed = T(0);
#pragma unroll
            for (int a = 0; a < ROWS; ++a) {
                first[a] -= w[a];
                if (i0 + a > 0) squares += first[a] * first[a], mixed += first[a] * w[a];
            }
            squares = over_rows(squares);
            mixed = over_rows(mixed);
            if (lane == 0) {
                x.squares[q] = squares, x.mixed[q] = mixed;
                if (q == 0) x.alpha = first[0], x.first = w[0];
            }
            meet(1 + 2 * g);
            const Reflection<T> h(x.alpha, x.squares[0] + x.squares[1]);
            const T vw = x.first + h.inverse * (x.mixed[0] + x.mixed[1]);
            tau = h.tau;
            T v[ROWS];
#pragma unroll
            for (int a = 0; a < ROWS; ++a) v[a] = i0 + a == 0 ? T(1) : first[a] * h.inverse;
            if (has_own(q)) x.v[k & 1][lane] = own(v);
            if (i0 == 0 && j0 == 0) {
                x.tau[k & 1] = tau;
                if (k > 0) column[0][0] = h.beta;
            }
            this->tell(mine.reflected + q, finished);
            if (has_own(q) && r0 + lane < n) vs[r0 + lane + s * ldv] = own(v);
            if (i0 == 0 && j0 == 0) taus[s + (i64)k * n] = tau;
            // Else the compiler may let lane 0 come later, and each exchange is slow.
            __syncwarp();

            // R <- H R H0 = R - w v0' - v u'
            if (k > 0) {
                T u[COLS];
#pragma unroll
                for (int e = 0; e < COLS; ++e) u[e] = v[0] * r[0][e] + v[1] * r[1][e];
                over_rows(u, x.u[q]);
            }
            meet(1 + 2 * g);
            if (k > 0) {
                // All loads before the stores: the compiler cannot tell that those are of other
                // numbers.
                T u[COLS];
#pragma unroll
                for (int e = 0; e < COLS; ++e) {
                    const int j = j0 + 4 * e;
                    u[e] = tau * (x.u[0][j] + x.u[1][j] - vw * v0[e]);
                }
#pragma unroll
                for (int e = 0; e < COLS; ++e)
#pragma unroll
                    for (int a = 0; a < ROWS; ++a) {
                        const T rest = r[a][e] - w[a] * v0[e] - v[a] * u[e];
                        // Column 0 is zero below beta.
                        if (j0 + e > 0 || i0 + a > 0) column[e][a] = j0 + e > 0 ? rest : T(0);
                    }
                // The last sweep's blocks lack the zeros of earlier sweeps.
                if (q == 0 && lane > 0 && r0 + lane < n) __stcg(this->block_r(r0), T(0));
            }
            if (k == 0 && i0 == 0 && j0 == 0)
                __stcg(this->band + (i64)s * LDB + 1, h.beta);
            this->tell(mine.below + q, finished);
            start = this->after(start);
        }
    }

    // For the warps of D: D <- H D H = D - v w' - w v', from both triangles of D.
    __device__ __forceinline__ void update(int g, int q) {
        const int s = this->s0() + g, count = steps(s), i0 = (lane & ~3) + 2 * q, c = lane & 7;
        Vectors<T>& x = m.vectors[g];
        Steps& mine = m.counts.steps[g];
        // The lane's count: of this sweep's v, of the sweep before, or of this pair's last step, so
        // that w may be replaced.
        const bool before = g > 0 && c >= 2 && c < 6;
        const int* watched = before ? m.counts.steps[g - 1].reflected + c
                             : c < 2 ? mine.reflected + c
                                     : mine.diagonal + (c & 1);
        const int ahead = before ? 2 : c < 2 ? 1 : 0;
        int start = g;
        for (int k = 0; k < count; ++k) {
            const Tile there = this->at(start);
            T *column[COLS], *row[ROWS], *const origin = ring + i0 - j0;
#pragma unroll
            for (int e = 0; e < COLS; ++e) column[e] = origin + column_of(there, e) - 4 * e;
#pragma unroll
            for (int a = 0; a < ROWS; ++a) row[a] = ring + there.column(i0 + a) + j0 - (i0 + a);
            if (g == 0) {
                const int tile = k + (lane & 1 & (k + 1 == count));
                this->wait(m.counts.loaded[1] + tile % LOADERS, tile + 1);
            }
            this->wait(watched, k + ahead);
            const T tau = x.tau[k & 1], *v = x.v[k & 1];
            T d[ROWS][COLS], vj[COLS], vi[ROWS], w[ROWS];
#pragma unroll
            for (int e = 0; e < COLS; ++e) {
                const int j = j0 + 4 * e;
                vj[e] = v[j];
#pragma unroll
                for (int a = 0; a < ROWS; ++a)
                    d[a][e] = *(j <= i0 + a ? column[e] + a : row[a] + 4 * e);
            }
#pragma unroll
            for (int a = 0; a < ROWS; ++a) {
                vi[a] = v[i0 + a];
                w[a] = tau * dot(d[a], vj);
            }
            if (has_own(q)) x.w[lane] = own(w);
            const T along = over_rows(w[0] * vi[0] + w[1] * vi[1]);
            if (lane == 0) x.along[q] = along;
            meet(2 + 2 * g);
            const T half = T(0.5) * tau * (x.along[0] + x.along[1]);
#pragma unroll
            for (int a = 0; a < ROWS; ++a) w[a] -= half * vi[a];
            T wj[COLS];
#pragma unroll
            for (int e = 0; e < COLS; ++e) wj[e] = x.w[j0 + 4 * e] - half * vj[e];
#pragma unroll
            for (int e = 0; e < COLS; ++e)
#pragma unroll
                for (int a = 0; a < ROWS; ++a) {
                    d[a][e] = d[a][e] - vi[a] * wj[e] - w[a] * vj[e];
                    if (j0 + 4 * e <= i0 + a) column[e][a] = d[a][e];
                }
            if (k == 0 && i0 == 0 && j0 == 0) __stcg(this->band + (i64)(s + 1) * LDB, d[0][0]);
            this->tell(mine.diagonal + q, k + 1 < count ? k + 1 : FINISHED);
            start = this->after(start);
        }
    }

    // The two warps of a pair wait for each other.
    static __device__ __forceinline__ void meet(int pair) { tile::barrier_sync(pair, 2 * 32); }

    __device__ __forceinline__ void run() {
        const int warp = threadIdx.x >> 5, g = warp / TEAM;
        // Neighbouring sweeps have the same part on different schedulers.
        const int part = (warp + g) % TEAM;
        if (threadIdx.x == 0) m.counts.group = blockIdx.x;
        __syncthreads();
        while (this->s0() < n - 2) {
            if (threadIdx.x < COUNTED)
                ((int*)&m.counts)[threadIdx.x] = 0;
            __syncthreads();
            if (g < this->active()) {
                if (part < 2)
                    reflect(g, part);
                else
                    update(g, part - 2);
            }
            if (this->other() >= LOADERS)
                this->store();
            else if (this->other() >= 0)
                this->load();
            __syncthreads();
            if (threadIdx.x == 0) m.counts.group += gridDim.x;
            __syncthreads();
        }
    }
};

// The lower part of bandwidth B of the n x n matrix at `a`, to `band`, and zero for bulges.
template <typename T>
__device__ __forceinline__ void load_band(int n, const T* a, i64 lda, T* band) {
    const i64 count = (i64)n * LDB;
    for (i64 e = blockIdx.x * (i64)blockDim.x + threadIdx.x; e < count;
         e += (i64)gridDim.x * blockDim.x) {
        const i64 j = e / LDB, d = e % LDB;
        band[e] = d <= B && j + d < n ? a[j + d + j * lda] : T(0);
    }
}

// The diagonal and the one below it, which is zero at the end.
template <typename T>
__device__ __forceinline__ void read_band(int n, const T* band, T* diagonal, T* below) {
    const int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= n) return;
    diagonal[j] = band[(i64)j * LDB];
    below[j] = j + 1 < n ? band[(i64)j * LDB + 1] : T(0);
}

}  // namespace chase

#define INSTANCE(T, SUFFIX)                                                                     \
    extern "C" __global__ void band_load_plain32_##SUFFIX(int n, const T* a, i64 lda, T* band) {\
        chase::load_band(n, a, lda, band);                                                      \
    }                                                                                           \
    extern "C" __global__ void band_read_plain32_##SUFFIX(int n, const T* band, T* diagonal,    \
                                                          T* below) {                           \
        chase::read_band(n, band, diagonal, below);                                             \
    }                                                                                           \
    extern "C" __global__ void __launch_bounds__(                                               \
        32 * (chase::MOST * chase::TEAM + chase::LOADERS + chase::STORERS), 1)                  \
        band_chase_sweeps32_##SUFFIX(int n, int width, T* band, T* vs, i64 ldv, T* taus,        \
                                     int* progress) {                                           \
        auto* memory = shared_memory<chase::Shared<T>>();                                       \
        chase::Chase<T>(*memory, n, width, band, vs, ldv, taus, progress).run();                \
    }

INSTANCE(double, f64)
INSTANCE(float, f32)
