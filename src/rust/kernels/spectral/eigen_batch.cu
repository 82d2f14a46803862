// arch: sm_60
// Eigenvalues and eigenvectors of many small symmetric matrices, in three launches for all of them.
//
// batch_reduce.cuh: A = Q T Q' by a block for each matrix, in its shared memory.
// batch_iterate.cuh: the eigenvalues of T by implicit QL. Operations that need one another take the
// time. So a warp is enough for a matrix, and all matrices run together. Rotations go to memory.
// batch_rotate.cuh: the rotations applied to Q by a block for each matrix, and signs, order and
// check of the vectors.
//
// The largest entry of each matrix should be about one. `facts` has for each matrix A s for a
// vector s of signs, then the trace and the sum of squares of A. `status` is 0 for a matrix whose
// answer is right.
#include "batch_reduce.cuh"
#include "batch_iterate.cuh"
#include "batch_rotate.cuh"

#define INSTANCES(T, SUFFIX)                                                                       \
    extern "C" __global__ void __launch_bounds__(256) batch_reduce_block_##SUFFIX(                 \
        int n, const T* a, T* z, T* diagonal, T* below, T* facts) {                                \
        reduce_matrix<T>(n, a, z, diagonal, below, facts);                                         \
    }                                                                                              \
    extern "C" __global__ void __launch_bounds__(128) batch_iterate_warp_##SUFFIX(                 \
        int n, int count, T* diagonal, const T* below, const T* facts, T allowed, T* values,       \
        int most, Rotation<T>* rotations, int* sweeps, int* status) {                              \
        iterate<T>(n, count, diagonal, below, facts, allowed, values, most, rotations, sweeps,     \
                   status);                                                                        \
    }                                                                                              \
    extern "C" __global__ void __launch_bounds__(256) batch_rotate_block_##SUFFIX(                 \
        int n, const T* diagonal, const T* facts, T allowed, int most,                             \
        const Rotation<T>* rotations, const int* sweeps, T* z, int* status) {                      \
        rotate_matrix<T>(n, diagonal, facts, allowed, most, rotations, sweeps, z, status);         \
    }

INSTANCES(double, f64)
INSTANCES(float, f32)
