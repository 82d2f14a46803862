// arch: sm_80
// The smallest matrix product of the double-precision tensor cores.
#pragma once

// D (8 x 8) += A (8 x 4) B (4 x 8). A lane holds A(lane / 4, lane % 4), B(lane % 4, lane / 4), and
// D(lane / 4, 2 (lane % 4)) with its right neighbour.
__device__ __forceinline__ void mma_8x8x4(double& d0, double& d1, double a, double b) {
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+d"(d0), "+d"(d1)
        : "d"(a), "d"(b));
}
