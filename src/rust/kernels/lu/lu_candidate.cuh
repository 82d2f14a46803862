// The rows of a lane in a panel of LU, and their best candidate. See lu_panel.cu.
#pragma once
#include "lu_rows.cuh"

namespace {

using namespace lu;

constexpr int CLERKS = 4;  // warps of a block that have no rows

// What all threads of a block share.
template <typename T, int THREADS, int SLOTS>
struct Panel {
    Shared<T, THREADS, SLOTS>& s;
    i64 first, ld;  // the number of the first pivot; rows of `work`, those of all blocks
    int blocks, me, t, lane;
    T* work;
    int* pivots;
};

// Element `part` of four.
template <typename T>
__device__ __forceinline__ T fourth(const T (&v)[4], int part) {
    const T low = part & 1 ? v[1] : v[0], high = part & 1 ? v[3] : v[2];
    return part & 2 ? high : low;
}
// Writes row `which`, of those from LOW on and before HIGH. It branches, because an index would put
// the registers into an array in memory.
template <int LOW, int HIGH, typename T, int SETS, int SLOTS>
__device__ __forceinline__ void lay_out(int which, T* to, const T (&x)[SETS][4][SLOTS]) {
    if constexpr (HIGH - LOW == 1) {
#pragma unroll
        for (int e = 0; e < SLOTS; ++e) to[e] = x[LOW / 4][LOW % 4][e];
    } else {
        constexpr int MIDDLE = (LOW + HIGH) / 2;
        if (which < MIDDLE) lay_out<LOW, MIDDLE>(which, to, x);
        else lay_out<MIDDLE, HIGH>(which, to, x);
    }
}
// Forces the computation here, not at the first use.
__device__ __forceinline__ void keep(double& x) { asm volatile("" : "+d"(x)); }
__device__ __forceinline__ void keep(float& x) { asm volatile("" : "+f"(x)); }

// A lane's rows: their first places, their present places, and where their entries of L go.
template <typename T, int SETS>
struct Rows {
    int row[SETS], place[SETS];
    T* out[SETS];
};

// A lane's best candidate for a column, and its value.
template <typename T>
struct Candidate {
    Choice choice;
    T value;
    int set;
};
template <typename T, int SETS>
__device__ __forceinline__ Candidate<T> candidate(const T (&v)[SETS][4], const Rows<T, SETS>& at,
                                                  int j, int part) {
    Candidate<T> best;
#pragma unroll
    for (int h = 0; h < SETS; ++h) {
        const T own = fourth(v[h], part);
        Choice c = choice(own, at.place[h], at.row[h]);
        // A NaN at the column's head counts as the largest, and no other NaN counts, as in BLAS's
        // idamax.
        if (is_nan(c, T())) c.high = c.low = at.place[h] == j ? 0xffffffffu : 0;
        if (at.row[h] == NO_ROW || at.place[h] < j) c.high = c.low = 0;
        const bool more = h == 0 || better(best.choice, c).place != best.choice.place;
        if (more) best = {c, own, h};
    }
    return best;
}

}  // namespace
