// A warp's columns of a factor, through all reflections. See cholesky_update.cu.
#pragma once
#include "update_safe_scaling.cuh"

namespace {

using namespace reflect;

// The first word, without the sign bit, of non-finite numbers is at least this.
template <typename T>
constexpr unsigned ENDLESS = sizeof(T) == sizeof(double) ? 0x7ff00000u : 0x7f800000u;
constexpr unsigned SIGN = 0x80000000u;

// A warp's columns: `cols` of them at `r`, below `before` rows.
template <typename T, int K>
struct Work {
    Shared<K>& s;
    // This warp makes the reflections of blocks of rows `own` to before `end`.
    const int warp, lane, g, t, before, cols, own, end;
    T* const r;
    const i64 ldr;
    const double kind;
    int* const info;
    Columns<K> c;
    unsigned most[2];  // per column, for rows before: the first word of the largest magnitude

    // Row 2t + j of a block of rows, column g + 8 h.
    __device__ __forceinline__ T* at(int block, int j, int h) const {
        return r + (block * ROWS + 2 * t + j) + (g + 8 * h) * ldr;
    }
    // Whether that entry is in the triangle; this warp's own rows come after `before`.
    __device__ __forceinline__ bool is_there(int block, int j, int h) const {
        return g + 8 * h < cols && block * ROWS + 2 * t + j <= before + g + 8 * h;
    }
    __device__ __forceinline__ T* piece(int block) const {
        return reinterpret_cast<T*>(s.tiles[warp][block % AHEAD]) + g * ROWS + 2 * t;
    }
    __device__ __forceinline__ void fetch(int block) const {
        if (block < end && block >= 0) {
#pragma unroll
            for (int e = 0; e < 4; ++e)
                if (is_there(block, e % 2, e / 2))
                    copy_one(piece(block) + e / 2 * 8 * ROWS + e % 2, at(block, e % 2, e / 2));
        }
        tile::copies_commit();
    }
    // Reads a tile's entries in existing columns, and writes them back.
    __device__ __forceinline__ void read(int block, double (&x)[4]) const {
        const T* from = piece(block);
#pragma unroll
        for (int e = 0; e < 4; ++e)
            x[e] = g + e / 2 * 8 < cols ? (double)from[e / 2 * 8 * ROWS + e % 2] : 0;
    }
    __device__ __forceinline__ void write(int block, const double (&x)[4]) const {
        T* to = piece(block);
#pragma unroll
        for (int e = 0; e < 4; ++e) to[e / 2 * 8 * ROWS + e % 2] = (T)x[e];
    }
    // Reads a triangle on the diagonal; a column that does not exist has a one.
    __device__ __forceinline__ void read_triangle(int h, double (&x)[2]) const {
        const T* from = piece(own + h) + h * 8 * ROWS;
#pragma unroll
        for (int j = 0; j < 2; ++j)
            x[j] = is_there(own + h, j, h) ? (double)from[j] : 2 * t + j == g;
    }
    // Reports the minor of this column's order. A stored entry that is not finite, or a stored
    // diagonal entry that is not positive, leaves its column without a factor.
    __device__ __forceinline__ void report(int column) const { atomicMin(info, column + 1); }
    // Stores rows before this warp's own. Entries that are not finite are reported after all these
    // rows.
    __device__ __forceinline__ void store_far(int block, const double (&x)[4]) {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
            if (!is_there(block, e % 2, e / 2)) continue;
            const T y = (T)x[e];
            *at(block, e % 2, e / 2) = y;
            most[e / 2] = max(most[e / 2], (head(y) & ~SIGN));
        }
    }
    __device__ __forceinline__ void report_far() const {
#pragma unroll
        for (int h = 0; h < 2; ++h)
            if (most[h] >= ENDLESS<T>) report(own * ROWS + g + h * 8);
    }
    __device__ __forceinline__ void store(int block, const double (&x)[4]) const {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
            if (!is_there(block, e % 2, e / 2)) continue;
            const int column = own * ROWS + g + e / 2 * 8;
            const T y = (T)x[e];
            *at(block, e % 2, e / 2) = y;
            const bool none = block * ROWS + 2 * t + e % 2 == column && !(y > 0);
            if (none || (head(y) & ~SIGN) >= ENDLESS<T>) report(column);
        }
    }

    // Waits until the ring has room for a block of this warp. The warps after this one and the one
    // that sends may still read the block RING before. Warps before this one have finished with it,
    // since this warp has received their results.
    __device__ __forceinline__ void await_room(int block) const {
        for (;;) {
            const int later = lane > warp && lane <= WORKERS ? glimpse(&s.done[lane]) : FINISHED;
            if (__all_sync(ALL, later > block - RING)) break;
        }
    }

    // Applies a block of reflections of rows before those of the preceding warp.
    __device__ __forceinline__ void follow_far(int block) {
        tile::copies_wait<AHEAD - 1>();
        __syncwarp();
        while (!is_ready(s, block)) __nanosleep(100);
        double x[4];
        read(block, x);
        c.follow(s.ring[block % RING], g, t, kind, x);
        __syncwarp();
        if (lane == 0) tell(&s.done[warp], block + 1);
        store_far(block, x);
        fetch(block + AHEAD);
    }

    // Goes from the first row to the last row of these columns.
    __device__ __forceinline__ void all() {
        const int far = max(own - 2, 0);
        for (int block = 0; block < AHEAD; ++block) fetch(block);
#pragma unroll 1
        for (int block = 0; block < far; ++block) follow_far(block);
        report_far();

        Bench<K>& bench = s.bench[warp % 2];
        // The last warp that used this scratch has finished with it.
        if (warp > 1) {
            while (__shfl_sync(ALL, glimpse(&s.done[warp - 2]), 0) != FINISHED) {
            }
        }
        tile::copies_wait<0>();
        __syncwarp();
        double x[4], corner[2];
        Triangle triangle, next;
        read_triangle(0, corner), triangle.prepare(corner, g, t, bench.before[0]);
        read_triangle(1, corner), next.prepare(corner, g, t, bench.before[1]);
        await_room(own);
#pragma unroll 1
        for (int block = far; block < end; ++block) {
            Slot<K>& slot = s.ring[block % RING];
            Maker<K> maker;
            bool well = false;
            if (block < own) {
                while (!is_ready(s, block)) {
                }
            } else {
                const double* before = bench.before[block - own];
                double* after = bench.after[block - own];
                if (block > own) await_room(block);
                well = maker.make(c, triangle, bench, before, s, slot, lane, kind);
                if (!well)
                    make_carefully(c, triangle, before, after, slot, lane, kind, block * ROWS,
                                   info);
                if (lane == 0) arrive(&s.ready[block % RING]);
            }
            if (block <= own) {
                read(block, x);
                c.follow(slot, g, t, kind, x);
                write(block, x);
            }
            if (well) maker.give(bench.after[block - own], lane);
            if (block != own) continue;
            // The second half takes the place of the first.
            triangle = next;
#pragma unroll
            for (int i = 0; i < Layout<K>::TILES; ++i)
                c.w[i][0] = c.w[i][2], c.w[i][1] = c.w[i][3], c.w[i][2] = c.w[i][3] = 0;
        }
#pragma unroll 1
        for (int block = far; block < end; ++block) {
            read(block, x);
#pragma unroll
            for (int e = 0; e < 4; ++e)
                if (block == own + e / 2) x[e] = bench.after[e / 2][(2 * t + e % 2) * ROWS + g];
            store(block, x);
        }
        __syncwarp();
        if (lane == 0) tell(&s.done[warp], FINISHED);
    }
};

}  // namespace
