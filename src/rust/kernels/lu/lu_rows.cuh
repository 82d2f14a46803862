// The update of a panel of the LU factorization before its next columns are taken up: rows of U
// above them, and then their remainder.
#pragma once
#include "cluster.cuh"
#include "lu_pivot.cuh"
#include "mma_f64.cuh"

namespace lu {

constexpr int PARTS = 4;      // lanes that share a row: lane p has columns p, p + 4, ...
constexpr int LARGEST = 128;  // columns of a panel
constexpr int BLOCKS = 16;    // of a cluster, at most

// A candidate, its reciprocal if it is ordinary, and the rest of its row: column p + 4 s at
// row[p][s].
template <typename T, int SLOTS>
struct alignas(16) Offer {
    Choice choice;
    struct alignas(16) {
        T inverse, value;
    } head;
    T row[PARTS][SLOTS];
};

// SLOTS columns per lane in registers, THREADS threads with rows.
template <typename T, int THREADS, int SLOTS>
struct Shared {
    static constexpr int WIDTH = PARTS * SLOTS, BEFORE = LARGEST - WIDTH;
    Offer<T, SLOTS> offers[2][BLOCKS];  // of all blocks, by the parity of the column
    Offer<T, SLOTS> offer;              // this block's
    Choice tied[THREADS];
    unsigned keys[2][THREADS];  // high words of the threads' candidates
    unsigned long long boxes[2];
    T u[BEFORE][WIDTH + 2];  // rows of U above the present columns, part by part
    T l[BEFORE][BEFORE + 1];
    int origin[LARGEST];  // the first place of the row that became row j
};

// C += A B for tiles of 16 x 8, 8 deep.
__device__ __forceinline__ void multiply_tile(double& c0, double& c1, double& c2, double& c3,
                                              double a0, double a1, double a2, double a3, double b0,
                                              double b1) {
    asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, "
        "%9}, {%0, %1, %2, %3};"
        : "+d"(c0), "+d"(c1), "+d"(c2), "+d"(c3)
        : "d"(a0), "d"(a1), "d"(a2), "d"(a3), "d"(b0), "d"(b1));
}

// Copies the rows of L since the last call, from row b on, to shared memory.
template <typename T, int THREADS, int SLOTS>
__device__ __forceinline__ void lower_rows(Shared<T, THREADS, SLOTS>& s, const T* work, i64 ld,
                                           int b) {
    constexpr int GROUP = 16, WIDTH = PARTS * SLOTS,
                  WARPS = THREADS / 32;  // loads in flight together
    const int t = threadIdx.x, r = b + t % WIDTH;
    if (t < THREADS) {
        const T* from = work + s.origin[r];
#pragma unroll 1
        for (int i = t / 32; i < b + WIDTH; i += WARPS * GROUP) {
            T y[GROUP];
#pragma unroll
            for (int g = 0; g < GROUP; ++g)
                y[g] = i + g * WARPS < r ? __ldcg(from + (i + g * WARPS) * ld) : T(0);
#pragma unroll
            for (int g = 0; g < GROUP; ++g)
                if (i + g * WARPS < b + WIDTH) s.l[r][i + g * WARPS] = y[g];
        }
    }
}

// U above columns c0 to c0 + w - 1, by substitution, from 8 rows to the next 8 on tensor cores; to
// shared memory and to `work`. A warp has 8 columns: its number n is column n / 2 + 4 (2 warp + n %
// 2).
template <typename T, int THREADS, int SLOTS>
__device__ __forceinline__ void upper_rows(Shared<T, THREADS, SLOTS>& s, const T* a, i64 lda,
                                           T* work, i64 ld, int c0, int w) {
    constexpr int WIDTH = PARTS * SLOTS;
    const int t = threadIdx.x, lane = t & 31, warp = t / 32, g = lane / 4, part = lane % 4;
    if (t < THREADS) {
        // All loads are in flight together.
        constexpr int ROUNDS = (LARGEST - WIDTH) * PARTS / THREADS + 1;
        T y[ROUNDS][SLOTS];
#pragma unroll
        for (int k = 0; k < ROUNDS; ++k) {
            const int r = (t + k * THREADS) / PARTS;
            const T* from = a + (r < c0 ? s.origin[r] : 0) + (c0 + t % PARTS) * lda;
#pragma unroll
            for (int i = 0; i < SLOTS; ++i)
                y[k][i] = r < c0 && t % PARTS + PARTS * i < w ? from[PARTS * i * lda] : T(0);
        }
#pragma unroll
        for (int k = 0; k < ROUNDS; ++k) {
            const int r = (t + k * THREADS) / PARTS;
#pragma unroll
            for (int i = 0; i < SLOTS; ++i)
                if (r < c0) s.u[r][t % PARTS * SLOTS + i] = y[k][i];
        }
    }
    __syncthreads();
    if (warp < WIDTH / 8) {
        // Element (k, n) of the warp's columns.
        const auto element = [&](int k, int n) -> T& {
            return s.u[k][(n >> 1) * SLOTS + 2 * warp + (n & 1)];
        };
#pragma unroll 1
        for (int r = 0; r < c0; r += 8) {
            if (r > 0) {
                double x[2][2] = {
                    {(double)element(r + g, 2 * part), (double)element(r + g, 2 * part + 1)},
                    {0, 0}};
                const T* l = s.l[r + g] + part;
#pragma unroll 4
                for (int k = 0; k < r; k += 8)
#pragma unroll
                    for (int h = 0; h < 2; ++h)
                        mma_8x8x4(x[h][0], x[h][1], -(double)l[k + 4 * h],
                                  (double)element(k + 4 * h + part, g));
                __syncwarp();
                element(r + g, 2 * part) = (T)(x[0][0] + x[1][0]);
                element(r + g, 2 * part + 1) = (T)(x[0][1] + x[1][1]);
                __syncwarp();
            }
            // Substitution within 8 rows, one lane per column: products with an inverse would
            // change exact zeros.
            if (lane < 8) {
                T y[8], l[8][8];
#pragma unroll
                for (int i = 0; i < 8; ++i) {
                    y[i] = element(r + i, lane);
#pragma unroll
                    for (int k = 0; k < i; ++k) l[i][k] = s.l[r + i][r + k];
                }
#pragma unroll
                for (int k = 0; k < 8; ++k)
#pragma unroll
                    for (int i = k + 1; i < 8; ++i) y[i] -= l[i][k] * y[k];
#pragma unroll
                for (int i = 1; i < 8; ++i) element(r + i, lane) = y[i];
            }
            __syncwarp();
        }
    }
    __syncthreads();
    // Each block writes some of them to `work`.
#pragma unroll 1
    for (int e = t + cluster::rank() * blockDim.x; e < c0 * PARTS;
         e += cluster::size() * blockDim.x) {
        const int r = e / PARTS, p = e % PARTS;
#pragma unroll
        for (int i = 0; i < SLOTS; ++i)
            if (p + PARTS * i < w)
                work[s.origin[r] + (c0 + p + PARTS * i) * ld] = s.u[r][p * SLOTS + i];
    }
}

// Updates the columns in registers, from c0 on: x minus L times U, for rows from `first[h]` on.
template <int THREADS, int SLOTS, int SETS>
__device__ __forceinline__ void bring_up(const Shared<float, THREADS, SLOTS>& s, const float* work,
                                         i64 ld, int c0, const i64 (&first)[SETS],
                                         float (&x)[SETS][4][SLOTS]) {
    constexpr int GROUP = 8;  // loads in flight together
    const int part = threadIdx.x % PARTS;
#pragma unroll
    for (int h = 0; h < SETS; ++h) {
        const float* from = work + first[h];
#pragma unroll 1
        for (int k = 0; k < c0; k += GROUP) {
            float l[GROUP][4];
#pragma unroll
            for (int g = 0; g < GROUP; ++g, from += ld)
#pragma unroll
                for (int q = 0; q < 4; ++q) l[g][q] = from[q];
#pragma unroll
            for (int g = 0; g < GROUP; ++g)
#pragma unroll
                for (int e = 0; e < SLOTS; ++e)
#pragma unroll
                    for (int q = 0; q < 4; ++q)
                        x[h][q][e] -= l[g][q] * s.u[k + g][part * SLOTS + e];
        }
    }
}
// The same in double precision on tensor cores. Rows q and q + 1 of a lane's four are rows lane / 4
// and lane / 4 + 8 of a tile; columns e and e + 1 of its part are columns 2 part and 2 part + 1.
template <int THREADS, int SLOTS, int SETS>
__device__ __forceinline__ void bring_up(const Shared<double, THREADS, SLOTS>& s,
                                         const double* work, i64 ld, int c0,
                                         const i64 (&first)[SETS], double (&x)[SETS][4][SLOTS]) {
    constexpr int DEEP = SLOTS < 4 ? PARTS * SLOTS : 16, TILES = DEEP / 4;  // columns of L at once
    const int lane = threadIdx.x & 31, part = lane % PARTS, n = lane / 4;
#pragma unroll(SETS == 1 ? 2 : 1)
    for (int k = 0; k < c0; k += DEEP) {
        double l[SETS][TILES][4];
#pragma unroll
        for (int h = 0; h < SETS; ++h)
#pragma unroll
            for (int g = 0; g < TILES; ++g)
#pragma unroll
                for (int q = 0; q < 4; ++q)
                    l[h][g][q] = -work[first[h] + q + (k + 4 * g + part) * ld];
#pragma unroll
        for (int e = 0; e < SLOTS; e += 2) {
            double u[TILES];
#pragma unroll
            for (int g = 0; g < TILES; ++g)
                u[g] = s.u[k + 4 * g + part][(n >> 1) * SLOTS + e + (n & 1)];
#pragma unroll
            for (int h = 0; h < SETS; ++h)
#pragma unroll
                for (int q = 0; q < 4; q += 2)
#pragma unroll
                    for (int g = 0; g < TILES; g += 2)
                        multiply_tile(x[h][q][e], x[h][q][e + 1], x[h][q + 1][e],
                                      x[h][q + 1][e + 1], l[h][g][q], l[h][g][q + 1],
                                      l[h][g + 1][q], l[h][g + 1][q + 1], u[g], u[g + 1]);
        }
    }
}

}  // namespace lu
