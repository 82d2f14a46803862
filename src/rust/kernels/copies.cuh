// Copies to shared memory that go on while the threads do other things (sm_80 and newer), and what their users share.
#pragma once
#include "common.cuh"

namespace tile {

// How an operand lies in memory: its lines (rows of A, columns of B) side by side, or its depth (k).
enum Layout { LINES = 0, DEPTH = 1 };

// threadIdx.x, read anew: what is computed from it is not kept in registers from one use to the next, where none are to spare.
__device__ __forceinline__ int thread_again() {
    int x;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(x));
    return x;
}

__device__ __forceinline__ unsigned shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ __forceinline__ void copies_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int LEFT>
__device__ __forceinline__ void copies_wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory");
}

}  // namespace tile
