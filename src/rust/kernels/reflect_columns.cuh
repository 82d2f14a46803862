// What a warp does to its columns of a factor: it follows the reflections of the rows above, and makes its own. See cholesky_update.cu.
#pragma once
#include "reflect_rows.cuh"

namespace reflect {

template <typename T, int K>
struct Worker {
    using L = Layout<T, K>;
    static constexpr int EACH = L::EACH, COLUMNS = L::COLUMNS;
    Shared<T, K>& s;
    const int warp, lane, c, h;  // this lane's column of the warp's, and its part of w
    const T kind;
    T w[EACH];

    __device__ __forceinline__ T* message(int row) const { return s.ring[row % RING]; }

    static __device__ __forceinline__ void get(const T* from, T (&u)[EACH]) {
        if constexpr (EACH % L::VECTOR == 0) {
#pragma unroll
            for (int j = 0; j < EACH; j += L::VECTOR) {
                if constexpr (sizeof(T) == 8) {
                    const double2 x = *reinterpret_cast<const double2*>(from + j);
                    u[j] = x.x, u[j + 1] = x.y;
                } else {
                    const float4 x = *reinterpret_cast<const float4*>(from + j);
                    u[j] = x.x, u[j + 1] = x.y, u[j + 2] = x.z, u[j + 3] = x.w;
                }
            }
        } else {
#pragma unroll
            for (int j = 0; j < EACH; ++j) u[j] = from[j];
        }
    }
    static __device__ __forceinline__ void put(T* to, const T (&u)[EACH]) {
        if constexpr (EACH % L::VECTOR == 0) {
#pragma unroll
            for (int j = 0; j < EACH; j += L::VECTOR) {
                if constexpr (sizeof(T) == 8) *reinterpret_cast<double2*>(to + j) = make_double2(u[j], u[j + 1]);
                else *reinterpret_cast<float4*>(to + j) = make_float4(u[j], u[j + 1], u[j + 2], u[j + 3]);
            }
        } else {
#pragma unroll
            for (int j = 0; j < EACH; ++j) to[j] = u[j];
        }
    }

    // A sum of products, in several parts that do not wait for one another: this lane's, and that of the lanes of a column.
    static __device__ __forceinline__ T dot_here(const T (&x)[EACH], const T (&y)[EACH]) {
        constexpr int PARTS = EACH < 4 ? EACH : 4;
        T sum[PARTS];
#pragma unroll
        for (int j = 0; j < EACH; ++j) sum[j % PARTS] = j < PARTS ? x[j] * y[j] : fma(x[j], y[j], sum[j % PARTS]);
        T all = sum[0];
        if constexpr (PARTS == 2) all = sum[0] + sum[1];
        if constexpr (PARTS == 4) all = (sum[0] + sum[1]) + (sum[2] + sum[3]);
        return all;
    }
    static __device__ __forceinline__ T dot(const T (&x)[EACH], const T (&y)[EACH]) {
        T all = dot_here(x, y);
#pragma unroll
        for (int e = 1; e < L::LANES; e *= 2) all += __shfl_xor_sync(ALL, all, e);
        return all;
    }
    // The sum of what the lanes of column i have.
    static __device__ __forceinline__ T sum_of(T part, int i) {
        T parts[L::LANES];
#pragma unroll
        for (int e = 0; e < L::LANES; ++e) parts[e] = __shfl_sync(ALL, part, L::LANES * i + e);
        if constexpr (L::LANES == 1) return parts[0];
        if constexpr (L::LANES == 2) return parts[0] + parts[1];
        if constexpr (L::LANES == 4) return (parts[0] + parts[1]) + (parts[2] + parts[3]);
    }
    __device__ __forceinline__ void subtract(T t, const T (&u)[EACH]) {
#pragma unroll
        for (int j = 0; j < EACH; ++j) w[j] = fma(-t, u[j], w[j]);
    }

    // Whether the reflection of a row is in the ring, and with it those before.
    __device__ __forceinline__ bool is_ready(int row) const { return arrived(&s.ready[row % RING], row / RING & 1); }

    // What another's reflection changes, with x in its row.
    __device__ __forceinline__ T follow(T* m, T x) {
        T u[EACH];
        get(m + h * L::SIDE, u);
        const Pair<T> given = pair(m + L::GIVEN), found = pair(m + L::FOUND);
        const T sum = dot(u, w), n = fma(found.x, sum, given.x * x);
        subtract(fma(given.y, x, n) * found.y, u);
        return n;
    }

    // The reflections that others make of a tile's rows, from row `first` on. Who is patient leaves the machine to others while it
    // waits.
    __device__ __forceinline__ void follow_all(int first, T* tile, bool patient) {
        T *const column = tile + c * L::PITCH, *m = message(first);
#pragma unroll 1
        for (int i = 0; i < COLUMNS; i += STEP, m += STEP * L::WORDS) {
            T x[STEP];
#pragma unroll
            for (int e = 0; e < STEP; ++e) x[e] = column[i + e];
            if (is_ready(first + i + STEP - 1)) {
#pragma unroll
                for (int e = 0; e < STEP; ++e) x[e] = follow(m + e * L::WORDS, x[e]);
            } else {
#pragma unroll
                for (int e = 0; e < STEP; ++e) {
                    while (!is_ready(first + i + e)) {
                        if (patient) __nanosleep(100);
                    }
                    x[e] = follow(m + e * L::WORDS, x[e]);
                }
            }
            __syncwarp();
#pragma unroll
            for (int e = 0; e < STEP; ++e)
                if (e % L::LANES == h) column[i + e] = x[e];
        }
        __syncwarp();
    }

    // Until there is room in the ring for the reflections of this warp, from row `first` on, as what is behind has followed.
    __device__ __forceinline__ void await_room(int first) const {
        for (;;) {
            const int later = lane > warp && lane <= WORKERS ? acquire(&s.done[lane]) : FINISHED;
            if (__all_sync(ALL, later >= first + COLUMNS - RING)) break;
        }
    }

    // What is known of the reflections of this warp's own columns, from row `first` on, before they are made.
    __device__ __forceinline__ void prepare(int first, const T* tile) const {
        const T own = tile[c * L::PITCH + c];
        if (h == 0) pair(message(first + c) + L::GIVEN) = {magnitude(own), with_sign(T(1), own)};
        __syncwarp();
    }

    // These, of which there are `cols`; all lanes find out what is said of them. An order of a minor that is not positive goes to
    // `info`, the least of all. What lanes of columns before the reflection's compute is of no use.
    __device__ __forceinline__ void reflect_all(int first, int cols, T* tile, int* info) {
        // What the loop needs at once.
        T *const column = at_hand(tile + c * L::PITCH), *m = at_hand(message(first)), *mine = at_hand(m + h * L::SIDE);
        unsigned long long* ready = at_hand(&s.ready[first % RING]);
        const auto finish = [&](int i, const T (&u)[EACH], T sum, T d, T sign, T x, T r, T g) {
            const T n = fma(kind, sum, d * x) * r;
            subtract((x + n) * g, u);
            if (lane == 0) {
                pair(m + L::FOUND) = {kind * r, g};
                m[L::GIVEN] = d * sign * r;
                arrive(ready);
            }
            if (h == 0 && c >= i) column[i] = n;
            m += L::WORDS, mine += L::WORDS, ++ready;
        };
#pragma unroll 1
        for (int i = 0; i < cols; ++i) {
            T u[EACH], x;
            Pair<T> given;
#pragma unroll 1
            for (;; ++i) {
                T r, g;
                given = pair(m + L::GIVEN);
                const T norm = sum_of(dot_here(w, w), i), q = fma(kind, norm, given.x * given.x);
                if (c == i) put(mine, w);
                __syncwarp();
                get(mine, u);
                x = column[i] * given.y;
                reciprocals(q, given.x, r, g);
                const T sum = dot(u, w);
                if (__any_sync(ALL, !is_safe(norm, q))) break;
                finish(i, u, sum, given.x, given.y, x, r, g);
                if (i + 1 == cols) return;
            }
            // Once more, of numbers of which the largest is near one.
            T most = given.x;
#pragma unroll
            for (int j = 0; j < EACH; ++j) most = larger(most, magnitude(u[j]));
#pragma unroll
            for (int e = 1; e < L::LANES; e *= 2) most = larger(most, __shfl_xor_sync(ALL, most, e));
            const T scale = scale_for(most), scaled = given.x * scale;
#pragma unroll
            for (int j = 0; j < EACH; ++j) u[j] *= scale;
            const T size = dot(u, u), height = root(fma(kind, size, scaled * scaled)), sum = dot(u, w);
            const bool none = size == T(0);
            if (!(height > T(0) && T(1) / height > T(0)) && lane == 0) atomicMin(info, first + i + 1);
            if (c == i) put(mine, u);
            __syncwarp();
            finish(i, u, sum, none ? T(1) : scaled, given.y, x, none ? T(1) : T(1) / height, none ? T(0) : T(1) / (scaled + height));
        }
    }
};

}  // namespace reflect
