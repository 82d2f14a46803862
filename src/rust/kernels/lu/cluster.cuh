// arch: sm_90
// Blocks of a cluster, which access one another's shared memory.
#pragma once
#include "common.cuh"

namespace cluster {

__device__ __forceinline__ int rank() {
    int x;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(x));
    return x;
}
__device__ __forceinline__ int size() {
    int x;
    asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(x));
    return x;
}
// All threads of all blocks meet. What a thread stored before it arrives, in global memory too, is
// visible to all that have passed. It takes a microsecond; a mailbox takes a third of that.
__device__ __forceinline__ void meet() {
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

__device__ __forceinline__ unsigned address(const void* place) {
    return (unsigned)__cvta_generic_to_shared(place);
}

// The same shared memory through an address in a register. Otherwise the compiler derives the
// address from a special register at every use, which takes 50 cycles.
template <typename T>
__device__ __forceinline__ T* own(T* memory) {
    unsigned at = address(memory);
    asm volatile("" : "+r"(at));
    return static_cast<T*>(__cvta_shared_to_generic(at));
}

// A mailbox is full when its own block has announced a number of bytes and these have arrived.
__device__ __forceinline__ void mailbox_open(unsigned long long* box) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address(box)) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ __forceinline__ void mailbox_expect(unsigned long long* box, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address(box)),
                 "r"(bytes)
                 : "memory");
}
// Waits until it is full for the first, second, third time: parity 0, 1, 0.
__device__ __forceinline__ void mailbox_wait(unsigned long long* box, int parity) {
    asm volatile(
        "{\n"
        ".reg .pred full;\n"
        "AGAIN:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 full, [%0], %1;\n"
        "@!full bra AGAIN;\n"
        "}" ::"r"(address(box)),
        "r"(parity)
        : "memory");
}

// The address of `place` of this block in block `to`.
__device__ __forceinline__ unsigned there(const void* place, int to) {
    unsigned x;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(x) : "r"(address(place)), "r"(to));
    return x;
}
// Sends sixteen bytes to a place in another block, and counts them in its mailbox, if `really`.
__device__ __forceinline__ void mailbox_send16(bool really, unsigned box, unsigned place,
                                               const void* from) {
    const uint4 x = *reinterpret_cast<const uint4*>(from);
    asm volatile(
        "{\n"
        ".reg .pred really;\n"
        "setp.ne.s32 really, %6, 0;\n"
        "@really st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, "
        "%3, %4}, [%5];\n"
        "}" ::"r"(place),
        "r"(x.x), "r"(x.y), "r"(x.z), "r"(x.w), "r"(box), "r"((int)really)
        : "memory");
}

}  // namespace cluster
