// arch: sm_80
// QR factorization by Householder reflectors of as many columns as the blocks of one launch hold,
// in a pipeline.
//
// A block keeps eight columns in registers. It applies the reflectors of the columns before its
// own, one by one as their blocks send them. Then it makes its own, without asking another block,
// and sends these.
//
// A reflector needs only one sum over the rows per column. For a reflector of another block that is
// v'x. For a block's own column y it is y'x below the diagonal, with y itself among the x: its norm
// gives v, which is y times a number, and v'x.
#include "column_pipeline.cuh"

namespace {

using namespace pipeline;

constexpr int WIDTH = 8;  // columns of a block
constexpr unsigned ALL = 0xffffffffu;

template <typename T, int WARPS>
struct Shared {
    T part[2][WARPS][WIDTH];
    T top[2][WIDTH];  // the row of the diagonal
    T tau[2];
};

// A square root and its reciprocal, of a number far from overflow and underflow.
__device__ __forceinline__ void roots(double s, double& g, double& r) {
    double y;
    asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(s));
    const double e = fma(-s * y, y, 1.0);
    y = fma(y * e, fma(0.375, e, 0.5), y);
    g = s * y;
    g = fma(fma(-g, g, s), 0.5 * y, g);
    r = fma(fma(-g, y, 1.0), y, y);
}
__device__ __forceinline__ void roots(float s, float& g, float& r) {
    g = __fsqrt_rn(s);
    r = __frcp_rn(g);
}
// Whether squares of this size are far enough from overflow and underflow.
__device__ __forceinline__ bool is_safe(double below, double all) {
    return below > 0x1p-64 && all < 0x1p900;
}
__device__ __forceinline__ bool is_safe(float below, float all) {
    return below > 0x1p-30f && all < 0x1p100f;
}

template <typename T>
constexpr T LARGEST = sizeof(T) == 8 ? T(0x1p1000) : T(0x1p120f);

template <typename T, int THREADS, int ROWS>
struct Stripe {
    using R = Rows<T, THREADS, ROWS>;
    static constexpr int WARPS = THREADS / 32;
    Shared<T, WARPS>& s;
    const int t, warp, lane;
    int turn;
    T x[ROWS][WIDTH];

    // Sums over the block: each lane gets the sum of the d[lane % 8].
    __device__ __forceinline__ T sum_up(T (&d)[WIDTH]) {
#pragma unroll
        for (int half = WIDTH / 2; half > 0; half /= 2) {
            const bool upper = lane & 4 * half;
#pragma unroll
            for (int i = 0; i < half; ++i) {
                const T sent = upper ? d[i] : d[i + half], kept = upper ? d[i + half] : d[i];
                d[i] = kept + __shfl_xor_sync(ALL, sent, 4 * half);
            }
        }
        d[0] += __shfl_xor_sync(ALL, d[0], 2);
        d[0] += __shfl_xor_sync(ALL, d[0], 1);
        turn ^= 1;
        if ((lane & 3) == 0) s.part[turn][warp][lane >> 2] = d[0];
        __syncthreads();
        T sum = s.part[turn][lane / WIDTH % WARPS][lane % WIDTH];
#pragma unroll
        for (int i = 4; i < WARPS; i += 4) sum += s.part[turn][lane / WIDTH + i][lane % WIDTH];
        sum += __shfl_xor_sync(ALL, sum, 8);
        if (WARPS > 2) sum += __shfl_xor_sync(ALL, sum, 16);
        return sum;
    }

    // The largest number of the block, ignoring NaN.
    __device__ __forceinline__ T largest(T d) {
        d = warp_max(d);
        turn ^= 1;
        if (lane == 0) s.part[turn][warp][0] = d;
        __syncthreads();
        T most = T(0);
#pragma unroll 1
        for (int w = 0; w < WARPS; ++w) most = larger(most, s.part[turn][w][0]);
        return most;
    }

    // Applies a reflector with v in `l` to the columns from FROM on; the lanes of column e have its
    // w.
    template <int FROM>
    __device__ __forceinline__ void change(const T (&l)[ROWS], T w) {
#pragma unroll
        for (int e = FROM; e < WIDTH; ++e) {
            const T u = __shfl_sync(ALL, w, e);
#pragma unroll
            for (int h = 0; h < ROWS; ++h) x[h][e] -= l[h] * u;
        }
    }

    // Applies the j-th reflector, of another block: a column with v, zero above row j, with tau in
    // row j.
    __device__ __forceinline__ void follow(T (&l)[ROWS], const T* column, int j) {
        R::await(column, t, l);
#pragma unroll
        for (int h = 0; h < ROWS; ++h)
            if (R::of(t, h) == j) {
                s.tau[turn ^ 1] = l[h];
                l[h] = T(1);
            }
        T d[WIDTH];
#pragma unroll
        for (int e = 0; e < WIDTH; ++e) {
            d[e] = l[0] * x[0][e];
#pragma unroll
            for (int h = 1; h < ROWS; ++h) d[e] += l[h] * x[h][e];
        }
        const T sum = sum_up(d), tau = s.tau[turn];
        change<0>(l, tau == T(0) ? T(0) : tau * sum);
    }

    // Makes the j-th reflector, from this block's column E.
    template <int E>
    __device__ __forceinline__ void reflect(int j, T* message, T* taus) {
        T sum, below, alpha, unit = T(1), g, r, tau;
        for (int scaled = 0;; ++scaled) {
            T d[WIDTH] = {};
#pragma unroll
            for (int h = 0; h < ROWS; ++h) {
                const int row = R::of(t, h);
                const T y = row > j ? x[h][E] : T(0);
#pragma unroll
                for (int e = E; e < WIDTH; ++e) d[e] += y * x[h][e];
                if (row == j)
#pragma unroll
                    for (int e = E; e < WIDTH; ++e) s.top[turn ^ 1][e] = x[h][e];
            }
            sum = sum_up(d);
            below = __shfl_sync(ALL, sum, E);
            alpha = s.top[turn][E];
            const T all = below + alpha * alpha;
            roots(all, g, r);
            tau = T(1) + magnitude(alpha) * r;
            // Another column may be so large that the product overflows.
            const bool safe = is_safe(below, all) && __all_sync(ALL, magnitude(sum) <= LARGEST<T>);
            if (__builtin_expect(safe || scaled == 2, 1)) break;
            // Again, after scaling the column's largest entry to about one; twice if that was near
            // overflow or underflow.
            T most = T(0);
#pragma unroll
            for (int h = 0; h < ROWS; ++h)
                if (R::of(t, h) > j) most = larger(most, magnitude(x[h][E]));
            most = largest(most);
            if (scaled == 0 && most == T(0) && below == T(0)) {
                // Nothing to reflect.
                g = magnitude(alpha), tau = T(0);
                break;
            }
            const T scale = scale_for(larger(most, magnitude(alpha)));
            unit *= inverse_scale(scale);
#pragma unroll
            for (int h = 0; h < ROWS; ++h)
                if (R::of(t, h) >= j) x[h][E] *= scale;
        }
        const bool none = tau == T(0);
        const T beta = none ? alpha : -with_sign(g, alpha),
                by = none ? T(0) : rounded_reciprocal(alpha - beta);
        const T u = lane % WIDTH > E ? s.top[turn][lane % WIDTH] : T(0);
        const T w = none ? T(0) : tau * (u + sum * by);
        T l[ROWS];
#pragma unroll
        for (int h = 0; h < ROWS; ++h) {
            const int row = R::of(t, h);
            l[h] = row > j ? x[h][E] * by : row == j ? tau : T(0);
        }
        R::write(message, t, l);
        const T diagonal = beta * unit;
#pragma unroll
        for (int h = 0; h < ROWS; ++h) {
            const int row = R::of(t, h);
            x[h][E] = row > j ? l[h] : row == j ? diagonal : x[h][E];
            if (row == j) l[h] = T(1);
        }
        change<E + 1>(l, w);
        if (t == 0) taus[j] = tau;
    }

    template <int E>
    __device__ __forceinline__ void reflect_from(int end, int c0, T* messages, i64 ldm, T* taus) {
        if constexpr (E < WIDTH) {
            const int j = c0 + E;
            if (j >= end) return;
            reflect<E>(j, messages + j * ldm, taus);
            reflect_from<E + 1>(end, c0, messages, ldm, taus);
        }
    }
};

template <typename T, int THREADS, int ROWS>
__device__ __forceinline__ void stripe(int m, int n, T* a, i64 lda, T* messages, T* taus) {
    using R = Rows<T, THREADS, ROWS>;
    constexpr i64 LDM = THREADS * ROWS;
    __shared__ Shared<T, THREADS / 32> memory;
    auto& s = *at_hand(&memory);
    int t = threadIdx.x, lane = t & 31, warp = t >> 5;
    asm volatile("" : "+r"(t), "+r"(lane), "+r"(warp));  // reading these registers takes long
    const int c0 = blockIdx.x * WIDTH, k = min(m, n), before = min(c0, k), end = min(c0 + WIDTH, k);
    T* const own = a + c0 * lda;
    Stripe<T, THREADS, ROWS> b = {s, t, warp, lane, 0};
    R::load(own, lda, m, c0, n, t, b.x);
    T l[ROWS];
    R::read(messages, t, l);
#pragma unroll 1
    for (int j = 0; j < before; ++j) {
        b.follow(l, messages + j * LDM, j);
        R::read(messages + (j + 1) * LDM, t, l);
    }
    b.template reflect_from<0>(end, c0, messages, LDM, taus);
#pragma unroll
    for (int h = 0; h < ROWS; ++h) {
        const int r = R::of(t, h);
        if (r < m)
#pragma unroll
            for (int e = 0; e < WIDTH; ++e)
                if (c0 + e < n) own[r + e * lda] = b.x[h][e];
    }
}

}  // namespace

// Factors a matrix of m rows and n columns at a: R and the reflectors in place, their factors at
// `taus`. One launch of n / 8 blocks, all resident, of THREADS threads, for m <= THREADS * ROWS
// rows. `messages`: min(m, n) + 1 columns of THREADS * ROWS numbers; all words must be blank.
#define ENTRY(T, SUFFIX, THREADS, ROWS)                                                    \
    extern "C" __global__ void __launch_bounds__(THREADS, 1)                               \
        columns_reflect_pipeline##THREADS##x##ROWS##_##SUFFIX(int m, int n, T* a, i64 lda, \
                                                              T* messages, T* taus) {      \
        stripe<T, THREADS, ROWS>(m, n, a, lda, messages, taus);                            \
    }
ENTRY(double, f64, 128, 4)
ENTRY(double, f64, 256, 4)
ENTRY(double, f64, 256, 8)
ENTRY(float, f32, 128, 8)
ENTRY(float, f32, 256, 8)
ENTRY(float, f32, 256, 16)
