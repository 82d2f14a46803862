// Writes a tile of a product in single precision from the accumulators to C.
#pragma once
#include "store.cuh"
#include "tile_f32.cuh"

namespace tile {

// *from, or zero if not `on`; without a branch.
__device__ __forceinline__ float load_if(bool on, const float* from) {
    float x;
    asm volatile(
        "{ .reg .pred p; setp.ne.b32 p, %2, 0; mov.f32 %0, 0f00000000; @p ld.global.f32 %0, [%1]; }"
        : "=f"(x)
        : "l"(from), "r"((int)on)
        : "memory");
    return x;
}
__device__ __forceinline__ void store_if(bool on, float* to, float x) {
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %2, 0; @p st.global.f32 [%0], %1; }" ::"l"(to),
                 "f"(x), "r"((int)on)
                 : "memory");
}

// Stores four elements at a time, one column (or row) of the thread's part after the other. The old
// values of one column are loaded together.
template <class P, bool ALONG_ROWS>
__device__ __forceinline__ void store_packed(const typename P::Acc& acc, typename P::Real* c,
                                             i64 stride, Scale<typename P::Real> scale, int first,
                                             int last) {
    const int thread = thread_again(), row0 = P::row0(thread), col0 = P::col0(thread);
    float* at = c + (ALONG_ROWS ? row0 + col0 * stride : row0 * stride + col0);
    const int across = (ALONG_ROWS ? col0 : row0) - first;
    constexpr int GROUPS = (ALONG_ROWS ? P::TM : P::TN) / 4;
#pragma unroll
    for (int x = 0; x < (ALONG_ROWS ? P::TN : P::TM); ++x) {
        const int off = ALONG_ROWS ? P::col(x) : P::row(x);
        if ((unsigned)(across + off) >= (unsigned)(last - first)) continue;
        // Hides the scale from the compiler, so that it does not keep multiples of all accumulators
        // from one image to the next.
        asm volatile("" : "+f"(scale.alpha), "+f"(scale.beta));
        const auto place = [&](int g) {
            return reinterpret_cast<float4*>(at + off * stride +
                                             (ALONG_ROWS ? P::row(4 * g) : P::col(4 * g)));
        };
        const auto value = [&](int g, int e) {
            return scale.alpha * (ALONG_ROWS ? acc[4 * g + e][x] : acc[x][4 * g + e]);
        };
        float4 old[GROUPS];
#pragma unroll
        for (int g = 0; g < GROUPS; ++g) {
            old[g] = make_float4(0, 0, 0, 0);
            if (scale.beta != 0) old[g] = *place(g);
        }
#pragma unroll
        for (int g = 0; g < GROUPS; ++g)
            *place(g) = make_float4(
                value(g, 0) + scale.beta * old[g].x, value(g, 1) + scale.beta * old[g].y,
                value(g, 2) + scale.beta * old[g].z, value(g, 3) + scale.beta * old[g].w);
    }
}

// Stores one element at a time.
template <class P>
__device__ __forceinline__ void store_any(const typename P::Acc& acc, typename P::Real*,
                                          typename P::Real* c, i64 rs, i64 cs,
                                          Scale<typename P::Real> scale, Window window) {
    const int thread = thread_again(), row0 = P::row0(thread), col0 = P::col0(thread);
#pragma unroll
    for (int j = 0; j < P::TN; ++j) {
        const int col = col0 + P::col(j);
        float* column = c + row0 * rs + col * cs;
        asm volatile("" : "+f"(scale.alpha), "+f"(scale.beta));
#pragma unroll
        for (int i = 0; i < P::TM; i += 4) {
            float old[4];
#pragma unroll
            for (int e = 0; e < 4; ++e)
                old[e] = load_if(scale.beta != 0 && window.has(row0 + P::row(i + e), col),
                                 column + P::row(i + e) * rs);
#pragma unroll
            for (int e = 0; e < 4; ++e)
                store_if(window.has(row0 + P::row(i + e), col), column + P::row(i + e) * rs,
                         scale.alpha * acc[i + e][j] + scale.beta * old[e]);
        }
    }
}

}  // namespace tile
