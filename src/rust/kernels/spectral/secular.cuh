// The secular equation 1 + rho sum_i z_i^2 / (d_i - x) = 0 and the eigenvectors of D + rho z z',
// with rho > 0 and poles d_0 < d_1 < ... that deflation has separated. One warp for each root, for
// many equations (merges) in one launch.
//
// Numbers of all equations lie in one array after another. owner[r] is the equation of root r;
// merges[4 w ..] has the first number of equation w, their number, and the rows that its vectors
// have in each half. A root is its nearest pole plus an offset: d_i - x is computed as (d_i - pole)
// - offset, which is accurate however close root and pole are.
#pragma once
#include "common.cuh"

namespace {

constexpr int EVALUATIONS = 120;

__device__ __forceinline__ double machine_epsilon(double) { return 2.220446049250313e-16; }
__device__ __forceinline__ float machine_epsilon(float) { return 1.1920928955078125e-7f; }

// The sums over the poles up to `split` and over those after it, with their derivatives.
template <typename T>
struct Sums {
    T left, left_slope, right, right_slope;
};

template <typename T>
__device__ __forceinline__ Sums<T> secular_sums(int n, int split, const T* d, const T* z, T rho,
                                                T pole, T offset) {
    Sums<T> sums = {T(0), T(0), T(0), T(0)};
    for (int i = threadIdx.x & 31; i < n; i += 32) {
        const T inverse = rounded_reciprocal((d[i] - pole) - offset);
        const T term = rho * z[i] * z[i] * inverse, slope = term * inverse;
        if (i <= split) {
            sums.left += term;
            sums.left_slope += slope;
        } else {
            sums.right += term;
            sums.right_slope += slope;
        }
    }
    sums.left = warp_sum(sums.left);
    sums.left_slope = warp_sum(sums.left_slope);
    sums.right = warp_sum(sums.right);
    sums.right_slope = warp_sum(sums.right_slope);
    return sums;
}

// The root of c x^2 - a x + b = 0 that lies between the poles of the rational function it comes
// from, without cancellation.
template <typename T>
__device__ __forceinline__ T inner_root(T a, T b, T c) {
    const T square = root(magnitude(a * a - T(4) * b * c));
    return a > T(0) ? T(2) * b / (a + square) : (a - square) / (T(2) * c);
}

// The root beyond both poles.
template <typename T>
__device__ __forceinline__ T outer_root(T a, T b, T c) {
    const T square = root(magnitude(a * a - T(4) * b * c));
    return a >= T(0) ? (a + square) / (T(2) * c) : T(2) * b / (a - square);
}

// A point inside the bracket: the geometric mean where its ends differ much in size, since offsets
// may be tiny against the distance of the poles.
template <typename T>
__device__ __forceinline__ T inside(T low, T high) {
    const T a = magnitude(low), b = magnitude(high);
    const bool one_sign = (low > T(0)) == (high > T(0));
    if (one_sign && (a > T(4) * b || b > T(4) * a)) return with_sign(root(a) * root(b), high);
    return low + (high - low) / T(2);
}

// Root j of an equation: its nearest pole and the offset from it, returned to every lane.
//
// The function increases between poles. Its middle says which pole is nearer; the terms at that
// point bound the offset away from zero. A step interpolates the function by two poles: with the
// nearer pole's own weight (fixed weight), or with weights that reproduce the slope of either side
// (middle way), which takes over while the other gains little. A step that leaves the bracket is
// replaced by a point inside it.
template <typename T>
__device__ __forceinline__ void secular_root(int n, int j, const T* d, const T* z, T rho, int& pole,
                                             T& offset) {
    const T eps = machine_epsilon(T(0));
    if (n == 1) {
        pole = 0;
        offset = rho * z[0] * z[0];
        return;
    }
    const bool last = j == n - 1;
    const int left = last ? n - 2 : j, right = left + 1;
    const T gap = d[right] - d[left];
    const T left_weight = rho * z[left] * z[left], right_weight = rho * z[right] * z[right];
    T low, high, x;
    if (last) {
        // 1 is the sum of all weights over their distances: none exceeds it, and none is farther
        // than the sum of the weights.
        T all = T(0);
        for (int i = threadIdx.x & 31; i < n; i += 32) all += z[i] * z[i];
        all = rho * warp_sum(all);
        pole = right;
        low = right_weight * T(0.5);
        high = all * T(1.01);
        x = inside(low, high);
    } else {
        const T half = gap / T(2);
        const Sums<T> sums = secular_sums(n, left, d, z, rho, d[left], half);
        const T f = T(1) + sums.left + sums.right;
        const T rest = f + (left_weight - right_weight) / half;
        if (f >= T(0)) {
            pole = left;
            low = T(0.5) * left_weight / (T(1) + sums.right);
            high = half * T(1.01);
            x = inner_root(rest * gap + left_weight + right_weight, left_weight * gap, rest);
        } else {
            pole = right;
            low = -half * T(1.01);
            high = T(0.5) * right_weight / sums.left;
            x = inner_root(left_weight + right_weight - rest * gap, -right_weight * gap, rest);
        }
        if (!(x > low && x < high)) x = inside(low, high);
    }
    const T origin = d[pole];
    bool fixed = !last;
    T before = T(0);
    for (int k = 0; k < EVALUATIONS; ++k) {
        const Sums<T> sums = secular_sums(n, left, d, z, rho, origin, x);
        const T f = T(1) + sums.left + sums.right, slope = sums.left_slope + sums.right_slope;
        const T size = T(1) + magnitude(sums.left) + magnitude(sums.right);
        if (!(magnitude(f) > eps * (T(4) * size + magnitude(x) * slope))) break;
        if (f < T(0)) {
            low = x;
        } else {
            high = x;
        }
        if (!(high - low > eps * larger(magnitude(low), magnitude(high)))) break;
        if (k > 0 && magnitude(f) > T(0.1) * before) fixed = !fixed && !last;
        before = magnitude(f);
        const T to_left = (d[left] - origin) - x, to_right = (d[right] - origin) - x;
        T c;
        if (!fixed) {
            c = f - to_left * sums.left_slope - to_right * sums.right_slope;
        } else if (pole == left) {
            c = f - to_right * slope + gap * left_weight / (to_left * to_left);
        } else {
            c = f - to_left * slope - gap * right_weight / (to_right * to_right);
        }
        const T a = (to_left + to_right) * f - to_left * to_right * slope;
        const T b = to_left * to_right * f;
        T step = last ? outer_root(a, b, magnitude(c)) : inner_root(a, b, c);
        if (!(f * step < T(0))) step = -f / slope;
        T next = x + step;
        const bool slow = k > 20 && k % 3 == 0;
        if (slow || !(next > low && next < high)) next = inside(low, high);
        if (next == x) break;
        x = next;
    }
    offset = x;
}

template <typename T>
__device__ __forceinline__ void secular_solve(i64 roots, const int* owner, const int* merges,
                                              const T* rho, const T* d, const T* z, int* pole,
                                              T* offset, T* values) {
    const i64 r = blockIdx.x * (i64)(blockDim.x >> 5) + (threadIdx.x >> 5);
    if (r >= roots) return;
    const int w = owner[r], first = merges[4 * (i64)w], n = merges[4 * (i64)w + 1];
    int nearest;
    T x;
    secular_root(n, (int)(r - first), d + first, z + first, rho[w], nearest, x);
    if ((threadIdx.x & 31) == 0) {
        pole[r] = nearest;
        offset[r] = x;
        values[r] = d[first + nearest] + x;
    }
}

// The z for which the computed roots are exact, by Loewner's formula, times the root of rho:
//     z_i^2 = -(d_i - x_i) prod_{j != i} (d_i - x_j) / (d_i - d_j)
// Vectors made from it are orthogonal to working accuracy. Factors before i are below 1 and those
// after i above 1, and either product is of moderate size, so that no part of it under- or
// overflows.
template <typename T>
__device__ __forceinline__ void secular_restore(i64 roots, const int* owner, const int* merges,
                                                const T* d, const T* z, const int* pole,
                                                const T* offset, T* restored) {
    const i64 r = blockIdx.x * (i64)(blockDim.x >> 5) + (threadIdx.x >> 5);
    if (r >= roots) return;
    const int w = owner[r], first = merges[4 * (i64)w], n = merges[4 * (i64)w + 1];
    const int i = (int)(r - first);
    const T* mine = d + first;
    const T di = mine[i];
    T product = T(1);
    for (int j = threadIdx.x & 31; j < n; j += 32) {
        const T distance = (di - mine[pole[first + j]]) - offset[first + j];
        product *= j == i ? distance : distance / (di - mine[j]);
    }
#pragma unroll
    for (int s = 16; s > 0; s >>= 1) product *= __shfl_xor_sync(0xffffffffu, product, s);
    if ((threadIdx.x & 31) == 0) restored[r] = with_sign(root(magnitude(product)), z[r]);
}

// One half (0 or 1) of the rows of each equation's eigenvectors: column j has z_i / (d_i - x_j),
// with norm 1 over all rows i. Equation w has merges[4 w + 2 + half] rows there; their numbers i
// begin at lists[2 w + half], which counts from `lists`. They go to work + places[w], column after
// column.
template <typename T>
__device__ __forceinline__ void secular_vectors(i64 roots, const int* owner, const int* merges,
                                                int half, const int* lists, const i64* places,
                                                const T* d, const T* z, const int* pole,
                                                const T* offset, T* work) {
    const i64 r = blockIdx.x * (i64)(blockDim.x >> 5) + (threadIdx.x >> 5);
    if (r >= roots) return;
    const int w = owner[r], first = merges[4 * (i64)w], n = merges[4 * (i64)w + 1];
    const int rows = merges[4 * (i64)w + 2 + half], lane = threadIdx.x & 31;
    const T *poles = d + first, *weights = z + first;
    const T origin = poles[pole[r]], x = offset[r];
    T square = T(0);
    for (int i = lane; i < n; i += 32) {
        const T y = weights[i] * rounded_reciprocal((poles[i] - origin) - x);
        square += y * y;
    }
    const T scale = T(1) / root(warp_sum(square));
    const int* list = lists + lists[2 * (i64)w + half];
    T* column = work + places[w] + (r - first) * rows;
    for (int k = lane; k < rows; k += 32) {
        const int i = list[k];
        column[k] = weights[i] * rounded_reciprocal((poles[i] - origin) - x) * scale;
    }
}

}  // namespace
