// Products with sparse matrices by rows, relaxation, and the ways to aggregates of rows and back.
//
// A block has some rows, LANES threads to each, and brings their entries to shared memory, STAGED of them at a time, in the order in which they lie: however long rows are, all of
// the matrix is read once and in whole lines. Then the threads of neighbouring rows ask for entries of x that are mostly neighbours. A row's sum is taken in an order that depends on the matrix alone.
#include "common.cuh"

namespace {

constexpr int TOGETHER = 4;  // vectors that a launch has at most
constexpr int THREADS = 256, STAGED = 2048;

struct Stage {
    double values[STAGED];
    int columns[STAGED];
};

// Calls done(row, c, (A x_c)_row) for all rows and vectors.
template <int LANES, int COLUMNS, typename Done>
__device__ __forceinline__ void rows_of(Stage& stage, i64 n, const int* starts, const int* index, const double* values, const double* x, int columns,
                                        Done done) {
    constexpr int ROWS = THREADS / LANES, EACH = STAGED / THREADS;
    const i64 top = blockIdx.x * (i64)ROWS, row = top + threadIdx.x / LANES;
    const int lane = threadIdx.x % LANES;
    const int begin = starts[top], end = starts[min(top + ROWS, n)];
    const int own = row < n ? starts[row] : 0, own_end = row < n ? starts[row + 1] : 0;
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
        if (lane == 0 && row < n && c < columns) done(row, c, sum[c]);
    }
}

template <int COLUMNS, typename Done>
__device__ __forceinline__ void products(int lanes, i64 n, const int* starts, const int* index, const double* values, const double* x, int columns,
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

// out <- b - A x, or A x where b is null.
template <int COLUMNS>
__device__ __forceinline__ void residual(int lanes, i64 n, const int* starts, const int* index, const double* values, const double* b, const double* x,
                                         double* out, int columns) {
    products<COLUMNS>(lanes, n, starts, index, values, x, columns, [&](i64 row, int c, double product) {
        const i64 at = row + c * n;
        out[at] = b == nullptr ? product : b[at] - product;
    });
}

// p <- momentum p + rate D^-1 (b - A x), out <- x + p.
template <int COLUMNS>
__device__ __forceinline__ void relax(int lanes, i64 n, const int* starts, const int* index, const double* values, const double* diagonal, const double* b,
                                      const double* x, double rate, double momentum, double* step, double* out, int columns) {
    products<COLUMNS>(lanes, n, starts, index, values, x, columns, [&](i64 row, int c, double product) {
        const i64 at = row + c * n;
        const double before = momentum == 0 ? 0 : momentum * step[at];
        const double moved = fma(rate / diagonal[row], b[at] - product, before);
        step[at] = moved;
        out[at] = x[at] + moved;
    });
}

}  // namespace

// Of `lanes` threads to a row, and of one vector, or of up to four. What reads memory as fast as it comes is many blocks at once: so few registers are there for a thread.
#define PRODUCTS(SUFFIX, COLUMNS, BLOCKS)                                                                                                             \
    extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)                                                                                     \
        sparse_residual_##SUFFIX(int lanes, i64 n, const int* starts, const int* index, const double* values, const double* b, const double* x,       \
                                 double* out, int columns) {                                                                                          \
        residual<COLUMNS>(lanes, n, starts, index, values, b, x, out, columns);                                                                       \
    }                                                                                                                                                 \
    extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)                                                                                     \
        sparse_relax_##SUFFIX(int lanes, i64 n, const int* starts, const int* index, const double* values, const double* diagonal, const double* b,   \
                              const double* x, double rate, double momentum, double* step, double* out, int columns) {                                \
        relax<COLUMNS>(lanes, n, starts, index, values, diagonal, b, x, rate, momentum, step, out, columns);                                          \
    }

PRODUCTS(single, 1, 5)
PRODUCTS(several, TOGETHER, 3)

// The same of x = 0 and p = 0.
extern "C" __global__ void __launch_bounds__(THREADS)
    sparse_relax_zero_plain(i64 n, const double* diagonal, const double* b, double rate, double* step, double* out, int columns) {
    for (i64 row = blockIdx.x * (i64)blockDim.x + threadIdx.x; row < n; row += (i64)gridDim.x * blockDim.x) {
        const double scale = rate / diagonal[row];
        for (int c = 0; c < columns; ++c) {
            const i64 at = row + c * n;
            step[at] = out[at] = scale * b[at];
        }
    }
}

// out <- P' x, a thread to an aggregate.
extern "C" __global__ void __launch_bounds__(THREADS)
    sparse_restrict_plain(i64 n, i64 count, const int* starts, const int* members, const double* x, double* out, int columns) {
    for (i64 k = blockIdx.x * (i64)blockDim.x + threadIdx.x; k < count; k += (i64)gridDim.x * blockDim.x) {
        double sum[TOGETHER] = {};
#pragma unroll 4
        for (int m = starts[k]; m < starts[k + 1]; ++m) {
            const double* place = x + members[m];
#pragma unroll
            for (int c = 0; c < TOGETHER; ++c)
                if (c < columns) sum[c] += place[c * n];
        }
#pragma unroll
        for (int c = 0; c < TOGETHER; ++c)
            if (c < columns) out[k + c * count] = sum[c];
    }
}

// out <- out + P x.
extern "C" __global__ void __launch_bounds__(THREADS)
    sparse_prolong_plain(i64 n, i64 count, const int* aggregate, const double* x, double* out, int columns) {
    for (i64 row = blockIdx.x * (i64)blockDim.x + threadIdx.x; row < n; row += (i64)gridDim.x * blockDim.x) {
        const int k = aggregate[row];
        if (k < 0) continue;
        for (int c = 0; c < columns; ++c) out[row + c * n] += x[k + c * count];
    }
}
