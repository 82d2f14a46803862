// arch: sm_60
// The product Q of the reflectors of chase.cu, applied without tensor cores; see chase_back.cuh.
#include "chase_back.cuh"

#define PACKING(T, B, SUFFIX)                                                                   \
    extern "C" __global__ void __launch_bounds__(4 * B) chase_pack_steps##B##_##SUFFIX(         \
        int n, int s0, const T* vs, i64 ldv, const T* taus, T* steps) {                         \
        auto* memory = shared_memory<PackingMemory<T, B>>();                                    \
        pack<T, B>(n, s0, vs, ldv, taus, reinterpret_cast<Step<T, B>*>(steps), *memory);        \
    }

PACKING(double, 32, f64)
PACKING(double, 64, f64)
PACKING(float, 32, f32)
PACKING(float, 64, f32)
APPLYING(double, 32, 64, f64)
APPLYING(double, 64, 64, f64)
APPLYING(float, 32, 64, f32)
APPLYING(float, 64, 64, f32)
