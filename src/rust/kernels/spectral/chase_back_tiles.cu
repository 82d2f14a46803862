// arch: sm_80
// The product Q of the reflectors of chase.cu, applied on tensor cores in double precision; see
// chase_back.cuh.
#include "mma_f64.cuh"

namespace {

__device__ __forceinline__ void multiply_8x8x4(double& d0, double& d1, double a, double b) {
    mma_8x8x4(d0, d1, a, b);
}

}  // namespace

#include "chase_back.cuh"

APPLYING(double, 32, 64, f64)
APPLYING(double, 64, 64, f64)
