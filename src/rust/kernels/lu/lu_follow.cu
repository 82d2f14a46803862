// arch: sm_90
// Columns right of a factored panel of the LU factorization: its exchanges, and their rows of U.
//
// A block has a few columns. It gathers the rows that the panel's exchanges bring, and the panel's
// L, in shared memory. It solves for 8 rows at a time: products with earlier rows on tensor cores,
// split among warps, then substitution within the 8 rows.
#include "lu_rows.cuh"

namespace {

using namespace lu;

constexpr int THREADS = 256;
constexpr int COLUMNS = 16;  // of a block
constexpr int GROUPS = COLUMNS / 8;
constexpr int SHARES = THREADS / 32 / GROUPS;  // warps that share a sum

template <typename T>
struct Columns {
    T l[LARGEST][LARGEST + 1];
    T b[LARGEST][COLUMNS + 2];
    double sums[GROUPS][SHARES][8][10];
};

template <typename T>
__device__ __forceinline__ void follow(int n, const T* panel, i64 ld, i64 first, i64 count,
                                       T* columns, const int* list) {
    extern __shared__ __align__(16) unsigned char memory[];
    Columns<T>& s = *reinterpret_cast<Columns<T>*>(memory);
    const int t = threadIdx.x, lane = t & 31, g = lane / 4, part = lane % 4;
    const i64 c0 = blockIdx.x * (i64)COLUMNS;
    T* c = columns + c0 * ld;
    const int width = (int)(count - c0 < COLUMNS ? count - c0 : COLUMNS), moves = list[0];
    T v[COLUMNS];
    if (t < moves) {
        const T* from = c + list[1 + 2 * LARGEST + t];
#pragma unroll
        for (int i = 0; i < COLUMNS; ++i) v[i] = i < width ? from[i * ld] : T(0);
    }
    const int r = t % LARGEST;
#pragma unroll 32
    for (int k = t / LARGEST; k < LARGEST; k += THREADS / LARGEST)
        s.l[r][k] = k < r && r < n ? panel[r + k * ld] : T(0);
#pragma unroll
    for (int i = t / LARGEST; i < COLUMNS; i += THREADS / LARGEST)
        s.b[r][i] = r < n && i < width ? c[first + r + i * ld] : T(0);
    __syncthreads();
    if (t < moves) {
        const i64 to = list[1 + t];
        if (to < first + n) {
#pragma unroll
            for (int i = 0; i < COLUMNS; ++i) s.b[to - first][i] = v[i];
        } else {
#pragma unroll
            for (int i = 0; i < COLUMNS; ++i)
                if (i < width) c[to + i * ld] = v[i];
        }
    }
    __syncthreads();
    const int group = t / 32 % GROUPS, share = t / 32 / GROUPS;
    T* b = &s.b[0][8 * group];
    constexpr int LD = COLUMNS + 2;
#pragma unroll 1
    for (int row = 0; row < n; row += 8) {
        double x[2][2] = {};
        const T* l = s.l[row + g] + part;
#pragma unroll 2
        for (int k = 8 * share; k < row; k += 8 * SHARES)
#pragma unroll
            for (int h = 0; h < 2; ++h)
                mma_8x8x4(x[h][0], x[h][1], (double)l[k + 4 * h],
                          (double)b[(k + 4 * h + part) * LD + g]);
        s.sums[group][share][g][2 * part] = x[0][0] + x[1][0];
        s.sums[group][share][g][2 * part + 1] = x[0][1] + x[1][1];
        __syncthreads();
        if (share == 0 && lane < 8) {
            T y[8], a[8][8];
#pragma unroll
            for (int i = 0; i < 8; ++i) {
                double sum = s.sums[group][0][i][lane];
#pragma unroll
                for (int q = 1; q < SHARES; ++q) sum += s.sums[group][q][i][lane];
                y[i] = (T)((double)b[(row + i) * LD + lane] - sum);
#pragma unroll
                for (int k = 0; k < i; ++k) a[i][k] = s.l[row + i][row + k];
            }
#pragma unroll
            for (int k = 0; k < 8; ++k)
#pragma unroll
                for (int i = k + 1; i < 8; ++i) y[i] -= a[i][k] * y[k];
#pragma unroll
            for (int i = 0; i < 8; ++i) b[(row + i) * LD + lane] = y[i];
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = t / LARGEST; i < COLUMNS; i += THREADS / LARGEST)
        if (r < n && i < width) c[first + r + i * ld] = s.b[r][i];
}

}  // namespace

// Applies a panel of n <= 128 columns to `count` columns, whose row 0 is at `columns`. `list` has
// the moves of rows from panel_eliminate_cluster. Rows `first` to first + n - 1 become L^-1 times
// the moved rows, with L unit lower triangular at `panel`. Shared memory: `Columns`.
#define ENTRY(T, SUFFIX)                                                                    \
    extern "C" __global__ void __launch_bounds__(THREADS, 1) columns_follow_block_##SUFFIX( \
        int n, const T* panel, i64 ld, i64 first, i64 count, T* columns, const int* list) { \
        follow<T>(n, panel, ld, first, count, columns, list);                               \
    }
ENTRY(double, f64)
ENTRY(float, f32)
