// arch: sm_60
// Diagonal blocks of the Cholesky factorization, and the steps of the factorization with pivoting.
#include "common.cuh"

namespace {

constexpr int BLOCK = 64;
constexpr int SIDE = 16;             // threads along each side of a block
constexpr int SHARE = BLOCK / SIDE;  // a thread's rows and columns of it

// A <- L with A = L L' for the lower triangle of a view of order n <= 64; one block of 256 threads.
//
// The threads hold the block in registers, each with entries 16 apart. Step j publishes column j,
// and every thread subtracts its share of a a' / pivot. At the end columns are scaled by the roots
// of their pivots. A pivot that is not positive (NaN too) sets *info to its 1-based order in the
// whole matrix, where row `first` is row 0 of this view. Arithmetic is in double precision for both
// types: in single precision the many small subtractions from a diagonal entry would cause most of
// the factorization's error.
template <typename T>
__device__ __forceinline__ void cholesky_block(int n, T* a, i64 rs, i64 cs, i64 first, int* info) {
    if (stopped(info)) return;
    __shared__ T s[BLOCK][BLOCK + 1];  // s[j][i] = A(i, j)
    __shared__ double published[2][BLOCK];
    __shared__ double pivots[BLOCK];
    const int t = threadIdx.x;
    const bool by_rows = rs <= cs;
    for (int e = t; e < BLOCK * BLOCK; e += SIDE * SIDE) {
        const int i = by_rows ? e % BLOCK : e / BLOCK;
        const int j = by_rows ? e / BLOCK : e % BLOCK;
        s[j][i] = i < n && j <= i ? a[i * rs + j * cs] : T(0);
    }
    __syncthreads();
    const int row = t % SIDE, col = t / SIDE;
    double x[SHARE][SHARE];
#pragma unroll
    for (int p = 0; p < SHARE; ++p)
#pragma unroll
        for (int q = 0; q < SHARE; ++q) x[p][q] = s[col + SIDE * q][row + SIDE * p];
#pragma unroll
    for (int share = 0; share < SHARE; ++share) {
        for (int owner = 0; owner < SIDE; ++owner) {
            const int j = share * SIDE + owner;
            if (j >= n) break;
            double* column = published[j & 1];
            if (col == owner)
#pragma unroll
                for (int p = 0; p < SHARE; ++p) column[row + SIDE * p] = x[p][share];
            __syncthreads();
            const double pivot = column[j];
            if (!(pivot > 0)) {
                if (t == 0) *info = (int)(first + j + 1);
                return;
            }
            if (t == 0) pivots[j] = pivot;
            const double inverse = 1 / pivot;
            double mine[SHARE];
#pragma unroll
            for (int q = 0; q < SHARE; ++q) mine[q] = column[col + SIDE * q] * inverse;
            // The inverse of a subnormal pivot may overflow.
            if (isinf(inverse))
#pragma unroll
                for (int q = 0; q < SHARE; ++q) mine[q] = column[col + SIDE * q] / pivot;
#pragma unroll
            for (int p = 0; p < SHARE; ++p) {
                const double l = column[row + SIDE * p];
#pragma unroll
                for (int q = 0; q < SHARE; ++q)
                    if (q > share || (q == share && col > owner)) x[p][q] -= l * mine[q];
            }
        }
    }
    __syncthreads();
#pragma unroll
    for (int q = 0; q < SHARE; ++q) {
        const int j = col + SIDE * q;
        const double d = j < n ? root(pivots[j]) : 1;
#pragma unroll
        for (int p = 0; p < SHARE; ++p)
            s[j][row + SIDE * p] = (T)(row + SIDE * p == j ? d : x[p][q] / d);
    }
    __syncthreads();
    for (int e = t; e < BLOCK * BLOCK; e += SIDE * SIDE) {
        const int i = by_rows ? e % BLOCK : e / BLOCK;
        const int j = by_rows ? e / BLOCK : e % BLOCK;
        if (i < n && j <= i) a[i * rs + j * cs] = s[j][i];
    }
}

// The state of the factorization with pivoting, from column to column.
struct PivotState {
    int stop;   // set when no acceptable pivot is left
    int rank;   // valid once stop is set
    int pivot;  // position chosen for the current column
    int unused;
    double tol;
};

// Chooses the pivot of column j of the upper factor among the diagonal entries minus the
// contributions `taken` of the current panel's rows. It exchanges the bookkeeping and writes the
// diagonal of U. The first column takes the first largest entry, and is refused if that is not
// positive. Later columns ignore NaN unless nothing else remains, and are refused at or below the
// tolerance. A refused first column leaves the matrix unchanged. One block.
template <typename T>
__device__ __forceinline__ void pivot_choose(i64 n, i64 j, double tol, double relative, T* a,
                                             i64 ld, T* taken, int* order, PivotState* state) {
    if (state->stop) return;
    __shared__ T values[32];
    __shared__ int indices[32];
    Candidate<T> c = {-T(__int_as_float(0x7f800000)), 0x7fffffff};
    for (i64 i = j + threadIdx.x; i < n; i += blockDim.x) {
        T v = a[i + i * ld] - taken[i];
        if (v == v) c = better(c, Candidate<T>{v, (int)i});
    }
    c = block_best(c, values, indices);
    if (threadIdx.x != 0) return;
    const T own = a[j + j * ld] - taken[j];
    if (c.index == 0x7fffffff || (j == 0 && own != own)) c = Candidate<T>{own, (int)j};
    if (j == 0) state->tol = tol < 0 ? relative * (double)c.value : tol;
    const bool refused =
        c.value != c.value || (j == 0 ? c.value <= T(0) : (double)c.value <= state->tol);
    if (refused) {
        if (j > 0) a[j + j * ld] = c.value;
        state->rank = (int)j;
        state->stop = 1;
        return;
    }
    const int p = c.index;
    state->pivot = p;
    if (p != j) {
        a[p + p * ld] = a[j + j * ld];
        taken[p] = taken[j];
        const int o = order[p];
        order[p] = order[j];
        order[j] = o;
    }
    a[j + j * ld] = root(c.value);
}

// Exchanges rows and columns j and p of a symmetric matrix stored in its upper triangle, except the
// diagonal.
template <typename T>
__device__ __forceinline__ void pivot_exchange(i64 n, i64 j, T* a, i64 ld,
                                               const PivotState* state) {
    if (state->stop) return;
    const i64 p = state->pivot;
    if (p == j) return;
    for (i64 i = blockIdx.x * (i64)blockDim.x + threadIdx.x; i < n;
         i += (i64)gridDim.x * blockDim.x) {
        if (i == j || i == p) continue;
        T* x = i < j ? a + i + j * ld : a + j + i * ld;
        T* y = i < p ? a + i + p * ld : a + p + i * ld;
        const T v = *x;
        *x = *y;
        *y = v;
    }
}

// Row j of U right of the diagonal, after subtracting rows of the panel that starts at `panel`. One
// warp per column.
template <typename T>
__device__ __forceinline__ void pivot_row(i64 n, i64 panel, i64 j, T* a, i64 ld, T* taken,
                                          const PivotState* state) {
    if (state->stop) return;
    const int lane = threadIdx.x & 31;
    const i64 c = j + 1 + (blockIdx.x * (i64)blockDim.x + threadIdx.x) / 32;
    if (c >= n) return;
    T s = T(0);
    for (i64 r = panel + lane; r < j; r += 32) s += a[r + c * ld] * a[r + j * ld];
    s = warp_sum(s);
    if (lane == 0) {
        const T u = (a[j + c * ld] - s) / a[j + j * ld];
        a[j + c * ld] = u;
        taken[c] += u * u;
    }
}

}  // namespace

#define INSTANCES(T, SUFFIX)                                                                   \
    extern "C" __global__ void __launch_bounds__(256)                                          \
        cholesky_factor_block_##SUFFIX(int n, T* a, i64 rs, i64 cs, i64 first, int* info) {    \
        cholesky_block<T>(n, a, rs, cs, first, info);                                          \
    }                                                                                          \
    extern "C" __global__ void __launch_bounds__(1024)                                         \
        pivot_choose_first_##SUFFIX(i64 n, i64 j, double tol, double relative, T* a, i64 ld,   \
                                    T* taken, int* order, void* state) {                       \
        pivot_choose<T>(n, j, tol, relative, a, ld, taken, order,                              \
                        static_cast<PivotState*>(state));                                      \
    }                                                                                          \
    extern "C" __global__ void pivot_exchange_symmetric_##SUFFIX(i64 n, i64 j, T* a, i64 ld,   \
                                                                 const void* state) {          \
        pivot_exchange<T>(n, j, a, ld, static_cast<const PivotState*>(state));                 \
    }                                                                                          \
    extern "C" __global__ void pivot_row_warps_##SUFFIX(i64 n, i64 panel, i64 j, T* a, i64 ld, \
                                                        T* taken, const void* state) {         \
        pivot_row<T>(n, panel, j, a, ld, taken, static_cast<const PivotState*>(state));        \
    }

INSTANCES(double, f64)
INSTANCES(float, f32)
