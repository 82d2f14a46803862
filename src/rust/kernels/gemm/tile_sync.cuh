// arch: sm_70
// How the blocks and the warps of one launch pass data to one another.
//
// Between blocks: the writer's threads store and meet at a barrier, and one of them sets a flag
// with `store_release`. A reader waits for the flag with `load_acquire` and then meets its own
// threads. If that round trip is too long, a datum is its own flag: see `load_relaxed`. Blocks that
// wait must all be resident, which a cooperative launch guarantees.
#pragma once
#include "common.cuh"

namespace tile {

__device__ __forceinline__ int load_acquire(const int* p) {
    int x;
    asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(x) : "l"(p) : "memory");
    return x;
}
__device__ __forceinline__ void store_release(int* p, int x) {
    asm volatile("st.release.gpu.global.s32 [%0], %1;" ::"l"(p), "r"(x) : "memory");
}

// The same between warps of a block, in shared memory. The writer's lanes meet before, and the
// reader's lanes all wait.
__device__ __forceinline__ int block_load_acquire(const int* p) {
    int x;
    asm volatile("ld.acquire.cta.shared.s32 %0, [%1];"
                 : "=r"(x)
                 : "r"((unsigned)__cvta_generic_to_shared(p))
                 : "memory");
    return x;
}
__device__ __forceinline__ void block_store_release(int* p, int x) {
    asm volatile("st.release.cta.shared.s32 [%0], %1;" ::"r"((unsigned)__cvta_generic_to_shared(p)),
                 "r"(x)
                 : "memory");
}

// Eight bytes that other blocks wait for. They arrive whole or not at all, in no order with others.
typedef unsigned long long Word;
__device__ __forceinline__ void load_relaxed(const Word* p, Word& x, Word& y) {
    asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];" : "=l"(x), "=l"(y) : "l"(p));
}
__device__ __forceinline__ void store_relaxed(Word* p, Word x, Word y) {
    asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %2};" ::"l"(p), "l"(x), "l"(y)
                 : "memory");
}

// *p, or `other` if p must not be read. There is no branch, so that many loads are in flight at
// once.
__device__ __forceinline__ double load_if(bool read, const double* p, double other) {
    double x = other;
    asm volatile("{ .reg .pred q; setp.ne.b32 q, %2, 0; @q ld.global.cg.f64 %0, [%1]; }"
                 : "+d"(x)
                 : "l"(p), "r"((int)read));
    return x;
}
__device__ __forceinline__ void store_if(bool write, double* p, double x) {
    asm volatile("{ .reg .pred q; setp.ne.b32 q, %2, 0; @q st.global.cg.f64 [%0], %1; }" ::"l"(p),
                 "d"(x), "r"((int)write)
                 : "memory");
}

// The block's named barriers; __syncthreads uses number 0. `group_sync`: COUNT threads meet. The
// others: some of COUNT threads arrive and continue, the rest wait for them.
template <int ID, int COUNT>
__device__ __forceinline__ void group_sync() {
    asm volatile("bar.sync %0, %1;" ::"n"(ID), "n"(COUNT) : "memory");
}
__device__ __forceinline__ void barrier_sync(int id, int count) {
    asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(count) : "memory");
}
__device__ __forceinline__ void barrier_arrive(int id, int count) {
    asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(count) : "memory");
}

}  // namespace tile
