// Writes a tile of a product in double precision from the accumulators to C.
#pragma once
#include "store.cuh"
#include "tile_f64.cuh"
#include "tile_sync.cuh"

namespace tile {

// Like those of `tile_sync.cuh`; zeros if not `on`.
__device__ __forceinline__ double2 load_if(bool on, const double2* from) {
    double2 x;
    asm volatile(
        "{ .reg .pred p; setp.ne.b32 p, %3, 0; mov.f64 %0, 0d0000000000000000; mov.f64 %1, "
        "0d0000000000000000; @p "
        "ld.global.v2.f64 {%0, %1}, [%2]; }"
        : "=d"(x.x), "=d"(x.y)
        : "l"(from), "r"((int)on)
        : "memory");
    return x;
}
__device__ __forceinline__ void store_if(bool on, double2* to, double x, double y) {
    asm volatile(
        "{ .reg .pred p; setp.ne.b32 p, %3, 0; @p st.global.v2.f64 [%0], {%1, %2}; }" ::"l"(to),
        "d"(x), "d"(y), "r"((int)on)
        : "memory");
}

// Stores two elements at a time. Old values are loaded ahead of the stores, so that their latencies
// overlap.
template <class P, bool ALONG_ROWS>
__device__ __forceinline__ void store_packed(const typename P::Acc& acc, typename P::Real* c,
                                             i64 stride, Scale<typename P::Real> scale, int first,
                                             int last) {
    const int thread = thread_again();
    const int row = P::warp_row(thread) + ((thread & 31) >> 2) * 2,
              col = P::warp_col(thread) + (thread & 3) * 2;
    double* at = c + (ALONG_ROWS ? row + col * stride : row * stride + col);
    const int across = (ALONG_ROWS ? col : row) - first;
    constexpr int AT_ONCE = P::FM * P::FN < 2 ? 1 : 2;
#pragma unroll
    for (int ij = 0; ij < P::FM * P::FN; ij += AT_ONCE) {
        // The offset of element v of block b from the thread's first one, along the rows and the
        // columns.
        const auto down = [&](int b, int v) {
            return 16 * ((ij + b) / P::FN) + (ALONG_ROWS ? 0 : v & 1);
        };
        const auto right = [&](int b, int v) {
            return 16 * ((ij + b) % P::FN) + 8 * (v >> 1) + (ALONG_ROWS ? v & 1 : 0);
        };
        const auto place = [&](int b, int v) {
            return reinterpret_cast<double2*>(ALONG_ROWS ? at + down(b, v) + right(b, v) * stride
                                                         : at + down(b, v) * stride + right(b, v));
        };
        const auto on = [&](int b, int v) {
            return (unsigned)(across + (ALONG_ROWS ? right(b, v) : down(b, v))) <
                   (unsigned)(last - first);
        };
        // Hides the scale from the compiler, so that it does not keep multiples of all accumulators
        // from one image to the next.
        asm volatile("" : "+d"(scale.alpha), "+d"(scale.beta));
        double2 old[AT_ONCE][4];
#pragma unroll
        for (int b = 0; b < AT_ONCE; ++b)
#pragma unroll
            for (int v = 0; v < 4; ++v)
                old[b][v] = load_if(scale.beta != 0 && on(b, v), place(b, v));
#pragma unroll
        for (int b = 0; b < AT_ONCE; ++b)
#pragma unroll
            for (int v = 0; v < 4; ++v) {
                const double(&four)[4] = acc[(ij + b) / P::FN][(ij + b) % P::FN][v >> 1];
                const double x = ALONG_ROWS ? four[v & 1] : four[2 * (v & 1)];
                const double y = ALONG_ROWS ? four[2 + (v & 1)] : four[2 * (v & 1) + 1];
                store_if(on(b, v), place(b, v), scale.alpha * x + scale.beta * old[b][v].x,
                         scale.alpha * y + scale.beta * old[b][v].y);
            }
    }
}

// Each warp writes a block of 16 x 16 to its share of `stage` in order. Its lanes then store
// neighbours along the shorter stride.
template <class P>
__device__ __forceinline__ void store_any(const typename P::Acc& acc, typename P::Real* stage,
                                          typename P::Real* c, i64 rs, i64 cs,
                                          Scale<typename P::Real> scale, Window window) {
    const int thread = thread_again(), lane = thread & 31, g = lane >> 2, t = lane & 3;
    static_assert(P::WARPS * 256 * 8 <= P::STAGE, "");
    stage += (thread >> 5) * 256;
    auto place = [](int row, int col) { return col * 16 + (row ^ (((col >> 1) & 3) << 2)); };
    const bool along_rows = (rs < 0 ? -rs : rs) <= (cs < 0 ? -cs : cs);
#pragma unroll 1
    for (int block = 0; block < P::FM * P::FN; ++block) {
        __syncwarp();
#pragma unroll
        for (int b = 0; b < P::FM * P::FN; ++b) {
            if (b != block) continue;
#pragma unroll
            for (int v = 0; v < 4; ++v) {
                const double(&four)[4] = acc[b / P::FN][b % P::FN][v >> 1];
                *reinterpret_cast<double2*>(stage + place(2 * g, (v >> 1) * 8 + 2 * t + (v & 1))) =
                    make_double2(four[v & 1], four[2 + (v & 1)]);
            }
        }
        __syncwarp();
        const int row0 = P::warp_row(thread) + block / P::FN * 16,
                  col0 = P::warp_col(thread) + block % P::FN * 16;
#pragma unroll 1
        for (int x = 0; x < 8; x += 4) {
            double* to[4];
            double value[4], old[4];
            bool on[4];
#pragma unroll
            for (int y = 0; y < 4; ++y) {
                const int row = along_rows ? lane & 15 : (x + y) / 2 * 4 + (lane >> 3);
                const int col = along_rows ? 2 * (x + y) + (lane >> 4) : y % 2 * 8 + (lane & 7);
                on[y] = window.has(row0 + row, col0 + col);
                value[y] = stage[place(row, col)];
                to[y] = c + (row0 + row) * rs + (col0 + col) * cs;
                old[y] = load_if(on[y] && scale.beta != 0, to[y], 0);
            }
#pragma unroll
            for (int y = 0; y < 4; ++y)
                store_if(on[y], to[y], scale.alpha * value[y] + scale.beta * old[y]);
        }
    }
}

}  // namespace tile
