// The data of one orthogonal (hyperbolic) transformation of eight rows, and how blocks send it. See
// cholesky_update.cu.
#pragma once
#include "mma_f64.cuh"
#include "column_pipeline.cuh"
#include "tile_f64.cuh"

namespace reflect {

using namespace pipeline;

constexpr unsigned ALL = 0xffffffffu;
constexpr int ROWS = 8;      // in a block of reflections
constexpr int COLUMNS = 16;  // of the factor, per warp: two blocks of rows
// Warps of a block that have columns; one more sends and receives reflections.
constexpr int WORKERS = 7;
constexpr int SLAB = COLUMNS * WORKERS;  // columns of a block
constexpr int RING = 8;                  // blocks of reflections in shared memory
// Tiles of a warp, with as many rows as a block of reflections, loaded or in flight.
constexpr int AHEAD = 4;
constexpr int FINISHED = 0x7fffffff;

// A block of reflections for at most K columns of V: K x 8 numbers Y, a lower triangle L of order
// eight, and the signs of the rows. Each row has its columns of Y and then its row of L. PITCH:
// numbers from row to row in shared memory. With it, neither the pairs of a row nor single numbers
// of a column that lanes read together have bank conflicts of more than two.
template <int K>
struct Layout {
    static constexpr int ROW = K + ROWS, PITCH = ROW + 2;
    static constexpr int WORDS = ROWS * (ROW + 1),
                         PAIRS = WORDS / 2;  // of a message: rows, then signs
    static constexpr int TILES = K / 8;
};

template <int K>
struct alignas(16) Slot {
    double rows[ROWS * Layout<K>::PITCH];
    double signs[ROWS];  // doubled where the rows are to be taken one after the other
};

// Scratch of a warp that makes reflections of eight rows: matrices by rows.
template <int K>
struct alignas(16) Bench {
    static constexpr int PITCH = ROWS + 2;
    double v[K * PITCH];         // rows of V of eight columns
    double square[ROWS * ROWS];  // R'R +- W'W
    // The triangles R of both blocks, zero below, with signs such that the diagonal is positive.
    double before[2][ROWS * ROWS];
    double after[2][ROWS * ROWS];  // the new triangles, on and above the diagonal
};

template <int K>
struct Shared {
    Slot<K> ring[RING];
    double tiles[WORKERS][AHEAD][COLUMNS * ROWS];  // of the factor, by columns
    Bench<K> bench[2];                             // of warps in turn
    double zeros[ROWS * ROWS], ones[ROWS * ROWS];  // ones on the diagonal
    unsigned long long ready[RING];  // barriers: each turn a block of reflections takes the place
    int done[WORKERS + 1];           // blocks of reflections that a warp has finished with
    int turn;
};

__device__ __forceinline__ double from_lane(double x, int lane) {
    return __shfl_sync(ALL, x, lane);
}

// Copies one number, and prefetches the following entries of the column, which this warp needs too,
// to the L2 cache.
__device__ __forceinline__ void copy_one(double* to, const double* from) {
    asm volatile(
        "cp.async.ca.shared.global.L2::256B [%0], [%1], 8;" ::"r"(tile::shared_address(to)),
        "l"(from)
        : "memory");
}
__device__ __forceinline__ void copy_one(float* to, const float* from) {
    asm volatile(
        "cp.async.ca.shared.global.L2::256B [%0], [%1], 4;" ::"r"(tile::shared_address(to)),
        "l"(from)
        : "memory");
}

__device__ __forceinline__ void arrive(const unsigned long long* barrier) {
    asm volatile(
        "{ .reg .b64 t; mbarrier.arrive.shared.b64 t, [%0]; }" ::"r"(tile::shared_address(barrier))
        : "memory");
}
// Whether all have arrived in the phase of that parity.
__device__ __forceinline__ bool arrived(const unsigned long long* barrier, int parity) {
    int x;
    asm volatile(
        "{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.s32 %0, 1, 0, p; }"
        : "=r"(x)
        : "r"(tile::shared_address(barrier)), "r"(parity)
        : "memory");
    return __all_sync(ALL, x);
}
// A warp announces what it has read for the last time, so that others may overwrite it. The store
// is not a release, since no data goes with the flag. All reads have completed: the lanes have met
// since, and have used what they read.
__device__ __forceinline__ void tell(int* p, int x) {
    asm volatile("st.relaxed.cta.shared.s32 [%0], %1;" ::"r"(tile::shared_address(p)), "r"(x)
                 : "memory");
}
__device__ __forceinline__ int glimpse(const int* p) {
    int x;
    asm volatile("ld.relaxed.cta.shared.s32 %0, [%1];"
                 : "=r"(x)
                 : "r"(tile::shared_address(p))
                 : "memory");
    return x;
}
template <int K>
__device__ __forceinline__ bool is_ready(const Shared<K>& s, int block) {
    return arrived(&s.ready[block % RING], block / RING & 1);
}

}  // namespace reflect
