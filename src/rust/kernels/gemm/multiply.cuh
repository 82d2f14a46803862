// C <- alpha A B + beta C; A m x k, B k x n, C with any strides.
//
// Blocks are persistent. Each walks over pieces of work, a tile of C or some slabs of one, and
// starts to load the next piece before it stores the last. A launch computes a range of tiles, in
// bands whose order lets concurrent tiles share lines in cache.
//
// The first `streamed` tiles are cut along k into equal shares, one per block. All blocks then end
// at the same time, even with few tiles in all or in the last round. Each block of a tile leaves
// its sum in `partial`. The first block of the tile adds them up in a fixed order, so that results
// do not depend on timing.
//
// Blocks wait only for blocks with higher numbers, which publish before they wait. Numbers count
// down from the last block of the grid, and the GPU starts blocks in order. A block thus waits only
// for blocks that have started, however few are resident.
//
// Include this after the header that computes and stores tiles of the type (`store_f64.cuh`,
// `store_f32.cuh`).
#pragma once
#include "store.cuh"
#include "tile_sync.cuh"

namespace tile {

constexpr int BAND = 8;     // tile rows walked together
constexpr int FOLLOW = 16;  // shares of a tile that are added up first, by the first of them

// The number of the block, counted from the end of the grid.
__device__ __forceinline__ int block_number() { return (int)(gridDim.x - 1 - blockIdx.x); }

// The position of tile number t: bands of BAND tile rows, each walked column by column. A triangle
// counts only its own tiles.
__device__ __forceinline__ void place_of(int t, int tiles_m, int tiles_n, int triangle, int& ti,
                                         int& tj) {
    if (triangle == FULL) {
        const int per_band = BAND * tiles_n;
        const int band = t / per_band;
        const int rows = min(BAND, tiles_m - band * BAND);
        const int within = t - band * per_band;
        ti = band * BAND + within % rows;
        tj = within / rows;
        return;
    }
    // Row r has r (r + 1) / 2 tiles before it. A band consists of a rectangle and a triangle.
    int r = (int)((sqrt(8.0 * (double)t + 1.0) - 1.0) * 0.5);
    while ((i64)r * (r + 1) / 2 > t) --r;
    while ((i64)(r + 1) * (r + 2) / 2 <= t) ++r;
    const int r0 = r / BAND * BAND;
    const int rows = min(BAND, tiles_m - r0);
    int within = (int)(t - (i64)r0 * (r0 + 1) / 2);
    if (within < rows * r0) {
        ti = r0 + within % rows;
        tj = within / rows;
    } else {
        within -= rows * r0;
        int col = 0;
        for (; within >= rows - col; ++col) within -= rows - col;
        tj = r0 + col;
        ti = tj + within;
    }
    if (triangle == UPPER) {
        const int x = ti;
        ti = tj, tj = x;
    }
}

// Shares of the slabs of streamed tiles: block b has those from `start(b)` to before `start(b +
// 1)`.
struct Shares {
    i64 each;
    int longer;  // the number of first blocks with one more
    __device__ __forceinline__ i64 start(int block) const {
        return each * block + min(block, longer);
    }
    __device__ __forceinline__ int holder(i64 slab) const {
        const i64 in_longer = (each + 1) * longer;
        return (int)(slab < in_longer ? slab / (each + 1) : longer + (slab - in_longer) / each);
    }
};

// Slabs k0 to before k1 of a tile, for block number `rank` of the `peers` that share it. Without
// slabs there is no more work.
struct Piece {
    int ti, tj, k0, k1, rank, peers;
};
// The remaining work of a block: from slab `at` of its share on, and from whole tile `whole` on.
struct Walk {
    i64 at;
    int whole;
};

template <class P>
struct Worker {
    using Real = typename P::Real;
    static constexpr int BM = P::LINES_M, BN = P::LINES_N;

    int m, n, iters, first, tiles, streamed, triangle;
    Shares shares;

    // Finds the next piece; one thread of the block calls it.
    __device__ __forceinline__ Piece next(Walk& walk) const {
        const i64 end = shares.start(block_number() + 1);
        Piece p = {0, 0, 0, 0, 0, 1};
        int tile;
        if (walk.at < end) {
            tile = (int)(walk.at / iters);
            const i64 begin = (i64)tile * iters;
            p.k0 = (int)(walk.at - begin);
            p.k1 = (int)min((i64)iters, end - begin);
            const int holder = shares.holder(begin);
            p.rank = block_number() - holder;
            p.peers = shares.holder(begin + iters - 1) - holder + 1;
            walk.at = begin + p.k1;
        } else if (walk.whole < tiles) {
            tile = walk.whole;
            walk.whole += gridDim.x;
            p.k1 = iters;
        } else {
            return p;
        }
        place_of(first + tile, (m - 1) / BM + 1, (n - 1) / BN + 1, triangle, p.ti, p.tj);
        return p;
    }

    // The first line of a tile. The last tile of a dimension ends with the matrix: it repeats lines
    // of the tile before instead of exceeding the matrix.
    template <int SIZE>
    static __device__ __forceinline__ i64 origin(int tile, int total) {
        const i64 at = (i64)tile * SIZE;
        return at + SIZE > total && total >= SIZE ? total - SIZE : at;
    }

    // Adds the shares of the tile that this block has to add, and publishes the sum unless the
    // block is the first. Returns whether the tile is complete.
    static __device__ __forceinline__ bool complete(typename P::Acc& acc, const Piece& piece,
                                                    Real* partial, int* flags, int epoch) {
        const int rank = piece.rank, peers = piece.peers, x = thread_again();
        auto mine = [&](int d) { return rank + d < peers && (d < FOLLOW || rank == 0); };
        if (rank % FOLLOW == 0) {
            // One thread waits for each block: FOLLOW - 1 followers, then every FOLLOW-th block.
            const int d = x < FOLLOW - 1 ? x + 1 : (x - FOLLOW + 2) * FOLLOW;
            if (mine(d))
                while (load_acquire(flags + block_number() + d) != epoch) {
                }
            __syncthreads();
#pragma unroll 1
            for (int d = 1; mine(d); d += d < FOLLOW ? 1 : FOLLOW)
                P::take(acc, partial + (i64)(block_number() + d) * BM * BN, x);
        }
        if (rank == 0) return true;
        P::give(acc, partial + (i64)block_number() * BM * BN, x);
        __threadfence();
        __syncthreads();
        if (x == 0) store_release(flags + block_number(), epoch);
        return false;
    }
};

template <class P, typename Real>
__device__ __forceinline__ void multiply(int m, int n, i64 k, int first, int tiles, int streamed,
                                         i64 each, int longer, Real alpha, const Real* a, i64 lda,
                                         const Real* b, i64 ldb, Real beta, Real* c, i64 crs,
                                         i64 ccs, int triangle, Real* partial, int* flags,
                                         int epoch, const int* stop) {
    if (stopped(stop)) return;
    using W = Worker<P>;
    constexpr int BM = P::LINES_M, BN = P::LINES_N, STEPS = P::UNIT_STEPS;
    extern __shared__ __align__(128) unsigned char bytes[];
    Real* shared = reinterpret_cast<Real*>(bytes);
    // The current piece, the next one, and the one before, which may still be read.
    __shared__ Piece pieces[3];
    __shared__ Walk walk;
    const W worker = {
        m, n, (int)((k + STEPS - 1) / STEPS), first, tiles, streamed, triangle, {each, longer}};
    P product;
    typename P::Acc acc;
    if (threadIdx.x == 0) walk = {worker.shares.start(block_number()), streamed + block_number()};
    bool busy = false;
#pragma unroll 1
    for (int now = 0;;) {
        // The next piece is found while the copies that have begun are in flight.
        const int then = now == 2 ? 0 : now + 1;
        if (threadIdx.x == 0) pieces[then] = worker.next(walk);
        if (busy) {
            P::clear(acc);
            product.run(acc, shared);
        } else {
            __syncthreads();
        }
        const bool more = pieces[then].k1 > 0;
        if (more) {
            const Piece& piece = pieces[then];
            const i64 at = (i64)piece.k0 * STEPS;
            product.sa.start(a, lda, W::template origin<BM>(piece.ti, m), m, at);
            product.sb.start(b, ldb, W::template origin<BN>(piece.tj, n), n, at);
            product.begin(shared, min(k - at, (i64)(piece.k1 - piece.k0) * STEPS));
        }
        if (busy && W::complete(acc, pieces[now], partial, flags, epoch)) {
            const Piece& piece = pieces[now];
            const i64 i0 = W::template origin<BM>(piece.ti, m),
                      j0 = W::template origin<BN>(piece.tj, n);
            store_tile<P>(acc, shared + P::SPARE / sizeof(Real), c, crs, ccs, i0, j0, {alpha, beta},
                          (int)((i64)piece.ti * BM - i0), (int)min((i64)BM, m - i0),
                          (int)((i64)piece.tj * BN - j0), (int)min((i64)BN, n - j0), triangle);
        }
        if (!more) return;
        busy = true;
        now = then;
    }
}

}  // namespace tile

#define INSTANCE(NAME, REAL, BLOCKS, ...)                                                       \
    extern "C" __global__ void __launch_bounds__(tile::Product<__VA_ARGS__>::THREADS, BLOCKS)   \
        NAME(int m, int n, i64 k, int first, int tiles, int streamed, i64 each, int longer,     \
             REAL alpha, const REAL* a, i64 lda, const REAL* b, i64 ldb, REAL beta, REAL* c,    \
             i64 crs, i64 ccs, int triangle, REAL* partial, int* flags, int epoch,              \
             const int* stop) {                                                                 \
        tile::multiply<tile::Product<__VA_ARGS__>, REAL>(                                       \
            m, n, k, first, tiles, streamed, each, longer, alpha, a, lda, b, ldb, beta, c, crs, \
            ccs, triangle, partial, flags, epoch, stop);                                        \
    }
#define LAYOUTS(NAME, SUFFIX, REAL, BLOCKS, ...)                                      \
    INSTANCE(NAME##_nn_##SUFFIX, REAL, BLOCKS, __VA_ARGS__, tile::LINES, tile::DEPTH) \
    INSTANCE(NAME##_tn_##SUFFIX, REAL, BLOCKS, __VA_ARGS__, tile::DEPTH, tile::DEPTH) \
    INSTANCE(NAME##_nt_##SUFFIX, REAL, BLOCKS, __VA_ARGS__, tile::LINES, tile::LINES)
