// Cholesky factorization of one matrix on a block. See cholesky_batch.cu.
#pragma once
#include "batch_eliminate.cuh"

namespace {

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
