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
