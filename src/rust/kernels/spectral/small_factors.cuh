// arch: sm_70
// Matrices of order 32 in shared memory: elimination by one warp, and products and divisions of
// triangular matrices by a block.
//
// A triangular matrix has its rows one after the other from the diagonal on: (k, k + r) is at
// [k][r]. So a loop over steps k has the same addresses in each step, and a lane's column stays in
// the same registers: those of row k + r are number r in step k.
#pragma once
#include "board.cuh"
#include "gram_root.cuh"

namespace small {

using board::SIDE;
using board::WARPS;
using eliminate::ordinary;
using eliminate::reciprocal;

constexpr unsigned ALL = 0xffffffffu;

// x[r - 1] <- x[r] - v[r] by for r from 1 to 15 or from 16 to 31: half a step of an elimination.
template <bool LATE>
__device__ __forceinline__ void step(double (&x)[SIDE], const double* v, double by) {
    const double2* pairs = reinterpret_cast<const double2*>(v);
#pragma unroll
    for (int r = LATE ? SIDE / 2 : 0; r < (LATE ? SIDE : SIDE / 2); r += 2) {
        const double2 p = pairs[r / 2];
        if (r > 0) x[r - 1] = x[r] - p.x * by;
        x[r] = x[r + 1] - p.y * by;
    }
}

// The upper factor U = D V' of the symmetric V D V' whose column `lane` is x, with the pivots D on
// its diagonal. Returns whether all pivots are ordinary.
__device__ __forceinline__ bool eliminate_symmetric(double (&x)[SIDE], double* u) {
    const int lane = threadIdx.x % 32;
    bool fine = true;
    double pivot = __shfl_sync(ALL, x[0], 0), inverse = reciprocal(pivot);
#pragma unroll 1
    for (int k = 0; k < SIDE; ++k, u += SIDE) {
        u[(lane - k) & 31] = x[0];
        __syncwarp();
        const double by = x[0] * inverse;
        fine = fine && ordinary(pivot);
        // The next pivot is found while the rest of the step is computed.
        pivot = __shfl_sync(ALL, x[1] - x[0] * by, (k + 1) & 31);
        step<false>(x, u, by);
        inverse = reciprocal(pivot);
        step<true>(x, u, by);
    }
    return fine;
}

// W - S R = V M without exchanges, where column `lane` of W is x. S(k) is a sign opposite to the
// pivot before. V comes by columns from the diagonal on, and not yet divided by the pivots.
struct Signed {
    double sign, pivot, inverse;  // of a step

    // The sign, pivot and inverse of step k, whose pivot without a sign is `raw`. With `square` the
    // last pivot is zero.
    __device__ __forceinline__ void choose(int k, double raw, const double* r, bool square) {
        const bool zero = square && k == SIDE - 1;
        sign = (raw >= 0) == zero ? 1.0 : -1.0;
        pivot = zero ? 0.0 : raw - sign * r[k * SIDE];
        inverse = zero ? 0.0 : reciprocal(pivot);
    }

    __device__ __forceinline__ void run(double (&x)[SIDE], const double* r, bool square, double* v,
                                        double* m, double* signs, double* inverses) {
        const int lane = threadIdx.x % 32;
        choose(0, __shfl_sync(ALL, x[0], 0), r, square);
#pragma unroll 1
        for (int k = 0; k < SIDE; ++k) {
            const int own = (lane - k) & 31;
            double* column = v + k * SIDE;
            if (own == 0) {
                signs[k] = sign;
                inverses[k] = inverse;
#pragma unroll
                for (int i = 0; i < SIDE; i += 2)
                    reinterpret_cast<double2*>(column)[i / 2] = make_double2(x[i], x[i + 1]);
            }
            __syncwarp();
            const double below = __shfl_sync(ALL, x[1], k);
            const double u = own == 0 ? pivot : x[0] - sign * r[k * SIDE + own];
            const double by = u * inverse;
            // The next pivot is found while the rest of the step is computed.
            const double raw = __shfl_sync(ALL, x[1] - below * by, (k + 1) & 31);
            step<false>(x, column, by);
            choose((k + 1) & 31, raw, r, square);
            step<true>(x, column, by);
            m[k * SIDE + own] = u;
        }
    }
};

// Columns 16 `half` and following of sets of rows <- those times the inverse of the same columns
// of an upper triangular D, once the columns before are final; one row a lane. `inverse`: of D's
// diagonal.
__device__ __forceinline__ void divide_half(double* rows, int sets, const double* d,
                                            const double* inverse, int half) {
    constexpr int HALF = SIDE / 2;
    const int lane = threadIdx.x % 32;
    d += half * HALF * SIDE;
    inverse += half * HALF;
#pragma unroll 1
    for (int set = threadIdx.x / 32; set < sets; set += WARPS) {
        double* at = rows + (set * SIDE + half * HALF) * SIDE + lane;
        double x[HALF];
#pragma unroll
        for (int k = 0; k < HALF; ++k) x[k] = at[k * SIDE];
#pragma unroll
        for (int k = 0; k < HALF; ++k) {
            const double2* pairs = reinterpret_cast<const double2*>(d + k * SIDE);
            x[k] *= inverse[k];
#pragma unroll
            for (int c = k; c < HALF; c += 2) {
                const double2 p = pairs[(c - k) / 2];
                if (c > k) x[c] -= x[k] * p.x;
                if (c + 1 < HALF) x[c + 1] -= x[k] * p.y;
            }
        }
#pragma unroll
        for (int k = 0; k < HALF; ++k) at[k * SIDE] = x[k];
    }
}

// Sets of rows <- those D^-1. The block has met, and meets.
__device__ __forceinline__ void divide(double* rows, int sets, const double* d,
                                       const double* inverse) {
    constexpr int HALF = SIDE / 2, PARTS = HALF / 2;
    const int lane = threadIdx.x % 32;
#pragma unroll 1
    for (int half = 0; half < 2; ++half) {
        divide_half(rows, sets, d, inverse, half);
        __syncthreads();
        if (half) break;
        // Two columns of the other half.
#pragma unroll 1
        for (int part = threadIdx.x / 32; part < sets * PARTS; part += WARPS) {
            const int column = HALF + part % PARTS * 2;
            const double* x = rows + part / PARTS * SIDE * SIDE + lane;
            double* at = rows + (part / PARTS * SIDE + column) * SIDE + lane;
            double y = at[0], z = at[SIDE];
#pragma unroll 4
            for (int k = 0; k < HALF; ++k) {
                const double* by = d + k * SIDE + column - k;
                y -= x[k * SIDE] * by[0];
                z -= x[k * SIDE] * by[1];
            }
            at[0] = y;
            at[SIDE] = z;
        }
        __syncthreads();
    }
}

// C = A B or A diag(s) B for upper triangular matrices; put(i, j, C(i, j)) for all i <= j.
template <typename F>
__device__ __forceinline__ void multiply_upper(const double* a, const double* s, bool scaled,
                                               const double* b, F put) {
    constexpr int EACH = (SIDE + WARPS - 1) / WARPS;
    const int j = threadIdx.x % 32, warp = threadIdx.x / 32;
    double c[EACH] = {};
#pragma unroll 4
    for (int k = warp; k < SIDE; ++k) {
        double y = k <= j ? b[k * SIDE + j - k] : 0.0;
        if (scaled) y *= s[k];
#pragma unroll
        for (int e = 0; e < EACH; ++e) {
            const int i = warp + e * WARPS;
            if (i <= k) c[e] += a[i * SIDE + k - i] * y;
        }
    }
#pragma unroll
    for (int e = 0; e < EACH; ++e) {
        const int i = warp + e * WARPS;
        if (i <= j) put(i, j, c[e]);
    }
}

}  // namespace small
