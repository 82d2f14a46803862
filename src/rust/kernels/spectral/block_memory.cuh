// The dynamic shared memory of a block, as what the kernel keeps there.
#pragma once

template <typename T>
__device__ __forceinline__ T* shared_memory() {
    extern __shared__ __align__(16) char bytes[];
    return reinterpret_cast<T*>(bytes);
}
