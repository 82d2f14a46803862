// Loading and Cholesky factorization of a small Gram matrix by one block. See qr_panel.cu.
#pragma once
#include "eliminate.cuh"

namespace {

constexpr int LD = 128;  // of all small matrices

// The largest distance of Q1'Q1 from the identity, in the Frobenius norm, squared.
constexpr double FAR = 1.0 / 256;

template <typename T>
struct Limits;
template <>
struct Limits<double> {
    static constexpr double eps = 2.220446049250313e-16;
    // Below this size the products of entries of I - Q1'Q1, 128 of them, are less than a rounding
    // error.
    static constexpr double small = 2.3283064365386963e-10;
};
template <>
struct Limits<float> {
    static constexpr float eps = 1.1920929e-7f;
    static constexpr float small = 3.8146973e-6f;
};

template <typename T>
__device__ __forceinline__ T* shared_memory() {
    extern __shared__ __align__(16) unsigned char memory[];
    return reinterpret_cast<T*>(memory);
}

// Order n, rounded up to a multiple of SIDE.
__device__ __forceinline__ int padded(int n) {
    return (n + eliminate::SIDE - 1) / eliminate::SIDE * eliminate::SIDE;
}

// How the threads of an eliminating block read a matrix: one row each, every fourth column, in
// batches of loads that are in flight together.
constexpr int ROWS = eliminate::LARGEST, APART = eliminate::THREADS / ROWS, BATCH = 16;

__device__ __forceinline__ int my_row() { return threadIdx.x % ROWS; }
__device__ __forceinline__ int my_column() { return threadIdx.x / ROWS; }

// W <- a matrix of order n, padded with the identity. The block meets.
template <typename T, typename W>
__device__ __forceinline__ void load_square(const W& w, int n, const T* a, i64 ld) {
    const int i = my_row();
    for (int first = my_column(); first < w.size; first += APART * BATCH) {
        T x[BATCH];
#pragma unroll
        for (int q = 0; q < BATCH; ++q) {
            const int j = first + APART * q;
            x[q] = i < n && j < n ? a[i + j * ld] : (i == j ? T(1) : T(0));
        }
#pragma unroll
        for (int q = 0; q < BATCH; ++q)
            if (i < w.size && first + APART * q < w.size) w.at(i, first + APART * q) = x[q];
    }
    __syncthreads();
}

// R <- chol(G), upper, with zeros below it, from the elimination of the loaded G. Returns false to
// all threads if it does not exist. `scales`: room for n numbers. The block meets.
template <typename T>
__device__ __forceinline__ bool root_of(const eliminate::Elimination<T, false>& w, T* r,
                                        T* scales) {
    w.run();
    if (*w.refused) return false;
    for (int k = threadIdx.x; k < w.size; k += eliminate::THREADS)
        scales[k] = T(1) / root(w.at(k, k));
    __syncthreads();
    const int i = my_row();
#pragma unroll 4
    for (int j = my_column(); j < w.size; j += APART)
        if (i < w.size) r[i + j * LD] = i <= j ? w.at(i, j) * scales[i] : T(0);
    __syncthreads();
    return true;
}

}  // namespace
