// Z <- Q Z for the Q of chase.cu: the product of the reflectors of all sweeps and steps, in order.
//
// B consecutive sweeps make a group. Their reflectors of step k have 2B - 1 rows together, from row
// s0 + 1 + kB on, where s0 is the first sweep. Reflectors of different steps of one sweep commute,
// and so do those of step k of a sweep and step k + 1 of a later one. So a group's product is that
// of its steps, the last one first, each of the form I - V T V'. Groups are applied from the last
// one to the first, and the steps of each from 0 on.
//
// A block of threads takes some columns of Z through all steps of a group. Half of a step's rows
// are those of the next one.
//
// Loops over products are not unrolled: NVRTC then names registers differently from run to run.
#pragma once
#include "block_memory.cuh"
#include "common.cuh"

namespace {

// D (8 x 8) += A (8 x 4) B (4 x 8). A lane holds A(lane / 4, lane % 4), B(lane % 4, lane / 4), and
// D(lane / 4, 2 (lane % 4)) with its right neighbour. A source with tensor cores declares its own
// function before it includes this file.
template <typename T>
__device__ __forceinline__ void multiply_8x8x4(T& d0, T& d1, T a, T b) {
    const int lane = threadIdx.x & 31, t = lane & 3;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        const T x = __shfl_sync(0xffffffffu, a, (lane & ~3) + k);
        const T y0 = __shfl_sync(0xffffffffu, b, 8 * t + k);
        const T y1 = __shfl_sync(0xffffffffu, b, 8 * t + 4 + k);
        d0 += x * y0;
        d1 += x * y1;
    }
}

// V and V T of a step of a group, as the block that applies them reads them.
template <typename T, int B>
struct Step {
    T v[B * 2 * B];        // by columns, 2B rows with zeros
    T v_times_t[2 * B * B];  // by rows
};

template <typename T, int B>
struct PackingMemory {
    T v[B * (2 * B + 1)], t[B * (B + 1)];
};

// The steps of the group that begins at sweep s0, one for each block of 4B threads: V from the
// lower triangle of `vs`, T from `taus`, both as chase.cu leaves them.
template <typename T, int B>
__device__ __forceinline__ void pack(int n, int s0, const T* vs, i64 ldv, const T* taus,
                                     Step<T, B>* steps, PackingMemory<T, B>& m) {
    constexpr int THREADS = 4 * B, LDV = 2 * B + 1, LDT = B + 1;
    const int t = threadIdx.x, k = blockIdx.x;
    const i64 base = s0 + 1 + (i64)k * B;
    Step<T, B>& to = steps[k];
    for (int e = t; e < 2 * B * B; e += THREADS) {
        const int c = e / (2 * B), i = e % (2 * B), s = s0 + c;
        const bool there = i >= c && i < c + B && base + i < n && s < n - 2;
        const T x = there ? vs[base + i + s * ldv] : T(0);
        m.v[c * LDV + i] = x;
        to.v[e] = x;
    }
    __syncthreads();
    // T is upper triangular: its column c is tau_c (-T V'v_c, 1).
    for (int e = t; e < B * B; e += THREADS) {
        const int c = e / B, q = e % B;
        T sum = T(0);
        if (q < c)
            for (int i = c; i < q + B; ++i) sum += m.v[q * LDV + i] * m.v[c * LDV + i];
        m.t[c * LDT + q] = sum;
    }
    __syncthreads();
    for (int c = 0; c < B; ++c) {
        const int s = s0 + c;
        const T tau = s < n - 2 && base + c < n ? taus[s + (i64)k * n] : T(0);
        T sum = T(0);
        if (t < c)
            for (int q = t; q < c; ++q) sum += m.t[q * LDT + t] * m.t[c * LDT + q];
        __syncthreads();
        if (t < c) m.t[c * LDT + t] = -tau * sum;
        if (t == c) m.t[c * LDT + t] = tau;
        __syncthreads();
    }
    for (int e = t; e < 2 * B * B; e += THREADS) {
        const int i = e / B, c = e % B;
        T sum = T(0);
        for (int q = 0; q <= c; ++q) sum += m.v[q * LDV + i] * m.t[c * LDT + q];
        to.v_times_t[e] = sum;
    }
}

template <typename T, int B, int W>
struct Back {
    static constexpr int THREADS = 4 * B, LD = W + 4, TILES = W / 8;

    struct Shared {
        T z[2 * B * LD];  // two halves of B rows, of which the older one is replaced
        T x[B * LD];
    };

    int t, lane, warp, g, q;
    Shared& m;

    __device__ __forceinline__ Back(Shared& memory)
        : t(threadIdx.x), lane(t & 31), warp(t >> 5), g(lane >> 2), q(lane & 3), m(memory) {}

    // Rows r0 to r0 + B - 1 of the columns at `z`, to or from a half.
    template <bool STORE>
    __device__ __forceinline__ void move(int half, int n, i64 r0, int cols, T* z, i64 ldz) {
        T* to = m.z + half * B * LD;
        for (int e = t; e < B * W; e += THREADS) {
            const int i = e % B, c = e / B;
            const bool there = r0 + i < n && c < cols;
            T* at = z + r0 + i + c * ldz;
            if (STORE) {
                if (there) *at = to[i * LD + c];
            } else {
                to[i * LD + c] = there ? *at : T(0);
            }
        }
    }

    // X = V' Z: a warp has eight rows of X.
    __device__ __forceinline__ void project(const T* v, int older) {
        T x[TILES][2] = {};
        const T* a = v + (8 * warp + g) * 2 * B + q;
#pragma unroll 1
        for (int k = 0; k < 2 * B; k += 4) {
            const T* z = m.z + (((k / B) ^ older) * B + k % B + q) * LD + g;
            const T av = a[k];
#pragma unroll
            for (int j = 0; j < TILES; ++j) multiply_8x8x4(x[j][0], x[j][1], av, z[8 * j]);
        }
#pragma unroll
        for (int j = 0; j < TILES; ++j)
#pragma unroll
            for (int e = 0; e < 2; ++e) m.x[(8 * warp + g) * LD + 8 * j + 2 * q + e] = x[j][e];
    }

    // Z <- Z - (V T) X: a warp has sixteen rows of Z, eight of each half.
    __device__ __forceinline__ void subtract(const T* vt, int older) {
        T y[2][TILES][2] = {};
        const T* a = vt + (8 * warp + g) * B + q;
#pragma unroll 1
        for (int k = 0; k < B; k += 4) {
            const T* x = m.x + (k + q) * LD + g;
            const T upper = a[k], lower = a[k + B * B];
#pragma unroll
            for (int j = 0; j < TILES; ++j) {
                const T xv = x[8 * j];
                multiply_8x8x4(y[0][j][0], y[0][j][1], upper, xv);
                multiply_8x8x4(y[1][j][0], y[1][j][1], lower, xv);
            }
        }
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            T* z = m.z + ((h ^ older) * B + 8 * warp + g) * LD + 2 * q;
#pragma unroll
            for (int j = 0; j < TILES; ++j)
#pragma unroll
                for (int e = 0; e < 2; ++e) z[8 * j + e] -= y[h][j][e];
        }
    }

    __device__ __forceinline__ void run(int n, int nz, int s0, int count, const Step<T, B>* steps,
                                        T* z, i64 ldz) {
        const int first = blockIdx.x * W, cols = nz - first < W ? nz - first : W;
        z += first * ldz;
        const i64 base = s0 + 1;
        move<false>(0, n, base, cols, z, ldz);
        for (int k = 0; k < count; ++k) {
            const int older = k & 1;
            move<false>(older ^ 1, n, base + (i64)(k + 1) * B, cols, z, ldz);
            __syncthreads();
            project(steps[k].v, older);
            __syncthreads();
            subtract(steps[k].v_times_t, older);
            __syncthreads();
            move<true>(older, n, base + (i64)k * B, cols, z, ldz);
            __syncthreads();
        }
        move<true>(count & 1, n, base + (i64)count * B, cols, z, ldz);
    }
};

}  // namespace

#define APPLYING(T, B, W, SUFFIX)                                                                \
    extern "C" __global__ void __launch_bounds__(4 * B) chase_apply_group##B##_##SUFFIX(         \
        int n, int nz, int s0, int count, const T* steps, T* z, i64 ldz) {                       \
        auto* memory = shared_memory<Back<T, B, W>::Shared>();                                   \
        Back<T, B, W>(*memory).run(n, nz, s0, count, reinterpret_cast<const Step<T, B>*>(steps), \
                                   z, ldz);                                                      \
    }
