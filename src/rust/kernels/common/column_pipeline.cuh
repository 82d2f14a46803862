// arch: sm_80
// Columns that the blocks of one launch send one another. Each number is its own flag.
//
// The messages form a matrix with a column for each column that one block factors and others wait
// for. Every number of it starts as a signalling NaN of two equal words, which arithmetic never
// produces. A reader polls a number until it differs. A message thus takes one trip to the L2 cache
// and back, and needs no fence.
//
// Blocks that wait must all be resident, or take their work in the order in which they start. Then
// each waits only for blocks that have started.
#pragma once
#include "common.cuh"

namespace pipeline {

// The first word of a number, and that of a number that has not arrived. A kernel may use the word
// after BLANK as a mark.
__device__ __forceinline__ unsigned head(double x) { return (unsigned)__double2hiint(x); }
__device__ __forceinline__ unsigned head(float x) { return (unsigned)__float_as_int(x); }
template <typename T>
constexpr unsigned BLANK = sizeof(T) == 8 ? 0x7ff4b1a7u : 0x7fa4b1a7u;
template <typename T>
constexpr unsigned MARK = BLANK<T> + 1;
__device__ __forceinline__ void put_word(double& x, unsigned word) {
    x = __hiloint2double((int)word, (int)word);
}
__device__ __forceinline__ void put_word(float& x, unsigned word) { x = __int_as_float((int)word); }

// The rows of a thread: groups of GROUP neighbours, so that a message is read 16 bytes at a time.
template <typename T, int THREADS, int ROWS>
struct Rows {
    static constexpr int MOST = 16 / sizeof(T), GROUP = ROWS < MOST ? ROWS : MOST;
    static __device__ __forceinline__ int of(int t, int h) {
        return (h / GROUP * THREADS + t) * GROUP + h % GROUP;
    }

    // Loads this thread's rows of columns c0 to c0 + WIDTH - 1 of the m x n matrix at `a`. Entries
    // outside the matrix become zero.
    template <int WIDTH>
    static __device__ __forceinline__ void load(const T* a, i64 lda, int m, int c0, int n, int t,
                                                T (&x)[ROWS][WIDTH]) {
#pragma unroll
        for (int e = 0; e < WIDTH; ++e)
#pragma unroll
            for (int h = 0; h < ROWS; ++h) {
                const int r = of(t, h);
                x[h][e] = r < m && c0 + e < n ? a[r + e * lda] : T(0);
            }
    }

    // Reads this thread's numbers of a column, which may not have arrived.
    static __device__ __forceinline__ void read(const T* column, int t, T (&x)[ROWS]) {
#pragma unroll
        for (int h = 0; h < ROWS; h += GROUP) {
            const T* p = column + of(t, h);
            if constexpr (GROUP * sizeof(T) == 16 && sizeof(T) == 8)
                asm volatile("ld.relaxed.gpu.global.v2.f64 {%0, %1}, [%2];"
                             : "=d"(x[h]), "=d"(x[h + 1])
                             : "l"(p));
            else if constexpr (sizeof(T) == 8)
                asm volatile("ld.relaxed.gpu.global.f64 %0, [%1];" : "=d"(x[h]) : "l"(p));
            else if constexpr (GROUP == 4)
                asm volatile("ld.relaxed.gpu.global.v4.f32 {%0, %1, %2, %3}, [%4];"
                             : "=f"(x[h]), "=f"(x[h + 1]), "=f"(x[h + 2]), "=f"(x[h + 3])
                             : "l"(p));
            else if constexpr (GROUP == 2)
                asm volatile("ld.relaxed.gpu.global.v2.f32 {%0, %1}, [%2];"
                             : "=f"(x[h]), "=f"(x[h + 1])
                             : "l"(p));
            else asm volatile("ld.relaxed.gpu.global.f32 %0, [%1];" : "=f"(x[h]) : "l"(p));
        }
    }
    static __device__ __forceinline__ void write(T* column, int t, const T (&x)[ROWS]) {
#pragma unroll
        for (int h = 0; h < ROWS; h += GROUP) {
            T* p = column + of(t, h);
            if constexpr (GROUP * sizeof(T) == 16 && sizeof(T) == 8)
                asm volatile("st.relaxed.gpu.global.v2.f64 [%0], {%1, %2};" ::"l"(p), "d"(x[h]),
                             "d"(x[h + 1])
                             : "memory");
            else if constexpr (sizeof(T) == 8)
                asm volatile("st.relaxed.gpu.global.f64 [%0], %1;" ::"l"(p), "d"(x[h]) : "memory");
            else if constexpr (GROUP == 4)
                asm volatile("st.relaxed.gpu.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(p),
                             "f"(x[h]), "f"(x[h + 1]), "f"(x[h + 2]), "f"(x[h + 3])
                             : "memory");
            else if constexpr (GROUP == 2)
                asm volatile("st.relaxed.gpu.global.v2.f32 [%0], {%1, %2};" ::"l"(p), "f"(x[h]),
                             "f"(x[h + 1])
                             : "memory");
            else asm volatile("st.relaxed.gpu.global.f32 [%0], %1;" ::"l"(p), "f"(x[h]) : "memory");
        }
    }
    // Waits until the numbers, which were read once before, have arrived.
    static __device__ __forceinline__ void await(const T* column, int t, T (&x)[ROWS]) {
        for (;;) {
            bool blank = false;
#pragma unroll
            for (int h = 0; h < ROWS; ++h) blank |= head(x[h]) == BLANK<T>;
            if (!__any_sync(0xffffffffu, blank)) return;
            read(column, t, x);
        }
    }
};

// The same shared memory through an address in a register. Otherwise the compiler derives the
// address from a special register at every use, which takes 50 cycles.
template <typename T>
__device__ __forceinline__ T* at_hand(T* memory) {
    unsigned at = (unsigned)__cvta_generic_to_shared(memory);
    asm volatile("" : "+r"(at));
    return static_cast<T*>(__cvta_shared_to_generic(at));
}

__device__ __forceinline__ int glance(const int* p) {
    int x;
    asm volatile("ld.relaxed.gpu.global.s32 %0, [%1];" : "=r"(x) : "l"(p));
    return x;
}
__device__ __forceinline__ void post(int* p, int x) {
    asm volatile("st.relaxed.gpu.global.s32 [%0], %1;" ::"l"(p), "r"(x) : "memory");
}

}  // namespace pipeline
