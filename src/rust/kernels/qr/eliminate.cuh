// Elimination without exchanges of a matrix of order up to 128 in shared memory, by one block.
//
// W becomes V below the diagonal and M on and above it, W = V M with V unit lower triangular. It
// goes by blocks of SIDE columns. Warp 0 eliminates the diagonal block in registers. Rows of M to
// its right and columns of V below it are divided, one per thread. The rest is updated in tiles of
// 32 x 16. Meanwhile warp 0 continues with the next diagonal block, and the warps that share its
// part of the multiprocessor take no part in the update: the chain of pivots determines the time.
//
// Plain: W is symmetric, and pivots must be positive. Signed: W - S R is eliminated for an upper
// triangular R. S is a diagonal matrix of signs, chosen so that no pivot is smaller in magnitude
// than R's diagonal entry.
#pragma once
#include "common.cuh"

namespace eliminate {

constexpr int SIDE = 16;
constexpr int THREADS = 512;
constexpr int LARGEST = 128;

// 1 / x for ordinary numbers, to about one ulp.
__device__ __forceinline__ double reciprocal(double x) {
    double y;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
    const double e = fma(-x, y, 1.0);
    return fma(y, fma(e, e, e), y);
}
__device__ __forceinline__ float reciprocal(float x) { return 1.0f / x; }

// Pivots whose roots and reciprocals are far from overflow and underflow.
__device__ __forceinline__ bool ordinary(double p) { return p > 1e-290 && p < 1e290; }
__device__ __forceinline__ bool ordinary(float p) { return p > 1e-30f && p < 1e30f; }

// The upper triangular R of a signed elimination, of order n, with zeros below it and the identity
// beyond, up to a multiple of SIDE.
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
    int* refused;  // set if a pivot is not ordinary
    T* ahead;      // room for a diagonal block of R, columns SIDE + 1 apart

    static __device__ __forceinline__ int stride(int size) { return size + 1; }

    __device__ __forceinline__ T& at(int i, int j) const { return w[i + j * stride(size)]; }

    // Copies R's diagonal block from `first` on to shared memory, by half of the threads.
    __device__ __forceinline__ void fetch(int first) const {
        const int e = (int)threadIdx.x - THREADS / 2, row = e % SIDE, column = e / SIDE;
        if (SIGNED && first < size && e >= 0 && column < SIDE)
            ahead[row + column * (SIDE + 1)] = upper.at(first + row, first + column);
    }

    // By one warp, with row lane % SIDE in each lane. The chain from pivot to pivot is one exchange
    // between lanes, a reciprocal and two products.
    __device__ __forceinline__ void diagonal(int first) const {
        constexpr int HALF = SIDE / 2;
        const unsigned all = 0xffffffffu;
        const int lane = threadIdx.x & 31, row = lane & (SIDE - 1),
                  own = first + lane / SIDE * HALF;
        T x[SIDE];
        {
            // At first each lane has half a row.
            T part[HALF];
#pragma unroll
            for (int c = 0; c < HALF; ++c) part[c] = at(first + row, own + c);
            if (first > 0) {
                // Subtracts the contribution of the block before.
                const int before = first - SIDE;
#pragma unroll 4
                for (int k = 0; k < SIDE; ++k) {
                    const T v = at(first + row, before + k);
#pragma unroll
                    for (int c = 0; c < HALF; ++c) part[c] -= v * at(before + k, own + c);
                }
            }
#pragma unroll
            for (int c = 0; c < SIDE; ++c)
                x[c] = __shfl_sync(all, part[c % HALF], c / HALF * SIDE + row);
        }
        T y[SIDE];
#pragma unroll
        for (int c = 0; c < SIDE; ++c) y[c] = SIGNED ? ahead[row + c * (SIDE + 1)] : T(0);
        T mine = T(1), own_inverse = T(0);
        bool fine = true;
#pragma unroll
        for (int k = 0; k < SIDE; ++k) {
            const bool zero = SIGNED && upper.square && first + k == upper.n - 1;
            if (SIGNED) {
                const T s = (x[k] >= T(0)) == zero ? T(1) : T(-1);
                // Without a branch: other rows subtract zero.
                const T taken = row == k ? s : T(0);
                if (row == k) mine = s;
                x[k] = zero && row == k ? T(0) : x[k] - taken * y[k];
#pragma unroll
                for (int c = k + 1; c < SIDE; ++c) x[c] -= taken * y[c];
            }
            const T pivot = __shfl_sync(all, x[k], k);
            const T inverse = zero ? T(0) : reciprocal(pivot);
            if (!SIGNED) fine = fine && ordinary(pivot);
            if (row == k) own_inverse = inverse;
            const T v = row > k ? x[k] * inverse : T(0);
            if (row > k) x[k] = v;
#pragma unroll
            for (int c = k + 1; c < SIDE; ++c) x[c] -= v * __shfl_sync(all, x[c], k);
        }
#pragma unroll
        for (int c = 0; c < HALF; ++c) at(first + row, own + c) = lane < SIDE ? x[c] : x[HALF + c];
        if (lane < SIDE) {
            inverses[first + row] = own_inverse;
            if (SIGNED) signs[first + row] = mine;
        }
        if (!fine && lane == 0) *refused = 1;
    }

    // Column `column` of M in the rows of a diagonal block, and in a plain elimination row `column`
    // of V. `r`: R there.
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

    // Subtracts the contribution of block `first` from the rest, except the next diagonal block; by
    // warps `worker` of `workers`.
    __device__ __forceinline__ void update(int first, int worker, int workers) const {
        const int lane = threadIdx.x & 31, from = first + SIDE, left = size - from;
        const int down = (left + 2 * SIDE - 1) / (2 * SIDE), across = left / SIDE;
        for (int tile = worker; tile < down * across; tile += workers) {
            const int top = tile % down * 2 * SIDE, side = tile / down * SIDE;
            if (!SIGNED && top >= side + SIDE) continue;
            const int row = from + top + (lane & (SIDE - 1)),
                      j = from + side + lane / SIDE * (SIDE / 2);
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

    // Called by all threads of the block, which have met since W was written; they meet again
    // before it returns.
    __device__ __forceinline__ void run() const {
        const int t = threadIdx.x, warp = t >> 5;
        fetch(0);
        if (SIGNED) __syncthreads();
        for (int first = 0; first < size; first += SIDE) {
            const int left = size - first - SIDE;
            if (warp == 0) {
                diagonal(first);
            } else if (first > 0 && (warp & 3)) {
                update(first - SIDE, warp / 4 * 3 + (warp & 3) - 1, THREADS / 128 * 3);
            }
            // The second quarter of threads divides columns, since warp 0 would wait for R.
            const int column = t - LARGEST;
            const bool divides = column >= 0 && column < left;
            T r[SIDE];
            if (SIGNED && divides) {
#pragma unroll
                for (int k = 0; k < SIDE; ++k) r[k] = upper.at(first + k, first + SIDE + column);
            }
            __syncthreads();
            fetch(first + SIDE);
            if (divides) divide_column(first, first + SIDE + column, r);
            if (SIGNED && t < left) divide_row(first, first + SIDE + t);
            __syncthreads();
        }
    }
};

}  // namespace eliminate
