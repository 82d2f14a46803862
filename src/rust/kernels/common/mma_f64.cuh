// arch: sm_80
// The smallest product of the tensor cores in double precision.
#pragma once

// D (8 x 8) += A (8 x 4) B (4 x 8): a lane has A(lane / 4, lane % 4), B(lane % 4, lane / 4), D(lane
// / 4, 2 (lane % 4)) and the next.
__device__ __forceinline__ void mma_8x8x4(double& d0, double& d1, double a, double b) {
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+d"(d0), "+d"(d1)
        : "d"(a), "d"(b));
}
