// arch: sm_90a
// Products of planes of residues by warpgroups.
#include "cluster.cuh"
#include "planes.cuh"
#include "wgmma.cuh"

namespace {

constexpr int STAGES = 4, STAGE = planes::BYTES + planes::COLS * planes::DEPTH;

__device__ __forceinline__ void free_stage(unsigned long long* empty) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(cluster::address(empty))
                 : "memory");
}

}  // namespace

// C_p <- A_p B_p', plus what is in C_p if `add`, modulo the p-th modulus. A plane of A has `a_rows`
// row tiles, one of B `b_rows`; `depth` counts tiles. Blocks take one tile after the other. Of the
// first warpgroup one thread copies, and the other two have 64 rows of a tile of C each.
extern "C" __global__ void __launch_bounds__(384, 1)
    planes_multiply_hopper(const char* a, int a_rows, const char* b, int b_rows, unsigned* c,
                           int rows, int cols, int depth, int count, int band, int region, int add,
                           const planes::Tables* tables, const int* stop) {
    if (stopped(stop)) return;
    extern __shared__ __align__(1024) char stages[];
    __shared__ __align__(8) unsigned long long full[STAGES], empty[STAGES];
    const int group = threadIdx.x / 128;
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; s++) {
            cluster::mailbox_open(&full[s]);
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 2;" ::"r"(
                             cluster::address(&empty[s]))
                         : "memory");
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    const planes::Grid grid = {rows, cols, count, band, region};
    const int total = grid.total();
    int stage = 0, phase = 0, p, i, j;
    if (group == 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x != 0) return;
        for (int work = blockIdx.x; work < total; work += gridDim.x) {
            grid.place(work, p, i, j);
            const char* left = a + ((i64)p * a_rows + i) * depth * planes::BYTES;
            const char* right = b + ((i64)p * b_rows + 2 * j) * depth * planes::BYTES;
            for (int k = 0; k < depth; k++) {
                cluster::mailbox_wait(&empty[stage], phase ^ 1);
                const unsigned to = cluster::address(stages) + stage * STAGE;
                const unsigned barrier = cluster::address(&full[stage]);
                cluster::mailbox_expect(&full[stage], STAGE);
                wgmma::copy(to, left + (i64)k * planes::BYTES, planes::BYTES, barrier);
                wgmma::copy(to + planes::BYTES, right + (i64)k * planes::BYTES, planes::BYTES,
                            barrier);
                wgmma::copy(to + 2 * planes::BYTES, right + (i64)(depth + k) * planes::BYTES,
                            planes::BYTES, barrier);
                if (++stage == STAGES) stage = 0, phase ^= 1;
            }
        }
        return;
    }
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    const int half = group - 1, lane = threadIdx.x % 128;
    for (int work = blockIdx.x; work < total; work += gridDim.x) {
        int sums[128], last = -1;
        grid.place(work, p, i, j);
        for (int k = 0; k < depth; k++) {
            cluster::mailbox_wait(&full[stage], phase);
            const unsigned at = cluster::address(stages) + stage * STAGE;
            const unsigned long long left = wgmma::operand(at + half * 64 * planes::DEPTH);
            const unsigned long long right = wgmma::operand(at + planes::BYTES);
            wgmma::begin_products();
#pragma unroll
            for (int part = 0; part < 4; part++)
                wgmma::multiply(sums, left + 2 * part, right + 2 * part, (k | part) != 0);
            wgmma::end_products();
            wgmma::wait_products<1>();
            if (last >= 0 && lane == 0) free_stage(&empty[last]);
            last = stage;
            if (++stage == STAGES) stage = 0, phase ^= 1;
        }
        wgmma::wait_products<0>();
        if (lane == 0) free_stage(&empty[last]);
        const int modulus = tables->modulus[p], inverse = tables->inverse[p];
        unsigned* to =
            c + (((i64)p * cols + j) * rows + i) * planes::WORDS + half * 128 + lane;
#pragma unroll
        for (int u = 0; u < 32; u++)
            to[u * 256] =
                planes::word(sums + 4 * u, add ? to[u * 256] : 0, modulus, inverse);
    }
}
