// X M = B for an upper triangular M of order up to 128, with four neighbouring lanes per row of B:
// substitution in blocks of SIDE columns.
//
// Shared memory holds M, block column after block column, each from its top down to the diagonal,
// with a row of SIDE numbers every PITCH; the diagonal has reciprocals. Solved columns are kept in
// shared memory for the columns after them. Rows are independent. A thread has R rows: one if there
// are few rows, so that they fill the GPU; TALL if there are many, so that each number of M that is
// read is used as often.
#pragma once
#include "common.cuh"

namespace divide {

constexpr int SIDE = 16;
constexpr int PITCH = SIDE + 2;
constexpr int THREADS = 128;
constexpr int LANES = 4, OWN = SIDE / LANES;  // of a row, and the columns of each in a block
constexpr int SLOTS = THREADS / LANES;        // rows of a block of threads, R times
constexpr int TALL = 4;

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

// The offset of block column b.
__device__ __forceinline__ int column_at(int b) { return b * (b + 1) / 2 * SIDE * PITCH; }

// M(k, c) = element(k, c) for k <= c < n, the identity beyond. The block meets.
template <typename T, typename Element>
__device__ __forceinline__ void load(T* divisor, int n, Element element) {
    // Block columns b and last - b have last + 2 blocks together, whose loads are in flight
    // together; a thread has two columns of each.
    constexpr int COLUMNS = THREADS / SIDE, MOST = 9;
    const int low = threadIdx.x % SIDE, high = threadIdx.x / SIDE, last = blocks_of(n) - 1;
    for (int b = 0; 2 * b <= last; ++b) {
        T x[2][MOST];
#pragma unroll
        for (int q = 0; q < MOST; ++q) {
            const int column = q <= b ? b : last - b, down = q <= b ? q : q - b - 1,
                      k = down * SIDE + low;
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                const int c = column * SIDE + half * COLUMNS + high;
                x[half][q] = k == c ? T(1) : T(0);
                if (down <= column && k <= c && c < n) x[half][q] = element(k, c);
            }
        }
#pragma unroll
        for (int q = 0; q < MOST; ++q) {
            const int column = q <= b ? b : last - b, down = q <= b ? q : q - b - 1;
            if (down > column) continue;
            T* to = divisor + column_at(column) + (down * SIDE + low) * PITCH + high;
            to[0] = x[0][q];
            to[COLUMNS] = x[1][q];
        }
    }
    __syncthreads();
    const int b = threadIdx.x / SIDE;
    if (b <= last) {
        T* diagonal = divisor + column_at(b) + (b * SIDE + low) * PITCH + low;
        *diagonal = T(1) / *diagonal;
    }
    __syncthreads();
}

// Solves for rows `slot + SLOTS r` of a tile for this thread's slot. `get(slot, c)` is an entry of
// such a row, and `put(slot, c, x)` stores that of X. `solved` belongs to the block. By whole
// warps.
template <typename T, int R, typename Get, typename Put>
__device__ __forceinline__ void rows(const T* divisor, T* solved, int n, Get get, Put put) {
    typedef typename Pair<T>::type Two;
    constexpr int ROWS = SLOTS * R;
    const int blocks = blocks_of(n), slot = threadIdx.x / LANES, pair = threadIdx.x % LANES * 2;
    // A lane's columns are two pairs, so that four lanes read neighbours.
    const auto column = [pair](int e) { return e / 2 * (SIDE / 2) + pair + e % 2; };
    T* own = solved + slot;
    T ahead[R][OWN];
#pragma unroll
    for (int r = 0; r < R; ++r)
#pragma unroll
        for (int e = 0; e < OWN; ++e)
            ahead[r][e] = column(e) < n ? get(slot + SLOTS * r, column(e)) : T(0);
    for (int b = 0; b < blocks; ++b) {
        const int first = b * SIDE;
        T x[R][OWN];
#pragma unroll
        for (int r = 0; r < R; ++r)
#pragma unroll
            for (int e = 0; e < OWN; ++e) {
                const int c = first + SIDE + column(e);
                x[r][e] = ahead[r][e];
                ahead[r][e] = c < n ? get(slot + SLOTS * r, c) : T(0);
            }
        const T* m = divisor + column_at(b) + pair;
#pragma unroll 8
        for (int k = 0; k < first; ++k, m += PITCH) {
            const Two left = *reinterpret_cast<const Two*>(m),
                      right = *reinterpret_cast<const Two*>(m + SIDE / 2);
#pragma unroll
            for (int r = 0; r < R; ++r) {
                const T y = own[k * ROWS + SLOTS * r];
                x[r][0] -= y * left.x;
                x[r][1] -= y * left.y;
                x[r][2] -= y * right.x;
                x[r][3] -= y * right.y;
            }
        }
#pragma unroll
        for (int k = 0; k < SIDE; ++k, m += PITCH) {
            const Two left = *reinterpret_cast<const Two*>(m),
                      right = *reinterpret_cast<const Two*>(m + SIDE / 2);
            const T by[OWN] = {left.x, left.y, right.x, right.y};
            // Column k of the block is number `mine` of its lane.
            constexpr int HALF = SIDE / 2;
            const int mine = k / HALF * 2 + k % 2, holder = k % HALF / 2;
#pragma unroll
            for (int r = 0; r < R; ++r) {
                const T z = __shfl_sync(0xffffffffu, x[r][mine] * by[mine], holder, LANES);
                if (pair == 2 * holder) x[r][mine] = z;
#pragma unroll
                for (int e = 0; e < OWN; ++e)
                    if (column(e) > k) x[r][e] -= z * by[e];
            }
        }
#pragma unroll
        for (int r = 0; r < R; ++r)
#pragma unroll
            for (int e = 0; e < OWN; ++e) {
                const int c = first + column(e);
                if (b + 1 < blocks) own[c * ROWS + SLOTS * r] = x[r][e];
                if (c < n) put(slot + SLOTS * r, c, x[r][e]);
            }
        __syncwarp();
    }
    // The solved columns of these rows are no longer read.
    __syncwarp();
}

}  // namespace divide
