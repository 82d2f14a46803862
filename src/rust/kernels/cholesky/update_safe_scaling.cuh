// Makes the reflections of eight rows one after the other, for nearly dependent columns and for
// numbers of any size. See cholesky_update.cu.
#pragma once
#include "update_reflections.cuh"

namespace reflect {

// The sum over the lanes of a column.
__device__ __forceinline__ double over_quad(double x) {
    x += __shfl_xor_sync(ALL, x, 1);
    return x + __shfl_xor_sync(ALL, x, 2);
}

// Like Maker<K>::make. If the block's numbers are large, other warps apply its rows one after the
// other too. `info` gets the least order of a minor that is not positive; `first`: the number of
// rows before.
template <int K>
__device__ __forceinline__ void make_carefully(const Columns<K>& c, const Triangle& r,
                                               const double* before, double* after, Slot<K>& slot,
                                               int lane, double kind, int first, int* info) {
    constexpr int PITCH = Layout<K>::PITCH, EACH = K / 4;
    const int g = lane / 4, t = lane % 4;
    double w[EACH], own[EACH], l[2] = {0, 0};
#pragma unroll
    for (int e = 0; e < EACH; ++e) w[e] = c.w[e / 2][e % 2], own[e] = 0;
#pragma unroll 1
    for (int i = 0; i < ROWS; ++i) {
        const double here = before[i * ROWS + g], d = before[i * (ROWS + 1)];
        // Scaled so that the largest number is about one, and squares do not overflow.
        double u[EACH], most = d;
#pragma unroll
        for (int e = 0; e < EACH; ++e)
            u[e] = from_lane(w[e], 4 * i + t), most = larger(most, magnitude(u[e]));
        most = larger(most, __shfl_xor_sync(ALL, most, 1));
        most = larger(most, __shfl_xor_sync(ALL, most, 2));
        const double scale = scale_for(most);
        double size = 0, sum = 0;
#pragma unroll
        for (int e = 0; e < EACH; ++e) {
            u[e] *= scale;
            size = fma(u[e], u[e], size);
        }
        size = over_quad(size);
        double scaled = d * scale, height = root(fma(kind, size, scaled * scaled));
        // Scaled again, so that `scaled`, `height` and the length of u are at most a half, and the
        // largest of them at least a quarter. No product or sum then overflows unless n or the new
        // w does. The factors are powers of two, so nothing is rounded.
        const double again = 0.25 * scale_for(larger(most * scale, height));
        scaled *= again, height *= again;
#pragma unroll
        for (int e = 0; e < EACH; ++e) {
            u[e] *= again;
            sum = fma(u[e], w[e], sum);
        }
        sum = over_quad(sum);
        if (!(height > 0 && 1 / height > 0) && lane == 0) atomicMin(info, first + i + 1);
        const bool none = size == 0;
        const double p = none ? 1 : scaled, h = none ? 1 : height,
                     part = none ? 0 : 1 / (scaled + height);
        const double n = fma(kind, sum, p * here) / h,
                     step = fma(0.125, n, 0.125 * here) * part;  // part is at most four
        double near = 0;
#pragma unroll
        for (int e = 0; e < EACH; ++e) {
            if (g > i) w[e] = fma(-step, 8 * u[e], w[e]);
            const double y = u[e] * part;
            near = fma(y, own[e], near);
            if (g == i) own[e] = y;
        }
        near = over_quad(near);
        if (g >= i && t == 0) after[i * ROWS + g] = n;
        const double diagonal = (p + h) / h;
#pragma unroll
        for (int j = 0; j < 2; ++j) {
            double all = g < i ? near * l[j] : 0;
#pragma unroll
            for (int e = 4; e < 32; e *= 2) all += __shfl_xor_sync(ALL, all, e);
            if (g == i)
                l[j] = 2 * t + j == i ? diagonal : 2 * t + j < i ? -kind * diagonal * all : 0;
        }
    }
    const bool large = __any_sync(ALL, !(fabs(l[0]) <= MOST && fabs(l[1]) <= MOST));
#pragma unroll
    for (int e = 0; e < EACH; ++e) slot.rows[g * PITCH + 8 * (e / 2) + 2 * t + e % 2] = own[e];
    slot.rows[g * PITCH + K + 2 * t] = l[0];
    slot.rows[g * PITCH + K + 2 * t + 1] = l[1];
    if (lane < ROWS) slot.signs[lane] = (r.is_negative(lane) ? -1 : 1) * (large ? 2 : 1);
    __syncwarp();
}

}  // namespace reflect
