// arch: sm_80
// Asynchronous copies to shared memory, and what their users share.
#pragma once
#include "common.cuh"

namespace tile {

// How an operand lies in memory: its lines (rows of A, columns of B) are contiguous, or its depth
// (k).
enum Layout { LINES = 0, DEPTH = 1 };

// threadIdx.x, read again. The compiler then keeps nothing computed from it in registers, where
// none are to spare.
__device__ __forceinline__ int thread_again() {
    int x;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(x));
    return x;
}

// The barrier of a crew: THREADS neighbouring threads of a block of several crews. Crew c uses
// barrier c + 1.
template <int THREADS>
__device__ __forceinline__ void crew_sync() {
    asm volatile("bar.sync %0, %1;" ::"r"(threadIdx.x / THREADS + 1), "n"(THREADS) : "memory");
}

__device__ __forceinline__ unsigned shared_address(const void* p) {
    return (unsigned)__cvta_generic_to_shared(p);
}

__device__ __forceinline__ void copies_commit() {
    asm volatile("cp.async.commit_group;" ::: "memory");
}
template <int LEFT>
__device__ __forceinline__ void copies_wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory");
}

// How the warps of a block meet. TOGETHER: all wait at one point. APART: each arrives, continues,
// and later waits for those that have not arrived. This needs sm_90, where waiting threads yield.
// CREW: each crew of the block meets separately.
enum Meeting { TOGETHER = 0, APART = 1, CREW = 2 };

// Such a barrier. The reads, writes and waits of a warp before it arrives have completed for all
// that have waited.
template <Meeting MEETING, int THREADS>
struct Gate {
    static constexpr bool STEPS = MEETING == APART && __CUDA_ARCH__ >= 900;
    unsigned at, parity;
    bool leader;  // the leader of its warp

    // Called by all threads, which meet before they arrive. The gate uses `place` until `close`,
    // before which they meet again.
    __device__ __forceinline__ void open(unsigned long long* place, int warps, int thread) {
        if (!STEPS) return;
        at = shared_address(place), parity = 0, leader = (thread & 31) == 0;
        if (thread == 0)
            asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(at), "r"(warps) : "memory");
    }
    __device__ __forceinline__ void arrive() const {
        if (!STEPS) return;
        __syncwarp();
        asm volatile(
            "{ .reg .pred p; .reg .b64 t; setp.ne.b32 p, %1, 0; @p mbarrier.arrive.shared.b64 t, "
            "[%0]; }" ::"r"(at),
            "r"((int)leader)
            : "memory");
    }
    __device__ __forceinline__ void wait() {
        if (!STEPS) return meet();
        asm volatile(
            "{ .reg .pred p;\nAGAIN: mbarrier.try_wait.parity.shared.b64 p, [%0], %1;\n@!p bra "
            "AGAIN; }" ::"r"(at),
            "r"(parity)
            : "memory");
        parity ^= 1;
    }
    // All threads wait.
    static __device__ __forceinline__ void meet() {
        if (MEETING == CREW) crew_sync<THREADS>();
        else __syncthreads();
    }
    __device__ __forceinline__ void close(int thread) const {
        if (STEPS && thread == 0)
            asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(at) : "memory");
    }
};

}  // namespace tile
