// What a block of chase.cu keeps in shared memory, and the warps that load and store it.
//
// Sweep g of a block has four warps: two for the reflectors and the blocks R below the diagonal,
// two for the blocks D on it. Two more warps take turns to load what the first sweep needs, and two
// to store what the last sweep leaves. Each tells by a count how many steps it has finished.
//
// A ring has W columns of the band. The column after s0, that of the first sweep, is in slot 0. So
// tile k of sweep g begins in slot k B + g mod W, and its last g columns may be the ring's first.
#pragma once
#include "common.cuh"
#include "tile_sync.cuh"

namespace chase {

constexpr int B = 32, LDB = 2 * B;
constexpr int MOST = 3;  // sweeps of a block: more leave too few registers
constexpr int TEAM = 4;  // warps of a sweep
constexpr int LOADERS = 2, STORERS = 2;
constexpr int FINISHED = 0x40000000;

// Numbers of finished steps of a sweep, for each half of its rows: its v is there, R, and D.
struct Steps {
    int reflected[2], below[2], diagonal[2], unused[2];
};
// The numbers of `loaded`, for R and D, are those of the last tiles, plus one.
struct Counts {
    int loaded[2][LOADERS], stored[STORERS];
    Steps steps[MOST];
    int group, unused[3];
};

constexpr int COUNTED = 2 * LOADERS + STORERS + MOST * sizeof(Steps) / sizeof(int);

// What the warps of a sweep tell one another: v and tau of this step and the one before; sums of
// each half of the rows for v'R; w with D <- D - v w' - w v', first without its part along v; and
// the sums that the reflector and that part need.
template <typename T>
struct Vectors {
    T v[2][B], u[2][B], w[B], tau[2], squares[2], mixed[2], alpha, first, along[2];
};

template <typename T>
struct Shared {
    Counts counts;
    Vectors<T> vectors[1];  // one for each sweep, then the ring
};

// Where B columns begin in the ring.
struct Tile {
    int first, fit, length;

    __device__ __forceinline__ int column(int c) const {
        return first + c * LDB - (c <= B - MOST || c < fit ? 0 : length);
    }
};

template <typename T>
struct Ring {
    const int lane, n, width;  // width: slots of the ring
    T* const band;
    int* const progress;  // of each group's last sweep
    Shared<T>& m;
    const int sweeps;  // of a block
    T* const ring;

    __device__ __forceinline__ Ring(Shared<T>& memory, int order, int slots, T* diagonals,
                                    int* finished)
        : lane(threadIdx.x & 31), n(order), width(slots), band(diagonals), progress(finished),
          m(memory), sweeps(((int)(blockDim.x >> 5) - LOADERS - STORERS) / TEAM),
          ring((T*)(memory.vectors + sweeps)) {}

    // The warp's number among those without a sweep; the block's group, its first sweep, and how
    // many it has. They are read again and again: what a thread spills would come from far, since
    // a load that waits for another block empties the cache.
    __device__ __forceinline__ int other() const {
        int thread;
        asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
        return (thread >> 5) - TEAM * sweeps;
    }
    __device__ __forceinline__ int group() const { return *(volatile int*)&m.counts.group; }
    __device__ __forceinline__ int s0() const { return group() * sweeps; }
    __device__ __forceinline__ int active() const { return min(sweeps, n - 2 - s0()); }
    __device__ __forceinline__ int steps(int s) const { return (n - 2 - s) / B + 1; }
    // Of the tile after this one, or before it.
    __device__ __forceinline__ int after(int start) const {
        return start + B < width ? start + B : start + B - width;
    }
    __device__ __forceinline__ int before(int start, int columns) const {
        return start >= columns ? start - columns : start - columns + width;
    }
    __device__ __forceinline__ Tile at(int start) const {
        return {start * LDB, width - start, width * LDB};
    }

    // The first entry in the lane's row of the blocks R and D that begin in row r0, in global
    // memory. The next column's entry comes LDB - 1 later.
    __device__ __forceinline__ T* block_d(int r0) const { return band + (i64)r0 * LDB + lane; }
    __device__ __forceinline__ T* block_r(int r0) const { return block_d(r0) - B * LDB + B; }

    // Waits until the count of each lane is at least its number.
    static __device__ __forceinline__ void wait(const int* count, int least) {
        while (!__all_sync(0xffffffffu, tile::block_load_acquire(count) >= least)) {}
        __syncwarp();
    }
    __device__ __forceinline__ void tell(int* count, int finished) const {
        __syncwarp();
        if (lane == 0) tile::block_store_release(count, finished);
    }

    // Tiles k, k + LOADERS, ... of the first sweep: its blocks R and D of step k. A last tile is
    // all zero, since the blocks of later sweeps reach into it.
    //
    // Columns follow one another without gaps here and in global memory. So what is above the
    // diagonal of D is the end of the column before: the last row of the next R, which is not
    // copied, and zeros.
    __device__ __forceinline__ void load() const {
        const int count = steps(s0());
        for (int k = other(); k <= count; k += LOADERS) {
            const int r0 = s0() + 1 + k * B, start = k * B % width;
            const T *from_r = block_r(r0), *from_d = block_d(r0);
            T *to_r = ring + before(start, B) * LDB + B + lane, *to_d = ring + start * LDB + lane;
            // The steps that must be over, by the parity of a lane: here, and in the group before.
            const int over = k + 1 - width / B - (lane & 1), needed = k + (lane & 1);
            wait(m.counts.stored + (over & 1), over + 1);
            if (group() > 0 && k < count) {
                const int* flag = progress + STORERS * (group() - 1) + (needed & 1);
                while (!__all_sync(0xffffffffu, tile::load_acquire(flag) > needed)) {}
            }
            __syncwarp();
            // A block at a time, for fewer registers. At step 0, R is column s0 alone.
            T x[B];
            if (k > 0) {
#pragma unroll
                for (int c = 0; c < B; ++c) x[c] = __ldcg(from_r + c * (LDB - 1));
#pragma unroll
                for (int c = 0; c < B; ++c) to_r[c * (LDB - 1)] = x[c];
            } else {
                to_r[(B - 1) * (LDB - 1)] = __ldcg(from_r + (B - 1) * (LDB - 1));
            }
            tell(m.counts.loaded[0] + other(), k + 1);
#pragma unroll
            for (int c = 0; c < B; ++c) x[c] = __ldcg(from_d + c * (LDB - 1));
#pragma unroll
            for (int c = 0; c < B; ++c)
                if (c == 0 || lane > 0) to_d[c * (LDB - 1)] = x[c];
            if (lane > 0) to_d[(B - 1) * LDB + B] = T(0);
            tell(m.counts.loaded[1] + other(), k + 1);
        }
    }

    // The blocks R and D of the last sweep at steps k, k + STORERS, ..., as they are loaded.
    __device__ __forceinline__ void store() const {
        const int g = active() - 1, s = s0() + g, count = steps(s);
        const Steps& last = m.counts.steps[g];
        const auto flag = [&] { return progress + STORERS * group() + other() - LOADERS; };
        if (other() - LOADERS >= count && lane == 0)
            tile::store_release(flag(), FINISHED);
        for (int k = other() - LOADERS; k < count; k += STORERS) {
            const int r0 = s + 1 + k * B, start = (k * B + g) % width;
            const Tile left = at(before(start, B)), here = at(start);
            const int next = k + STORERS < count ? k + 1 : FINISHED;
            T x[B];
            wait(last.below + (lane & 1), k + 1);
#pragma unroll
            for (int c = 0; c < B; ++c) x[c] = ring[left.column(c) + B - c + lane];
            if (k > 0) {
#pragma unroll
                for (int c = 0; c < B; ++c) __stcg(block_r(r0) + c * (LDB - 1), x[c]);
            }
            wait(last.diagonal + (lane & 1), k + 1);
            // The column before is not in front of one that is the first of the ring.
#pragma unroll
            for (int c = 0; c < B; ++c)
                if (c == 0 || (c > B - MOST ? lane >= c : lane > 0))
                    x[c] = ring[here.column(c) + lane - c];
            tell(m.counts.stored + other() - LOADERS, next);
#pragma unroll
            for (int c = 0; c < B; ++c)
                if (c == 0 || (c > B - MOST ? lane >= c : lane > 0))
                    __stcg(block_d(r0) + c * (LDB - 1), x[c]);
            __syncwarp();
            if (lane == 0) tile::store_release(flag(), next);
        }
    }
};

}  // namespace chase
