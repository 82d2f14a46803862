// Eigenvalues of a small tridiagonal matrix by a warp, implicit QL with Wilkinson's shift. See
// eigen_batch.cu.
//
// Lane 0 computes the rotations, each of which needs the one before it. All lanes look for entries
// to drop.
#pragma once
#include "block_memory.cuh"
#include "reflection.cuh"

namespace {

// Sweeps of QL, at most. Two for each row are usual, and the last rows of a singular matrix can
// take 50. A matrix that needs more counts as failed.
__device__ __forceinline__ int most_sweeps(int n) { return 4 * n + 64; }
// Numbers that a sweep has in `sweeps`: its first row, its last row, and its first rotation.
constexpr int SWEEP = 3;
// Numbers of a matrix in `sweeps`: how many there are, and each of them.
__device__ __forceinline__ i64 sweeps_stride(int n) { return 1 + SWEEP * most_sweeps(n); }

template <typename T>
struct alignas(2 * sizeof(T)) Rotation {
    T cosine, sine;
};

__device__ __forceinline__ double roundoff(double) { return 1.1102230246251565e-16; }
__device__ __forceinline__ float roundoff(float) { return 5.9604644775390625e-8f; }

// Whether the square of x is so small that it may count as zero.
__device__ __forceinline__ bool is_tiny(double x) {
    // The upper word of 1e-140: a comparison of integers takes less time.
    return (__double2hiint(x) & 0x7fffffff) < 0x22de7c5f;
}
__device__ __forceinline__ bool is_tiny(float x) { return fabsf(x) < 1e-16f; }

// sqrt(x^2 + y^2) for numbers whose squares may underflow together.
template <typename T>
__device__ __forceinline__ T safe_length(T x, T y) {
    const T a = magnitude(x), b = magnitude(y);
    const T large = larger(a, b), small = a < b ? a : b;
    if (large == T(0)) return T(0);
    const T ratio = small / large;
    return large * root(T(1) + ratio * ratio);
}

// The first row from l on whose entry to the next row is negligible; n - 1 if none is.
template <typename T>
__device__ __forceinline__ int find_end(int l, int n, const T* d, const T* e) {
    const int lane = threadIdx.x & 31;
    for (int base = l;; base += 32) {
        const int i = base + lane;
        bool ends = i >= n - 1;
        if (!ends) {
            const T near = magnitude(d[i]) + magnitude(d[i + 1]);
            ends = magnitude(e[i]) <= roundoff(T(0)) * larger(near, T(0.001));
        }
        const unsigned found = __ballot_sync(0xffffffffu, ends);
        if (found) return base + __ffs((int)found) - 1;
    }
}

// One step on rows l .. m, which do not split. Rotation of columns i and i + 1 for i = m - 1 down
// to the returned row, one after the other at `out` if it is not null. For one thread.
//
// The next rotation waits for g alone. What multiplies 1 / r is ready before it.
template <typename T>
__device__ __forceinline__ int ql_sweep(int l, int m, T* d, T* e, Rotation<T>* out) {
    T next = d[m], near = d[m - 1], off = e[m - 1];
    const T half = (d[l + 1] - d[l]) / (T(2) * e[l]);
    T g = next - d[l] + e[l] / (half + with_sign(safe_length(half, T(1)), half));
    T sine = T(1), cosine = T(1), shift = T(0);
    for (int i = m - 1; i >= l; --i) {
        const T here = near, f = sine * off, b = cosine * off;
        // For the next turn: nothing writes there.
        const int ahead = i > l ? i - 1 : l;
        near = d[ahead];
        off = e[ahead];
        const T moved = next - shift;
        T r, w;
        if (__builtin_expect(!is_tiny(f), 1)) {
            const T square = f * f + g * g, mixed = f * (here - moved) + g * (b + b);
            const T inverse = quick_rsqrt(square);
            r = square * inverse;
            sine = f * inverse;
            cosine = g * inverse;
            w = mixed * inverse;
        } else {
            r = safe_length(f, g);
            if (r == T(0)) {
                // The matrix splits here before the end of the step.
                e[i + 1] = e[m] = T(0);
                d[i + 1] = moved;
                return i + 1;
            }
            sine = f / r;
            cosine = g / r;
            w = sine * (here - moved) + cosine * (b + b);
        }
        shift = sine * w;
        g = cosine * w - b;
        e[i + 1] = r;
        d[i + 1] = moved + shift;
        if (out != nullptr) *out++ = {cosine, sine};
        next = here;
    }
    d[l] = next - shift;
    e[l] = g;
    e[m] = T(0);
    return l;
}

// Whether sum and sum of squares of the values are those of the matrix; `trace` has both.
template <typename T>
__device__ __forceinline__ bool sums_agree(int n, const T* d, const T* trace, T allowed) {
    T sum = T(0), squares = T(0);
    for (int i = threadIdx.x & 31; i < n; i += 32) {
        sum += d[i];
        squares += d[i] * d[i];
    }
    sum = warp_sum(sum);
    squares = warp_sum(squares);
    const T all = trace[1];
    return magnitude(sum - trace[0]) <= allowed * root(all * T(n)) &&
           magnitude(squares - all) <= allowed * all;
}

// The place of value t by decreasing value; equal ones keep their order.
template <typename T>
__device__ __forceinline__ int place_of(int t, int n, const T* d) {
    int place = 0;
    for (int j = 0; j < n; ++j) place += d[j] > d[t] || (d[j] == d[t] && j < t);
    return place;
}

// The matrix of warp w of all blocks, if it is below `count`: values in the order of the rotations
// in place of `diagonal`, and by decreasing value in `values`. `rotations` has room for `most` of
// them for each matrix, or is null; `sweeps` has the number of sweeps and then each of them. Shared
// memory holds 2 n elements for a warp.
template <typename T>
__device__ __forceinline__ void iterate(int n, int count, T* diagonal, const T* below,
                                        const T* facts, T allowed, T* values, int most,
                                        Rotation<T>* rotations, int* sweeps, int* status) {
    const int lane = threadIdx.x & 31, warp = threadIdx.x / 32;
    const i64 index = (i64)blockIdx.x * (blockDim.x / 32) + warp;
    if (index >= count) return;
    T* d = shared_memory<T>() + 2 * n * warp;
    T* e = d + n;
    for (int i = lane; i < n; i += 32) {
        d[i] = diagonal[index * n + i];
        e[i] = i + 1 < n ? below[index * n + i] : T(0);
    }
    __syncwarp();
    Rotation<T>* out = rotations == nullptr ? nullptr : rotations + index * most;
    int* list = sweeps + index * sweeps_stride(n);
    int l = 0, done = 0, used = 0;
    bool failed = false;
    while (l < n) {
        const int m = find_end(l, n, d, e);
        if (m == l) {
            ++l;
            continue;
        }
        failed = done == most_sweeps(n) || (out != nullptr && used + m - l > most);
        if (failed) break;
        int low = l;
        if (lane == 0) low = ql_sweep(l, m, d, e, out == nullptr ? nullptr : out + used);
        low = __shfl_sync(0xffffffffu, low, 0);
        __syncwarp();
        if (out != nullptr) {
            if (lane == 0) {
                int* entry = list + 1 + SWEEP * done;
                entry[0] = low;
                entry[1] = m;
                entry[2] = used;
            }
            used += m - low;
        }
        ++done;
    }
    failed = failed || !sums_agree(n, d, facts + index * (n + 2) + n, allowed);
    for (int i = lane; i < n; i += 32) {
        values[index * n + place_of(i, n, d)] = d[i];
        diagonal[index * n + i] = d[i];
    }
    if (lane == 0) {
        if (out != nullptr) list[0] = done;
        status[index] = failed;
    }
}

}  // namespace
