// arch: sm_75 sm_80
// Products of planes of residues by warps, on any GPU whose tensor cores multiply bytes.
#include "planes.cuh"

namespace {

// With the shared memory of the smallest GPU of an architecture, two stages take 64 or 96 KB.
#if __CUDA_ARCH__ >= 800
constexpr int WIDTH = 256;
#else
constexpr int WIDTH = 128;
#endif
constexpr int STAGE = planes::BYTES + WIDTH * planes::DEPTH;
constexpr int COPIES = STAGE / 16 / 256;
// A warp has 64 rows and a quarter of the columns.
constexpr int WARP_COLS = WIDTH / 4;

__device__ __forceinline__ void load_matrices(unsigned (&x)[4], unsigned address) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                 : "r"(address));
}

// d (16 x 8) += a (16 x 32) b (32 x 8)
__device__ __forceinline__ void multiply(int (&d)[4], const unsigned (&a)[4], unsigned b0,
                                         unsigned b1) {
#if __CUDA_ARCH__ >= 800
    asm volatile(
        "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#else
#pragma unroll
    for (int half = 0; half < 2; half++)
#pragma unroll
        for (int k = 0; k < 2; k++)
            asm volatile(
                "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0, %1}, {%2}, {%3}, {%0, %1};"
                : "+r"(d[2 * half]), "+r"(d[2 * half + 1])
                : "r"(a[half + 2 * k]), "r"(k ? b1 : b0));
#endif
}

// Copies of a stage to shared memory, which run while another one is multiplied.
struct Copies {
#if __CUDA_ARCH__ >= 800
    __device__ __forceinline__ void begin(unsigned to, const char* a, const char* b0,
                                          const char* b1) {
#pragma unroll
        for (int h = 0; h < COPIES; h++) {
            const int at = (h * 256 + threadIdx.x) * 16;
            const char* from = h < 4 ? a + at : h < 8 ? b0 + (at - planes::BYTES)
                                                      : b1 + (at - 2 * planes::BYTES);
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to + at), "l"(from)
                         : "memory");
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
    }
    __device__ __forceinline__ void end() {
        asm volatile("cp.async.wait_group 0;" ::: "memory");
    }
#else
    uint4 held[COPIES];
    char* there;
    __device__ __forceinline__ void begin(unsigned to, const char* a, const char* b0,
                                          const char*) {
        there = (char*)__cvta_shared_to_generic(to);
#pragma unroll
        for (int h = 0; h < COPIES; h++) {
            const int at = (h * 256 + threadIdx.x) * 16;
            held[h] = *(const uint4*)(h < 4 ? a + at : b0 + (at - planes::BYTES));
        }
    }
    __device__ __forceinline__ void end() {
#pragma unroll
        for (int h = 0; h < COPIES; h++)
            *(uint4*)(there + (h * 256 + threadIdx.x) * 16) = held[h];
    }
#endif
};

// The tiles that a block multiplies one after the other. A step is one tile of depth.
struct Steps {
    planes::Grid grid;
    int total, depth, work, k, p, i, j, part;

    // Parts of a tile of C: its columns.
    static constexpr int PARTS = planes::COLS / WIDTH;

    __device__ __forceinline__ bool find() {
        if (work >= total) return false;
        grid.place(work / PARTS, p, i, j);
        part = work % PARTS;
        return true;
    }
    __device__ __forceinline__ bool next() {
        if (++k < depth) return true;
        k = 0, work += gridDim.x;
        return find();
    }
};

}  // namespace

// C_p <- A_p B_p', plus what is in C_p if `add`, modulo the p-th modulus. A plane of A has `a_rows`
// row tiles, one of B `b_rows`; `depth` counts tiles.
extern "C" __global__ void __launch_bounds__(256, 1)
    planes_multiply_tensor(const char* a, int a_rows, const char* b, int b_rows, unsigned* c,
                           int rows, int cols, int depth, int count, int band, int region, int add,
                           const planes::Tables* tables, const int* stop) {
    if (stopped(stop)) return;
    extern __shared__ __align__(128) char stages[];
    const unsigned base = (unsigned)__cvta_generic_to_shared(stages);
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int warp_row = warp / 4, warp_col = warp % 4;
    Steps now = {{rows, cols, count, band, region}};
    now.total = now.grid.total() * Steps::PARTS, now.depth = depth;
    now.work = blockIdx.x, now.k = 0;
    if (!now.find()) return;
    Copies copies;
    auto begin = [&](const Steps& s, int stage) {
        const i64 b_row = (i64)s.p * b_rows + 2 * s.j + s.part;
        const char* right = b + (b_row * depth + s.k) * planes::BYTES;
        copies.begin(base + stage * STAGE,
                     a + (((i64)s.p * a_rows + s.i) * depth + s.k) * planes::BYTES, right,
                     right + (i64)depth * planes::BYTES);
    };
    // Lines of a lane's addresses in a matrix of eight lines, and its chunk of depth.
    const int a_line = warp_row * 64 + lane % 16, a_chunk = lane / 16;
    const int b_line = warp_col * WARP_COLS + lane % 8 + lane / 16 * 8, b_chunk = lane / 8 % 2;
    int sums[4][WARP_COLS / 8][4] = {};
    int stage = 0;
    begin(now, 0);
    for (;;) {
        copies.end();
        __syncthreads();
        Steps then = now;
        const bool more = then.next();
        if (more) begin(then, stage ^ 1);
        const unsigned left = base + stage * STAGE, right = left + planes::BYTES;
#pragma unroll
        for (int step = 0; step < 4; step++) {
            unsigned x[4][4], y[WARP_COLS / 16][4];
#pragma unroll
            for (int m = 0; m < 4; m++) {
                const int line = a_line + 16 * m, chunk = 2 * step + a_chunk;
                load_matrices(x[m], left + line * planes::DEPTH + (chunk ^ line % 8) * 16);
            }
#pragma unroll
            for (int n = 0; n < WARP_COLS / 16; n++) {
                const int line = b_line + 16 * n, chunk = 2 * step + b_chunk;
                load_matrices(y[n], right + line * planes::DEPTH + (chunk ^ line % 8) * 16);
            }
#pragma unroll
            for (int n = 0; n < WARP_COLS / 8; n++)
#pragma unroll
                for (int m = 0; m < 4; m++)
                    multiply(sums[m][n], x[m], y[n / 2][n % 2 * 2], y[n / 2][n % 2 * 2 + 1]);
        }
        if (now.k == depth - 1) {
            const int modulus = tables->modulus[now.p], inverse = tables->inverse[now.p];
            unsigned* to = c + (((i64)now.p * cols + now.j) * rows + now.i) * planes::WORDS +
                           now.part * WIDTH * 32 + warp_row * 128 + lane;
#pragma unroll
            for (int m = 0; m < 4; m++)
#pragma unroll
                for (int n = 0; n < WARP_COLS / 8; n++) {
                    unsigned* word = to + (warp_col * (WARP_COLS / 8) + n) * 256 + m * 32;
                    *word = planes::word(sums[m][n], add ? *word : 0, modulus, inverse);
#pragma unroll
                    for (int v = 0; v < 4; v++) sums[m][n][v] = 0;
                }
        }
        if (!more) return;
        now = then;
        stage ^= 1;
    }
}
