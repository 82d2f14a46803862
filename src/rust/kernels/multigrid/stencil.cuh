// Points of a grid, their neighbours, and the weights of interpolation. `src/device/stencil.rs`
// defines how operators are stored.
#pragma once
#include "common.cuh"

struct Grid {
    int n[3];

    __device__ __forceinline__ i64 points() const { return (i64)n[0] * n[1] * n[2]; }
    __device__ __forceinline__ Grid coarse() const {
        return {{(n[0] + 1) / 2, (n[1] + 1) / 2, (n[2] + 1) / 2}};
    }
    __device__ __forceinline__ bool has(int x, int y, int z) const {
        return (unsigned)x < (unsigned)n[0] && (unsigned)y < (unsigned)n[1] &&
               (unsigned)z < (unsigned)n[2];
    }
    __device__ __forceinline__ i64 at(int x, int y, int z) const {
        return x + n[0] * (y + (i64)n[1] * z);
    }
    __device__ __forceinline__ void find(i64 p, int& x, int& y, int& z) const {
        const unsigned q = (unsigned)p, line = q / (unsigned)n[0];
        x = (int)(q - line * (unsigned)n[0]);
        z = (int)(line / (unsigned)n[1]);
        y = (int)(line - (unsigned)z * (unsigned)n[1]);
    }
};

// Step number f to the neighbours that come later, in two or three axes, along axes or to all
// neighbours; and the number of steps.
template <int AXES, bool ALL>
struct Forward {
    static constexpr int CENTRE = AXES == 3 ? 13 : 4, COUNT = ALL ? CENTRE : AXES;
    __device__ static __forceinline__ int x(int f) {
        return ALL ? (CENTRE + 1 + f) % 3 - 1 : f == 0;
    }
    __device__ static __forceinline__ int y(int f) {
        return ALL ? (CENTRE + 1 + f) / 3 % 3 - 1 : f == 1;
    }
    __device__ static __forceinline__ int z(int f) {
        return ALL ? (AXES == 3 ? (CENTRE + 1 + f) / 9 - 1 : 0) : f == 2;
    }
};

// Calls f(coupling, neighbour, dx, dy, dz) for all neighbours of a point in the grid, UNROLLED
// pairs of them at a time.
template <int AXES, bool ALL, int UNROLLED = Forward<AXES, ALL>::COUNT, typename F>
__device__ __forceinline__ void neighbours(const Grid& g, const double* a, i64 p, int x, int y,
                                           int z, F f) {
    typedef Forward<AXES, ALL> Later;
    const i64 n = g.points();
#pragma unroll UNROLLED
    for (int k = 0; k < Later::COUNT; ++k) {
        const int dx = Later::x(k), dy = Later::y(k), dz = Later::z(k);
        const i64 step = g.at(dx, dy, dz);
        const double* w = a + (1 + k) * n;
        if (g.has(x + dx, y + dy, z + dz)) f(w[p], p + step, dx, dy, dz);
        if (g.has(x - dx, y - dy, z - dz)) f(w[p - step], p - step, -dx, -dy, -dz);
    }
}

// The weight of coarse point (X, Y, Z) for a point that is at most one step away from it.
__device__ __forceinline__ double weight(const Grid& coarse, const double* weights, int x, int y,
                                         int z, int X, int Y, int Z) {
    const int dx = x - 2 * X, dy = y - 2 * Y, dz = z - 2 * Z;
    const int code = (dx > 0   ? 1
                      : dx < 0 ? 2
                               : 0) +
                     (dy > 0   ? 3
                      : dy < 0 ? 6
                               : 0) +
                     (dz > 0   ? 9
                      : dz < 0 ? 18
                               : 0);
    if (code == 0) return 1;
    return weights[(code - 1) * coarse.points() +
                   coarse.at(X - (dx < 0), Y - (dy < 0), Z - (dz < 0))];
}

// Calls f(weight, X, Y, Z) for the coarse points around a point.
template <typename F>
__device__ __forceinline__ void between(const Grid& coarse, const double* weights, int x, int y,
                                        int z, F f) {
#pragma unroll 1
    for (int Z = z / 2; Z <= min((z + 1) / 2, coarse.n[2] - 1); ++Z)
#pragma unroll 1
        for (int Y = y / 2; Y <= min((y + 1) / 2, coarse.n[1] - 1); ++Y)
#pragma unroll 1
            for (int X = x / 2; X <= min((x + 1) / 2, coarse.n[0] - 1); ++X)
                f(weight(coarse, weights, x, y, z, X, Y, Z), X, Y, Z);
}

// Calls a template for the number of axes and the kind of neighbours.
#define BY_SHAPE(CALL)          \
    if (n2 > 1) {               \
        if (all) CALL(3, true); \
        else CALL(3, false);    \
    } else {                    \
        if (all) CALL(2, true); \
        else CALL(2, false);    \
    }
