// arch: sm_60
// Least squares for many small problems by one launch: one block per problem, whose x and y stay in
// shared memory.
//
// Each is LINPACK's dqrls: x by Householder reflectors with dqrdc2's exchanges, Q'y, coefficients
// by back substitution, and residuals Q (0, the rest of Q'y). Columns stay in place:
// order[position] is the column at a position. dqrdc2 compares the norm of a column's remainder
// with its limit when it reaches the column. The norm is computed then and not updated before,
// because the reflector needs it anyway. Norms are in double precision for both types.
//
// One warp makes a reflector, then each warp applies it to its columns. Problem i has x at x[i * m
// * n], and so on.
#include "common.cuh"

namespace {

extern __shared__ __align__(16) unsigned char memory[];

// A problem in shared memory: m by n, with q responses.
template <typename T>
struct Problem {
    double* limit;  // of a column: below this norm it depends on those before it
    T *x, *y, *tau;
    int *order, *kept;  // columns that have not been moved behind: order[.. *kept]

    __device__ Problem(int m, int n, int q) {
        limit = reinterpret_cast<double*>(memory);
        x = reinterpret_cast<T*>(limit + n);
        y = x + m * n;
        tau = y + m * q;
        order = reinterpret_cast<int*>(tau + min(m, n));
        kept = order + n;
    }
};

// The length of a column from some row on. `squares` is the sum of squares after multiplication by
// `scale`, a power of two that prevents overflow and underflow.
struct Length {
    double scale, squares;
    __device__ double norm() const { return root(squares) * inverse_scale(scale); }
};

// By one warp, for x[first .. m].
template <typename T>
__device__ __forceinline__ Length length_of(int first, int m, const T* x) {
    const int lane = threadIdx.x & 31;
    double largest = 0;
    for (int r = first + lane; r < m; r += 32) largest = larger(largest, magnitude(double(x[r])));
    const double scale = scale_for(warp_max(largest));
    double s = 0;
    for (int r = first + lane; r < m; r += 32) {
        const double y = double(x[r]) * scale;
        s += y * y;
    }
    return {scale, warp_sum(s)};
}

// Moves the column at position j of n behind all others. By one warp.
__device__ __forceinline__ void move_behind(int j, int n, int* order) {
    const int lane = threadIdx.x & 31, column = order[j];
    __syncwarp();
    for (int q = j; q + 1 < n; q += 32) {
        const int to = q + lane;
        const int next = to + 1 < n ? order[to + 1] : 0;
        __syncwarp();
        if (to + 1 < n) order[to] = next;
        __syncwarp();
    }
    if (lane == 0) order[n - 1] = column;
    __syncwarp();
}

// Chooses the column for position j and makes its reflector. By LINPACK's rule a column that is
// zero below the diagonal is reflected too, unless it is all zero. The last row has none. By one
// warp.
template <typename T>
__device__ __forceinline__ void make_reflector(int j, int m, int n, const Problem<T>& p) {
    const int lane = threadIdx.x & 31;
    int kept = *p.kept;
    Length length = length_of(j, m, p.x + p.order[j] * m);
    while (j < kept && !(length.norm() >= p.limit[p.order[j]])) {
        move_behind(j, n, p.order);
        --kept;
        length = length_of(j, m, p.x + p.order[j] * m);
    }
    T* v = p.x + p.order[j] * m;
    const bool reflect = j + 1 < m && length.squares != 0;
    const double head = double(v[j]) * length.scale;
    const double beta = -with_sign(root(length.squares), head);
    const double inverse = 1 / (head - beta);
    __syncwarp();
    if (reflect)
        for (int r = j + 1 + lane; r < m; r += 32) v[r] = T(double(v[r]) * length.scale * inverse);
    if (lane == 0) {
        if (reflect) v[j] = T(beta * inverse_scale(length.scale));
        p.tau[j] = reflect ? T((beta - head) / beta) : T(0);
        *p.kept = kept;
    }
}

// Applies reflector j, with its leading one implied, to a column. By one warp.
template <typename T>
__device__ __forceinline__ void reflect(int j, int m, T tau, const T* v, T* to) {
    const int lane = threadIdx.x & 31;
    T s = T(0);
    for (int r = j + 1 + lane; r < m; r += 32) s += v[r] * to[r];
    const T head = to[j];
    const T w = tau * (head + warp_sum(s));
    for (int r = j + 1 + lane; r < m; r += 32) to[r] -= w * v[r];
    __syncwarp();
    if (lane == 0) to[j] = head - w;
    __syncwarp();
}

// Coefficients and residuals of one response from the first k columns and z = Q'y, which is
// overwritten. By one warp.
template <typename T>
__device__ __forceinline__ void finish_response(int m, int n, int k, const Problem<T>& p, T* z,
                                                T* coefficients, T* residuals) {
    const int lane = threadIdx.x & 31;
    __syncwarp();
    for (int i = k - 1; i >= 0; --i) {
        const T* r = p.x + p.order[i] * m;
        const T b = z[i] / r[i];
        __syncwarp();
        for (int l = lane; l < i; l += 32) z[l] -= b * r[l];
        if (lane == 0) z[i] = b;
        __syncwarp();
    }
    for (int r = lane; r < n; r += 32) coefficients[r] = r < k ? z[r] : T(0);
    __syncwarp();
    for (int r = lane; r < k; r += 32) z[r] = T(0);
    __syncwarp();
    for (int j = k - 1; j >= 0; --j) {
        const T tau = p.tau[j];
        if (tau != T(0)) reflect(j, m, tau, p.x + p.order[j] * m, z);
    }
    for (int r = lane; r < m; r += 32) residuals[r] = z[r];
}

// Replaces x by its factor in LINPACK's form, columns in their new order, and y by Q'y. Requires m
// > 0.
template <typename T>
__device__ __forceinline__ void fit(i64 first, int m, int n, int q, double tol, T* x, T* y,
                                    T* residuals, T* coefficients, T* qraux, int* jpvt, int* rank) {
    const Problem<T> p(m, n, q);
    const int t = threadIdx.x, lane = t & 31, warp = t >> 5, warps = blockDim.x >> 5;
    const i64 index = first + blockIdx.x;
    x += index * m * n;
    y += index * m * q;
    residuals += index * m * q;
    coefficients += index * n * q;
    qraux += index * n;
    jpvt += index * n;
    for (int e = t; e < m * n; e += blockDim.x) p.x[e] = x[e];
    for (int e = t; e < m * q; e += blockDim.x) p.y[e] = y[e];
    for (int c = t; c < n; c += blockDim.x) p.order[c] = c;
    if (t == 0) *p.kept = n;
    __syncthreads();
    for (int c = warp; c < n; c += warps) {
        const double norm = length_of(0, m, p.x + c * m).norm();
        if (lane == 0) p.limit[c] = tol * (norm == 0 ? 1 : norm);
    }
    __syncthreads();
    const int steps = min(m, n);
    for (int j = 0; j < steps; ++j) {
        if (warp == 0) make_reflector(j, m, n, p);
        __syncthreads();
        const T tau = p.tau[j];
        const T* v = p.x + p.order[j] * m;
        const int behind = n - j - 1;
        // Columns moved behind are reduced too, but only the others fit y.
        const int columns = tau == T(0) ? 0 : behind + (j < *p.kept ? q : 0);
        for (int c = warp; c < columns; c += warps)
            reflect(j, m, tau, v,
                    c < behind ? p.x + p.order[j + 1 + c] * m : p.y + (c - behind) * m);
        __syncthreads();
    }
    const int k = min(*p.kept, m);
    if (t == 0) rank[index] = k;
    for (int c = warp; c < q; c += warps) {
        T* z = p.y + c * m;
        for (int r = lane; r < m; r += 32) y[c * m + r] = z[r];
        finish_response(m, n, k, p, z, coefficients + c * n, residuals + c * m);
    }
    for (int c = warp; c < n; c += warps) {
        const T* from = p.x + p.order[c] * m;
        const T tau = c + 1 < m ? p.tau[c] : T(0);
        for (int r = lane; r < m; r += 32) x[c * m + r] = r > c ? from[r] * tau : from[r];
        // Without a reflector dqrdc2 leaves the norm of the remainder, which is the last entry.
        if (lane == 0) qraux[c] = c + 1 < m ? tau : magnitude(from[m - 1]);
        if (lane == 0) jpvt[c] = p.order[c];
    }
}

}  // namespace

#define INSTANCES(T, SUFFIX)                                                                      \
    extern "C" __global__ void __launch_bounds__(256)                                             \
        batch_fit_block_##SUFFIX(i64 first, int m, int n, int q, double tol, T* x, T* y,          \
                                 T* residuals, T* coefficients, T* qraux, int* jpvt, int* rank) { \
        fit<T>(first, m, n, q, tol, x, y, residuals, coefficients, qraux, jpvt, rank);            \
    }

INSTANCES(double, f64)
INSTANCES(float, f32)
