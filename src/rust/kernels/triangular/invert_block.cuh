// Inverses of the diagonal blocks of order 16 of a triangle, for products instead of substitution.
#pragma once
#include "common.cuh"

namespace tile {

// The limit of |M||M^-1||M||x| / |M||x| in each row of a block M for which its inverse is used. It
// must hold for x of ones, and for x that undoes the scale of M's columns. The first product has a
// rounding error below eps times this ratio, and the correction multiplies that error by eps times
// the ratio once more. Below 1 / sqrt(eps) the square is negligible.
constexpr double WORST = 1e8;
// The limit if one product with the inverse is enough.
constexpr double MILD = 8;

// Inverts the block of order 16 at `m`, whose rows are LD apart. 16 neighbouring lanes call it; `c`
// is a lane's row and column. `inverse` <- the inverse, with a mark if it must not be used. `pass`:
// 16 columns of 4 rows. Returns whether one product with it is as accurate as substitution.
template <int LD, int PASS>
__device__ __forceinline__ bool invert_block(const double* m, double (*inverse)[17],
                                             double (*pass)[PASS], int c) {
    double x[16], largest = 0;
    pass[0][c] = 1 / m[c * LD + c];
#pragma unroll
    for (int r = 0; r < 16; ++r) largest = fmax(largest, fabs(m[r * LD + c]));
    const double scale = 1 / largest;
    pass[1][c] = scale;
    __syncwarp();
    double size[2] = {0, 0};
#pragma unroll
    for (int r = 0; r < 16; ++r) {
        double v = r == c ? 1 : 0;
#pragma unroll
        for (int d = 0; d < r; ++d) v = fma(-m[r * LD + d], x[d], v);
        x[r] = v * pass[0][r];
        inverse[r][c] = x[r];
        size[0] += fabs(m[c * LD + r]);
        size[1] += fabs(m[c * LD + r]) * pass[1][r];
    }
    pass[2][c] = size[0], pass[3][c] = size[1];
    __syncwarp();
    double amplified[2] = {0, 0}, grown[2] = {0, 0};
#pragma unroll
    for (int d = 0; d < 16; ++d)
#pragma unroll
        for (int k = 0; k < 2; ++k) amplified[k] += fabs(inverse[c][d]) * pass[2 + k][d];
    __syncwarp();
    pass[0][c] = amplified[0], pass[1][c] = amplified[1];
    __syncwarp();
#pragma unroll
    for (int d = 0; d < 16; ++d)
#pragma unroll
        for (int k = 0; k < 2; ++k) grown[k] += fabs(m[c * LD + d]) * pass[k][d];
    // False for NaN too.
    const bool fine = grown[0] / WORST < size[0] && grown[1] / WORST < size[1];
    const unsigned all = __ballot_sync(0xffffffffu, fine) >> (threadIdx.x & 16) & 0xffff;
    if (c == 15) inverse[0][15] = all == 0xffff ? 0 : 1;
    const bool mild = grown[0] < MILD * size[0] && grown[1] < MILD * size[1];
    return (__ballot_sync(0xffffffffu, mild) >> (threadIdx.x & 16) & 0xffff) == 0xffff;
}

}  // namespace tile
