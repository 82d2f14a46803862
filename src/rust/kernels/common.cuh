// Words shared by every kernel.
//
// A matrix is a pointer with a stride per dimension: element (i, j) is a[i * rs + j * cs], counted in
// elements. A transpose swaps the strides; a reversal of the order negates them. Strides and sizes
// are 64 bits, so that a matrix may have more than 2^31 elements.
//
// `stop` points to a flag, or is null: once it is set, what follows in the queue has nothing left to do.
//
// No kernel uses floating-point atomics: sums are taken in one fixed order, so that results are the
// same, bit for bit, from run to run.
#pragma once

typedef long long i64;

template <typename T>
struct Limits;

template <>
struct Limits<double> {
    // Powers of two that may scale any finite number so that its square neither overflows nor vanishes.
    static constexpr int scale_limit = 1000;
};

template <>
struct Limits<float> {
    static constexpr int scale_limit = 120;
};

__device__ __forceinline__ bool stopped(const int* stop) { return stop != nullptr && *stop != 0; }

__device__ __forceinline__ double root(double x) { return sqrt(x); }
__device__ __forceinline__ float root(float x) { return sqrtf(x); }
__device__ __forceinline__ double magnitude(double x) { return fabs(x); }
__device__ __forceinline__ float magnitude(float x) { return fabsf(x); }
__device__ __forceinline__ double with_sign(double x, double s) { return copysign(x, s); }
__device__ __forceinline__ float with_sign(float x, float s) { return copysignf(x, s); }
__device__ __forceinline__ int exponent_of(double x) { return ilogb(x); }
__device__ __forceinline__ int exponent_of(float x) { return ilogbf(x); }
__device__ __forceinline__ double power_of_two(double, int e) { return ldexp(1.0, e); }
__device__ __forceinline__ float power_of_two(float, int e) { return ldexpf(1.0f, e); }
__device__ __forceinline__ double larger(double x, double y) { return fmax(x, y); }
__device__ __forceinline__ float larger(float x, float y) { return fmaxf(x, y); }

// The power of two that brings a largest magnitude near 1. Scaling by it is exact. A zero, an infinity or a NaN
// is left as it is.
template <typename T>
__device__ __forceinline__ T scale_for(T largest) {
    if (!(largest > T(0)) || isinf(largest)) return T(1);
    int e = -exponent_of(largest);
    e = e > Limits<T>::scale_limit ? Limits<T>::scale_limit : e;
    e = e < -Limits<T>::scale_limit ? -Limits<T>::scale_limit : e;
    return power_of_two(T(0), e);
}

template <typename T>
__device__ __forceinline__ T warp_sum(T x) {
#pragma unroll
    for (int d = 16; d > 0; d >>= 1) x += __shfl_xor_sync(0xffffffffu, x, d);
    return x;
}

// Ignores NaN, as fmax does.
template <typename T>
__device__ __forceinline__ T warp_max(T x) {
#pragma unroll
    for (int d = 16; d > 0; d >>= 1) x = larger(x, __shfl_xor_sync(0xffffffffu, x, d));
    return x;
}

// Sum over the block, known to every thread. `scratch` holds 32 elements. Every thread must call it.
template <typename T>
__device__ __forceinline__ T block_sum(T x, T* scratch) {
    x = warp_sum(x);
    __syncthreads();
    if ((threadIdx.x & 31) == 0) scratch[threadIdx.x >> 5] = x;
    __syncthreads();
    T total = T(0);
    for (int w = 0; w < (int)(blockDim.x >> 5); ++w) total += scratch[w];
    return total;
}

template <typename T>
__device__ __forceinline__ T block_max(T x, T* scratch) {
    x = warp_max(x);
    __syncthreads();
    if ((threadIdx.x & 31) == 0) scratch[threadIdx.x >> 5] = x;
    __syncthreads();
    T total = scratch[0];
    for (int w = 1; w < (int)(blockDim.x >> 5); ++w) total = larger(total, scratch[w]);
    return total;
}

// A candidate for a largest entry: the greater value wins, then the lower index.
template <typename T>
struct Candidate {
    T value;
    int index;
};

template <typename T>
__device__ __forceinline__ Candidate<T> better(Candidate<T> a, Candidate<T> b) {
    return (b.value > a.value || (b.value == a.value && b.index < a.index)) ? b : a;
}

// The best candidate of the block, known to every thread. Scratch arrays hold 32 elements.
template <typename T>
__device__ __forceinline__ Candidate<T> block_best(Candidate<T> c, T* values, int* indices) {
#pragma unroll
    for (int d = 16; d > 0; d >>= 1) {
        Candidate<T> other;
        other.value = __shfl_xor_sync(0xffffffffu, c.value, d);
        other.index = __shfl_xor_sync(0xffffffffu, c.index, d);
        c = better(c, other);
    }
    __syncthreads();
    if ((threadIdx.x & 31) == 0) {
        values[threadIdx.x >> 5] = c.value;
        indices[threadIdx.x >> 5] = c.index;
    }
    __syncthreads();
    Candidate<T> best = {values[0], indices[0]};
    for (int w = 1; w < (int)(blockDim.x >> 5); ++w) {
        Candidate<T> other = {values[w], indices[w]};
        best = better(best, other);
    }
    return best;
}
