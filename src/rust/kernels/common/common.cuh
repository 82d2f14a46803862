// Definitions for every kernel.
//
// A matrix is a pointer with a stride per dimension: element (i, j) is a[i * rs + j * cs]. Strides
// count elements. A transpose swaps the strides; a reversal of the order negates them. Strides and
// sizes have 64 bits, so that a matrix may have more than 2^31 elements.
//
// `stop` is null or points to a flag. Once the flag is set, later kernels in the queue do nothing.
//
// No kernel changes a floating-point number atomically. Sums have one fixed order, so that results
// are equal bit for bit from run to run.
#pragma once

typedef long long i64;

__device__ __forceinline__ bool stopped(const int* stop) { return stop != nullptr && *stop != 0; }

__device__ __forceinline__ double root(double x) { return sqrt(x); }
__device__ __forceinline__ float root(float x) { return sqrtf(x); }
__device__ __forceinline__ double magnitude(double x) { return fabs(x); }
__device__ __forceinline__ float magnitude(float x) { return fabsf(x); }
__device__ __forceinline__ double with_sign(double x, double s) { return copysign(x, s); }
__device__ __forceinline__ float with_sign(float x, float s) { return copysignf(x, s); }
__device__ __forceinline__ double larger(double x, double y) { return fmax(x, y); }
__device__ __forceinline__ float larger(float x, float y) { return fmaxf(x, y); }

// The power of two that scales the largest magnitude to about 1, within 2^+-1022 (2^+-126): it and
// its inverse are normal numbers. The square of a scaled number neither overflows nor underflows to
// zero, and its product with another number is at most four times that one. Scaling is exact. The
// scale of zero, infinity and NaN is 1.
__device__ __forceinline__ double scale_for(double largest) {
    const int field = (__double2hiint(largest) >> 20) & 0x7ff;
    if (!(largest > 0) || field == 0x7ff) return 1;
    const int e = min(max(1023 - field, -1022), 1022);
    return __hiloint2double((1023 + e) << 20, 0);
}
__device__ __forceinline__ float scale_for(float largest) {
    const int field = (__float_as_int(largest) >> 23) & 0xff;
    if (!(largest > 0) || field == 0xff) return 1;
    const int e = min(max(127 - field, -126), 126);
    return __int_as_float((127 + e) << 23);
}

// 1 / g for a power of two g from `scale_for`.
__device__ __forceinline__ double inverse_scale(double g) {
    return __hiloint2double((2046 << 20) - __double2hiint(g), 0);
}
__device__ __forceinline__ float inverse_scale(float g) {
    return __int_as_float((254 << 23) - __float_as_int(g));
}

// 1 / p, rounded to nearest, for a p far from overflow and underflow: refined from the
// approximation y, or computed from p alone.
__device__ __forceinline__ double refined_reciprocal(double p, double y) {
    const double e = fma(-p, y, 1.0);
    y = fma(y, fma(e, e, e), y);
    return fma(fma(-p, y, 1.0), y, y);
}
__device__ __forceinline__ double rounded_reciprocal(double p) {
    double y;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(p));
    return refined_reciprocal(p, y);
}
__device__ __forceinline__ float rounded_reciprocal(float p) { return __frcp_rn(p); }

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

// The sum over the block, returned to every thread. `scratch` holds 32 elements. Every thread must
// call it.
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

// A candidate for the largest entry: the greater value wins, then the lower index.
template <typename T>
struct Candidate {
    T value;
    int index;
};

template <typename T>
__device__ __forceinline__ Candidate<T> better(Candidate<T> a, Candidate<T> b) {
    return (b.value > a.value || (b.value == a.value && b.index < a.index)) ? b : a;
}

// The best candidate of the block, returned to every thread. Scratch arrays hold 32 elements.
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
