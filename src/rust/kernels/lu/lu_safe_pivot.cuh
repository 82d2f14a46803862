// Division by a pivot in the pipeline of LU, and what is done with care where a glance is not
// enough to choose one.
#pragma once
#include "lu_pivot.cuh"
#include "column_pipeline.cuh"

namespace lu {

using pipeline::Rows;

// A start for the reciprocal of a number of which the magnitude's first word is known, and the
// reciprocal itself, rounded: LAPACK too multiplies by it.
__device__ __forceinline__ double rough(unsigned word, double) {
    double y;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(__hiloint2double((int)word, 0)));
    return y;
}
__device__ __forceinline__ float rough(unsigned word, float) {
    return __frcp_rn(__int_as_float((int)word));
}
__device__ __forceinline__ double refined(double p, double y) {
    return refined_reciprocal(p, copysign(y, p));
}
__device__ __forceinline__ float refined(float p, float y) { return copysignf(y, p); }

// A column's numbers of one thread.
template <typename T, int ROWS>
struct Numbers {
    T x[ROWS];
};

// Where many are as large as the largest, or it is not a number, or zero: the row of the pivot of
// column j.
template <typename T, int THREADS, int ROWS>
__device__ __noinline__ int chosen_carefully(Numbers<T, ROWS> v, Choice* tied,
                                             const unsigned short* place, int t, int j, int m) {
    Choice best = {0, 0, NO_ROW, NO_ROW};
#pragma unroll
    for (int h = 0; h < ROWS; ++h) {
        const int r = Rows<T, THREADS, ROWS>::of(t, h),
                  at = r < m ? *(volatile const unsigned short*)(place + r) : 0;
        Choice c = choice(v.x[h], at, r);
        // The column's head counts as the largest where it is a NaN, and no other NaN counts: as in
        // BLAS's idamax.
        if (is_nan(c, T())) c.high = c.low = at == j ? 0xffffffffu : 0;
        if (r >= m || at < j) c = {0, 0, NO_ROW, NO_ROW};
        best = better(best, c);
    }
    tied[t] = best;
    asm volatile("bar.sync 1, %0;" ::"n"(THREADS) : "memory");
    Choice c = tied[t & 31];
#pragma unroll 1
    for (int i = 32; i < THREADS; i += 32) c = better(c, tied[i + (t & 31)]);
    return __shfl_sync(ALL, c.row, best_lane(c));
}

// A column divided by a pivot that is zero, or close to an end of the range; as a message it has to
// be what no mark is.
template <typename T, int ROWS>
__device__ __noinline__ Numbers<T, ROWS> divided_carefully(Numbers<T, ROWS> v, T p) {
#pragma unroll
    for (int h = 0; h < ROWS; ++h) {
        if (p != T(0)) v.x[h] = v.x[h] / p;
        if (pipeline::head(v.x[h]) - pipeline::BLANK<T> < 2)
            pipeline::put_word(v.x[h], 0x7fffffffu);
    }
    return v;
}

}  // namespace lu
