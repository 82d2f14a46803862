// arch: sm_80 sm_90
// Rank-k updates and downdates of an upper triangular factor, in one launch.
//
// One orthogonal transformation (hyperbolic for a downdate) changes eight rows of R, whose diagonal
// block is called R here, and the rows of W = V'. It eliminates their columns of W. The new
// triangle R~ satisfies R~'R~ = R'R +- W'W. With T = R + R~, Y = W / T and L' = T / R~, the entries
// x and w of another column change as
//
//     t = L (x +- Y'w),    w <- w - Y t,    x <- t - x
//
// after the signs of rows were changed so that R has a positive diagonal. For one row this is
// Householder's reflection, in the form whose downdating errors do not grow from one to the next
// (Bojanczyk, Brent, Van Dooren & de Hoog 1987). For eight rows it consists of matrix products.
//
// A warp has sixteen columns, and keeps their part of W in registers. It applies the reflections of
// the rows above its columns; then it makes its own, eight rows at a time. A block consists of such
// warps and one more, which receives the reflections of other blocks and sends those of its own
// block. Blocks take their columns in the order in which they start, so that a block waits only for
// blocks that have started. All arithmetic is in double precision.
#include "update_columns.cuh"

namespace {

// Receives the reflections of other blocks, for rows before `before`, into the ring; then sends
// those of this block's `cols` columns to the others.
template <int K>
__device__ __forceinline__ void carry(Shared<K>& s, int lane, int before, int cols,
                                      double* messages) {
    using L = Layout<K>;
    constexpr int EACH = (L::PAIRS + 31) / 32;
    // The places of a lane's pairs of numbers in a slot.
    int place[EACH];
#pragma unroll
    for (int e = 0; e < EACH; ++e) {
        const int word = 2 * min(e * 32 + lane, L::PAIRS - 1), row = word / L::ROW;
        place[e] =
            row < ROWS ? row * L::PITCH + word % L::ROW : ROWS * L::PITCH + word - ROWS * L::ROW;
    }
    const auto read = [&](int block, ulonglong2(&x)[EACH]) {
#pragma unroll
        for (int e = 0; e < EACH; ++e) {
            const double* p =
                messages + (i64)block * L::WORDS + 2 * min(e * 32 + lane, L::PAIRS - 1);
            asm volatile("ld.relaxed.gpu.global.v2.b64 {%0, %1}, [%2];"
                         : "=l"(x[e].x), "=l"(x[e].y)
                         : "l"(p));
        }
    };
    const auto blank = [](const ulonglong2& x) {
        return (unsigned)(x.x >> 32) == BLANK<double> || (unsigned)(x.y >> 32) == BLANK<double>;
    };
    const int blocks = before / ROWS;
    // This warp does not need the present content of the ring.
    if (lane == 0) tell(&s.done[WORKERS], blocks);
    ulonglong2 x[EACH], ahead[EACH];
    int free = 0;
    if (blocks > 0) read(0, ahead);
#pragma unroll 1
    for (int block = 0; block < blocks; ++block) {
#pragma unroll
        for (int e = 0; e < EACH; ++e) x[e] = ahead[e];
        if (block + 1 < blocks) read(block + 1, ahead);
        for (;;) {
            bool missing = false;
#pragma unroll
            for (int e = 0; e < EACH; ++e) missing |= blank(x[e]);
            if (!__any_sync(ALL, missing)) break;
            read(block, x);
        }
        while (free <= block - RING)
            free = __reduce_min_sync(ALL, glimpse(&s.done[lane % WORKERS]));
        double* to = s.ring[block % RING].rows;
#pragma unroll
        for (int e = 0; e < EACH; ++e)
            if (e * 32 + lane < L::PAIRS) *reinterpret_cast<ulonglong2*>(to + place[e]) = x[e];
        __syncwarp();
        if (lane == 0) arrive(&s.ready[block % RING]);
    }
#pragma unroll 1
    for (int block = blocks; block * ROWS < before + cols; ++block) {
        while (!is_ready(s, block)) {
        }
        const double* from = s.ring[block % RING].rows;
#pragma unroll
        for (int e = 0; e < EACH; ++e) {
            if (e * 32 + lane >= L::PAIRS) continue;
            double2 pair = *reinterpret_cast<const double2*>(from + place[e]);
            // A NaN that arithmetic can produce.
            if (head(pair.x) == BLANK<double>) pair.x = pair.x - pair.x;
            if (head(pair.y) == BLANK<double>) pair.y = pair.y - pair.y;
            double* to = messages + (i64)block * L::WORDS + 2 * (e * 32 + lane);
            asm volatile("st.relaxed.gpu.global.v2.f64 [%0], {%1, %2};" ::"l"(to), "d"(pair.x),
                         "d"(pair.y)
                         : "memory");
        }
        __syncwarp();
        if (lane == 0) tell(&s.done[WORKERS], block + 1);
    }
}

template <typename T, int K>
__device__ __forceinline__ void update(int first, int cols, T* r, i64 ldr, const T* v, i64 ldv,
                                       int k, double kind, double* messages, int* turns,
                                       int* info) {
    using L = Layout<K>;
    extern __shared__ __align__(16) unsigned char memory[];
    auto& s = *at_hand(reinterpret_cast<Shared<K>*>(memory));
    // Tells the compiler that all lanes have the same warp number.
    const int thread = threadIdx.x, warp = __shfl_sync(ALL, thread >> 5, 0), lane = thread & 31,
              g = lane / 4, t = lane % 4;
    if (thread == 0) s.turn = atomicAdd(turns, 1);
    if (thread < RING)
        asm volatile(
            "mbarrier.init.shared.b64 [%0], 1;" ::"r"(tile::shared_address(&s.ready[thread]))
            : "memory");
    if (thread <= WORKERS) s.done[thread] = 0;
    if (thread < ROWS * ROWS) s.zeros[thread] = 0, s.ones[thread] = thread % (ROWS + 1) == 0;
    __syncthreads();
    const int start = s.turn * SLAB, from = start + warp * COLUMNS;
    if (warp == WORKERS) return carry<K>(s, lane, first + start, min(cols - start, SLAB), messages);
    if (from >= cols) {
        if (lane == 0) tell(&s.done[warp], FINISHED);
        return;
    }
    const int before = first + from, here = min(cols - from, COLUMNS), own = before / ROWS;
    Work<T, K> work = {
        s,   warp, lane, g, t, before, here, own, own + (here > ROWS ? 2 : 1), r + from * ldr,
        ldr, kind, info};
#pragma unroll
    for (int i = 0; i < L::TILES; ++i)
#pragma unroll
        for (int e = 0; e < 4; ++e) {
            const int column = g + 8 * (e / 2), row = 8 * i + 2 * t + e % 2;
            work.c.w[i][e] =
                column < work.cols && row < k ? (double)v[from + column + row * ldv] : 0;
        }
    work.all();
}

}  // namespace

// Columns `first` to before `first + cols` of an upper triangular factor, at r, with as many rows
// as the last of them; `first` is a multiple of 16. v: their rows of V, of k columns.
//
// `messages`: the reflections of each eight rows. Earlier launches made those before `first`; the
// others are blank. `turns`: 0 at the start. `info`: a large number at the start, then the least
// order of a minor that is not positive or whose column of the factor overflows. `kind`: 1 adds V
// V', -1 subtracts it. `guard`: null, or a number from earlier work in the queue. If it exceeds
// `most` or is NaN, nothing is changed, and `info` becomes 0.
#define ENTRY(T, SUFFIX, K)                                                              \
    extern "C" __global__ void __launch_bounds__(32 * (WORKERS + 1), 1)                  \
        factor_update_blocks##K##_##SUFFIX(                                              \
            int first, int cols, T* r, i64 ldr, const T* v, i64 ldv, int k, double kind, \
            double* messages, int* turns, int* info, const double* guard, double most) { \
        if (guard != nullptr && !(*guard <= most)) {                                     \
            if (threadIdx.x == 0) atomicMin(info, 0);                                    \
            return;                                                                      \
        }                                                                                \
        update<T, K>(first, cols, r, ldr, v, ldv, k, kind, messages, turns, info);       \
    }
ENTRY(double, f64, 8)
ENTRY(double, f64, 16)
ENTRY(double, f64, 32)
ENTRY(double, f64, 64)
ENTRY(float, f32, 8)
ENTRY(float, f32, 16)
ENTRY(float, f32, 32)
ENTRY(float, f32, 64)
