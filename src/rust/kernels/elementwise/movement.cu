// arch: sm_60
// Transposes, diagonals, and submatrices of contiguous matrices by lists of rows and columns.
#include "common.cuh"

namespace {

// Row and column of entry e of an m x n matrix, count = m n.
__device__ __forceinline__ void place(i64 e, i64 m, i64 count, i64& i, i64& j) {
    if (count < (i64(1) << 32)) {
        j = (unsigned)e / (unsigned)m;
    } else {
        j = e / m;
    }
    i = e - j * m;
}

// Entry k of a list, or first + k without a list. Negative: no such row or column.
__device__ __forceinline__ i64 listed(const int* list, i64 first, i64 k) {
    return list == nullptr ? first + k : (i64)list[k];
}

// out <- A' for an m x n A, by tiles of 32 x 32, with 256 threads.
template <typename T>
__device__ __forceinline__ void matrix_transpose(i64 m, i64 n, const T* a, T* out) {
    __shared__ T tile[32][33];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const i64 down = (m + 31) / 32, tiles = down * ((n + 31) / 32);
    for (i64 t = blockIdx.x; t < tiles; t += gridDim.x) {
        const i64 i = t % down * 32, j = t / down * 32;
        for (int k = warp; k < 32; k += 8)
            if (i + lane < m && j + k < n) tile[k][lane] = a[i + lane + (j + k) * m];
        __syncthreads();
        for (int k = warp; k < 32; k += 8)
            if (j + lane < n && i + k < m) out[j + lane + (i + k) * n] = tile[lane][k];
        __syncthreads();
    }
}

// A[i, i] <- values[i], or values[0] if `of` is 1.
template <typename T>
__device__ __forceinline__ void diagonal_set(i64 k, const T* values, i64 of, T* a, i64 ld) {
    const i64 i = blockIdx.x * (i64)blockDim.x + threadIdx.x;
    if (i < k) a[i + i * ld] = values[of == 1 ? 0 : i];
}

// out[i, j] <- A[rows(i), cols(j)], or `missing`, for an m x n result.
template <typename T>
__device__ __forceinline__ void part_gather(i64 m, i64 n, const int* rows, i64 row, const int* cols,
                                            i64 col, T missing, const T* a, i64 lda, T* out) {
    const i64 count = m * n;
    for (i64 e = blockIdx.x * (i64)blockDim.x + threadIdx.x; e < count;
         e += (i64)gridDim.x * blockDim.x) {
        i64 i, j;
        place(e, m, count, i, j);
        const i64 r = listed(rows, row, i), c = listed(cols, col, j);
        out[e] = r < 0 || c < 0 ? missing : a[r + c * lda];
    }
}

// A[rows(i), cols(j)] <- b[i, j] for an m x n B of `of` entries: all, fewer that are recycled, or
// none for a single number.
template <typename T>
__device__ __forceinline__ void part_scatter(i64 m, i64 n, const int* rows, i64 row,
                                             const int* cols, i64 col, const T* b, i64 of, T number,
                                             T* a, i64 lda) {
    const i64 count = m * n;
    for (i64 e = blockIdx.x * (i64)blockDim.x + threadIdx.x; e < count;
         e += (i64)gridDim.x * blockDim.x) {
        i64 i, j;
        place(e, m, count, i, j);
        const i64 r = listed(rows, row, i), c = listed(cols, col, j);
        if (r < 0 || c < 0) continue;
        a[r + c * lda] = of == 0 ? number
                                 : b[of == count              ? e
                                     : count < (i64(1) << 32) ? (unsigned)e % (unsigned)of
                                                              : e % of];
    }
}

}  // namespace

#define INSTANCES(T, SUFFIX)                                                                     \
    extern "C" __global__ void __launch_bounds__(256)                                            \
        matrix_transpose_tiled_##SUFFIX(i64 m, i64 n, const T* a, T* out) {                      \
        matrix_transpose<T>(m, n, a, out);                                                       \
    }                                                                                            \
    extern "C" __global__ void diagonal_set_plain_##SUFFIX(i64 k, const T* values, i64 of, T* a, \
                                                           i64 ld) {                             \
        diagonal_set<T>(k, values, of, a, ld);                                                   \
    }                                                                                            \
    extern "C" __global__ void part_gather_indexed_##SUFFIX(                                     \
        i64 m, i64 n, const int* rows, i64 row, const int* cols, i64 col, T missing, const T* a, \
        i64 lda, T* out) {                                                                       \
        part_gather<T>(m, n, rows, row, cols, col, missing, a, lda, out);                        \
    }                                                                                            \
    extern "C" __global__ void part_scatter_indexed_##SUFFIX(                                    \
        i64 m, i64 n, const int* rows, i64 row, const int* cols, i64 col, const T* b, i64 of,    \
        T number, T* a, i64 lda) {                                                               \
        part_scatter<T>(m, n, rows, row, cols, col, b, of, number, a, lda);                      \
    }

INSTANCES(double, f64)
INSTANCES(float, f32)
