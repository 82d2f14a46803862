// arch: sm_60
// QR with column pivoting, one reflector at a time, in two launches per column. `column_choose_*`
// picks the column and makes its reflector; `column_reflect_norms` applies it to the columns after
// it and updates their norms.
//
// Columns stay in place: `order[position]` is the column at a position. Norms are stored by column.
// A norm shrinks with every reflector and is computed again after too much cancellation. Norms are
// in double precision: in single precision their own rounding errors would count as a remaining
// column.
#include "common.cuh"

namespace {

constexpr int GROUP = 8;  // rows whose loads are in flight together

// The norm of x[0 .. count], scaled by a power of two against overflow and underflow, returned to
// every thread.
template <typename T>
__device__ __forceinline__ double block_norm(i64 count, const T* x, double* scratch) {
    double largest = 0;
    for (i64 r = threadIdx.x; r < count; r += blockDim.x)
        largest = larger(largest, magnitude(double(x[r])));
    largest = block_max(largest, scratch);
    const double g = scale_for(largest);
    double s = 0;
    for (i64 r = threadIdx.x; r < count; r += blockDim.x) {
        const double y = double(x[r]) * g;
        s += y * y;
    }
    return root(block_sum(s, scratch)) * inverse_scale(g);
}

// The reflector of rows j.. of `column`: written to the column in LAPACK's form, to v with its
// leading one, and its factor to tau[j]. A column whose tail is zero is unchanged; or with `always`
// (LINPACK's rule) its sign is changed, unless it is the last row.
template <typename T>
__device__ __forceinline__ void make_reflector(i64 m, i64 j, T* column, T* v, T* tau, bool always,
                                               T* scratch) {
    const int t = threadIdx.x;
    const T alpha = column[j];
    T tail = T(0);
    for (i64 r = j + 1 + t; r < m; r += blockDim.x) tail = larger(tail, magnitude(column[r]));
    tail = block_max(tail, scratch);
    const T g = scale_for(larger(tail, magnitude(alpha)));
    T s = T(0);
    for (i64 r = j + 1 + t; r < m; r += blockDim.x) {
        const T y = column[r] * g;
        s += y * y;
    }
    s = block_sum(s, scratch);
    const T as = alpha * g;
    const bool reflect = j + 1 < m && (tail > T(0) || s != T(0) || (always && as != T(0)));
    T beta = alpha, factor = T(0), inverse = T(0);
    if (reflect) {
        const T bs = -with_sign(root(as * as + s), as);
        inverse = T(1) / (as - bs);
        factor = (bs - as) / bs;
        beta = bs * inverse_scale(g);
    }
    for (i64 r = j + 1 + t; r < m; r += blockDim.x) {
        const T y = reflect ? column[r] * g * inverse : column[r];
        v[r] = y;
        column[r] = y;
    }
    __syncthreads();
    if (t == 0) {
        v[j] = T(1);
        column[j] = beta;
        tau[j] = factor;
    }
}

// LAPACK's geqp3: the column of largest remaining norm is next, the first of equal ones; a NaN is
// chosen only at the head. One block.
template <typename T>
__device__ __forceinline__ void choose_largest(i64 m, i64 n, i64 j, T* a, i64 ld, int* order,
                                               const double* norm, T* v, T* tau) {
    __shared__ double values[32];
    __shared__ int indices[32];
    __shared__ T scratch[32];
    __shared__ int column;
    Candidate<double> c = {-1.0, 0x7fffffff};
    for (i64 q = j + threadIdx.x; q < n; q += blockDim.x) {
        const double x = norm[order[q]];
        if (x == x) c = better(c, Candidate<double>{x, (int)q});
    }
    c = block_best(c, values, indices);
    if (threadIdx.x == 0) {
        const int head = order[j];
        int q = (int)j;
        if (norm[head] == norm[head] && c.index != 0x7fffffff) q = c.index;
        column = order[q];
        order[q] = head;
        order[j] = column;
    }
    __syncthreads();
    make_reflector(m, j, a + column * ld, v, tau, false, scratch);
}

// LINPACK's dqrdc2: columns from position j on whose remaining norm is below tol times their first
// norm move behind all others, in order, until one is not; *kept counts the columns that have not
// been moved. One block. `moved` holds n integers.
template <typename T>
__device__ __forceinline__ void choose_limited(i64 m, i64 n, i64 j, double tol, T* a, i64 ld,
                                               int* order, int* moved, const double* norm,
                                               const double* original, int* kept, T* v, T* tau) {
    __shared__ double values[32];
    __shared__ int indices[32];
    __shared__ T scratch[32];
    const i64 k = *kept;
    // The first position that is not moved is the "largest" candidate of equal value.
    Candidate<double> c = {-1.0, (int)(k > j ? k : j)};
    for (i64 q = j + threadIdx.x; q < k; q += blockDim.x) {
        const int column = order[q];
        const double first = original[column] == 0 ? 1 : original[column];
        if (norm[column] >= first * tol) c = better(c, Candidate<double>{1.0, (int)q});
    }
    c = block_best(c, values, indices);
    const i64 away = c.index - j;
    if (away > 0) {
        for (i64 q = threadIdx.x; q < n - j; q += blockDim.x)
            moved[q] = order[j + (q + away) % (n - j)];
        __syncthreads();
        for (i64 q = threadIdx.x; q < n - j; q += blockDim.x) order[j + q] = moved[q];
        __syncthreads();
        if (threadIdx.x == 0) *kept = (int)(k - away);
    }
    make_reflector(m, j, a + order[j] * ld, v, tau, true, scratch);
}

// Applies reflector j to the column at position j + 1 + blockIdx.x and updates its norm. `recent`
// is the norm when it was last computed in full. `rule` is 0 for LAPACK's test of cancellation, 1
// for dqrdc2's.
template <typename T>
__device__ __forceinline__ void reflect_column(i64 m, i64 j, T* a, i64 ld, const int* order,
                                               double* norm, double* recent, const T* v,
                                               const T* tau, int rule, double threshold) {
    __shared__ T scratch[32];
    __shared__ double wide[32];
    const int column = order[j + 1 + blockIdx.x];
    T* x = a + column * ld;
    const T factor = tau[j];
    if (factor != T(0)) {
        T s = T(0);
        for (i64 r = j + threadIdx.x; r < m; r += blockDim.x) s += v[r] * x[r];
        const T w = factor * block_sum(s, scratch);
        // Loads precede stores that may alias them, a group of rows at a time.
        for (i64 r = j + threadIdx.x; r < m; r += GROUP * (i64)blockDim.x) {
            T y[GROUP];
#pragma unroll
            for (int i = 0; i < GROUP; ++i) {
                const i64 q = r + i * (i64)blockDim.x;
                y[i] = q < m ? x[q] - w * v[q] : T(0);
            }
#pragma unroll
            for (int i = 0; i < GROUP; ++i) {
                const i64 q = r + i * (i64)blockDim.x;
                if (q < m) x[q] = y[i];
            }
        }
        __syncthreads();
    } else if (rule != 0) {
        return;  // dqrdc2 skips a column of zeros
    }
    const double old = norm[column];
    if (old == 0) return;
    const double ratio = magnitude(double(x[j])) / old;
    double left = 1 - ratio * ratio;
    if (left < 0) left = 0;
    const double since = old / recent[column];
    __syncthreads();
    const bool keep = rule == 0 ? left * since * since > threshold : left >= threshold;
    if (keep) {
        if (threadIdx.x == 0) norm[column] = old * root(left);
        return;
    }
    const double fresh = j + 1 < m ? block_norm(m - j - 1, x + j + 1, wide) : 0.0;
    if (threadIdx.x == 0) {
        norm[column] = fresh;
        recent[column] = fresh;
    }
}

}  // namespace

#define INSTANCES(T, SUFFIX)                                                                       \
    extern "C" __global__ void __launch_bounds__(1024) column_choose_largest_##SUFFIX(             \
        i64 m, i64 n, i64 j, T* a, i64 ld, int* order, const double* norm, T* v, T* tau) {         \
        choose_largest<T>(m, n, j, a, ld, order, norm, v, tau);                                    \
    }                                                                                              \
    extern "C" __global__ void __launch_bounds__(1024) column_choose_limited_##SUFFIX(             \
        i64 m, i64 n, i64 j, double tol, T* a, i64 ld, int* order, int* moved, const double* norm, \
        const double* original, int* kept, T* v, T* tau) {                                         \
        choose_limited<T>(m, n, j, tol, a, ld, order, moved, norm, original, kept, v, tau);        \
    }                                                                                              \
    extern "C" __global__ void __launch_bounds__(256) column_reflect_norms_##SUFFIX(               \
        i64 m, i64 j, T* a, i64 ld, const int* order, double* norm, double* recent, const T* v,    \
        const T* tau, int rule, double threshold) {                                                \
        reflect_column<T>(m, j, a, ld, order, norm, recent, v, tau, rule, threshold);              \
    }

INSTANCES(double, f64)
INSTANCES(float, f32)
