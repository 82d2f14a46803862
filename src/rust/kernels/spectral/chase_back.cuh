// Z <- Q Z for the Q of chase.cu: the product of the reflectors of all sweeps and steps, in order.
//
// B consecutive sweeps make a group. Their reflectors of step k have 2B - 1 rows together, from row
// s0 + 1 + kB on, where s0 is the first sweep. Reflectors of different steps of one sweep commute,
// and so do those of step k of a sweep and step k + 1 of a later one. So a group's product is that
// of its steps, the last one first, each of the form I - V T V'. Groups are applied from the last
// one to the first, and the steps of each from 0 on.
//
// V and V T of all steps of some groups are packed first. A warp then takes some columns of Z
// through these steps, or on tensor cores through those of one group of a set. Half of a step's
// rows are those of the next one. Warps share what they read of V and V T. Those of a set pass rows
// of Z to one another.
//
// V(i, c) is zero unless c <= i < c + B, and so is V T (i, c) if i >= c + B.
#pragma once
#include "block_memory.cuh"
#include "common.cuh"

namespace {

constexpr int B = 32;

// Groups that are packed and applied together: `first` is the first sweep of the last group, and a
// multiple of B. Group g begins g * B sweeps earlier. Q neighbouring groups are a set. Its turn t
// is step t - j of its group j: step k of a group comes a turn later than that of the group before.
// Steps are packed by sets, turns and groups. The first set may lack its first groups.
template <int Q>
struct Groups {
    int n, first, count;

    // The first row of the first step.
    __device__ __forceinline__ int row(int g) const { return first - g * B + 1; }
    // How many steps group g has, and how many all groups before it.
    __device__ __forceinline__ int steps(int g) const { return (n - 2 - first) / B + 1 + g; }
    __device__ __forceinline__ int before(int g) const { return g * steps(0) + g * (g - 1) / 2; }

    // How many groups the first set lacks.
    __device__ __forceinline__ int lacks() const { return (Q - count % Q) % Q; }

    // Where step k of group g is among the packed ones.
    __device__ __forceinline__ int place(int g, int k) const {
        const int begin = (g + lacks()) / Q * Q - lacks(), turn = k + g - begin;
        int sum = before(max(begin, 0));
#pragma unroll
        for (int j = 0; j < Q; ++j) {
            // Steps of group j in earlier turns, and in this one if it is an earlier group.
            const int done = turn - j + (begin + j < g);
            if (begin + j >= 0) sum += max(0, min(done, steps(begin + j)));
        }
        return sum;
    }
};

template <typename T>
struct PackingMemory {
    T v[B * (2 * B + 1)], t[B * (B + 1)], tau[B];
};

// The steps of some groups, one for each block of 4B threads: V from the lower triangle of `vs`, T
// from `taus`, both as chase.cu leaves them. `Place` has the size of a step, and the places of
// V(i, c) and -V T (i, c) in it, or -1 for zeros that it omits.
template <typename Place, typename T, int Q>
__device__ __forceinline__ void pack(Groups<Q> groups, const T* vs, i64 ldv, const T* taus,
                                     T* packed, PackingMemory<T>& m) {
    constexpr int THREADS = 4 * B, LDV = 2 * B + 1, LDT = B + 1;
    const int t = threadIdx.x, k = blockIdx.x, group = blockIdx.y, n = groups.n;
    if (k >= groups.steps(group)) return;
    const int s0 = groups.row(group) - 1;
    const i64 base = s0 + 1 + (i64)k * B;
    T* to = packed + (i64)groups.place(group, k) * Place::SIZE;
    for (int e = t; e < 2 * B * B; e += THREADS) {
        const int c = e / (2 * B), i = e % (2 * B), s = s0 + c, at = Place::v(i, c);
        const bool there = i >= c && i < c + B && base + i < n && s < n - 2;
        const T x = there ? vs[base + i + s * ldv] : T(0);
        m.v[c * LDV + i] = x;
        if (at >= 0) to[at] = x;
    }
    if (t < B) m.tau[t] = s0 + t < n - 2 && base + t < n ? taus[s0 + t + (i64)k * n] : T(0);
    __syncthreads();
    // V'V above the diagonal, by columns.
    for (int e = t; e < B * B; e += THREADS) {
        const int c = e / B, q = e % B;
        if (q >= c) continue;
        T sum = T(0);
        for (int i = c; i < q + B; ++i) sum += m.v[q * LDV + i] * m.v[c * LDV + i];
        m.t[c * LDT + q] = sum;
    }
    __syncthreads();
    // T is upper triangular: its column c is tau_c (-T V'v_c, 1). Four neighbouring threads compute
    // a row, which depends on no other. T lies by rows, beside V'V in the other triangle.
    const int row = t / 4;
    for (int c = 0; c < B; ++c) {
        T sum = T(0);
        for (int q = row + t % 4; q < c; q += 4) sum += m.t[row * LDT + q] * m.t[c * LDT + q];
        sum += __shfl_xor_sync(0xffffffffu, sum, 1);
        sum += __shfl_xor_sync(0xffffffffu, sum, 2);
        if (t % 4 == 0 && row <= c) m.t[row * LDT + c] = row == c ? m.tau[c] : -m.tau[c] * sum;
        __syncwarp();
    }
    __syncthreads();
    for (int e = t; e < 2 * B * B; e += THREADS) {
        const int i = e / B, c = e % B, at = Place::vt(i, c);
        T sum = T(0);
        for (int q = max(0, i - B + 1); q <= min(c, i); ++q)
            sum += m.v[q * LDV + i] * m.t[q * LDT + c];
        if (at >= 0) to[at] = -sum;
    }
}

}  // namespace

#define PACKING(PLACE, T, SET, SUFFIX)                                                            \
    extern "C" __global__ void __launch_bounds__(4 * B) chase_pack_steps32_##SUFFIX(              \
        int n, int first, const T* vs, i64 ldv, const T* taus, T* packed) {                       \
        auto* memory = shared_memory<PackingMemory<T>>();                                         \
        pack<PLACE>(Groups<SET>{n, first, (int)gridDim.y}, vs, ldv, taus, packed, *memory);       \
    }
