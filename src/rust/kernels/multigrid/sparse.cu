// arch: sm_60
// Products with sparse matrices by rows, relaxation, and transfers between rows and aggregates.
//
// A block has some rows, with LANES threads each. It reads their entries to shared memory in
// storage order, STAGED at a time. However long rows are, the matrix is read once and in whole
// cache lines. The threads of neighbouring rows then read entries of x that are mostly neighbours.
// The order of a row's sum depends on the matrix only.
#include "common.cuh"

namespace {

constexpr int TOGETHER = 4;  // most vectors of a launch
constexpr int THREADS = 256, STAGED = 2048;

struct Stage {
    double values[STAGED];
    int columns[STAGED];
};

// Longer rows, and aggregates with more rows, go to separate kernels or to whole blocks. Products
// of one vector take rows of every length, since a test would cost registers; matrices with long
// rows do not use them.
constexpr int LONG = 4096, MANY = 512;

// The sums over the threads of a block, which all threads may read until the next call.
__device__ __forceinline__ void block_sum(double (&sum)[TOGETHER]) {
    __shared__ double sums[32][TOGETHER];
    __syncthreads();
#pragma unroll
    for (int c = 0; c < TOGETHER; ++c) {
        const double t = warp_sum(sum[c]);
        if ((threadIdx.x & 31) == 0) sums[threadIdx.x >> 5][c] = t;
    }
    __syncthreads();
#pragma unroll
    for (int c = 0; c < TOGETHER; ++c) {
        sum[c] = 0;
        for (int w = 0; w < (int)(blockDim.x >> 5); ++w) sum[c] += sums[w][c];
    }
}

// Calls done(row, c, (A x_c)_row) for all rows and vectors.
template <int LANES, int COLUMNS, typename Done>
__device__ __forceinline__ void rows_of(Stage& stage, i64 n, const int* starts, const int* index,
                                        const double* values, const double* x, int columns,
                                        Done done) {
    constexpr int ROWS = THREADS / LANES, EACH = STAGED / THREADS;
    const i64 top = blockIdx.x * (i64)ROWS, row = top + threadIdx.x / LANES;
    const int lane = threadIdx.x % LANES;
    const int begin = starts[top], end = starts[min(top + ROWS, n)];
    const int own = row < n ? starts[row] : 0;
    int own_end = row < n ? starts[row + 1] : 0;
    if (COLUMNS > 1 && own_end - own > LONG) own_end = own;
    double sum[COLUMNS] = {};
    for (int first = begin; first < end; first += STAGED) {
        const int count = min(STAGED, end - first);
        double v[EACH];
        int at[EACH];
#pragma unroll
        for (int k = 0; k < EACH; ++k) {
            const int e = k * THREADS + threadIdx.x;
            if (e < count) v[k] = values[first + e], at[k] = index[first + e];
        }
        if (first > begin) __syncthreads();
#pragma unroll
        for (int k = 0; k < EACH; ++k) {
            const int e = k * THREADS + threadIdx.x;
            if (e < count) stage.values[e] = v[k], stage.columns[e] = at[k];
        }
        __syncthreads();
        const int from = max(own, first) - first, to = min(own_end, first + count) - first;
#pragma unroll 4
        for (int e = from + lane; e < to; e += LANES) {
            const double value = stage.values[e];
            const double* place = x + stage.columns[e];
#pragma unroll
            for (int c = 0; c < COLUMNS; ++c)
                if (COLUMNS == 1 || c < columns) sum[c] = fma(value, place[c * n], sum[c]);
        }
    }
#pragma unroll
    for (int c = 0; c < COLUMNS; ++c) {
#pragma unroll
        for (int d = LANES / 2; d > 0; d >>= 1) sum[c] += __shfl_xor_sync(0xffffffffu, sum[c], d);
        if (lane == 0 && row < n && c < columns &&
            (COLUMNS == 1 || starts[row + 1] - starts[row] <= LONG))
            done(row, c, sum[c]);
    }
}

template <int COLUMNS, typename Done>
__device__ __forceinline__ void products(int lanes, i64 n, const int* starts, const int* index,
                                         const double* values, const double* x, int columns,
                                         Done done) {
    __shared__ Stage stage;
    switch (lanes) {
        case 1: return rows_of<1, COLUMNS>(stage, n, starts, index, values, x, columns, done);
        case 2: return rows_of<2, COLUMNS>(stage, n, starts, index, values, x, columns, done);
        case 4: return rows_of<4, COLUMNS>(stage, n, starts, index, values, x, columns, done);
        case 8: return rows_of<8, COLUMNS>(stage, n, starts, index, values, x, columns, done);
        case 16: return rows_of<16, COLUMNS>(stage, n, starts, index, values, x, columns, done);
        default: return rows_of<32, COLUMNS>(stage, n, starts, index, values, x, columns, done);
    }
}

// Calls `done` for the long rows, one block each.
template <typename Done>
__device__ __forceinline__ void long_rows(const int* rows, i64 n, const int* starts,
                                          const int* index, const double* values, const double* x,
                                          int columns, Done done) {
    const i64 row = rows[blockIdx.x];
    double sum[TOGETHER] = {};
    for (int e = starts[row] + threadIdx.x; e < starts[row + 1]; e += blockDim.x) {
        const double value = values[e];
        const double* place = x + index[e];
#pragma unroll
        for (int c = 0; c < TOGETHER; ++c)
            if (c < columns) sum[c] = fma(value, place[c * n], sum[c]);
    }
    block_sum(sum);
    if (threadIdx.x == 0)
        for (int c = 0; c < columns; ++c) done(row, c, sum[c]);
}

// out <- b - A x, or A x if b is null.
struct Residual {
    i64 n;
    const double* b;
    double* out;
    __device__ __forceinline__ void operator()(i64 row, int c, double product) const {
        const i64 at = row + c * n;
        out[at] = b == nullptr ? product : b[at] - product;
    }
};

// p <- momentum p + rate D^-1 (b - A x), out <- x + p.
struct Relax {
    i64 n;
    const double *diagonal, *b, *x;
    double rate, momentum;
    double *step, *out;
    __device__ __forceinline__ void operator()(i64 row, int c, double product) const {
        const i64 at = row + c * n;
        const double before = momentum == 0 ? 0 : momentum * step[at];
        const double moved = fma(rate / diagonal[row], b[at] - product, before);
        step[at] = moved;
        out[at] = x[at] + moved;
    }
};

}  // namespace

// With `lanes` threads per row, for one vector or at most four. Many resident blocks keep the
// memory busy, hence the limits on registers.
#define PRODUCTS(SUFFIX, COLUMNS, BLOCKS)                                                       \
    extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) sparse_residual_##SUFFIX(     \
        int lanes, i64 n, const int* starts, const int* index, const double* values,            \
        const double* b, const double* x, double* out, int columns) {                           \
        products<COLUMNS>(lanes, n, starts, index, values, x, columns, Residual{n, b, out});    \
    }                                                                                           \
    extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) sparse_relax_##SUFFIX(        \
        int lanes, i64 n, const int* starts, const int* index, const double* values,            \
        const double* diagonal, const double* b, const double* x, double rate, double momentum, \
        double* step, double* out, int columns) {                                               \
        products<COLUMNS>(lanes, n, starts, index, values, x, columns,                          \
                          Relax{n, diagonal, b, x, rate, momentum, step, out});                 \
    }

PRODUCTS(single, 1, 5)
PRODUCTS(several, TOGETHER, 3)

extern "C" __global__ void __launch_bounds__(1024)
    sparse_residual_long(const int* rows, i64 n, const int* starts, const int* index,
                         const double* values, const double* b, const double* x, double* out,
                         int columns) {
    long_rows(rows, n, starts, index, values, x, columns, Residual{n, b, out});
}

extern "C" __global__ void __launch_bounds__(1024)
    sparse_relax_long(const int* rows, i64 n, const int* starts, const int* index,
                      const double* values, const double* diagonal, const double* b,
                      const double* x, double rate, double momentum, double* step, double* out,
                      int columns) {
    long_rows(rows, n, starts, index, values, x, columns,
              Relax{n, diagonal, b, x, rate, momentum, step, out});
}

// Relaxation with x = 0 and p = 0.
extern "C" __global__ void __launch_bounds__(THREADS)
    sparse_relax_zero_plain(i64 n, const double* diagonal, const double* b, double rate,
                            double* step, double* out, int columns) {
    for (i64 row = blockIdx.x * (i64)blockDim.x + threadIdx.x; row < n;
         row += (i64)gridDim.x * blockDim.x) {
        const double scale = rate / diagonal[row];
        for (int c = 0; c < columns; ++c) {
            const i64 at = row + c * n;
            step[at] = out[at] = scale * b[at];
        }
    }
}

// out <- P' x, one thread per aggregate, and one block per aggregate of many rows.
extern "C" __global__ void __launch_bounds__(THREADS)
    sparse_restrict_plain(i64 n, i64 count, const int* starts, const int* members, const double* x,
                          double* out, int columns) {
    __shared__ int found, larger[THREADS];
    for (i64 top = blockIdx.x * (i64)THREADS; top < count; top += (i64)gridDim.x * THREADS) {
        __syncthreads();
        if (threadIdx.x == 0) found = 0;
        __syncthreads();
        const i64 k = top + threadIdx.x;
        const int first = k < count ? starts[k] : 0, last = k < count ? starts[k + 1] : 0;
        if (last - first > MANY) larger[atomicAdd(&found, 1)] = threadIdx.x;
        double sum[TOGETHER] = {};
#pragma unroll 4
        for (int m = first; m < last && last - first <= MANY; ++m) {
            const double* place = x + members[m];
#pragma unroll
            for (int c = 0; c < TOGETHER; ++c)
                if (c < columns) sum[c] += place[c * n];
        }
        __syncthreads();
        for (int l = 0; l < found; ++l) {
            const i64 here = top + larger[l];
            double part[TOGETHER] = {};
            for (int m = starts[here] + threadIdx.x; m < starts[here + 1]; m += THREADS) {
                const double* place = x + members[m];
#pragma unroll
                for (int c = 0; c < TOGETHER; ++c)
                    if (c < columns) part[c] += place[c * n];
            }
            block_sum(part);
            if (here == k)
                for (int c = 0; c < TOGETHER; ++c) sum[c] = part[c];
        }
        if (k >= count) continue;
#pragma unroll
        for (int c = 0; c < TOGETHER; ++c)
            if (c < columns) out[k + c * count] = sum[c];
    }
}

// out <- out + P x.
extern "C" __global__ void __launch_bounds__(THREADS)
    sparse_prolong_plain(i64 n, i64 count, const int* aggregate, const double* x, double* out,
                         int columns) {
    for (i64 row = blockIdx.x * (i64)blockDim.x + threadIdx.x; row < n;
         row += (i64)gridDim.x * blockDim.x) {
        const int k = aggregate[row];
        if (k < 0) continue;
        for (int c = 0; c < columns; ++c) out[row + c * n] += x[k + c * count];
    }
}
