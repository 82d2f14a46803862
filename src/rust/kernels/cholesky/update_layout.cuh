// Eight rows of a factor and V taken through one orthogonal (hyperbolic) transformation: how it is
// laid out and handed on. See cholesky_update.cu.
#pragma once
#include "mma_f64.cuh"
#include "column_pipeline.cuh"
#include "tile_f64.cuh"

namespace reflect {

using namespace pipeline;

constexpr unsigned ALL = 0xffffffffu;
constexpr int ROWS = 8;      // of a block of reflections
constexpr int COLUMNS = 16;  // of the factor, of a warp: two blocks of rows
constexpr int WORKERS =
    7;  // warps with columns of a block of threads; one more carries reflections
constexpr int SLAB = COLUMNS * WORKERS;  // columns of a block
constexpr int RING = 8;                  // blocks of reflections at hand
constexpr int AHEAD =
    4;  // tiles of a warp, of as many rows as a block of reflections, at hand or on their way
constexpr int FINISHED = 0x7fffffff;

// What a block of reflections consists of, for up to K columns of V: K x 8 numbers Y, a lower
// triangle L of order eight, and the signs of the rows. For each row there are its columns of Y and
// then its row of L. PITCH: numbers from row to row in shared memory, where neither the pairs of a
// row nor single numbers of a column that lanes read together meet in a bank more than twice.
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

// What a warp needs to make reflections of eight rows: matrices by rows.
template <int K>
struct alignas(16) Bench {
    static constexpr int PITCH = ROWS + 2;
    double v[K * PITCH];            // rows of V of eight columns
    double square[ROWS * ROWS];     // R'R +- W'W
    double before[2][ROWS * ROWS];  // the triangles R of both blocks, zero below, with signs such
                                    // that the diagonal is positive
    double after[2][ROWS * ROWS];   // the new ones, on and above the diagonal
};

template <int K>
struct Shared {
    Slot<K> ring[RING];
    double tiles[WORKERS][AHEAD][COLUMNS * ROWS];  // of the factor, by columns
    Bench<K> bench[2];                             // of warps in turn
    double zeros[ROWS * ROWS], ones[ROWS * ROWS];  // ones on the diagonal
    unsigned long long ready[RING];  // barriers: each turn a block of reflections takes the place
    int done[WORKERS + 1];           // blocks of reflections that a warp has no more need of
    int turn;
};

__device__ __forceinline__ double from_lane(double x, int lane) {
    return __shfl_sync(ALL, x, lane);
}

// What follows in the column is for this warp, too: it is brought as far as the L2 cache.
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
// Whether all have arrived in the turn of that parity.
__device__ __forceinline__ bool arrived(const unsigned long long* barrier, int parity) {
    int x;
    asm volatile(
        "{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.s32 %0, 1, 0, p; }"
        : "=r"(x)
        : "r"(tile::shared_address(barrier)), "r"(parity)
        : "memory");
    return __all_sync(ALL, x);
}
// A flag by which a warp says what it has read for the last time, for others to write there.
// Nothing that it wrote goes with the flag, so it does not release; and its reads are over: the
// lanes have met since, and what they read has been computed with or stored.
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
