// X M = B for an upper triangular M of order up to 128, a row of B to a thread: substitution in blocks of SIDE columns.
//
// M is in shared memory, block column after block column, each from its top down to the diagonal, a row of SIDE numbers every PITCH;
// reciprocals stand on the diagonal. What is solved is kept there too, for the columns that follow. Rows have nothing to do with one another.
#pragma once
#include "common.cuh"

namespace divide {

constexpr int SIDE = 16;
constexpr int PITCH = SIDE + 2;
constexpr int THREADS = 128;

template <typename T>
struct Pair;
template <>
struct Pair<double> {
    typedef double2 type;
};
template <>
struct Pair<float> {
    typedef float2 type;
};

__device__ __forceinline__ int blocks_of(int n) { return (n + SIDE - 1) / SIDE; }

// Where block column b begins.
__device__ __forceinline__ int column_at(int b) { return b * (b + 1) / 2 * SIDE * PITCH; }

// M(k, c) = element(k, c) for k <= c < n, the identity beyond. The block meets.
template <typename T, typename Element>
__device__ __forceinline__ void load(T* divisor, int n, Element element) {
    // Two columns of eight: the loads of a block column are under way together.
    constexpr int COLUMNS = THREADS / SIDE, MOST = 8;
    const int low = threadIdx.x % SIDE, high = threadIdx.x / SIDE;
    for (int b = 0; b < blocks_of(n); ++b) {
        T x[2][MOST];
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int c = b * SIDE + half * COLUMNS + high;
#pragma unroll
            for (int q = 0; q < MOST; ++q) {
                const int k = q * SIDE + low;
                x[half][q] = k == c ? T(1) : T(0);
                if (q <= b && k <= c && c < n) x[half][q] = element(k, c);
                if (k == c) x[half][q] = T(1) / x[half][q];
            }
        }
        T* to = divisor + column_at(b);
#pragma unroll
        for (int half = 0; half < 2; ++half) {
#pragma unroll
            for (int q = 0; q < MOST; ++q)
                if (q <= b) to[(q * SIDE + low) * PITCH + half * COLUMNS + high] = x[half][q];
        }
    }
    __syncthreads();
}

// One row: `get(c)` is its entry c, and `put(c, x)` stores that of X. `solved` is the block's.
template <typename T, typename Get, typename Put>
__device__ __forceinline__ void row(const T* divisor, T* solved, int n, Get get, Put put) {
    typedef typename Pair<T>::type Two;
    const int blocks = blocks_of(n);
    T* own = solved + threadIdx.x;
    T ahead[SIDE];
#pragma unroll
    for (int c = 0; c < SIDE; ++c) ahead[c] = c < n ? get(c) : T(0);
    for (int b = 0; b < blocks; ++b) {
        const int first = b * SIDE;
        T x[SIDE];
#pragma unroll
        for (int c = 0; c < SIDE; ++c) x[c] = ahead[c];
#pragma unroll
        for (int c = 0; c < SIDE; ++c) ahead[c] = first + SIDE + c < n ? get(first + SIDE + c) : T(0);
        const T* m = divisor + column_at(b);
#pragma unroll 4
        for (int k = 0; k < first; ++k, m += PITCH) {
            const T y = own[k * THREADS];
#pragma unroll
            for (int c = 0; c < SIDE; c += 2) {
                const Two two = *reinterpret_cast<const Two*>(m + c);
                x[c] -= y * two.x;
                x[c + 1] -= y * two.y;
            }
        }
#pragma unroll
        for (int k = 0; k < SIDE; ++k, m += PITCH) {
            x[k] *= m[k];
#pragma unroll
            for (int c = k + 1; c < SIDE; ++c) x[c] -= x[k] * m[c];
        }
#pragma unroll
        for (int c = 0; c < SIDE; ++c) {
            if (b + 1 < blocks) own[(first + c) * THREADS] = x[c];
            if (first + c < n) put(first + c, x[c]);
        }
    }
}

}  // namespace divide
