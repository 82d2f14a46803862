// arch: sm_80 sm_90
// The product Q of the reflectors of chase.cu, applied on tensor cores in double precision; see
// chase_back.cuh.
//
// Groups of a set follow one another through the rows of Z, one step apart, so Z is read and
// written once for all of them. For the same 16 columns of Z there are as many warps: a warp
// applies one group, and passes the B rows that it leaves behind to the next group's warp.
//
// A warp keeps its rows of Z and V'Z in registers, transposed: Z' <- Z' - (Z'V) (V T)'. Let column
// k of an operand stand for entry 2k of a lane's, and k + 4 for its neighbour. A lane then holds
// the same entries of a result of the tensor cores as of an operand. So products follow one another
// without exchange between lanes.
#include "chase_back.cuh"
#include "copies.cuh"
#include "mma_f64.cuh"

namespace {

// Packed steps: the tiles of 8 x 8 of V, by columns, and then those of V T, by rows. Tiles that
// are zero are omitted, so those of the lower half of either are on and right of the diagonal.
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

// D += A B for 16 rows, 8 columns and a depth of 8. Of D a lane holds columns 2 (lane % 4) and the
// next of row lane / 4 of each 8, of A the same, and of B the same with rows for columns.
__device__ __forceinline__ void multiply(double2 (&d)[2], const double2 (&a)[2], double2 b) {
#if __CUDA_ARCH__ >= 900
    asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+d"(d[0].x), "+d"(d[0].y), "+d"(d[1].x), "+d"(d[1].y)
        : "d"(a[0].x), "d"(a[1].x), "d"(a[0].y), "d"(a[1].y), "d"(b.x), "d"(b.y));
#else
#pragma unroll
    for (int i = 0; i < 2; ++i) mma_8x8x4(d[i].x, d[i].y, a[i].x, b.x);
#pragma unroll
    for (int i = 0; i < 2; ++i) mma_8x8x4(d[i].x, d[i].y, a[i].y, b.y);
#endif
}

#if __CUDA_ARCH__ >= 900
constexpr int SET = 3;  // groups, and warps for the same columns of Z
#else
constexpr int SET = 2;  // 8.0 has less shared memory
#endif
constexpr int COLUMNS = 16;         // of a warp
constexpr int SLOTS = 2 * SET;      // steps in shared memory
constexpr int BOX = B * COLUMNS;    // numbers that a warp passes on
constexpr int BOXES = 2 * SET - 1;  // of each `COLUMNS` columns

struct Back {
    using Place = TilePlace;
    static constexpr int N = Place::N;
    // B rows of the columns: a pair of rows in each lane, for each eighth row and column.
    using Rows = double2[N][2];

    const double* const packed;
    double* const at;  // the lane's first entry of row 0
    const i64 ldz;
    const int n, columns;  // from the lane's first one on
    Rows z[2], x;          // the halves of a step's rows; V'Z

    static __device__ __forceinline__ int lane() { return threadIdx.x & 31; }
    static __device__ __forceinline__ int first_column() {
        return (blockIdx.x * (blockDim.x / 32 / SET) + threadIdx.x / 32 / SET) * COLUMNS;
    }

    __device__ __forceinline__ Back(int order, int nz, const double* steps, double* to, i64 ld)
        : packed(steps),
          at(to + 2 * (lane() & 3) + (first_column() + (lane() >> 2)) * ld),
          ldz(ld),
          n(order),
          columns(nz - first_column() - (lane() >> 2)) {}

    static __device__ __forceinline__ double* slot(int step) {
        return shared_memory<double>() + step % SLOTS * Place::SIZE;
    }
    // Rows on their way from group j of the set to the next one, at a turn. To the first group they
    // come from global memory.
    static __device__ __forceinline__ double2* box(int j, int turn) {
        const int boxes = threadIdx.x / 32 / SET * BOXES + (j < 0 ? 0 : 1 + 2 * j + (turn & 1));
        return (double2*)(slot(0) + SLOTS * Place::SIZE + boxes * BOX) + lane();
    }

    // Whether Z has the lane's entry e of row 8j and column 8i of those from r0 on.
    __device__ __forceinline__ bool has(int r0, int j, int i, int e) const {
        return r0 + 8 * j + e + 2 * (lane() & 3) < n && 8 * i < columns;
    }
    __device__ __forceinline__ double* entry(int r0, int j, int i) const {
        return at + r0 + 8 * j + 8 * i * ldz;
    }

    __device__ __forceinline__ void load(Rows& rows, int r0) const {
#pragma unroll
        for (int i = 0; i < 2; ++i)
#pragma unroll
            for (int j = 0; j < N; ++j) {
                const double* from = entry(r0, j, i);
                rows[j][i].x = has(r0, j, i, 0) ? from[0] : 0.0;
                rows[j][i].y = has(r0, j, i, 1) ? from[1] : 0.0;
            }
    }
    __device__ __forceinline__ void store(const Rows& rows, int r0) const {
#pragma unroll
        for (int i = 0; i < 2; ++i)
#pragma unroll
            for (int j = 0; j < N; ++j) {
                double* to = entry(r0, j, i);
                if (has(r0, j, i, 0)) to[0] = rows[j][i].x;
                if (has(r0, j, i, 1)) to[1] = rows[j][i].y;
            }
    }
    // Starts the copy of rows to the first group's box.
    __device__ __forceinline__ void fetch(int r0) const {
        const unsigned to = tile::shared_address(box(-1, 0));
#pragma unroll
        for (int i = 0; i < 2; ++i)
#pragma unroll
            for (int j = 0; j < N; ++j)
#pragma unroll
                for (int e = 0; e < 2; ++e) {
                    const bool there = has(r0, j, i, e);
                    asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(
                                     to + 512 * (2 * j + i) + 8 * e),
                                 "l"(there ? entry(r0, j, i) + e : packed), "r"(there ? 8 : 0)
                                 : "memory");
                }
        tile::copies_commit();
    }
    static __device__ __forceinline__ void put(const Rows& rows, double2* to) {
#pragma unroll
        for (int j = 0; j < N; ++j)
#pragma unroll
            for (int i = 0; i < 2; ++i) to[32 * (2 * j + i)] = rows[j][i];
    }
    static __device__ __forceinline__ void take(Rows& rows, const double2* from, bool there) {
#pragma unroll
        for (int j = 0; j < N; ++j)
#pragma unroll
            for (int i = 0; i < 2; ++i)
                rows[j][i] = there ? from[32 * (2 * j + i)] : make_double2(0.0, 0.0);
    }

    // Starts the copies of the packed steps from `staged` to `end`.
    __device__ __forceinline__ void stage(int& staged, int end) const {
        for (; staged < end; ++staged) {
            const double* from = packed + (i64)staged * Place::SIZE;
            const unsigned to = tile::shared_address(slot(staged));
#pragma unroll 4
            for (int e = 2 * threadIdx.x; e < Place::SIZE; e += 2 * blockDim.x)
                asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to + 8 * e),
                             "l"(from + e)
                             : "memory");
        }
        tile::copies_commit();
    }

    // The products for one step. Those that follow one another change different tiles.
    __device__ __forceinline__ void project(const double2* v) {
#pragma unroll
        for (int c = 0; c < N; ++c) x[c][0] = x[c][1] = make_double2(0.0, 0.0);
#pragma unroll
        for (int r = 0; r <= N; ++r)
#pragma unroll
            for (int c = 0; c < N; ++c) {
                const int half = (c + r) / N, j = (c + r) % N;
                multiply(x[c], z[half][j], v[32 * Place::v_tile(half, j, c)]);
            }
    }
    __device__ __forceinline__ void subtract(const double2* vt) {
#pragma unroll
        for (int c = 0; c < N; ++c)
#pragma unroll
            for (int i = 0; i <= N + c; ++i)
                multiply(z[i / N][i % N], x[c], vt[32 * Place::vt_tile(i / N, i % N, c)]);
    }

    __device__ __forceinline__ void run(Groups<SET> groups) {
        const int j = threadIdx.x / 32 % SET, total = groups.before(groups.count);
        int done = 0, staged = 0, lacks = groups.lacks();
        stage(staged, min(SLOTS, total));
#pragma unroll 1
        for (int begin = -lacks; begin < groups.count; begin += SET, lacks = 0) {
            const int fewest = groups.steps(begin), turns = fewest + 2 * (SET - 1);
            const bool first = j == lacks, last = j == SET - 1;
            int r0 = groups.row(begin + j);
            // The last group of the set before has stored its rows.
            __syncthreads();
            if (j >= lacks) load(z[0], r0);
            if (first) fetch(r0 + B);
#pragma unroll 1
            for (int turn = 0; turn < turns; ++turn) {
                const int k = turn - j;
                tile::copies_wait<0>();
                __syncthreads();
                // All warps have left the slots of steps before `done`.
                stage(staged, min(done + SLOTS, total));
                // The groups of the set from `from` on have a step at this turn.
                const int from = max(lacks, turn < fewest ? 0 : (turn - fewest) / 2 + 1);
                if (j >= lacks && k >= 0 && k < fewest + j) {
                    const double2* v = (const double2*)slot(done + j - from) + lane();
                    // The group before has no rows for the last step, nor has Z.
                    take(z[1], first ? box(-1, 0) : box(j - 1, turn - 1),
                         first || k < fewest + j - 1);
                    project(v);
                    // After the products with what was in the box.
                    if (first) fetch(r0 + 2 * B);
                    subtract(v + Place::V / 2);
                    if (last) store(z[0], r0);
                    else put(z[0], box(j, turn));
#pragma unroll
                    for (int i = 0; i < N; ++i) z[0][i][0] = z[1][i][0], z[0][i][1] = z[1][i][1];
                    r0 += B;
                }
                done += max(0, min(turn, SET - 1) - from + 1);
            }
        }
    }
};

}  // namespace

PACKING(TilePlace, double, SET, f64)

extern "C" __global__ void __launch_bounds__(32 * 4 * SET, 1)
    chase_apply_tiles32_f64(int n, int nz, int first, int count, const double* packed, double* z,
                            i64 ldz) {
    Back(n, nz, packed, z, ldz).run(Groups<SET>{n, first, count});
}
