// Blocks of a cluster, which reach one another's shared memory (sm_90 and newer).
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
// All threads of all blocks meet: what was stored before one arrives is there for all that have waited.
__device__ __forceinline__ void arrive() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
__device__ __forceinline__ void wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }

// Sixteen bytes to the place in block `to` where `place` is in this block.
template <typename T>
__device__ __forceinline__ void store16(T* place, int to, const T* from) {
    unsigned remote;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"((unsigned)__cvta_generic_to_shared(place)), "r"(to));
    const uint4 x = *reinterpret_cast<const uint4*>(from);
    asm volatile("st.shared::cluster.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(remote), "r"(x.x), "r"(x.y), "r"(x.z), "r"(x.w) : "memory");
}

}  // namespace cluster
