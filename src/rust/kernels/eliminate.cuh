// Elimination without exchanges of a matrix of order up to 128 in shared memory, by one block.
//
// W becomes V below the diagonal and M on and above it, W = V M with V unit lower triangular. In blocks of SIDE columns: warp 0
// eliminates the diagonal block in registers; rows of M to its right and columns of V below it are divided, a thread each; the
// rest is updated in tiles of 32 x 16. Warp 0 takes no part in that but goes ahead to the next diagonal block, and neither do the
// warps that share its part of the multiprocessor: the chain of pivots is what takes the time.
//
// Plain: W is symmetric, and pivots must be positive. Signed: W - S R is eliminated for an upper triangular R, S a diagonal of signs
// chosen on the way, so that no pivot is less in magnitude than R's diagonal entry.
#pragma once
#include "common.cuh"

namespace eliminate {

constexpr int SIDE = 16;
constexpr int THREADS = 512;
constexpr int LARGEST = 128;

// 1 / x for ordinary numbers, within an ulp or so.
__device__ __forceinline__ double reciprocal(double x) {
    double y;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
    const double e = fma(-x, y, 1.0);
    return fma(y, fma(e, e, e), y);
}
__device__ __forceinline__ float reciprocal(float x) { return 1.0f / x; }

// Pivots whose roots and reciprocals are far from the ends of the range.
__device__ __forceinline__ bool ordinary(double p) { return p > 1e-290 && p < 1e290; }
__device__ __forceinline__ bool ordinary(float p) { return p > 1e-30f && p < 1e30f; }

// The upper triangular R of a signed elimination, of order n; zeros below it, and the identity beyond, up to a multiple of SIDE.
template <typename T>
struct Upper {
    const T* r;
    i64 ld;
    int n;
    bool square;  // the last pivot is zero: see qr_panel.cu

    __device__ __forceinline__ T at(int i, int j) const { return r[i + j * ld]; }
};

// A matrix of order `size`, a multiple of SIDE, column-major with an odd leading dimension.
template <typename T, bool SIGNED>
struct Elimination {
    T* w;
    int size;
    Upper<T> upper;
    T* inverses;  // of the pivots
    T* signs;
    int* refused;  // set where a pivot is not ordinary

    static __device__ __forceinline__ int stride(int size) { return size + 1; }

    __device__ __forceinline__ T& at(int i, int j) const { return w[i + j * stride(size)]; }

    // By one warp, half a row to each lane: row lane % SIDE, and the columns of the first half to lanes 0 to 15.
    __device__ __forceinline__ void diagonal(int first) const {
        constexpr int HALF = SIDE / 2;
        const unsigned all = 0xffffffffu;
        const int lane = threadIdx.x & 31, row = lane & (SIDE - 1), half = lane / SIDE, own = first + half * HALF;
        T x[HALF], y[HALF];
#pragma unroll
        for (int c = 0; c < HALF; ++c) {
            x[c] = at(first + row, own + c);
            y[c] = SIGNED ? upper.at(first + row, own + c) : T(0);
        }
        if (first > 0) {
            // What the block before takes off.
            const int before = first - SIDE;
#pragma unroll 4
            for (int k = 0; k < SIDE; ++k) {
                const T v = at(first + row, before + k);
#pragma unroll
                for (int c = 0; c < HALF; ++c) x[c] -= v * at(before + k, own + c);
            }
        }
        T mine = T(1);
        bool fine = true;
#pragma unroll
        for (int k = 0; k < SIDE; ++k) {
            // The lanes that have column k; the others' columns are all behind it, or all before.
            const int there = k / HALF, c0 = k % HALF;
            const bool zero = SIGNED && upper.square && first + k == upper.n - 1, here = half == there, behind = half >= there;
            T head = __shfl_sync(all, x[c0], there * SIDE + row);
            if (SIGNED) {
                const T s = (head >= T(0)) == zero ? T(1) : T(-1);
                // Without a branch: nothing is taken off other rows.
                const T taken = row == k ? s : T(0);
                if (row == k) mine = s;
                const T off = __shfl_sync(all, y[c0], there * SIDE + row);
                head = zero && row == k ? T(0) : head - taken * off;
                if (here) x[c0] = head;
#pragma unroll
                for (int c = 0; c < HALF; ++c)
                    if (c > c0 ? behind : half > there) x[c] -= taken * y[c];
            }
            const T pivot = __shfl_sync(all, head, k);
            const T inverse = zero ? T(0) : reciprocal(pivot);
            if (!SIGNED) fine = fine && ordinary(pivot);
            if (lane == k) inverses[first + k] = inverse;
            const T v = row > k ? head * inverse : T(0);
            if (here && row > k) x[c0] = v;
#pragma unroll
            for (int c = 0; c < HALF; ++c) {
                if (there == 1 && c <= c0) continue;
                const T u = __shfl_sync(all, x[c], half * SIDE + k);
                if (c > c0 ? behind : half > there) x[c] -= v * u;
            }
        }
#pragma unroll
        for (int c = 0; c < HALF; ++c) at(first + row, own + c) = x[c];
        if (SIGNED && lane < SIDE) signs[first + row] = mine;
        if (!fine && lane == 0) *refused = 1;
    }

    // Column `column` of M in the rows of a diagonal block, and in a plain elimination row `column` of V. `r`: R there.
    __device__ __forceinline__ void divide_column(int first, int column, const T (&r)[SIDE]) const {
        T z[SIDE];
#pragma unroll
        for (int k = 0; k < SIDE; ++k) {
            z[k] = at(first + k, column);
            if (SIGNED) z[k] -= signs[first + k] * r[k];
        }
#pragma unroll
        for (int k = 0; k < SIDE; ++k) {
#pragma unroll
            for (int i = k + 1; i < SIDE; ++i) z[i] -= at(first + i, first + k) * z[k];
        }
#pragma unroll
        for (int k = 0; k < SIDE; ++k) {
            at(first + k, column) = z[k];
            if (!SIGNED) at(column, first + k) = z[k] * inverses[first + k];
        }
    }

    // Row `row` of V in the columns of a diagonal block.
    __device__ __forceinline__ void divide_row(int first, int row) const {
        T z[SIDE];
#pragma unroll
        for (int k = 0; k < SIDE; ++k) z[k] = at(row, first + k);
#pragma unroll
        for (int k = 0; k < SIDE; ++k) {
            z[k] *= inverses[first + k];
#pragma unroll
            for (int i = k + 1; i < SIDE; ++i) z[i] -= z[k] * at(first + k, first + i);
        }
#pragma unroll
        for (int k = 0; k < SIDE; ++k) at(row, first + k) = z[k];
    }

    // What block `first` takes off the rest but for the next diagonal block, by warps `worker` of `workers`.
    __device__ __forceinline__ void update(int first, int worker, int workers) const {
        const int lane = threadIdx.x & 31, from = first + SIDE, left = size - from;
        const int down = (left + 2 * SIDE - 1) / (2 * SIDE), across = left / SIDE;
        for (int tile = worker; tile < down * across; tile += workers) {
            const int top = tile % down * 2 * SIDE, side = tile / down * SIDE;
            if (!SIGNED && top >= side + SIDE) continue;
            const int row = from + top + (lane & (SIDE - 1)), j = from + side + lane / SIDE * (SIDE / 2);
            const bool both = row + SIDE < size, next = top == 0 && side == 0;
            if (next && !both) continue;
            const int below = both ? row + SIDE : row, i = next ? below : row;
            T x[2][SIDE / 2];
#pragma unroll
            for (int c = 0; c < SIDE / 2; ++c) {
                x[0][c] = at(i, j + c);
                x[1][c] = at(below, j + c);
            }
#pragma unroll 4
            for (int k = 0; k < SIDE; ++k) {
                const T v0 = at(i, first + k), v1 = at(below, first + k);
#pragma unroll
                for (int c = 0; c < SIDE / 2; ++c) {
                    const T m = at(first + k, j + c);
                    x[0][c] -= v0 * m;
                    x[1][c] -= v1 * m;
                }
            }
#pragma unroll
            for (int c = 0; c < SIDE / 2; ++c) {
                if (!next) at(i, j + c) = x[0][c];
                if (both) at(below, j + c) = x[1][c];
            }
        }
    }

    // By all threads of the block, which have met since W was written; they meet again before it returns.
    __device__ __forceinline__ void run() const {
        const int t = threadIdx.x, warp = t >> 5;
        for (int first = 0; first < size; first += SIDE) {
            const int left = size - first - SIDE;
            if (warp == 0) {
                diagonal(first);
            } else if (first > 0 && (warp & 3)) {
                update(first - SIDE, warp / 4 * 3 + (warp & 3) - 1, THREADS / 128 * 3);
            }
            // Columns are for the second quarter of threads, not for warp 0, which would wait for R.
            const int column = t - LARGEST;
            const bool divides = column >= 0 && column < left;
            T r[SIDE];
            if (SIGNED && divides) {
#pragma unroll
                for (int k = 0; k < SIDE; ++k) r[k] = upper.at(first + k, first + SIDE + column);
            }
            __syncthreads();
            if (divides) divide_column(first, first + SIDE + column, r);
            if (SIGNED && t < left) divide_row(first, first + SIDE + t);
            __syncthreads();
        }
    }
};

}  // namespace eliminate
