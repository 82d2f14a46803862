// Rotations of QL applied to the vectors of a small matrix by a block. See eigen_batch.cu.
//
// A thread has a row. Threads load the rotations of the next sweep while they apply one.
#pragma once
#include "batch_iterate.cuh"
#include "batch_reduce.cuh"

namespace {

// Rotations that are loaded together.
constexpr int ROTATIONS_AHEAD = 8;

__device__ __forceinline__ double fused(double x, double y, double z) { return fma(x, y, z); }
__device__ __forceinline__ float fused(float x, float y, float z) { return fmaf(x, y, z); }

// The sweep on rows low .. high, in one row of the vectors, whose entries are `ld` apart.
template <typename T>
__device__ __forceinline__ void apply_sweep(int low, int high, const Rotation<T>* by, T* row,
                                            int ld) {
    T y = row[high * ld];
    T* at = row + (high - 1) * ld;
    int left = high - low;
    for (; left >= ROTATIONS_AHEAD; left -= ROTATIONS_AHEAD) {
        T x[ROTATIONS_AHEAD];
        Rotation<T> r[ROTATIONS_AHEAD];
#pragma unroll
        for (int k = 0; k < ROTATIONS_AHEAD; ++k) {
            x[k] = at[-k * ld];
            r[k] = by[k];
        }
#pragma unroll
        for (int k = 0; k < ROTATIONS_AHEAD; ++k) {
            // The next rotation waits for one operation on y.
            at[(1 - k) * ld] = fused(r[k].cosine, y, r[k].sine * x[k]);
            y = fused(-r[k].sine, y, r[k].cosine * x[k]);
        }
        at -= ROTATIONS_AHEAD * ld;
        by += ROTATIONS_AHEAD;
    }
    for (; left > 0; --left) {
        const T x = *at;
        at[ld] = fused(by->cosine, y, by->sine * x);
        y = fused(-by->sine, y, by->cosine * x);
        at -= ld;
        ++by;
    }
    at[ld] = y;
}

// A sweep of the list, and the rotation that this thread loads of it.
template <typename T>
struct Sweep {
    int low, high, first;
    Rotation<T> own;

    __device__ __forceinline__ void find(const int* list, int k) {
        low = list[1 + SWEEP * k];
        high = list[2 + SWEEP * k];
        first = list[3 + SWEEP * k];
    }
    __device__ __forceinline__ void load(const Rotation<T>* rotations) {
        const int t = threadIdx.x;
        if (t < high - low) own = rotations[first + t];
    }
};

// All sweeps. `buffer` holds the rotations of two sweeps.
template <typename T>
__device__ __forceinline__ void apply_all(int n, const int* list, const Rotation<T>* rotations,
                                          T* z, Rotation<T>* buffer) {
    const int t = threadIdx.x, ld = odd_stride(n), count = list[0];
    if (count == 0) return;
    Sweep<T> now, later;
    now.find(list, 0);
    now.load(rotations);
    later.find(list, count > 1 ? 1 : 0);
    for (int k = 0; k < count; ++k) {
        Rotation<T>* by = buffer + (k & 1) * n;
        if (t < now.high - now.low) by[t] = now.own;
        // The other buffer is free: all threads have come past the barrier after its use.
        __syncthreads();
        const int low = now.low, high = now.high;
        now = later;
        now.load(rotations);
        later.find(list, k + 2 < count ? k + 2 : k);
        if (t < n) apply_sweep(low, high, by, z + t, ld);
    }
    __syncthreads();
}

// Whether the component of largest magnitude is negative: the first one, if several are equal to
// half of the digits.
template <typename T>
__device__ __forceinline__ bool is_negative(int n, const T* column) {
    T largest = T(0);
    for (int i = 0; i < n; ++i) largest = larger(largest, magnitude(column[i]));
    const double enough = (double)largest * (1.0 - root(2.0 * (double)roundoff(T(0))));
    for (int i = 0; i < n; ++i)
        if ((double)magnitude(column[i]) >= enough) return column[i] < T(0);
    return false;
}

// One block of at least n threads for each matrix. z has Q, and gets the vectors in the order of
// decreasing values. Shared memory holds a matrix, 7 n + 32 elements, and n integers.
template <typename T>
__device__ __forceinline__ void rotate_matrix(int n, const T* diagonal, const T* facts, T allowed,
                                              int most, const Rotation<T>* rotations,
                                              const int* sweeps, T* z, int* status) {
    const i64 index = blockIdx.x;
    if (status[index] != 0) return;
    const int t = threadIdx.x, ld = odd_stride(n);
    Rotation<T>* buffer = shared_memory<Rotation<T>>();
    T* v = reinterpret_cast<T*>(buffer + 2 * n);
    T *d = v + n * ld, *parts = d + n, *turn = parts + n;
    T* scratch = turn + n;
    int* place = reinterpret_cast<int*>(scratch + 32);
    z += index * n * n;
    facts += index * (n + 2);
    if (t < n) d[t] = diagonal[index * n + t];
    for (int j = t / 32; j < n; j += blockDim.x / 32)
        for (int i = t % 32; i < n; i += 32) v[i + j * ld] = z[i + (i64)j * n];
    __syncthreads();
    apply_all(n, sweeps + index * sweeps_stride(n), rotations + index * most, v, buffer);
    // Z's, and then Z Z's = s and Z W Z's = A s.
    if (t < n) {
        T sum = T(0);
        for (int i = 0; i < n; ++i) sum += v[i + t * ld] * probe_sign<T>(i);
        parts[t] = sum;
        turn[t] = is_negative(n, v + t * ld) ? T(-1) : T(1);
        place[t] = place_of(t, n, d);
    }
    __syncthreads();
    T back = T(0), image = T(0);
    if (t < n) {
        for (int j = 0; j < n; ++j) {
            const T x = v[t + j * ld] * parts[j];
            back += x;
            image += x * d[j];
        }
        back -= probe_sign<T>(t);
        image -= facts[t];
    }
    const T lost = block_sum(back * back, scratch), wrong = block_sum(image * image, scratch);
    const bool right =
        root(lost) <= allowed * root(T(n)) && root(wrong) <= allowed * root(facts[n + 1]);
    if (t == 0 && !right) status[index] = 1;
    for (int j = t / 32; j < n; j += blockDim.x / 32)
        for (int i = t % 32; i < n; i += 32)
            z[i + (i64)place[j] * n] = turn[j] * v[i + j * ld];
}

}  // namespace
