// arch: sm_60
// Interpolation from a coarser grid that depends on the operator, and the operator P'AP.
#include "stencil.cuh"

namespace {

// The weights of points that lie between coarse points along `count` axes; blockIdx.y chooses these
// axes. One thread per cell. Couplings along the other axes are omitted. Couplings to points that
// lie between fewer coarse points are passed on to the coarse points, by the weights computed
// before.
template <int AXES, bool ALL>
__device__ __forceinline__ void interpolate(const Grid& g, const double* a, int count,
                                            double* weights) {
    const Grid coarse = g.coarse();
    const i64 cells = coarse.points();
    int odd = 0;
    for (int set = 1, seen = -1; set < (1 << AXES); ++set)
        if (__popc(set) == count && ++seen == (int)blockIdx.y) odd = set;
    const int ox = odd & 1, oy = odd >> 1 & 1, oz = odd >> 2;
    for (i64 cell = blockIdx.x * (i64)blockDim.x + threadIdx.x; cell < cells;
         cell += (i64)gridDim.x * blockDim.x) {
        int X, Y, Z;
        coarse.find(cell, X, Y, Z);
        const int x = 2 * X + ox, y = 2 * Y + oy, z = 2 * Z + oz;
        double corner[8] = {}, sum = 0;
        if (g.has(x, y, z)) {
            const i64 p = g.at(x, y, z);
            sum = fmax(a[p], 0.0);
            neighbours<AXES, ALL, 1>(g, a, p, x, y, z, [&](double w, i64, int dx, int dy, int dz) {
                dx *= ox, dy *= oy, dz *= oz;
                if (w == 0 || (dx | dy | dz) == 0) return;
                sum += w;
                between(coarse, weights, x + dx, y + dy, z + dz,
                        [&](double part, int A, int B, int C) {
                            const int at = (A - X) + 2 * (B - Y) + 4 * (C - Z);
#pragma unroll
                            for (int k = 0; k < 8; ++k)
                                if (k == at) corner[k] = fma(w, part, corner[k]);
                        });
            });
        }
        const double scale = sum > 0 ? 1 / sum : 0;
#pragma unroll
        for (int k = 0; k < 8; ++k) {
            if (k & ~odd) continue;
            const int code =
                ox * (1 + (k & 1)) + 3 * oy * (1 + (k >> 1 & 1)) + 9 * oz * (1 + (k >> 2));
            weights[(code - 1) * cells + cell] = corner[k] * scale;
        }
    }
}

// A row of P'AP: a thread has a coarse point, and adds up its products with all coarse points
// around.
template <int AXES, bool ALL>
__device__ __forceinline__ void coarsen(const Grid& g, const double* a, const double* weights,
                                        double* out) {
    typedef Forward<AXES, true> Around;
    const Grid coarse = g.coarse();
    const i64 cells = coarse.points();
    for (i64 cell = blockIdx.x * (i64)blockDim.x + threadIdx.x; cell < cells;
         cell += (i64)gridDim.x * blockDim.x) {
        int X, Y, Z;
        coarse.find(cell, X, Y, Z);
        double sums[2 * Around::CENTRE + 1] = {};
        const auto give = [&](double by, int x, int y, int z) {
            between(coarse, weights, x, y, z, [&](double part, int A, int B, int C) {
                const int at = (A - X + 1) + 3 * (B - Y + 1) + (AXES == 3 ? 9 * (C - Z + 1) : 0);
                sums[at] = fma(by, part, sums[at]);
            });
        };
#pragma unroll 1
        for (int dz = AXES == 3 ? -1 : 0; dz <= (AXES == 3 ? 1 : 0); ++dz)
#pragma unroll 1
            for (int dy = -1; dy <= 1; ++dy)
#pragma unroll 1
                for (int dx = -1; dx <= 1; ++dx) {
                    const int x = 2 * X + dx, y = 2 * Y + dy, z = 2 * Z + dz;
                    if (!g.has(x, y, z)) continue;
                    const double own = weight(coarse, weights, x, y, z, X, Y, Z);
                    if (own == 0) continue;
                    const i64 p = g.at(x, y, z);
                    double diagonal = a[p];
                    neighbours<AXES, ALL, 1>(g, a, p, x, y, z,
                                             [&](double w, i64, int ex, int ey, int ez) {
                                                 diagonal += w;
                                                 if (w != 0) give(-own * w, x + ex, y + ey, z + ez);
                                             });
                    give(own * diagonal, x, y, z);
                }
        // A grid with fewer axes has no neighbours along the others.
        const bool flat = AXES == 3 && coarse.n[2] == 1;
        double excess = 0;
        for (int k = 0; k < 2 * Around::CENTRE + 1; ++k) excess += sums[k];
        out[cell] = excess;
        const int centre = flat ? 4 : Around::CENTRE;
        for (int f = 0; f < centre; ++f)
            out[(1 + f) * cells + cell] = -sums[(flat ? 9 : 0) + centre + 1 + f];
    }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(256)
    stencil_interpolate_plain(int n0, int n1, int n2, int all, const double* a, int count,
                              double* weights) {
    const Grid g{{n0, n1, n2}};
#define CALL(AXES, ALL) interpolate<AXES, ALL>(g, a, count, weights)
    BY_SHAPE(CALL)
#undef CALL
}

extern "C" __global__ void __launch_bounds__(256)
    stencil_coarsen_plain(int n0, int n1, int n2, int all, const double* a, const double* weights,
                          double* out) {
    const Grid g{{n0, n1, n2}};
#define CALL(AXES, ALL) coarsen<AXES, ALL>(g, a, weights, out)
    BY_SHAPE(CALL)
#undef CALL
}
