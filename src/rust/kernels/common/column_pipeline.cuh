// arch: sm_80
// Columns that go from block to block of one launch, each number its own flag.
//
// A matrix of messages has a column for each that one block makes and others wait for. It is blank
// before: every number is a signalling NaN that no arithmetic results in, of equal words. Who waits
// reads a number until it is something else, so that a message takes one trip to the second-level
// cache and back, and no fence. Blocks that wait must all be resident, or take turns: each what
// comes next in the order in which they start, so that it waits only for what has started.
#pragma once
#include "common.cuh"

namespace pipeline {

// A number's first word, and that of one that is not there yet. The word after it marks what a
// kernel likes.
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

// A thread's rows: groups of GROUP that are neighbours, so that a message is read 16 bytes at a
// time.
template <typename T, int THREADS, int ROWS>
struct Rows {
    static constexpr int MOST = 16 / sizeof(T), GROUP = ROWS < MOST ? ROWS : MOST;
    static __device__ __forceinline__ int of(int t, int h) {
        return (h / GROUP * THREADS + t) * GROUP + h % GROUP;
    }

    // This thread's rows of a block's columns, at `a`, which are c0 to before c0 + WIDTH of an m x
    // n matrix; zero where there is none.
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

    // A column's numbers of this thread, if they are there.
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
    // Waits for them, read once already.
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

// The same shared memory by an address that is at hand. Else it is put together from the number of
// the block at every use, which takes 50 cycles to ask for.
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
