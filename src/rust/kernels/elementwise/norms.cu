// arch: sm_60
// Norms of columns, the diagonal, and copies of rows and columns.
#include "common.cuh"

namespace {

// out[j] <- the sum of magnitudes of column j, in double precision. One block per column.
template <typename T>
__device__ __forceinline__ void columns_sum(i64 m, const T* a, i64 ld, double* out) {
    __shared__ double scratch[32];
    const T* x = a + blockIdx.x * ld;
    double s = 0;
    for (i64 r = threadIdx.x; r < m; r += blockDim.x) s += magnitude(double(x[r]));
    s = block_sum(s, scratch);
    if (threadIdx.x == 0) out[blockIdx.x] = s;
}

// out[j] <- the Euclidean norm of column j, scaled by a power of two against overflow and
// underflow. One block per column.
template <typename T>
__device__ __forceinline__ void columns_norm(i64 m, const T* a, i64 ld, double* out) {
    __shared__ double scratch[32];
    const T* x = a + blockIdx.x * ld;
    double largest = 0;
    for (i64 r = threadIdx.x; r < m; r += blockDim.x)
        largest = larger(largest, magnitude(double(x[r])));
    largest = block_max(largest, scratch);
    const double g = scale_for(largest);
    double s = 0;
    for (i64 r = threadIdx.x; r < m; r += blockDim.x) {
        const double y = double(x[r]) * g;
        s += y * y;
    }
    s = block_sum(s, scratch);
    if (threadIdx.x == 0) out[blockIdx.x] = root(s) * inverse_scale(g);
}

// out[i] <- A(i, i)
template <typename T>
__device__ __forceinline__ void diagonal_copy(i64 k, const T* a, i64 ld, T* out) {
    const i64 i = blockIdx.x * (i64)blockDim.x + threadIdx.x;
    if (i < k) out[i] = a[i + i * ld];
}

// B(i, j) <- A(rows ? index[i] : i, rows ? j : index[j]) for an m x n result.
template <typename T>
__device__ __forceinline__ void lines_gather(i64 m, i64 n, const T* a, i64 lda, const int* index,
                                             int rows, T* b, i64 ldb) {
    const i64 count = m * n;
    for (i64 e = blockIdx.x * (i64)blockDim.x + threadIdx.x; e < count;
         e += (i64)gridDim.x * blockDim.x) {
        const i64 i = e % m, j = e / m;
        b[i + j * ldb] = rows ? a[index[i] + j * lda] : a[i + index[j] * lda];
    }
}

// B <- A, column-major m x n.
template <typename T>
__device__ __forceinline__ void matrix_copy(i64 m, i64 n, const T* a, i64 lda, T* b, i64 ldb) {
    const i64 count = m * n;
    for (i64 e = blockIdx.x * (i64)blockDim.x + threadIdx.x; e < count;
         e += (i64)gridDim.x * blockDim.x) {
        const i64 i = e % m, j = e / m;
        b[i + j * ldb] = a[i + j * lda];
    }
}

}  // namespace

#define INSTANCES(T, SUFFIX)                                                                       \
    extern "C" __global__ void __launch_bounds__(256)                                              \
        columns_sum_magnitudes_##SUFFIX(i64 m, const T* a, i64 ld, double* out) {                  \
        columns_sum<T>(m, a, ld, out);                                                             \
    }                                                                                              \
    extern "C" __global__ void __launch_bounds__(256)                                              \
        columns_norm_scaled_##SUFFIX(i64 m, const T* a, i64 ld, double* out) {                     \
        columns_norm<T>(m, a, ld, out);                                                            \
    }                                                                                              \
    extern "C" __global__ void diagonal_copy_plain_##SUFFIX(i64 k, const T* a, i64 ld, T* out) {   \
        diagonal_copy<T>(k, a, ld, out);                                                           \
    }                                                                                              \
    extern "C" __global__ void lines_gather_indexed_##SUFFIX(                                      \
        i64 m, i64 n, const T* a, i64 lda, const int* index, int rows, T* b, i64 ldb) {            \
        lines_gather<T>(m, n, a, lda, index, rows, b, ldb);                                        \
    }                                                                                              \
    extern "C" __global__ void matrix_copy_plain_##SUFFIX(i64 m, i64 n, const T* a, i64 lda, T* b, \
                                                          i64 ldb) {                               \
        matrix_copy<T>(m, n, a, lda, b, ldb);                                                      \
    }

INSTANCES(double, f64)
INSTANCES(float, f32)
