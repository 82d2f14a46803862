// arch: sm_60
// Symmetric operators on grids, and the transfers between two grids. A thread has a point, of all
// vectors.
#include "stencil.cuh"

namespace {

constexpr int TOGETHER = 4;  // most vectors of a launch

// The divisor of a row in relaxation, from the diagonal entry and the sum of the couplings'
// magnitudes. The eigenvalues of D^-1 A are then at most 2, for couplings of any sign.
__device__ __forceinline__ double divisor(double diagonal, double around) {
    return fmax(diagonal, 0.5 * (fabs(diagonal) + around));
}

// (A x)_p for `columns` vectors: the excess times x_p plus couplings times differences. Also the
// row's divisor.
template <int AXES, bool ALL>
__device__ __forceinline__ double row(const Grid& g, const double* a, i64 p, const double* vectors,
                                      int columns, double (&product)[TOGETHER]) {
    const i64 n = g.points();
    int x, y, z;
    g.find(p, x, y, z);
    double diagonal = a[p], around = 0, own[TOGETHER];
#pragma unroll
    for (int c = 0; c < TOGETHER; ++c) {
        own[c] = c < columns ? vectors[p + c * n] : 0;
        product[c] = diagonal * own[c];
    }
    neighbours<AXES, ALL>(g, a, p, x, y, z, [&](double w, i64 q, int, int, int) {
        diagonal += w;
        around += fabs(w);
#pragma unroll
        for (int c = 0; c < TOGETHER; ++c)
            if (c < columns) product[c] = fma(w, own[c] - vectors[q + c * n], product[c]);
    });
    return divisor(diagonal, around);
}

template <int AXES, bool ALL>
__device__ __forceinline__ double divisor_of(const Grid& g, const double* a, i64 p) {
    int x, y, z;
    g.find(p, x, y, z);
    double diagonal = a[p], around = 0;
    neighbours<AXES, ALL>(g, a, p, x, y, z, [&](double w, i64, int, int, int) {
        diagonal += w;
        around += fabs(w);
    });
    return divisor(diagonal, around);
}

// out <- b - A x, or A x if b is null.
template <int AXES, bool ALL>
__device__ __forceinline__ void residual(const Grid& g, const double* a, const double* b,
                                         const double* x, double* out, int columns) {
    const i64 n = g.points();
    for (i64 p = blockIdx.x * (i64)blockDim.x + threadIdx.x; p < n;
         p += (i64)gridDim.x * blockDim.x) {
        double product[TOGETHER];
        row<AXES, ALL>(g, a, p, x, columns, product);
#pragma unroll
        for (int c = 0; c < TOGETHER; ++c)
            if (c < columns) out[p + c * n] = b == nullptr ? product[c] : b[p + c * n] - product[c];
    }
}

// p <- momentum p + rate D^-1 (b - A x), out <- x + p. If x is null, both x and p start from 0.
template <int AXES, bool ALL>
__device__ __forceinline__ void relax(const Grid& g, const double* a, const double* b,
                                      const double* x, double rate, double momentum, double* step,
                                      double* out, int columns) {
    const i64 n = g.points();
    for (i64 p = blockIdx.x * (i64)blockDim.x + threadIdx.x; p < n;
         p += (i64)gridDim.x * blockDim.x) {
        double product[TOGETHER];
        const double scale = rate / (x == nullptr ? divisor_of<AXES, ALL>(g, a, p)
                                                  : row<AXES, ALL>(g, a, p, x, columns, product));
#pragma unroll
        for (int c = 0; c < TOGETHER; ++c) {
            if (c >= columns) continue;
            const i64 at = p + c * n;
            const double moved = x == nullptr ? scale * b[at]
                                              : fma(momentum, momentum == 0 ? 0 : step[at],
                                                    scale * (b[at] - product[c]));
            step[at] = moved;
            out[at] = x == nullptr ? moved : x[at] + moved;
        }
    }
}

// out <- P' x, one thread per coarse point.
template <int AXES>
__device__ __forceinline__ void down(const Grid& g, const double* weights, const double* x,
                                     double* out, int columns) {
    const Grid coarse = g.coarse();
    const i64 cells = coarse.points(), n = g.points();
    for (i64 p = blockIdx.x * (i64)blockDim.x + threadIdx.x; p < cells;
         p += (i64)gridDim.x * blockDim.x) {
        int X, Y, Z;
        coarse.find(p, X, Y, Z);
        double sum[TOGETHER] = {};
        for (int dz = AXES == 3 ? -1 : 0; dz <= (AXES == 3 ? 1 : 0); ++dz)
            for (int dy = -1; dy <= 1; ++dy)
                for (int dx = -1; dx <= 1; ++dx) {
                    const int fx = 2 * X + dx, fy = 2 * Y + dy, fz = 2 * Z + dz;
                    if (!g.has(fx, fy, fz)) continue;
                    const double w = weight(coarse, weights, fx, fy, fz, X, Y, Z);
                    const i64 q = g.at(fx, fy, fz);
#pragma unroll
                    for (int c = 0; c < TOGETHER; ++c)
                        if (c < columns) sum[c] = fma(w, x[q + c * n], sum[c]);
                }
#pragma unroll
        for (int c = 0; c < TOGETHER; ++c)
            if (c < columns) out[p + c * cells] = sum[c];
    }
}

// out <- out + P x.
__device__ __forceinline__ void up(const Grid& g, const double* weights, const double* x,
                                   double* out, int columns) {
    const Grid coarse = g.coarse();
    const i64 cells = coarse.points(), n = g.points();
    for (i64 p = blockIdx.x * (i64)blockDim.x + threadIdx.x; p < n;
         p += (i64)gridDim.x * blockDim.x) {
        int fx, fy, fz;
        g.find(p, fx, fy, fz);
        double sum[TOGETHER] = {};
        between(coarse, weights, fx, fy, fz, [&](double w, int X, int Y, int Z) {
            const i64 q = coarse.at(X, Y, Z);
#pragma unroll
            for (int c = 0; c < TOGETHER; ++c)
                if (c < columns) sum[c] = fma(w, x[q + c * cells], sum[c]);
        });
#pragma unroll
        for (int c = 0; c < TOGETHER; ++c)
            if (c < columns) out[p + c * n] += sum[c];
    }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(256)
    stencil_residual_plain(int n0, int n1, int n2, int all, const double* a, const double* b,
                           const double* x, double* out, int columns) {
    const Grid g{{n0, n1, n2}};
#define CALL(AXES, ALL) residual<AXES, ALL>(g, a, b, x, out, columns)
    BY_SHAPE(CALL)
#undef CALL
}

extern "C" __global__ void __launch_bounds__(256)
    stencil_relax_plain(int n0, int n1, int n2, int all, const double* a, const double* b,
                        const double* x, double rate, double momentum, double* step, double* out,
                        int columns) {
    const Grid g{{n0, n1, n2}};
#define CALL(AXES, ALL) relax<AXES, ALL>(g, a, b, x, rate, momentum, step, out, columns)
    BY_SHAPE(CALL)
#undef CALL
}

extern "C" __global__ void __launch_bounds__(256)
    stencil_restrict_plain(int n0, int n1, int n2, const double* weights, const double* x,
                           double* out, int columns) {
    const Grid g{{n0, n1, n2}};
    if (n2 > 1) down<3>(g, weights, x, out, columns);
    else down<2>(g, weights, x, out, columns);
}

extern "C" __global__ void __launch_bounds__(256)
    stencil_prolong_plain(int n0, int n1, int n2, const double* weights, const double* x,
                          double* out, int columns) {
    up(Grid{{n0, n1, n2}}, weights, x, out, columns);
}
