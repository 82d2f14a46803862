// Division by a pivot in the LU pipeline, and the careful choice of a pivot in the cases that the
// fast test leaves.
#pragma once
#include "lu_pivot.cuh"
#include "column_pipeline.cuh"

namespace lu {

using pipeline::Rows;

// An approximate reciprocal of a number, from the first word of its magnitude; and the reciprocal,
// rounded. LAPACK multiplies by it too.
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

// One thread's numbers of a column.
template <typename T, int ROWS>
struct Numbers {
    T x[ROWS];
};

// The row of the pivot of column j, if several entries are equal to the largest, or it is NaN or
// zero.
template <typename T, int THREADS, int ROWS>
__device__ __noinline__ int chosen_carefully(Numbers<T, ROWS> v, Choice* tied,
                                             const unsigned short* place, int t, int j, int m) {
    Choice best = {0, 0, NO_ROW, NO_ROW};
#pragma unroll
    for (int h = 0; h < ROWS; ++h) {
        const int r = Rows<T, THREADS, ROWS>::of(t, h),
                  at = r < m ? *(volatile const unsigned short*)(place + r) : 0;
        Choice c = choice(v.x[h], at, r);
        // A NaN at the column's head counts as the largest, and no other NaN counts, as in BLAS's
        // idamax.
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

// Divides a column by a pivot that is zero, or close to overflow or underflow. The result must not
// contain a mark of messages.
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
