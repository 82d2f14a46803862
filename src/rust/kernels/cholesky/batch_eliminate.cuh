// The elimination of a triangle in registers. See cholesky_batch.cu.
#pragma once
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

}  // namespace
