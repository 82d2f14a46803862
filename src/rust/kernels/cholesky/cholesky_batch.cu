// arch: sm_60
// Cholesky factorization of many matrices of one order by one launch: each on some lanes, on a
// warp, or on a block.
//
// The upper triangle of a column-major matrix is the lower triangle of a row-major one. Hence A = L
// L', and row r of L is at a[r * n]. Entries right of the diagonal are not read and become zero.
// Matrix i begins at a[i * n * n].
//
// Registers hold rows, one or two per lane, from the current column on. A step subtracts the
// contribution of column j and moves the rest down by one, x[k] <- x[k + 1] - ... The same code
// thus serves the eight steps of a segment, and segments differ only in width. Arithmetic of
// diagonal blocks is in double precision for both types, as in cholesky.cu.
//
// `failed` is the complement of (index << 32 | order) for the first matrix with a pivot that is not
// positive, and zero if there is none.
#include "common.cuh"

namespace {

typedef unsigned long long u64;

constexpr unsigned WARP = 0xffffffffu;
constexpr int SEGMENT = 8;

__device__ __forceinline__ void report(u64* failed, i64 index, int order) {
    if (order != 0) atomicMax(failed, ~((u64)index << 32 | (u64)order));
}

// A number unknown to the compiler, which would otherwise unroll the steps.
__device__ __forceinline__ int opaque(int x) {
    asm("" : "+r"(x));
    return x;
}

// Two neighbours, read together.
template <typename C>
struct alignas(2 * sizeof(C)) Pair {
    C first, second;
};

// Where the entries of a lane's row are written: entry j to at[j * step].
template <typename C>
struct Row {
    C* at;
    int step;
};

// x[k] <- x[k + 1] - mine * below[k]: a row without its first column; `below` has the column's
// entries below the pivot.
template <int WIDTH, typename C>
__device__ __forceinline__ void take_column(C (&x)[WIDTH], C mine, const C* below) {
    const Pair<C>* pairs = reinterpret_cast<const Pair<C>*>(below);
#pragma unroll
    for (int k = 0; k + 1 < WIDTH; k += 2) {
        const Pair<C> p = pairs[k / 2];
        x[k] = fma(-mine, p.first, x[k + 1]);
        if (k + 2 < WIDTH) x[k + 1] = fma(-mine, p.second, x[k + 2]);
    }
}

// The result of an elimination in each lane: the pivot of its row, and the order of the first bad
// minor or 0.
struct Outcome {
    double pivot;
    int order;
};

// Factors the triangle of order n whose row `lane` is x[0]. Further rows of a lane, below the
// triangle, are updated too. The diagonal is not written. LANES neighbouring lanes work on one
// triangle, and all of a warp run together; `columns` is their scratch for two columns. A bad pivot
// is replaced by 1, so that all lanes stay in step.
template <int LANES, int ROWS, int WIDTH, typename C>
__device__ __forceinline__ void eliminate(int n, int lane, double (&x)[ROWS][WIDTH],
                                          double* columns, const Row<C> (&rows)[ROWS],
                                          Outcome& outcome) {
    constexpr int FIRST = LANES - WIDTH;
    const int end = opaque(min(FIRST + SEGMENT, n));
#pragma unroll 1
    for (int j = FIRST; j < end; ++j) {
        double* below = columns + (j & 1) * LANES;
        double pivot = __shfl_sync(WARP, x[0][0], j, LANES);
        if (lane > j) below[lane - j - 1] = x[0][0];
        __syncwarp();
        if (!(pivot > 0)) {
            if (outcome.order == 0) outcome.order = j + 1;
            pivot = 1;
        }
        if (lane == j) outcome.pivot = pivot;
        const double inverse = rsqrt(pivot);
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            const double l = x[r][0] * inverse;
            if (r > 0 || lane > j) rows[r].at[j * rows[r].step] = (C)l;
            take_column(x[r], l * inverse, below);
        }
    }
    if constexpr (WIDTH > SEGMENT) {
        if (n <= FIRST + SEGMENT) return;
        double rest[ROWS][WIDTH - SEGMENT];
#pragma unroll
        for (int r = 0; r < ROWS; ++r)
#pragma unroll
            for (int k = 0; k < WIDTH - SEGMENT; ++k) rest[r][k] = x[r][k];
        eliminate<LANES, ROWS, WIDTH - SEGMENT>(n, lane, rest, columns, rows, outcome);
    }
}

// Matrices `first` to `last - 1` of order n <= LANES, each on LANES lanes; blocks of 128 threads.
template <typename T, int LANES>
__device__ __forceinline__ void factor_lanes(i64 first, i64 last, int n, T* a, u64* failed) {
    constexpr int MATRICES = 128 / LANES;
    constexpr int LD = LANES + 1;
    __shared__ double tiles[MATRICES][LANES * LD];
    __shared__ __align__(16) double columns[MATRICES][2 * LANES];
    const int lane = threadIdx.x % LANES, slot = threadIdx.x / LANES;
    const i64 index = first + blockIdx.x * (i64)MATRICES + slot;
    const bool active = index < last;
    T* m = a + index * n * n;
    double* tile = tiles[slot];
    // Read by rows as they are in memory, then one row per lane.
#pragma unroll 8
    for (int r = 0; r < n; ++r)
        if (active && lane <= r) tile[r * LD + lane] = m[r * n + lane];
    __syncwarp();
    double x[1][LANES];
#pragma unroll
    for (int k = 0; k < LANES; ++k)
        x[0][k] = active && lane < n && k <= lane ? tile[lane * LD + k] : 0;
    const Row<double> rows[1] = {{tile + lane * LD, 1}};
    Outcome outcome = {1, 0};
    eliminate<LANES, 1, LANES>(n, lane, x, columns[slot], rows, outcome);
    tile[lane * LD + lane] = root(outcome.pivot);
    __syncwarp();
    if (!active) return;
#pragma unroll 8
    for (int r = 0; r < n; ++r)
        if (lane < n) m[r * n + lane] = lane <= r ? (T)tile[r * LD + lane] : T(0);
    if (lane == 0) report(failed, index, outcome.order);
}

constexpr int HALF = 32;

// A matrix of order 33 to 64 on one warp, which is a block. A lane holds row `lane` of the upper
// half and of the lower half.
template <typename T>
__device__ __forceinline__ void factor_warp(i64 first, int n, T* a, u64* failed) {
    constexpr int LD = HALF + 1, LD_BELOW = HALF + 2;
    // Row r of the first triangle in row r; column c of the second one after it in row c.
    __shared__ double corners[HALF * LD];
    // Column c of the lower left part in row c.
    __shared__ __align__(16) double below[HALF * LD_BELOW];
    __shared__ __align__(16) double columns[2 * HALF];
    const int lane = threadIdx.x, rest = n - HALF;
    const i64 index = first + blockIdx.x;
    T* m = a + index * n * n;
    T* lower = m + HALF * n;
#pragma unroll 8
    for (int r = 0; r < HALF; ++r)
        if (lane <= r) corners[r * LD + lane] = m[r * n + lane];
#pragma unroll 8
    for (int r = 0; r < rest; ++r) {
        below[lane * LD_BELOW + r] = lower[r * n + lane];
        if (lane <= r) corners[lane * LD + r + 1] = lower[r * n + HALF + lane];
    }
    for (int r = rest; r < HALF; ++r) below[lane * LD_BELOW + r] = 0;
    __syncwarp();
    double x[2][HALF];
#pragma unroll
    for (int k = 0; k < HALF; ++k) {
        x[0][k] = k <= lane ? corners[lane * LD + k] : 0;
        x[1][k] = below[k * LD_BELOW + lane];
    }
    const Row<double> rows[2] = {{corners + lane * LD, 1}, {below + lane, LD_BELOW}};
    Outcome outcome = {1, 0};
    eliminate<HALF, 2, HALF>(HALF, lane, x, columns, rows, outcome);
    corners[lane * LD + lane] = root(outcome.pivot);
    __syncwarp();
    // The second triangle after subtracting the products of the lower left part.
    double y[1][HALF];
#pragma unroll
    for (int k = 0; k < HALF; ++k)
        y[0][k] = k <= lane && lane < rest ? corners[k * LD + lane + 1] : 0;
#pragma unroll 2
    for (int j = 0; j < HALF; ++j) {
        const double mine = below[j * LD_BELOW + lane];
        const Pair<double>* pairs = reinterpret_cast<const Pair<double>*>(below + j * LD_BELOW);
#pragma unroll
        for (int k = 0; k < HALF; k += 2) {
            const Pair<double> p = pairs[k / 2];
            y[0][k] = fma(-mine, p.first, y[0][k]);
            y[0][k + 1] = fma(-mine, p.second, y[0][k + 1]);
        }
    }
    const Row<double> behind[1] = {{corners + lane + 1, LD}};
    Outcome second = {1, 0};
    eliminate<HALF, 1, HALF>(rest, lane, y, columns, behind, second);
    corners[lane * LD + lane + 1] = root(second.pivot);
    __syncwarp();
#pragma unroll 8
    for (int r = 0; r < HALF; ++r) {
        m[r * n + lane] = lane <= r ? (T)corners[r * LD + lane] : T(0);
        if (lane < rest) m[r * n + HALF + lane] = T(0);
    }
#pragma unroll 8
    for (int r = 0; r < rest; ++r) {
        lower[r * n + lane] = (T)below[lane * LD_BELOW + r];
        if (lane < rest)
            lower[r * n + HALF + lane] = lane <= r ? (T)corners[lane * LD + r + 1] : T(0);
    }
    if (lane == 0)
        report(failed, index,
               outcome.order != 0  ? outcome.order
               : second.order != 0 ? HALF + second.order
                                   : 0);
}

constexpr int PANEL = 32;   // columns factored together
constexpr int CHUNK = 128;  // rows of a panel per step, one per thread
constexpr int SLAB = 16;    // columns of L subtracted from a panel at once
constexpr int LD_CHUNK = PANEL + 1;
constexpr int LD_SLAB = SLAB + 2;
constexpr int LD_FACTOR = PANEL + 2;

// Solves X L' = B for a row of B. `below` has the columns of L below their pivots, LD_FACTOR apart.
template <int WIDTH, typename T>
__device__ __forceinline__ void solve_row(T (&x)[WIDTH], const T* below, const T* inverses,
                                          T* row) {
    constexpr int FIRST = PANEL - WIDTH;
    const int end = opaque(FIRST + SEGMENT);
#pragma unroll 1
    for (int j = FIRST; j < end; ++j) {
        const T l = x[0] * inverses[j];
        row[j] = l;
        take_column(x, l, below + j * LD_FACTOR);
    }
    if constexpr (WIDTH > SEGMENT) {
        T rest[WIDTH - SEGMENT];
#pragma unroll
        for (int k = 0; k < WIDTH - SEGMENT; ++k) rest[k] = x[k];
        solve_row(rest, below, inverses, row);
    }
}

// sum += left right' for a chunk of `rows` rows. Thread (warp, g, c) has rows g + 4 i of its warp
// and columns c + 8 q.
template <typename T>
__device__ __forceinline__ void add_products(int rows, const T* left, const T* right,
                                             T (&sum)[8][4]) {
    const int lane = threadIdx.x & 31, top = threadIdx.x - lane;
    if (top >= rows) return;
    left += (top + lane / 8) * LD_SLAB;
    right += lane % 8 * LD_SLAB;
#pragma unroll 2
    for (int k = 0; k < SLAB; k += 2) {
        Pair<T> b[4];
#pragma unroll
        for (int q = 0; q < 4; ++q)
            b[q] = *reinterpret_cast<const Pair<T>*>(right + 8 * q * LD_SLAB + k);
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            const Pair<T> p = *reinterpret_cast<const Pair<T>*>(left + 4 * i * LD_SLAB + k);
#pragma unroll
            for (int q = 0; q < 4; ++q) {
                sum[i][q] += p.first * b[q].first;
                sum[i][q] += p.second * b[q].second;
            }
        }
    }
}

// The diagonal block of a panel, of order w, by one warp. Returns the order of the first bad minor,
// or 0.
template <typename T>
__device__ __forceinline__ int factor_diagonal(int w, T* chunk, double* columns, T* below,
                                               T* inverses) {
    const int lane = threadIdx.x;
    T* row = chunk + lane * LD_CHUNK;
    double x[1][PANEL];
#pragma unroll
    for (int k = 0; k < PANEL; ++k) x[0][k] = row[k];
    const Row<T> rows[1] = {{row, 1}};
    Outcome outcome = {1, 0};
    eliminate<PANEL, 1, PANEL>(w, lane, x, columns, rows, outcome);
    row[lane] = (T)root(outcome.pivot);
    inverses[lane] = (T)rsqrt(outcome.pivot);
    for (int j = 0; j < lane; ++j) below[j * LD_FACTOR + lane - j - 1] = row[j];
    return outcome.order;
}

// A matrix of order at most 46340 on one block of 128 threads, one panel after the other, each
// after subtracting the products of the columns before it.
template <typename T>
__device__ __forceinline__ void factor_block(i64 first, int n, T* a, u64* failed) {
    __shared__ __align__(16) T work[CHUNK * LD_CHUNK];
    __shared__ __align__(16) T below[PANEL * LD_FACTOR];
    __shared__ __align__(16) double columns[2 * PANEL];
    __shared__ T inverses[PANEL];
    __shared__ int order;
    static_assert((CHUNK + PANEL) * LD_SLAB <= CHUNK * LD_CHUNK,
                  "two slabs and a chunk use the same memory");
    const int t = threadIdx.x, lane = t & 31, top = t - lane;
    const i64 index = first + blockIdx.x;
    T* m = a + index * n * n;
    for (int j0 = 0; j0 < n; j0 += PANEL) {
        const int w = min(PANEL, n - j0);
        for (int r0 = j0; r0 < n; r0 += CHUNK) {
            const int rows = min(CHUNK, n - r0);
            // The first chunk begins with the panel's own rows.
            T* left = work;
            T* right = r0 == j0 ? work : work + CHUNK * LD_SLAB;
            T sum[8][4] = {};
            for (int k0 = 0; k0 < j0; k0 += SLAB) {
                __syncthreads();
#pragma unroll
                for (int i = 0; i < SLAB; ++i) {
                    const int row = t / SLAB + CHUNK / SLAB * i, k = t % SLAB;
                    if (row < rows) left[row * LD_SLAB + k] = m[(r0 + row) * n + k0 + k];
                }
                if (r0 != j0)
#pragma unroll
                    for (int i = 0; i < PANEL * SLAB / CHUNK; ++i) {
                        const int row = t / SLAB + CHUNK / SLAB * i, k = t % SLAB;
                        right[row * LD_SLAB + k] = m[(j0 + row) * n + k0 + k];
                    }
                __syncthreads();
                add_products(rows, left, right, sum);
            }
            __syncthreads();
#pragma unroll
            for (int i = 0; i < 8; ++i)
#pragma unroll
                for (int q = 0; q < 4; ++q) {
                    const int row = top + lane / 8 + 4 * i, col = lane % 8 + 8 * q;
                    const bool kept = row < rows && col < w && j0 + col <= r0 + row;
                    work[row * LD_CHUNK + col] =
                        kept ? m[(r0 + row) * n + j0 + col] - sum[i][q] : T(0);
                }
            __syncthreads();
            if (r0 == j0) {
                if (t < PANEL) {
                    const int bad = factor_diagonal(w, work, columns, below, inverses);
                    if (t == 0) order = bad;
                }
                __syncthreads();
                if (order != 0) {
                    if (t == 0) report(failed, index, j0 + order);
                    return;
                }
                for (int r = j0 + t / 32; r < j0 + w; r += CHUNK / 32)
                    for (int c = j0 + w + lane; c < n; c += 32) m[r * n + c] = T(0);
            }
            if (top < rows && r0 + top > j0) {
                T x[PANEL];
#pragma unroll
                for (int k = 0; k < PANEL; ++k) x[k] = work[t * LD_CHUNK + k];
                solve_row(x, below, inverses, work + t * LD_CHUNK);
            }
            __syncwarp();
            if (lane < w)
                for (int row = top; row < min(top + 32, rows); ++row)
                    m[(r0 + row) * n + j0 + lane] =
                        j0 + lane <= r0 + row ? work[row * LD_CHUNK + lane] : T(0);
        }
    }
}

}  // namespace

#define INSTANCES(T, SUFFIX)                                                           \
    extern "C" __global__ void __launch_bounds__(128)                                  \
        batch_factor_lanes8_##SUFFIX(i64 first, i64 last, int n, T* a, u64* failed) {  \
        factor_lanes<T, 8>(first, last, n, a, failed);                                 \
    }                                                                                  \
    extern "C" __global__ void __launch_bounds__(128)                                  \
        batch_factor_lanes16_##SUFFIX(i64 first, i64 last, int n, T* a, u64* failed) { \
        factor_lanes<T, 16>(first, last, n, a, failed);                                \
    }                                                                                  \
    extern "C" __global__ void __launch_bounds__(128)                                  \
        batch_factor_lanes32_##SUFFIX(i64 first, i64 last, int n, T* a, u64* failed) { \
        factor_lanes<T, 32>(first, last, n, a, failed);                                \
    }                                                                                  \
    extern "C" __global__ void __launch_bounds__(32)                                   \
        batch_factor_warp_##SUFFIX(i64 first, int n, T* a, u64* failed) {              \
        factor_warp<T>(first, n, a, failed);                                           \
    }                                                                                  \
    extern "C" __global__ void __launch_bounds__(128, 4)                               \
        batch_factor_block_##SUFFIX(i64 first, int n, T* a, u64* failed) {             \
        factor_block<T>(first, n, a, failed);                                          \
    }

INSTANCES(double, f64)
INSTANCES(float, f32)
