// arch: sm_80 sm_90
// The product Q of the reflectors of chase.cu, applied on tensor cores in double precision; see
// chase_back.cuh.
//
// A warp keeps its columns of Z and V'Z in registers, transposed: Z' <- Z' - (Z'V) (V T)'. A lane
// holds the same entries of a result of the tensor cores as of an operand, if column k of that
// operand stands for entry 2k of a lane's, and k + 4 for its neighbour. So products follow one
// another without exchange between lanes.
#include "chase_back.cuh"
#include "copies.cuh"
#include "mma_f64.cuh"

namespace {

// Packed steps: the tiles of 8 x 8 of V, by columns, and then those of V T, by rows. Tiles that
// are zero are omitted, so those of the lower half of either are on and right of the diagonal.
template <int B>
struct TilePlace {
    static constexpr int N = B / 8, UPPER = N * (N + 1) / 2;  // of a triangle
    static constexpr int V = 2 * UPPER * 64, SIZE = V + (N * N + UPPER) * 64;

    // The tile in row j and column c of a half.
    static __device__ __forceinline__ int v_tile(int half, int j, int c) {
        return half ? UPPER + right(j, c) : j * (j + 1) / 2 + c;
    }
    static __device__ __forceinline__ int vt_tile(int half, int j, int c) {
        return half ? N * N + right(j, c) : j * N + c;
    }
    static __device__ __forceinline__ int right(int j, int c) {
        return j * N - j * (j - 1) / 2 + c - j;
    }

    static __device__ __forceinline__ int v(int i, int c) {
        const int half = i / B, j = i % B / 8, d = c / 8;
        if (half ? d < j : d > j) return -1;
        return v_tile(half, j, d) * 64 + c % 8 * 8 + i % 8;
    }
    static __device__ __forceinline__ int vt(int i, int c) {
        const int half = i / B, j = i % B / 8, d = c / 8;
        if (half && d < j) return -1;
        return V + vt_tile(half, j, d) * 64 + i % 8 * 8 + c % 8;
    }
};

// D += A B for 8M rows, 8 columns and a depth of 8. Of D a lane holds columns 2 (lane % 4) and the
// next of row lane / 4 of each 8, of A the same, and of B the same with rows for columns.
template <int M>
__device__ __forceinline__ void multiply(double (&d)[M][2], const double (&a)[M][2], double2 b) {
#if __CUDA_ARCH__ >= 900
    if (M == 2) {
        asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
            "{%8, %9}, {%0, %1, %2, %3};"
            : "+d"(d[0][0]), "+d"(d[0][1]), "+d"(d[M - 1][0]), "+d"(d[M - 1][1])
            : "d"(a[0][0]), "d"(a[M - 1][0]), "d"(a[0][1]), "d"(a[M - 1][1]), "d"(b.x), "d"(b.y));
    } else
#endif
    {
#pragma unroll
        for (int i = 0; i < M; ++i) mma_8x8x4(d[i][0], d[i][1], a[i][0], b.x);
#pragma unroll
        for (int i = 0; i < M; ++i) mma_8x8x4(d[i][0], d[i][1], a[i][1], b.y);
    }
}

// 8M columns of Z for each warp.
template <int B, int M>
struct BackTiles {
    using Place = TilePlace<B>;
    static constexpr int N = B / 8;
    static constexpr int SLOTS = B == 32 ? 3 : 1;  // steps in shared memory
    // Whether registers suffice to load rows of Z a step before they are needed.
    static constexpr bool AHEAD = B * M < 128;

    double z[2][N][M][2], x[N][M][2];  // the halves of a step's rows; V'Z
    double next[N][M][2];              // the rows after them
    const double* packed;
    double* at;  // the lane's first entry of row 0
    i64 ldz;
    int n, columns, total, lane;

    static __device__ __forceinline__ double* slot(int step) {
        return shared_memory<double>() + step % SLOTS * Place::SIZE;
    }

    // Rows r0 to r0 + B - 1, from or to a half.
    template <bool STORE>
    __device__ __forceinline__ void move(double (&half)[N][M][2], int r0) {
        const int left = n - r0 - 2 * (lane & 3);
#pragma unroll
        for (int i = 0; i < M; ++i) {
            double* from = at + r0 + 8 * i * ldz;
#pragma unroll
            for (int j = 0; j < N; ++j)
#pragma unroll
                for (int e = 0; e < 2; ++e) {
                    const bool there = 8 * j + e < left && 8 * i < columns;
                    if (STORE) {
                        if (there) from[8 * j + e] = half[j][i][e];
                    } else {
                        half[j][i][e] = there ? from[8 * j + e] : 0.0;
                    }
                }
        }
    }

    // Starts the copy of V or V T of a step to its slot.
    template <bool PRODUCT>
    __device__ __forceinline__ void stage(int step) {
        constexpr int FROM = PRODUCT ? Place::V : 0, TO = PRODUCT ? Place::SIZE : Place::V;
        if (step < total) {
            const double* from = packed + (i64)step * Place::SIZE;
            const unsigned to = tile::shared_address(slot(step));
#pragma unroll 4
            for (int e = FROM + 2 * threadIdx.x; e < TO; e += 2 * blockDim.x)
                asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to + 8 * e),
                             "l"(from + e)
                             : "memory");
        }
        tile::copies_commit();
    }

    // Waits for the oldest copy. The slot of the one before is free for all warps then.
    __device__ __forceinline__ void arrive() {
        tile::copies_wait<2 * SLOTS - 2>();
        __syncthreads();
    }

    template <int HALF>
    __device__ __forceinline__ void project(const double2* tiles) {
#pragma unroll
        for (int j = 0; j < N; ++j)
#pragma unroll
            for (int c = HALF ? j : 0; c < (HALF ? N : j + 1); ++c)
                multiply<M>(x[c], z[HALF][j], tiles[32 * Place::v_tile(HALF, j, c)]);
    }

    template <int HALF>
    __device__ __forceinline__ void subtract(const double2* tiles) {
#pragma unroll
        for (int c = 0; c < N; ++c)
#pragma unroll
            for (int j = 0; j < (HALF ? c + 1 : N); ++j)
                multiply<M>(z[HALF][j], x[c], tiles[32 * Place::vt_tile(HALF, j, c)]);
    }

    static __device__ __forceinline__ void copy(double (&to)[N][M][2],
                                                const double (&from)[N][M][2]) {
#pragma unroll
        for (int j = 0; j < N; ++j)
#pragma unroll
            for (int i = 0; i < M; ++i)
#pragma unroll
                for (int e = 0; e < 2; ++e) to[j][i][e] = from[j][i][e];
    }

    // Rows of Z are r0 to r0 + 2B - 1; the first half of them is in z[0], the other in `next` if
    // AHEAD.
    __device__ __forceinline__ void apply(int step, int r0) {
        const double2* v = reinterpret_cast<const double2*>(slot(step)) + lane;
        if (AHEAD) copy(z[1], next);
        move<false>(AHEAD ? next : z[1], r0 + (AHEAD ? 2 * B : B));
#pragma unroll
        for (int c = 0; c < N; ++c)
#pragma unroll
            for (int i = 0; i < M; ++i) x[c][i][0] = x[c][i][1] = 0.0;
        arrive();
        stage<true>(step + SLOTS - 1);
        project<0>(v);
        project<1>(v);
        arrive();
        stage<false>(step + SLOTS);
        subtract<0>(v + Place::V / 2);
        move<true>(z[0], r0);
        subtract<1>(v + Place::V / 2);
        copy(z[0], z[1]);
    }

    // A lane has the same entries in all groups, so it reads what it has written itself.
    __device__ __forceinline__ void run(Groups<B> groups, int count, int nz, const double* steps,
                                        double* zs, i64 ld) {
        const int c = (blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5)) * 8 * M;
        lane = threadIdx.x & 31;
        packed = steps, n = groups.n, ldz = ld, total = groups.before(count);
        columns = nz - c - (lane >> 2);
        at = zs + 2 * (lane & 3) + (c + (lane >> 2)) * ld;
        stage<false>(0);
#pragma unroll
        for (int s = 1; s < SLOTS; ++s) stage<true>(s - 1), stage<false>(s);
        int step = 0;
#pragma unroll 1
        for (int g = 0; g < count; ++g) {
            int r0 = groups.row(g);
            move<false>(z[0], r0);
            if (AHEAD) move<false>(next, r0 + B);
#pragma unroll 1
            for (int k = groups.steps(g); k > 0; --k, ++step, r0 += B) apply(step, r0);
        }
    }
};

}  // namespace

#define APPLYING(B, M, NAME)                                                                    \
    extern "C" __global__ void __launch_bounds__(256, 1) chase_apply_##NAME##B##_f64(           \
        int n, int nz, int first, int count, const double* packed, double* z, i64 ldz) {        \
        BackTiles<B, M> back;                                                                   \
        back.run(Groups<B>{n, first}, count, nz, packed, z, ldz);                               \
    }

PACKING(TilePlace, double, 32, f64)
PACKING(TilePlace, double, 64, f64)
APPLYING(32, 1, eight)
APPLYING(64, 1, eight)
APPLYING(32, 2, sixteen)
APPLYING(64, 2, sixteen)
