// Rank-k updates and downdates of an upper triangular factor, in one launch.
//
// Row i of R and the rows of W = V' are changed by one reflection that takes column i of W into R_ii, Householder's for an update
// and a hyperbolic one for a downdate (Rader & Steinhardt 1986). With w = W[, i], d = |R_ii| and h = sqrt(d^2 +- w'w) column j changes
// as
//
//     n = (d R_ij +- w'W[, j]) / h,    W[, j] <- W[, j] - w (R_ij + n) / (d + h),    R_ij <- n
//
// where the row's sign was changed if R_ii is negative. As n is made first and used for what is left of W, both are the mixed form of
// the rotations, in which errors do not grow from one to the next (Bojanczyk, Brent, Van Dooren & de Hoog 1987).
//
// A warp has some columns to itself, with their part of W in registers all the time: up to four lanes for each. It follows
// the reflections of the rows above its columns; then it makes its own. Seven such warps are a block, with one more that
// fetches the reflections of other blocks and sends those of its own to them. Blocks take their columns in the order in which
// they are started, so that all that a block waits for has been started before it.
#include "reflect_columns.cuh"

namespace {

using namespace reflect;

// A warp's columns: `cols` of them at `r`, above which there are `before` rows.
template <typename T, int K>
__device__ __forceinline__ void work(Shared<T, K>& s, int warp, int lane, int before, int cols, T* r, i64 ldr, const T* v, i64 ldv, int k,
                                     T kind, int* info) {
    using L = Layout<T, K>;
    constexpr int COLUMNS = L::COLUMNS, TILES = L::TILES, TOGETHER = 32 / COLUMNS;
    Worker<T, K> worker = {s, warp, lane, lane / L::LANES, lane % L::LANES, kind};
#pragma unroll
    for (int j = 0; j < L::EACH; ++j) {
        const int column = worker.h * L::EACH + j;
        worker.w[j] = worker.c < cols && column < k ? v[worker.c + column * ldv] : T(0);
    }
    const int row = lane % COLUMNS, side = lane / COLUMNS, blocks = before / COLUMNS;
    const auto tile = [&](int block) { return s.tiles[warp][block % TILES]; };
    // Whether there is an entry of the upper triangle.
    const auto is_there = [&](int block, int column) { return column < cols && (block < blocks || row <= column); };
    const auto load = [&](int block) {
        if (block <= blocks) {
#pragma unroll 8
            for (int e = side; e < COLUMNS; e += TOGETHER)
                if (is_there(block, e)) copy_one(tile(block) + e * L::PITCH + row, r + (block * COLUMNS + row) + e * ldr);
        }
        tile::copies_commit();
    };
    const auto store = [&](int block) {
#pragma unroll 8
        for (int e = side; e < COLUMNS; e += TOGETHER)
            if (is_there(block, e)) r[(block * COLUMNS + row) + e * ldr] = tile(block)[e * L::PITCH + row];
    };
    for (int block = 0; block < TILES - 1; ++block) load(block);
#pragma unroll 1
    for (int block = 0; block < blocks - 1; ++block) {
        // The place of the tile that is fetched now was stored from in the last turn.
        __syncwarp();
        load(block + TILES - 1);
        tile::copies_wait<TILES - 1>();
        __syncwarp();
        worker.follow_all(block * COLUMNS, tile(block), true);
        if (lane == 0) release(&s.done[warp], (block + 1) * COLUMNS);
        store(block);
    }
    // Others wait for what this warp does after its last rows above: it has nothing else to do there.
    __syncwarp();
    if (TILES == 2 && blocks > 0) load(blocks);
    tile::copies_wait<0>();
    worker.await_room(before);
    // The warp before this one has no more need of what lies in the places of this one's reflections once it makes its own.
    if (warp > 0) {
        while (!worker.is_ready(before - COLUMNS)) {}
    }
    __syncwarp();
    worker.prepare(before, tile(blocks));
    if (blocks > 0) worker.follow_all(before - COLUMNS, tile(blocks - 1), false);
    worker.reflect_all(before, cols, tile(blocks), info);
    __syncwarp();
    if (lane == 0) release(&s.done[warp], FINISHED);
    if (blocks > 0) store(blocks - 1);
    store(blocks);
}

// Reflections of other blocks, of rows before `before`, come to the ring; then those of this block's `cols` rows go to the others.
template <typename T, int K>
__device__ __forceinline__ void carry(Shared<T, K>& s, int lane, int before, int cols, T* messages) {
    using L = Layout<T, K>;
    constexpr int VECTORS = STEP * L::WORDS / L::VECTOR, EACH = (VECTORS + 31) / 32;
    // Bits of sixteen bytes of numbers.
    const auto read = [&](int row, uint4 (&x)[EACH]) {
#pragma unroll
        for (int e = 0; e < EACH; ++e) {
            const int at = min(e * 32 + lane, VECTORS - 1);
            const T* p = messages + (i64)row * L::WORDS + at * L::VECTOR;
            if constexpr (sizeof(T) == 8) {
                unsigned long long a, b;
                asm volatile("ld.relaxed.gpu.global.v2.b64 {%0, %1}, [%2];" : "=l"(a), "=l"(b) : "l"(p));
                x[e] = make_uint4((unsigned)a, (unsigned)(a >> 32), (unsigned)b, (unsigned)(b >> 32));
            } else {
                asm volatile("ld.relaxed.gpu.global.v4.b32 {%0, %1, %2, %3}, [%4];"
                             : "=r"(x[e].x), "=r"(x[e].y), "=r"(x[e].z), "=r"(x[e].w)
                             : "l"(p));
            }
        }
    };
    const auto blank = [](const uint4& x) {
        const bool odd = x.y == BLANK<T> || x.w == BLANK<T>;
        return sizeof(T) == 8 ? odd : odd || x.x == BLANK<T> || x.z == BLANK<T>;
    };
    // Of what lies in the ring now this warp needs nothing.
    if (lane == 0) release(&s.done[WORKERS], before);
    uint4 x[EACH], ahead[EACH];
    int free = 0;
    if (before > 0) read(0, ahead);
#pragma unroll 1
    for (int row = 0; row < before; row += STEP) {
#pragma unroll
        for (int e = 0; e < EACH; ++e) x[e] = ahead[e];
        if (row + STEP < before) read(row + STEP, ahead);
        for (;;) {
            bool missing = false;
#pragma unroll
            for (int e = 0; e < EACH; ++e) missing |= blank(x[e]);
            if (!__any_sync(ALL, missing)) break;
            read(row, x);
        }
        while (free < row + STEP - RING) free = __reduce_min_sync(ALL, acquire(&s.done[lane % WORKERS]));
        uint4* to = reinterpret_cast<uint4*>(s.ring[row % RING]);
#pragma unroll
        for (int e = 0; e < EACH; ++e)
            if (e * 32 + lane < VECTORS) to[e * 32 + lane] = x[e];
        __syncwarp();
        if (lane < STEP) arrive(&s.ready[(row + lane) % RING]);
    }
    constexpr int OWN = (L::WORDS + 31) / 32;
#pragma unroll 1
    for (int row = before; row < before + cols; ++row) {
        while (!arrived(&s.ready[row % RING], row / RING & 1)) {}
        const T* from = s.ring[row % RING];
#pragma unroll
        for (int e = 0; e < OWN; ++e) {
            const int at = e * 32 + lane;
            if (at >= L::WORDS) continue;
            T number = from[at];
            if (head(number) == BLANK<T>) number = number - number;  // a NaN that arithmetic results in
            T* to = messages + (i64)row * L::WORDS + at;
            if constexpr (sizeof(T) == 8) asm volatile("st.relaxed.gpu.global.f64 [%0], %1;" ::"l"(to), "d"(number) : "memory");
            else asm volatile("st.relaxed.gpu.global.f32 [%0], %1;" ::"l"(to), "f"(number) : "memory");
        }
        __syncwarp();
        if (lane == 0) release(&s.done[WORKERS], row + 1);
    }
}

template <typename T, int K>
__device__ __forceinline__ void update(int first, int cols, T* r, i64 ldr, const T* v, i64 ldv, int k, T kind, T* messages, int* turns,
                                       int* info) {
    using L = Layout<T, K>;
    extern __shared__ __align__(16) unsigned char memory[];
    auto& s = *at_hand(reinterpret_cast<Shared<T, K>*>(memory));
    // The warp is known to be the same for all lanes, and so is what depends on it.
    const int t = threadIdx.x, warp = __shfl_sync(ALL, t >> 5, 0), lane = t & 31;
    if (t == 0) s.turn = atomicAdd(turns, 1);
    if (t < RING) asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(tile::shared_address(&s.ready[t])) : "memory");
    if (t <= WORKERS) s.done[t] = 0;
    for (int at = t; at < RING * L::WORDS; at += blockDim.x) s.ring[0][at] = T(0);
    __syncthreads();
    const int start = s.turn * L::SLAB, from = start + warp * L::COLUMNS;
    if (warp == WORKERS) return carry<T, K>(s, lane, first + start, min(cols - start, L::SLAB), messages);
    if (from >= cols) {
        if (lane == 0) release(&s.done[warp], FINISHED);
        return;
    }
    work<T, K>(s, warp, lane, first + from, min(cols - from, L::COLUMNS), r + from * ldr, ldr, v + from, ldv, k, kind, info);
}

}  // namespace

// Columns `first` to before `first + cols` of an upper triangular factor, at r, of as many rows as the last of them has; `first` is
// a multiple of 32. Their rows of V, of k columns, at v. `messages`: a reflection for each row, those before `first` made by
// earlier launches, the others blank. `turns`: 0 before. `info`: a large number before, then the least order of a minor that
// is not positive, if there is one. `kind`: 1 or -1 for V V' added or taken away.
#define ENTRY(T, SUFFIX, K)                                                                                                        \
    extern "C" __global__ void __launch_bounds__(32 * (WORKERS + 1), K > 32 ? 1 : 2) factor_update_pipeline##K##_##SUFFIX(                       \
        int first, int cols, T* r, i64 ldr, const T* v, i64 ldv, int k, T kind, T* messages, int* turns, int* info) {               \
        update<T, K>(first, cols, r, ldr, v, ldv, k, kind, messages, turns, info);                                                  \
    }
ENTRY(double, f64, 1)
ENTRY(double, f64, 16)
ENTRY(double, f64, 32)
ENTRY(double, f64, 64)
ENTRY(float, f32, 1)
ENTRY(float, f32, 16)
ENTRY(float, f32, 32)
ENTRY(float, f32, 64)
