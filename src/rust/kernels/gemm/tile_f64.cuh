// arch: sm_80 sm_90
// Products of tiles in double precision on tensor cores (mma.sync): acc += A B for BM lines of A
// and BN lines of B, of any depth.
//
// A loop goes through slabs of 16 steps. While one slab is multiplied, copies of the next STAGES -
// 1 slabs are in flight in a ring of shared memory. Their instructions are spread among the
// multiplications, so that neither waits for the other.
//
// Warps that meet APART do not wait for one another either. Each announces that its copies of the
// next slab have arrived and that it has read the last of this one. It continues to multiply before
// it asks whether all have announced this.
//
// The last slab, if it is not full, is multiplied first: its zeros are filled in before the
// pipeline starts, and all later copies are alike.
//
// Lines beyond the last count as zeros. A NaN in a line affects only that line of the product.
#pragma once
#include "slab_f64.cuh"

namespace tile {

// D (16 x 8) += A (16 x 8) B (8 x 8).
__device__ __forceinline__ void mma_16x8x8(double (&d)[4], const double (&a)[4],
                                           const double (&b)[2]) {
#if __CUDA_ARCH__ >= 900
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
        : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#else
#pragma unroll
    for (int q = 0; q < 2; ++q) {
#pragma unroll
        for (int r = 0; r < 2; ++r)
            asm volatile(
                "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
                : "+d"(d[2 * r]), "+d"(d[2 * r + 1])
                : "d"(a[2 * q + r]), "d"(b[q]));
    }
#endif
}

// The tensor core takes the 16 steps of a slab in four groups of four, assigned in one of two ways,
// the same for A and B. Lane t of a quad takes steps 2t, 2t + 1, 8 + 2t, 9 + 2t (PAIRS), or t, 4 +
// t, 8 + t, 12 + t. With the right choice each read from shared memory delivers registers as the
// instruction needs them.
//
// A: 16 rows. Lane (g = lane / 4, t = lane % 4) holds rows 2g and 2g + 1: f[2 q + r] is row 2g + r
// at its q-th step.
template <int SIZE, int BK, Layout LAYOUT>
struct FragmentA {
    static __device__ __forceinline__ int base(int row0, int lane) {
        const int g = lane >> 2, t = lane & 3;
        if (LAYOUT == LINES) return 2 * t * SIZE + row0 + ((2 * g) ^ (t << 2));
        return (row0 + 2 * g) * BK + (t ^ ((g & 3) << 2));
    }
    static __device__ __forceinline__ void load(double (&f)[4], const double* slab, int base,
                                                int block, int half) {
#pragma unroll
        for (int q = 0; q < 2; ++q) {
            if (LAYOUT == LINES) {
                const double2 x = *reinterpret_cast<const double2*>(slab + base + block * 16 +
                                                                    (q + half * 8) * SIZE);
                f[2 * q] = x.x, f[2 * q + 1] = x.y;
            } else {
                const double* at = slab + (base ^ (q << 2) ^ (half << 3)) + block * 16 * BK;
                f[2 * q] = at[0], f[2 * q + 1] = at[BK];
            }
        }
    }
};
// B: 16 columns as two groups of 8. A lane holds column g of each: f[h][q] is column 8 h + g at its
// q-th step.
template <int SIZE, int BK, Layout LAYOUT, bool PAIRS>
struct FragmentB {
    static __device__ __forceinline__ int base(int col0, int lane) {
        const int g = lane >> 2, t = lane & 3;
        if (LAYOUT == LINES) return 2 * t * SIZE + col0 + (g ^ (t << 2));
        return (col0 + g) * BK + (PAIRS ? (2 * t) ^ ((g & 1) << 3) : t ^ ((g & 3) << 2));
    }
    static __device__ __forceinline__ void load(double (&f)[2][2], const double* slab, int base,
                                                int block, int half) {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            if (LAYOUT == LINES) {
#pragma unroll
                for (int q = 0; q < 2; ++q)
                    f[h][q] = slab[(base ^ (h << 3)) + block * 16 + (q + half * 8) * SIZE];
            } else if (PAIRS) {
                const double2 x = *reinterpret_cast<const double2*>(slab + (base ^ (half << 3)) +
                                                                    (block * 16 + h * 8) * BK);
                f[h][0] = x.x, f[h][1] = x.y;
            } else {
#pragma unroll
                for (int q = 0; q < 2; ++q)
                    f[h][q] = slab[(base ^ (q << 2) ^ (half << 3)) + (block * 16 + h * 8) * BK];
            }
        }
    }
};

// acc[i][j][h][2 r + e]: of the 16 x 16 block (i, j) of the warp's part, row 2g + r and column 8 h
// + 2t + e.
//
// Use: start `sa` and `sb`, `begin`, `run`. The next product may begin when `run` has returned.
// Until its own `run`, the last of the ring's STAGES places is free for other use. DOWN: the sum
// goes from the last slab to the first, and the operands start at the last full slab.
template <int BM, int BN, int STAGES, int WARPS_M, int WARPS_N, Layout LA, Layout LB,
          bool DOWN = false, Meeting MEETING = APART>
struct Product {
    typedef double Real;
    static constexpr int BK = 16;
    static constexpr int UNIT_STEPS = BK;  // the depth of a share of a tile is a multiple of it
    static constexpr int WARPS = WARPS_M * WARPS_N;
    static constexpr int THREADS = 32 * WARPS;
    static constexpr int WM = BM / WARPS_M, WN = BN / WARPS_N;
    static constexpr int FM = WM / 16, FN = WN / 16;
    static constexpr int STAGE = (BM + BN) * BK * 8;  // bytes
    static constexpr int BYTES = STAGE * STAGES;
    static constexpr int SPARE = BYTES - STAGE;  // the offset of the ring's last place
    static constexpr bool PAIRS = LA == LINES;
    using SlabA = Slab<BM, BK, THREADS, LA, 2, 1, DOWN>;
    using SlabB = Slab<BN, BK, THREADS, LB, PAIRS ? 1 : 2, 0, DOWN>;
    using LoadA = FragmentA<BM, BK, LA>;
    using LoadB = FragmentB<BN, BK, LB, PAIRS>;
    static_assert(PAIRS || LB == DEPTH, "");
    static constexpr int GROUPS = 2 * FN;
    static constexpr int LINES_M = BM, LINES_N = BN;
    typedef double Acc[FM][FN][2][4];

    // The first row and column of the warp's part.
    static __device__ __forceinline__ int warp_row(int thread) {
        return (thread >> 5) % WARPS_M * WM;
    }
    static __device__ __forceinline__ int warp_col(int thread) {
        return (thread >> 5) / WARPS_M * WN;
    }

    SlabA sa;
    SlabB sb;
    int iters;      // slabs in all
    bool wide;      // copies of both operands
    unsigned fill;  // offset of the next slab's place

    template <int UNIT>
    static constexpr int parts() {
        return SlabA::template Deal<UNIT>::PARTS + SlabB::template Deal<UNIT>::PARTS;
    }
    template <int UNIT>
    __device__ __forceinline__ void copy_part(unsigned home, int part, int limit_a, int limit_b) {
        constexpr int OF_A = SlabA::template Deal<UNIT>::PARTS;
        if (part < OF_A) sa.template copy<UNIT>(home + fill, part, limit_a);
        else sb.template copy<UNIT>(home + fill + BM * BK * 8, part - OF_A, limit_b);
    }
    __device__ __forceinline__ void fill_next() { fill = fill == BYTES - STAGE ? 0 : fill + STAGE; }
    // Copies `depth` steps of the slab `up` slabs ahead, and fills the rest with zeros. A slab
    // copied out of turn does not change the next one in turn.
    template <int UNIT>
    __device__ __forceinline__ void copy_slab(unsigned home, int depth, int up) {
        const int limit_a = sa.template limit<UNIT>(depth),
                  limit_b = sb.template limit<UNIT>(depth);
        sa.template skip<UNIT>(up), sb.template skip<UNIT>(up);
#pragma unroll
        for (int p = 0; p < parts<UNIT>(); ++p) copy_part<UNIT>(home, p, limit_a, limit_b);
        if (!DOWN && up > 0) sa.template skip<UNIT>(-1 - up), sb.template skip<UNIT>(-1 - up);
    }

    // Starts the copies of the first slabs, after `sa` and `sb` have been started.
    __device__ __forceinline__ void begin(const double* shared, i64 depth) {
        const unsigned home = shared_address(shared);
        iters = (int)((depth + BK - 1) / BK);
        const int tail = (int)(depth - (i64)(iters - 1) * BK);
        // A chunk of two steps must not exceed the last step.
        const bool even = (LA == LINES && LB == LINES) || tail % 2 == 0;
        wide = sa.plain && sb.plain && even;
        if (!wide) sa.narrow(), sb.narrow();
        fill = 0;
#pragma unroll 1
        for (int filled = 0; filled < STAGES - 1; ++filled) {
            if (filled < iters) {
                const bool last = filled == 0 && tail < BK;
                const int steps = last ? tail : BK, up = !last ? 0 : DOWN ? 1 : iters - 1;
                if (wide) copy_slab<SlabA::WIDE>(home, steps, up);
                else copy_slab<SlabA::NARROW>(home, steps, up);
            }
            fill_next();
            copies_commit();
        }
    }

    template <int UNIT>
    __device__ __forceinline__ void slabs(Acc& acc, const double* shared,
                                          unsigned long long* place) {
        const int thread = thread_again() & (THREADS - 1);
        Gate<MEETING, THREADS> gate;
        gate.open(place, WARPS, thread);
        const int base_a = LoadA::base(warp_row(thread), thread & 31);
        const int base_b = LoadB::base(warp_col(thread), thread & 31) + BM * BK;
        const int some_a = sa.template limit<UNIT>(BK), some_b = sb.template limit<UNIT>(BK);
        const unsigned home = shared_address(shared);
        constexpr int PARTS = parts<UNIT>();
        double fa[2][FM][4], fb[2][2][2];
        int use = 0;
        copies_wait<STAGES - 2>();
        gate.meet();
#pragma unroll
        for (int i = 0; i < FM; ++i) LoadA::load(fa[0][i], shared, base_a, i, 0);
        LoadB::load(fb[0], shared, base_b, 0, 0);
#pragma unroll 1
        for (int left = iters; left > 0; --left) {
            const bool more = left >= STAGES;
            const int limit_a = more ? some_a : 0, limit_b = more ? some_b : 0;
#pragma unroll
            for (int q = 0; q < GROUPS; ++q) {
                const int half = q / FN, j = q % FN;
#pragma unroll
                for (int i = 0; i < FM; ++i) {
                    mma_16x8x8(acc[i][j][0], fa[half][i], fb[q & 1][0]);
                    mma_16x8x8(acc[i][j][1], fa[half][i], fb[q & 1][1]);
                    if (i > 0) continue;
                    // Between the products: loads fragments of the next group, and starts a part of
                    // the copies. Earlier is not possible, because these registers have only now
                    // been read.
                    if (q + 1 == GROUPS) {
                        gate.wait();
                        use = use == (BYTES - STAGE) / 8 ? 0 : use + STAGE / 8;
                    }
                    const int q1 = (q + 1) % GROUPS;
                    LoadB::load(fb[(q + 1) & 1], shared + use, base_b, q1 % FN, q1 / FN);
                    if (q + 1 == GROUPS) {
#pragma unroll
                        for (int r = 0; r < FM; ++r)
                            LoadA::load(fa[0][r], shared + use, base_a, r, 0);
                    } else {
                        if (half == 0) {
#pragma unroll
                            for (int r = j * FM / FN; r < (j + 1) * FM / FN; ++r)
                                LoadA::load(fa[1][r], shared + use, base_a, r, 1);
                        }
#pragma unroll
                        for (int p = q * PARTS / (GROUPS - 1); p < (q + 1) * PARTS / (GROUPS - 1);
                             ++p)
                            copy_part<UNIT>(home, p, limit_a, limit_b);
                    }
                    if (q + 2 == GROUPS) {
                        fill_next();
                        copies_commit();
                        copies_wait<STAGES - 2>();
                        gate.arrive();
                    }
                }
            }
        }
        copies_wait<0>();
        gate.meet();
        gate.close(thread);
    }

    __device__ __forceinline__ void run(Acc& acc, const double* shared) {
        __shared__ unsigned long long place;
        if (wide) slabs<SlabA::WIDE>(acc, shared, &place);
        else slabs<SlabA::NARROW>(acc, shared, &place);
    }

    static __device__ __forceinline__ void clear(Acc& acc) {
#pragma unroll
        for (int e = 0; e < FM * FN * 8; ++e) acc[e / 8 / FN][e / 8 % FN][(e >> 2) & 1][e & 3] = 0;
    }
    // Writes the accumulators to memory, BM x BN elements in an internal order, and adds them back.
    static __device__ __forceinline__ void give(const Acc& acc, double* place, int thread) {
        double2* to = reinterpret_cast<double2*>(place) + thread;
#pragma unroll
        for (int e = 0; e < FM * FN * 4; ++e) {
            const double(&four)[4] = acc[e / 4 / FN][e / 4 % FN][(e >> 1) & 1];
            to[e * THREADS] = make_double2(four[(e & 1) * 2], four[(e & 1) * 2 + 1]);
        }
    }
    static __device__ __forceinline__ void take(Acc& acc, const double* place, int thread) {
        const double2* from = reinterpret_cast<const double2*>(place) + thread;
#pragma unroll
        for (int e = 0; e < FM * FN * 4; ++e) {
            const double2 add = __ldcg(from + e * THREADS);
            double(&four)[4] = acc[e / 4 / FN][e / 4 % FN][(e >> 1) & 1];
            four[(e & 1) * 2] += add.x;
            four[(e & 1) * 2 + 1] += add.y;
        }
    }
};

}  // namespace tile
