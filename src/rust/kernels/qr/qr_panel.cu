// arch: sm_60
// Panels of the QR factorization from matrix products, and T of a block of reflectors.
//
// CholeskyQR2 (Yamamoto et al., 2015): R1 = chol(A'A), Q1 = A R1^-1, R2 = chol(Q1'Q1). Then Q = Q1
// R2^-1 is orthogonal to rounding if A'A is not too ill-conditioned, and A = Q R2 R1.
//
// Householder reconstruction (Ballard et al., 2015): S is a diagonal matrix of signs, with S(j)
// opposite to the pivot. Q - S = V U without exchanges, with V unit lower trapezoidal. With V1 the
// first n rows of V, Q S = I - V T V1' and T = -U S V1'^-1. These are LAPACK's reflectors, with
// factors tau = diag(T) and R = S R2 R1.
//
// Q is never formed. (Q - S) R2 = Q1 - S R2 = V M with M = U R2, which is eliminated instead of Q -
// S, and T = -M P^-1 with P = V1' S R2.
//
// `stop` is set to the 1-based first column of a panel that is refused. From then on nothing is
// done. A is only read until V is known, so that another method can start from it. These panels are
// refused:
//
// - A'A has a pivot that is not positive (NaN too), infinite, or near overflow or underflow.
// - Q1'Q1 is far from the identity: R1 was too inaccurate, and Q might be.
// - Entries of a column of Q below the diagonal are negligible. If they are zero LAPACK has no
//   reflector, tau = 0. The last column of a square panel has none either: S has the sign of the
//   pivot, which becomes zero.
#include "divide_rows.cuh"
#include "gram_root.cuh"

namespace {

// R1 of a panel of n columns, from its Gram matrix.
template <typename T>
__device__ __forceinline__ void factor_gram(int n, const T* g, T* r, i64 first, int* stop) {
    if (stopped(stop)) return;
    __shared__ T inverses[LD];
    __shared__ int refused;
    const int size = padded(n);
    const eliminate::Elimination<T, false> w = {
        shared_memory<T>(), size, {nullptr, 0, n, false}, inverses, nullptr, &refused, nullptr};
    if (threadIdx.x == 0) refused = 0;
    load_square(w, n, g, LD);
    if (!root_of(w, r, inverses) && threadIdx.x == 0) *stop = (int)(first + 1);
}

// R2, V1, M, S and tau of a panel from G = Q1'Q1 and q, the first n rows of Q1. V1 and M are stored
// in `factors`, one below the other.
template <typename T>
__device__ __forceinline__ void reconstruct(int n, bool square, const T* g, const T* q, i64 ldq,
                                            T* r, T* factors, T* signs, T* tau, i64 first,
                                            int* stop) {
    if (stopped(stop)) return;
    __shared__ T inverses[LD], chosen[LD], scratch[32],
        ahead[eliminate::SIDE * (eliminate::SIDE + 1)];
    __shared__ int refused;
    const int t = threadIdx.x, size = padded(n), row = my_row();
    const eliminate::Elimination<T, false> gram = {
        shared_memory<T>(), size, {nullptr, 0, n, false}, inverses, nullptr, &refused, nullptr};
    if (t == 0) refused = 0;
    load_square(gram, n, g, LD);
    // Loops over what this thread has loaded. They stay loops: code that runs once takes longer to
    // fetch than to execute.
    T distance = T(0), largest = T(0);
#pragma unroll 4
    for (int j = my_column(); j < size; j += APART) {
        if (row >= size) continue;
        const T e = gram.at(row, j) - (row == j ? T(1) : T(0));
        distance += e * e;
        largest = larger(largest, magnitude(e));
    }
    distance = block_sum(distance, scratch);
    largest = block_max(largest, scratch);
    bool fine = distance < T(FAR);
    if (fine && largest <= Limits<T>::small) {
        // chol(I + E) to first order: the omitted terms are less than a rounding error.
#pragma unroll 4
        for (int j = my_column(); j < size; j += APART) {
            if (row >= size) continue;
            const T e = gram.at(row, j);
            r[row + j * LD] = row < j ? e : (row == j ? T(1) + (e - T(1)) / 2 : T(0));
        }
        __syncthreads();
    } else if (fine) {
        fine = root_of(gram, r, inverses);
    }
    const eliminate::Elimination<T, true> w = {
        shared_memory<T>(), size, {r, LD, n, square}, inverses, chosen, &refused, ahead};
    load_square(w, n, q, ldq);
    // Four threads sum the entries of a column on and above the diagonal.
    const int column = t / 4;
    T above = T(0);
#pragma unroll 4
    for (int i = t % 4; column < n && i <= column; i += 4)
        above += w.at(i, column) * w.at(i, column);
    above += __shfl_xor_sync(0xffffffffu, above, 1);
    above += __shfl_xor_sync(0xffffffffu, above, 2);
    const bool judged = column < (square ? n - 1 : n);
    if (judged && !(g[column + column * LD] - above > 64 * Limits<T>::eps)) fine = false;
    if (__syncthreads_or(!fine)) {
        if (t == 0) *stop = (int)(first + 1);
        return;
    }
    w.run();
#pragma unroll 4
    for (int j = my_column(); j < n; j += APART)
        if (row < n) factors[row + j * LD] = w.at(row, j);
    for (int j = t; j < n; j += eliminate::THREADS) {
        signs[j] = chosen[j];
        tau[j] = -chosen[j] * w.at(j, j) / r[j + j * LD];
    }
}

constexpr int TILE = 16;  // of `finish_top`

// Writes V1 and R to the panel's top, V1 with its ones and zeros to v, and P = V1'S R2; one block
// of TILE^2 threads per tile.
template <typename T>
__device__ __forceinline__ void finish_top(int n, const T* r1, const T* r2, const T* factors,
                                           const T* signs, T* a, i64 ld, T* v, i64 ldv, T* p,
                                           const int* stop) {
    if (stopped(stop)) return;
    __shared__ T left[2][TILE][TILE + 1], right[2][TILE][TILE + 1];
    const int across = (n + TILE - 1) / TILE, row = threadIdx.x % TILE, col = threadIdx.x / TILE;
    const int top = blockIdx.x % across * TILE, side = blockIdx.x / across * TILE;
    const int i = top + row, j = side + col;
    const bool inside = i < n && j < n;
    if (inside) {
        const T x = i > j ? factors[i + j * LD] : (i == j ? T(1) : T(0));
        if (i > j) a[i + j * ld] = x;
        v[i + j * ldv] = x;
    }
    if (top > side) return;
    T product = T(0), mixed = T(0);
    // Tiles (top, from) of R2 and V1', and (from, side) of R1 and S R2; those of the next step are
    // in flight during a step.
    T next[4];
    const auto fetch = [&](int from) {
        const int k = from + col, l = from + row, c = top + col;
        next[0] = i <= k && k < n ? r2[i + k * LD] : T(0);
        next[1] = l <= j && j < n ? r1[l + j * LD] : T(0);
        next[2] = l <= j && j < n ? signs[l] * r2[l + j * LD] : T(0);
        // V1(from + row, top + col), contiguous in `row`.
        next[3] = l > c && l < n ? factors[l + c * LD] : (l == c ? T(1) : T(0));
    };
    fetch(top);
    for (int from = top; from <= side; from += TILE) {
        left[0][col][row] = next[0];
        right[0][col][row] = next[1];
        right[1][col][row] = next[2];
        left[1][row][col] = next[3];
        if (from < side) fetch(from + TILE);
        __syncthreads();
#pragma unroll
        for (int e = 0; e < TILE; ++e) {
            product += left[0][e][row] * right[0][col][e];
            mixed += left[1][e][row] * right[1][col][e];
        }
        __syncthreads();
    }
    if (inside && i <= j) {
        a[i + j * ld] = signs[i] * product;
        p[i + j * LD] = mixed;
    }
}

// Divides `count` rows, of which this block, number `block` of `blocks`, takes its share.
template <typename T, int R, typename Get, typename Put>
__device__ __forceinline__ void divide_tiles(i64 count, i64 block, i64 blocks, const T* divisor,
                                             T* solved, int n, Get get, Put put) {
    constexpr int TILE_ROWS = divide::SLOTS * R;
    for (i64 first = block * TILE_ROWS; first < count; first += blocks * TILE_ROWS)
        divide::rows<T, R>(
            divisor, solved, n,
            [=](int slot, int c) { return first + slot < count ? get(first + slot, c) : T(0); },
            [=](int slot, int c, T x) {
                if (first + slot < count) put(first + slot, c, x);
            });
}

// The place of solved columns in shared memory, after M.
template <typename T>
__device__ __forceinline__ T* solved_at(T* divisor, int n) {
    return divisor + divide::column_at(divide::blocks_of(n));
}

// Q1 <- A R1^-1, R rows per thread.
template <typename T, int R>
__device__ __forceinline__ void divide_rows(i64 m, int n, const T* a, i64 ld, const T* r, T* q,
                                            i64 ldq, const int* stop) {
    if (stopped(stop)) return;
    T* divisor = shared_memory<T>();
    divide::load(divisor, n, [=](int k, int c) { return r[k + c * LD]; });
    divide_tiles<T, R>(
        m, blockIdx.x, gridDim.x, divisor, solved_at(divisor, n), n,
        [=](i64 i, int c) { return a[i + c * ld]; },
        [=](i64 i, int c, T x) { q[i + c * ldq] = x; });
}

// The rows of V below V1, Q1 M^-1, to A and in place. With `follow` the first blocks also compute T
// = -M P^-1; without it V is written to A only.
template <typename T, int R>
__device__ __forceinline__ void finish_rows(i64 m, int n, const T* factors, const T* p, T* triangle,
                                            i64 ldt, T* q, i64 ldq, T* a, i64 ld, bool follow,
                                            const int* stop) {
    if (stopped(stop)) return;
    T* divisor = shared_memory<T>();
    const int before = follow ? (n + divide::SLOTS * R - 1) / (divide::SLOTS * R) : 0;
    const bool beside = blockIdx.x < before;
    const T* by = beside ? p : factors;
    divide::load(divisor, n, [=](int k, int c) { return by[k + c * LD]; });
    divide_tiles<T, R>(
        beside ? n : m - n, beside ? blockIdx.x : blockIdx.x - before,
        beside ? before : gridDim.x - before, divisor, solved_at(divisor, n), n,
        [=](i64 i, int c) {
            return !beside ? q[n + i + c * ldq] : i <= c ? -factors[i + c * LD] : T(0);
        },
        [=](i64 i, int c, T x) {
            if (beside) {
                triangle[i + c * ldt] = x;
                return;
            }
            a[n + i + c * ld] = x;
            if (follow) q[n + i + c * ldq] = x;
        });
}

// The upper triangular T of H_0 H_1 ... = I - V T V', from G = V'V: T (I + U D) = D with U above
// G's diagonal and D = diag(tau). One T for each LD reflectors; blockIdx.y is its number.
template <typename T>
__device__ __forceinline__ void reflectors_triangle(int reflectors, const T* gram, i64 ldg,
                                                    const T* tau, T* triangle, i64 ldt) {
    T* divisor = shared_memory<T>();
    const int first = blockIdx.y * LD, n = min(LD, reflectors - first);
    gram += first + first * ldg, tau += first, triangle += first + first * ldt;
    divide::load(divisor, n,
                 [=](int k, int c) { return k < c ? gram[k + c * ldg] * tau[c] : T(1); });
    divide_tiles<T, 1>(
        n, blockIdx.x, gridDim.x, divisor, solved_at(divisor, n), n,
        [=](i64 i, int c) { return i == c ? tau[i] : T(0); },
        [=](i64 i, int c, T x) { triangle[i + c * ldt] = x; });
}

}  // namespace

#define INSTANCES(T, SUFFIX)                                                                       \
    extern "C" __global__ void __launch_bounds__(eliminate::THREADS)                               \
        panel_factor_gram_##SUFFIX(int n, const T* g, T* r, i64 first, int* stop) {                \
        factor_gram<T>(n, g, r, first, stop);                                                      \
    }                                                                                              \
    extern "C" __global__ void __launch_bounds__(eliminate::THREADS)                               \
        panel_reconstruct_block_##SUFFIX(int n, int square, const T* g, const T* q, i64 ldq, T* r, \
                                         T* factors, T* signs, T* tau, i64 first, int* stop) {     \
        reconstruct<T>(n, square != 0, g, q, ldq, r, factors, signs, tau, first, stop);            \
    }                                                                                              \
    extern "C" __global__ void __launch_bounds__(TILE* TILE) panel_finish_top_##SUFFIX(            \
        int n, const T* r1, const T* r2, const T* factors, const T* signs, T* a, i64 ld, T* v,     \
        i64 ldv, T* p, const int* stop) {                                                          \
        finish_top<T>(n, r1, r2, factors, signs, a, ld, v, ldv, p, stop);                          \
    }                                                                                              \
    extern "C" __global__ void __launch_bounds__(divide::THREADS)                                  \
        reflectors_triangle_block_##SUFFIX(int reflectors, const T* gram, i64 ldg, const T* tau,   \
                                           T* triangle, i64 ldt) {                                 \
        reflectors_triangle<T>(reflectors, gram, ldg, tau, triangle, ldt);                         \
    }

#define ROWS_INSTANCES(T, SUFFIX, NAME, R)                                                        \
    extern "C" __global__ void __launch_bounds__(divide::THREADS) panel_divide_##NAME##_##SUFFIX( \
        i64 m, int n, const T* a, i64 ld, const T* r, T* q, i64 ldq, const int* stop) {           \
        divide_rows<T, R>(m, n, a, ld, r, q, ldq, stop);                                          \
    }                                                                                             \
    extern "C" __global__ void __launch_bounds__(divide::THREADS) panel_finish_##NAME##_##SUFFIX( \
        i64 m, int n, const T* factors, const T* p, T* triangle, i64 ldt, T* q, i64 ldq, T* a,    \
        i64 ld, int follow, const int* stop) {                                                    \
        finish_rows<T, R>(m, n, factors, p, triangle, ldt, q, ldq, a, ld, follow != 0, stop);     \
    }

INSTANCES(double, f64)
INSTANCES(float, f32)
ROWS_INSTANCES(double, f64, rows, 1)
ROWS_INSTANCES(float, f32, rows, 1)
ROWS_INSTANCES(double, f64, tall, divide::TALL)
ROWS_INSTANCES(float, f32, tall, divide::TALL)
