// arch: sm_60
// Copies of a matrix, or of one of its triangles, between single and double precision.
#include "common.cuh"

namespace {

constexpr int THREADS = 256;
// Columns of a block, whose threads have one row each. A thread has this many loads in flight.
constexpr int COLUMNS = 8;

// The part that is copied, numbered as in `gemm_syrk.rs`.
enum Part { FULL = 0, LOWER = 1, UPPER = 2 };

// to(i, j) <- from(i, j), rounded to nearest, for an m x n matrix with contiguous columns, or for a
// part of it. The rest is neither read nor written. Block number b has THREADS rows of COLUMNS
// columns, down the columns first.
template <typename From, typename To>
__device__ __forceinline__ void convert(i64 m, i64 n, int part, const From* from, i64 ldf, To* to,
                                        i64 ldt) {
    const unsigned down = (unsigned)((m + THREADS - 1) / THREADS);
    const i64 i = (i64)(blockIdx.x % down) * THREADS + threadIdx.x,
              first = (i64)(blockIdx.x / down) * COLUMNS;
    From x[COLUMNS];
    bool wanted[COLUMNS];
#pragma unroll
    for (int c = 0; c < COLUMNS; ++c) {
        const i64 j = first + c;
        wanted[c] = i < m && j < n && !(part == LOWER && i < j) && !(part == UPPER && i > j);
        if (wanted[c]) x[c] = from[i + j * ldf];
    }
#pragma unroll
    for (int c = 0; c < COLUMNS; ++c)
        if (wanted[c]) to[i + (first + c) * ldt] = (To)x[c];
}

}  // namespace

extern "C" __global__ void __launch_bounds__(THREADS)
    matrix_widen_part(i64 m, i64 n, int part, const float* from, i64 ldf, double* to, i64 ldt,
                      const int* stop) {
    if (stopped(stop)) return;
    convert(m, n, part, from, ldf, to, ldt);
}

extern "C" __global__ void __launch_bounds__(THREADS)
    matrix_narrow_part(i64 m, i64 n, int part, const double* from, i64 ldf, float* to, i64 ldt,
                       const int* stop) {
    if (stopped(stop)) return;
    convert(m, n, part, from, ldf, to, ldt);
}
