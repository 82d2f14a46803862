// arch: sm_60
// Cholesky factorization of many matrices of one order by one launch: each on some lanes, on a
// warp, or on a block.
//
// The upper triangle of a column-major matrix is the lower triangle of a row-major one. Hence A = L
// L', and row r of L is at a[r * n]. Entries right of the diagonal are not read and become zero.
// Matrix i begins at a[i * n * n].
//
// Registers hold rows, one or two per lane, from the current column on. A step subtracts the
// contribution of column j and moves the rest down by one, x[k] <- x[k + 1] - ... The same code
// thus serves the eight steps of a segment, and segments differ only in width. Arithmetic of
// diagonal blocks is in double precision for both types, as in cholesky.cu.
//
// `failed` is the complement of (index << 32 | order) for the first matrix with a pivot that is not
// positive, and zero if there is none.
#include "batch_lanes.cuh"
#include "batch_block.cuh"

#define INSTANCES(T, SUFFIX)                                                           \
    extern "C" __global__ void __launch_bounds__(128)                                  \
        batch_factor_lanes8_##SUFFIX(i64 first, i64 last, int n, T* a, u64* failed) {  \
        factor_lanes<T, 8>(first, last, n, a, failed);                                 \
    }                                                                                  \
    extern "C" __global__ void __launch_bounds__(128)                                  \
        batch_factor_lanes16_##SUFFIX(i64 first, i64 last, int n, T* a, u64* failed) { \
        factor_lanes<T, 16>(first, last, n, a, failed);                                \
    }                                                                                  \
    extern "C" __global__ void __launch_bounds__(128)                                  \
        batch_factor_lanes32_##SUFFIX(i64 first, i64 last, int n, T* a, u64* failed) { \
        factor_lanes<T, 32>(first, last, n, a, failed);                                \
    }                                                                                  \
    extern "C" __global__ void __launch_bounds__(32)                                   \
        batch_factor_warp_##SUFFIX(i64 first, int n, T* a, u64* failed) {              \
        factor_warp<T>(first, n, a, failed);                                           \
    }                                                                                  \
    extern "C" __global__ void __launch_bounds__(128, 4)                               \
        batch_factor_block_##SUFFIX(i64 first, int n, T* a, u64* failed) {             \
        factor_block<T>(first, n, a, failed);                                          \
    }

INSTANCES(double, f64)
INSTANCES(float, f32)
