// A small symmetric matrix to tridiagonal form, A = Q T Q', by a block. See eigen_batch.cu.
//
// The matrix has both triangles, in columns an odd number of elements apart, so that neither rows
// nor columns of it meet in a bank. Reflector k is I - tau u u' with u in rows k + 1 .. n - 1. What
// a reflector does to the rest is pending until the next one multiplies it: one pass reads, changes
// and writes each entry.
#pragma once
#include "block_memory.cuh"
#include "reflection.cuh"

namespace {

// Columns of a pass whose entries are loaded together.
constexpr int AHEAD = 4;

// A random sign for position j, the same every time.
template <typename T>
__device__ __forceinline__ T probe_sign(int j) {
    unsigned h = (unsigned)(j + 1) * 0x9e3779b9u;
    h = (h ^ (h >> 15)) * 0x85ebca6bu;
    h = (h ^ (h >> 13)) * 0xc2b2ae35u;
    return h >> 31 ? T(-1) : T(1);
}

// Elements from column to column in shared memory.
__device__ __forceinline__ int odd_stride(int n) { return n | 1; }

// The place of this thread in sums over `lines` lines: some threads for each line.
struct Share {
    int line, part, parts;

    __device__ __forceinline__ explicit Share(int lines) {
        const int padded = (lines + 31) & ~31, t = threadIdx.x;
        parts = (int)blockDim.x / padded;
        part = t / padded;
        line = t - part * padded;
    }

    // Whether the thread has such a line.
    __device__ __forceinline__ bool has(int lines) const { return part < parts && line < lines; }

    // The sum over the parts of line `threadIdx.x`.
    template <typename T>
    __device__ __forceinline__ T total(int lines, const T* partial) const {
        const int padded = (lines + 31) & ~31;
        T sum = T(0);
        for (int p = 0; p < parts; ++p) sum += partial[p * padded + threadIdx.x];
        return sum;
    }
};

// x -= y q for entries `step` apart that begin at `at`, with q[k]; then the sum of x r[k], for k
// from `first` in steps of `parts` below n. If TWICE, also x -= y2 q2[k].
template <bool TWICE, typename T>
__device__ __forceinline__ T pass(T* at, int step, int first, int parts, int n, T y, const T* q,
                                  T y2, const T* q2, const T* r) {
    T sum = T(0);
    int k = first;
    for (; k + (AHEAD - 1) * parts < n; k += AHEAD * parts) {
        T x[AHEAD], factor[AHEAD];
#pragma unroll
        for (int c = 0; c < AHEAD; ++c) {
            const int col = k + c * parts;
            x[c] = at[c * step] - y * q[col];
            if (TWICE) x[c] -= y2 * q2[col];
            factor[c] = r[col];
        }
#pragma unroll
        for (int c = 0; c < AHEAD; ++c) {
            at[c * step] = x[c];
            sum += x[c] * factor[c];
        }
        at += AHEAD * step;
    }
    for (; k < n; k += parts, at += step) {
        T x = *at - y * q[k];
        if (TWICE) x -= y2 * q2[k];
        *at = x;
        sum += x * r[k];
    }
    return sum;
}

// Shared memory for order n: the matrix, four vectors, a sum for each thread, and 33 elements.
template <typename T>
struct Workspace {
    T *a, *u, *v, *w, *taus, *partial, *scratch, *head;

    __device__ __forceinline__ explicit Workspace(int n)
        : a(shared_memory<T>()),
          u(a + n * odd_stride(n)),
          v(u + n),
          w(v + n),
          taus(w + n),
          partial(taus + n),
          scratch(partial + blockDim.x),
          head(scratch + 32) {}

    __device__ __forceinline__ void swap() {
        T* other = u;
        u = v;
        v = other;
    }
};

// Both triangles from the lower one, and the facts.
template <typename T>
__device__ __forceinline__ void load_matrix(int n, const T* from, T* facts, Workspace<T>& s) {
    const int t = threadIdx.x, ld = odd_stride(n);
    for (int j = t / 32; j < n; j += blockDim.x / 32)
        for (int i = j + t % 32; i < n; i += 32) {
            const T x = from[i + (i64)j * n];
            s.a[i + j * ld] = x;
            s.a[j + i * ld] = x;
        }
    if (t < n) {
        s.u[t] = probe_sign<T>(t);
        s.v[t] = s.w[t] = T(0);
    }
    __syncthreads();
    const Share share(n);
    T image = T(0), squares = T(0);
    if (share.has(n))
        for (int j = share.part; j < n; j += share.parts) {
            const T x = s.a[share.line + j * ld];
            image += x * s.u[j];
            squares += x * x;
        }
    s.partial[t] = image;
    const T all = block_sum(squares, s.scratch);
    const T trace = block_sum(t < n ? s.a[t + t * ld] : T(0), s.scratch);
    if (t < n) facts[t] = share.total(n, s.partial);
    if (t == 0) {
        facts[n] = trace;
        facts[n + 1] = all;
    }
    __syncthreads();
}

// The diagonal, the entries below it, and the reflectors in columns of the matrix.
template <typename T>
__device__ __forceinline__ void tridiagonalize(int n, T* diagonal, T* below, Workspace<T>& s) {
    const int t = threadIdx.x, ld = odd_stride(n);
    for (int k = 0; k + 1 < n; ++k) {
        const int i = k + t;
        T x = T(0);
        if (i < n) x = s.a[i + k * ld] - s.v[i] * s.w[k] - s.w[i] * s.v[k];
        if (t == 0) diagonal[k] = x;
        if (t == 1) *s.head = x;
        const T squares = block_sum(t >= 2 ? x * x : T(0), s.scratch);
        const Reflection<T> by(*s.head, squares);
        if (t >= 1 && i < n) {
            const T u = t == 1 ? T(1) : x * by.inverse;
            s.u[i] = u;
            s.a[i + k * ld] = u;
        }
        if (t == 0) {
            below[k] = by.beta;
            s.taus[k] = by.tau;
        }
        __syncthreads();
        const int first = k + 1, rows = n - first;
        const Share share(rows);
        T sum = T(0);
        if (share.has(rows)) {
            const int row = first + share.line, col = first + share.part;
            sum = pass<true>(s.a + row + col * ld, share.parts * ld, col, share.parts, n, s.v[row],
                             s.w, s.w[row], s.v, s.u);
        }
        s.partial[t] = sum;
        __syncthreads();
        const T p = t < rows ? by.tau * share.total(rows, s.partial) : T(0);
        const T u = t < rows ? s.u[first + t] : T(0);
        const T inner = block_sum(p * u, s.scratch);
        if (t < rows) s.w[first + t] = p - T(0.5) * by.tau * inner * u;
        s.swap();
        __syncthreads();
    }
    if (t == 0) diagonal[n - 1] = s.a[n * ld - ld + n - 1];
}

// Q in place of the reflectors, from the last to the first, and then to z. A step puts the first
// unit vector before rows and columns of Q, and multiplies by the reflector.
template <typename T>
__device__ __forceinline__ void form_vectors(int n, T* z, Workspace<T>& s) {
    const int t = threadIdx.x, ld = odd_stride(n);
    // Nothing is pending.
    if (t < n) s.v[t] = s.w[t] = T(0);
    if (t == 0) s.a[n * ld - ld + n - 1] = T(1);
    __syncthreads();
    for (int k = n - 3; k >= 0; --k) {
        const int first = k + 1, rows = n - first, i = first + t;
        if (t < rows) {
            s.u[i] = s.a[i + k * ld];
            s.a[i + first * ld] = s.a[first + i * ld] = T(t == 0 ? 1 : 0);
        }
        if (t == 0) s.v[first] = s.w[first] = T(0);
        __syncthreads();
        const Share share(rows);
        T sum = T(0);
        if (share.has(rows)) {
            const int col = first + share.line, row = first + share.part;
            sum = pass<false>(s.a + row + col * ld, share.parts, row, share.parts, n, s.w[col],
                              s.v, T(0), s.v, s.u);
        }
        s.partial[t] = sum;
        __syncthreads();
        if (t < rows) s.w[i] = s.taus[k] * share.total(rows, s.partial);
        s.swap();
    }
    __syncthreads();
    for (int j = t / 32; j < n; j += blockDim.x / 32)
        for (int i = t % 32; i < n; i += 32) {
            const bool inner = i > 0 && j > 0;
            z[i + (i64)j * n] = inner ? s.a[i + j * ld] - s.v[i] * s.w[j] : T(i == j ? 1 : 0);
        }
}

// One block of at least n threads for each matrix; z may be null.
template <typename T>
__device__ __forceinline__ void reduce_matrix(int n, const T* a, T* z, T* diagonal, T* below,
                                              T* facts) {
    Workspace<T> s(n);
    const i64 index = blockIdx.x;
    load_matrix(n, a + index * n * n, facts + index * (n + 2), s);
    tridiagonalize(n, diagonal + index * n, below + index * n, s);
    if (z == nullptr) return;
    __syncthreads();
    form_vectors(n, z + index * n * n, s);
}

}  // namespace
