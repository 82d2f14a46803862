// arch: sm_70
// Flags in global memory by which blocks of a launch wait for one another.
#pragma once
#include "common.cuh"

__device__ __forceinline__ int load_acquire(const int* p) {
    int x;
    asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(x) : "l"(p) : "memory");
    return x;
}
__device__ __forceinline__ void store_release(int* p, int x) {
    asm volatile("st.release.gpu.global.s32 [%0], %1;" ::"l"(p), "r"(x) : "memory");
}
