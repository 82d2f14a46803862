// Products of tiles in single precision on FP32 units: acc += A B for BM lines of A and BN lines of
// B, of any depth.
//
// A loop goes through slabs of BK steps. While one slab is multiplied, copies of the next STAGES -
// 1 slabs are in flight in a ring of shared memory. Their instructions are spread among the
// multiplications. The last slab, if it is not full, is multiplied first: its zeros are filled in
// before the pipeline starts, and all later copies are alike.
//
// A NaN in a line affects only that line of the product. Lines of the product without a line of the
// operand are undefined, and must not be stored.
#pragma once
#include "slab_f32.cuh"

namespace tile {

// acc[i][j]: row row0 + row(i) and column col0 + col(j) of the tile, where row0 and col0 belong to
// the thread. Its rows and its columns form groups of four neighbours, so that four elements of C
// are stored at once in either direction.
//
// Use: start `sa` and `sb`, `begin`, `run`. The next product may begin when `run` has returned.
template <int BM, int BN, int STAGES, int WARPS_M, int WARPS_N, int LANES_M, Layout LA, Layout LB>
struct Product {
    typedef float Real;
    static constexpr int THREADS = 32 * WARPS_M * WARPS_N;
    // Loops of 8 steps fit the instruction cache. There are 16 steps if 8 would leave threads of
    // the block without a copy.
    static constexpr int BK = 2 * (BM < BN ? BM : BN) < THREADS ? 16 : 8;
    static constexpr int UNIT_STEPS = 16;  // the depth of a share of a tile is a multiple of it
    static constexpr int LANES_N = 32 / LANES_M;
    static constexpr int TM = BM / WARPS_M / LANES_M, TN = BN / WARPS_N / LANES_N;
    static constexpr int LINES_M = BM, LINES_N = BN;
    using SlabA = Slab<BM, BK, THREADS, LA>;
    using SlabB = Slab<BN, BK, THREADS, LB>;
    static constexpr int STAGE = (SlabA::FLOATS + SlabB::FLOATS) * 4;  // bytes
    static constexpr int BYTES = STAGE * STAGES;
    static constexpr int SPARE = BYTES - STAGE;  // the offset of the ring's last place
    static_assert(TM % 4 == 0 && TN % 4 == 0 && (LANES_M == 4 || LANES_M == 8), "");
    typedef float Acc[TM][TN];

    // The lanes of a warp form a grid of 4 x 8 or 8 x 4. Reads of 16 bytes take two passes instead
    // of four if neighbouring lanes, or neighbouring pairs of them, read the same address. Hence
    // the lowest bit of a lane counts along the grid's shorter side, the next three along the
    // other.
    static __device__ __forceinline__ int row0(int thread) {
        const int lane = thread & 31, across = (lane & 1) | (lane >> 4) << 1, along = lane >> 1 & 7;
        return (thread >> 5) % WARPS_M * (BM / WARPS_M) + (LANES_M == 4 ? across : along) * 4;
    }
    static __device__ __forceinline__ int col0(int thread) {
        const int lane = thread & 31, across = (lane & 1) | (lane >> 4) << 1, along = lane >> 1 & 7;
        return (thread >> 5) / WARPS_M * (BN / WARPS_N) + (LANES_M == 4 ? along : across) * 4;
    }
    static constexpr int row(int i) { return i / 4 * 4 * LANES_M + i % 4; }
    static constexpr int col(int j) { return j / 4 * 4 * LANES_N + j % 4; }

    SlabA sa;
    SlabB sb;
    int iters;      // slabs in all
    bool wide;      // copies of both operands
    unsigned fill;  // offset of the next slab's place

    template <int MODE>
    static constexpr int parts() {
        return SlabA::template Deal<MODE>::PARTS + SlabB::template Deal<MODE>::PARTS;
    }
    template <int MODE>
    __device__ __forceinline__ void copy_part(unsigned home, int part, int limit_a, int limit_b) {
        constexpr int OF_A = SlabA::template Deal<MODE>::PARTS;
        if (part < OF_A) sa.template copy<MODE>(home + fill, part, limit_a);
        else sb.template copy<MODE>(home + fill + SlabA::FLOATS * 4, part - OF_A, limit_b);
    }
    template <int MODE>
    __device__ __forceinline__ void next_slab() {
        fill = fill == BYTES - STAGE ? 0 : fill + STAGE;
        copies_commit();
    }
    template <int MODE>
    __device__ __forceinline__ void copy_slab(unsigned home, bool some) {
        if (some) {
            const int limit_a = sa.template limit<MODE>(), limit_b = sb.template limit<MODE>();
#pragma unroll
            for (int p = 0; p < parts<MODE>(); ++p) copy_part<MODE>(home, p, limit_a, limit_b);
        }
        next_slab<MODE>();
    }

    // Starts the copies of the first slabs, after `sa` and `sb` have been started.
    __device__ __forceinline__ void begin(const float* shared, i64 depth) {
        const unsigned home = shared_address(shared);
        iters = (int)((depth + BK - 1) / BK);
        const int tail = (int)(depth - (i64)(iters - 1) * BK);
        wide = sa.plain && sb.plain;
        if (!wide) sa.narrow(), sb.narrow();
        fill = 0;
        int filled = 0;
        if (tail < BK) {
            sa.copy_partial(home, wide, iters - 1, tail);
            sb.copy_partial(home + SlabA::FLOATS * 4, wide, iters - 1, tail);
            fill = STAGE;
            copies_commit();
            filled = 1;
        }
#pragma unroll 1
        for (; filled < STAGES - 1; ++filled) {
            if (wide) copy_slab<SlabA::WIDE>(home, filled < iters);
            else copy_slab<SlabA::NARROW>(home, filled < iters);
        }
    }

    // Four lines of a step.
    template <int N>
    static __device__ __forceinline__ void load(float (&f)[N], int group, unsigned at) {
        asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                     : "=f"(f[4 * group]), "=f"(f[4 * group + 1]), "=f"(f[4 * group + 2]),
                       "=f"(f[4 * group + 3])
                     : "r"(at));
    }
    // Products go along the shorter side of the thread's part, back and forth. The factors that are
    // needed first are loaded first.
    static constexpr bool COLUMNS = TM <= TN;
    static __device__ __forceinline__ void load_group(float (&a)[TM], float (&b)[TN], int l,
                                                      unsigned at_a, unsigned at_b) {
        constexpr int FIRST = (COLUMNS ? TM : TN) / 4;
        const int g = l < FIRST ? l : l - FIRST;
        if ((l < FIRST) == COLUMNS) load(a, g, at_a + g * 16 * LANES_M);
        else load(b, g, at_b + g * 16 * LANES_N);
    }
    // Products t0 to before t1 of a step.
    static __device__ __forceinline__ void multiply(Acc& acc, const float (&a)[TM],
                                                    const float (&b)[TN], int t0, int t1) {
#pragma unroll
        for (int t = t0; t < t1; ++t) {
            constexpr int SIDE = COLUMNS ? TM : TN;
            const int slow = t / SIDE, fast = slow & 1 ? SIDE - 1 - t % SIDE : t % SIDE;
            const int i = COLUMNS ? fast : slow, j = COLUMNS ? slow : fast;
            acc[i][j] = fmaf(a[i], b[j], acc[i][j]);
        }
    }

    template <int MODE>
    __device__ __forceinline__ void slabs(Acc& acc, const float* shared) {
        const int thread = thread_again();
        const unsigned home = shared_address(shared);
        unsigned at_a = home + row0(thread) * 4, at_b = home + SlabA::FLOATS * 4 + col0(thread) * 4,
                 use = 0;
        // Hides the addresses from the compiler, so that it does not advance them step by step.
        asm volatile("" : "+r"(at_a), "+r"(at_b));
        constexpr int PARTS = parts<MODE>(), GROUPS = (TM + TN) / 4, ALL = TM * TN;
        constexpr int PLACES = BK / 4 < PARTS ? BK / 4 : PARTS,
                      SHARE = (PARTS + PLACES - 1) / PLACES;
        const int all_a = sa.template limit<MODE>(), all_b = sb.template limit<MODE>();
        float a[2][TM], b[2][TN];
        copies_wait<STAGES - 2>();
        __syncthreads();
#pragma unroll
        for (int l = 0; l < GROUPS; ++l) load_group(a[0], b[0], l, at_a, at_b);
#pragma unroll 1
        for (int left = iters; left > 0; --left) {
            const bool more = left >= STAGES;
            const int limit_a = more ? all_a : 0, limit_b = more ? all_b : 0;
#pragma unroll
            for (int q = 0; q < BK; ++q) {
                constexpr int LEAD = ALL / 16, SPACE = ALL * 3 / 4 / GROUPS;
                const int now = q & 1, next = 1 - now, q1 = (q + 1) % BK;
                multiply(acc, a[now], b[now], 0, LEAD);
                // Between the products: loads the factors of the next step, and starts a part of
                // the copies.
                if (q1 == 0) {
                    copies_wait<STAGES - 2>();
                    __syncthreads();
                    const int by = use == BYTES - STAGE ? STAGE - BYTES : STAGE;
                    use += by, at_a += by, at_b += by;
                    asm volatile("" : "+r"(at_a), "+r"(at_b));
                }
#pragma unroll
                for (int l = 0; l < GROUPS; ++l) {
                    load_group(a[next], b[next], l, at_a + q1 * SlabA::PITCH * 4,
                               at_b + q1 * SlabB::PITCH * 4);
                    multiply(acc, a[now], b[now], LEAD + l * SPACE, LEAD + (l + 1) * SPACE);
                }
                if (q % (BK / PLACES) == BK / PLACES / 2) {
                    const int c = q / (BK / PLACES);
#pragma unroll
                    for (int u = 0; u < SHARE; ++u)
                        if (c * SHARE + u < PARTS)
                            copy_part<MODE>(home, c * SHARE + u, limit_a, limit_b);
                    if (c + 1 == PLACES) next_slab<MODE>();
                }
                multiply(acc, a[now], b[now], LEAD + GROUPS * SPACE, ALL);
            }
        }
        copies_wait<0>();
        __syncthreads();
    }

    __device__ __forceinline__ void run(Acc& acc, const float* shared) {
        if (wide) slabs<SlabA::WIDE>(acc, shared);
        else slabs<SlabA::NARROW>(acc, shared);
    }

    static __device__ __forceinline__ void clear(Acc& acc) {
#pragma unroll
        for (int e = 0; e < TM * TN; ++e) acc[e / TN][e % TN] = 0;
    }
    // Writes the accumulators to memory, BM x BN elements in an internal order, and adds them back.
    //
    // The order suits the registers. An instruction reads its three operands from two banks of
    // registers, even and odd, one operand from each at a time. One factor stays during a run of
    // products, so that the other factor and the accumulator should lie in different banks. Factors
    // are loaded by fours into registers that begin with a multiple of four. Accumulators that are
    // stored together are kept alike. Storing the odd ones of four first makes their register odd
    // where the factor's is even.
    static constexpr int quad_row(int e, int u) {
        return COLUMNS ? e / TN * 4 + (u ^ 1) : e * 4 / TN;
    }
    static constexpr int quad_col(int e, int u) { return COLUMNS ? e % TN : e * 4 % TN + (u ^ 1); }
    static __device__ __forceinline__ void give(const Acc& acc, float* to, int thread) {
#pragma unroll
        for (int e = 0; e < TM * TN / 4; ++e)
            reinterpret_cast<float4*>(to)[thread + e * THREADS] = make_float4(
                acc[quad_row(e, 0)][quad_col(e, 0)], acc[quad_row(e, 1)][quad_col(e, 1)],
                acc[quad_row(e, 2)][quad_col(e, 2)], acc[quad_row(e, 3)][quad_col(e, 3)]);
    }
    static __device__ __forceinline__ void take(Acc& acc, const float* from, int thread) {
#pragma unroll
        for (int e = 0; e < TM * TN / 4; ++e) {
            const float4 x = __ldcg(reinterpret_cast<const float4*>(from) + thread + e * THREADS);
            acc[quad_row(e, 0)][quad_col(e, 0)] += x.x;
            acc[quad_row(e, 1)][quad_col(e, 1)] += x.y;
            acc[quad_row(e, 2)][quad_col(e, 2)] += x.z;
            acc[quad_row(e, 3)][quad_col(e, 3)] += x.w;
        }
    }
};

}  // namespace tile
