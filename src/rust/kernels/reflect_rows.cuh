// Reflections of rows of a factor and of V: how they are laid out and handed on, and what one is. See cholesky_update.cu.
#pragma once
#include "copies.cuh"
#include "pipeline.cuh"

namespace reflect {

using namespace pipeline;

constexpr unsigned ALL = 0xffffffffu;
constexpr int WORKERS = 7;  // warps with columns
constexpr int RING = 64;    // reflections at hand
constexpr int STEP = 4;     // reflections fetched together
constexpr int FINISHED = 0x7fffffff;

// Columns of W of up to K numbers, each on so many lanes.
template <typename T, int K>
struct Layout {
    static constexpr int LANES = K > 32 ? 4 : K > 1 ? 2 : 1, EACH = K / LANES;
    static constexpr int COLUMNS = 32 / LANES, SLAB = COLUMNS * WORKERS;     // of a warp, which has tiles of as many rows, and of a block
    static constexpr int PITCH = COLUMNS + 1, TILES = COLUMNS > 16 ? 2 : 3;  // of a tile; of a warp: one in work, others on their way
    // A reflection: w in as many parts as there are lanes for it. With the sign s of R_ii n is a R_ij + b w'W[, j], and from W[, j] goes
    // g w (s R_ij + n): behind the first parts b and g, and a and s. Before it is made there is d for a. What lanes read at the same
    // time lies in different banks.
    static constexpr int VECTOR = 16 / sizeof(T), END = (EACH + 1) / 2 * 2, SIDE = (END + (LANES == 1 ? 4 : 2) + VECTOR - 1) / VECTOR * VECTOR;
    static constexpr int WORDS = LANES * SIDE, FOUND = END, GIVEN = LANES == 1 ? END + 2 : SIDE + END;
};

template <typename T, int K>
struct Shared {
    T ring[RING][Layout<T, K>::WORDS];
    T tiles[WORKERS][Layout<T, K>::TILES][Layout<T, K>::COLUMNS * Layout<T, K>::PITCH];
    unsigned long long ready[RING];  // barriers: each turn a reflection takes the place
    int done[WORKERS + 1];           // reflections that a warp has no more need of
    int turn;
};

// Two numbers side by side.
template <typename T>
struct alignas(2 * sizeof(T)) Pair {
    T x, y;
};
template <typename T>
__device__ __forceinline__ Pair<T>& pair(T* at) {
    return *reinterpret_cast<Pair<T>*>(at);
}

__device__ __forceinline__ void arrive(const unsigned long long* barrier) {
    asm volatile("{ .reg .b64 t; mbarrier.arrive.shared.b64 t, [%0]; }" ::"r"(tile::shared_address(barrier)) : "memory");
}
// Whether all have arrived in the turn of that parity.
__device__ __forceinline__ bool arrived(const unsigned long long* barrier, int parity) {
    int x;
    asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.s32 %0, 1, 0, p; }"
                 : "=r"(x)
                 : "r"(tile::shared_address(barrier)), "r"(parity)
                 : "memory");
    return __all_sync(ALL, x);
}
__device__ __forceinline__ int acquire(const int* p) {
    int x;
    asm volatile("ld.acquire.cta.shared.s32 %0, [%1];" : "=r"(x) : "r"(tile::shared_address(p)) : "memory");
    return x;
}
__device__ __forceinline__ void release(int* p, int x) {
    asm volatile("st.release.cta.shared.s32 [%0], %1;" ::"r"(tile::shared_address(p)), "r"(x) : "memory");
}

__device__ __forceinline__ void copy_one(double* to, const double* from) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(tile::shared_address(to)), "l"(from) : "memory");
}
__device__ __forceinline__ void copy_one(float* to, const float* from) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(tile::shared_address(to)), "l"(from) : "memory");
}

// 1 / h and 1 / (d + h) of q = h^2 far from the ends of the range.
__device__ __forceinline__ void reciprocals(double q, double d, double& r, double& g) {
    double y, z;
    asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(q));
    const double s = q * y, e = fma(-s, y, 1.0);
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(z) : "d"(d + s));
    r = fma(y * e, fma(0.375, e, 0.5), y);
    const double f = fma(-fma(q, r, d), z, 1.0);
    g = fma(z, fma(f, f, f), z);
}
__device__ __forceinline__ void reciprocals(float q, float d, float& r, float& g) {
    const float h = __fsqrt_rn(q);
    r = __frcp_rn(h);
    g = __frcp_rn(d + h);
}
// Whether the squares of a reflection are far enough from the ends of the range, and there is something to reflect. Positive
// numbers are in the order of their bits.
__device__ __forceinline__ bool is_safe(double norm, double q) {
    const unsigned bits = (unsigned)__double2hiint(q), least = (1023u - 200u) << 20, most = (1023u + 200u) << 20;
    return __double2hiint(norm) > (1023 - 400) << 20 && bits - least < most - least;
}
__device__ __forceinline__ bool is_safe(float norm, float q) {
    const unsigned bits = (unsigned)__float_as_int(q), least = (127u - 40u) << 23, most = (127u + 40u) << 23;
    return __float_as_int(norm) > (127 - 60) << 23 && bits - least < most - least;
}

}  // namespace reflect
