// Cholesky factorization of matrices on lanes of a warp, or on a warp. See cholesky_batch.cu.
#pragma once
#include "batch_eliminate.cuh"

namespace {

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

}  // namespace
