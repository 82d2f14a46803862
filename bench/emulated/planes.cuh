// Products of planes of residues: C_p = A_p B_p' modulo the p-th modulus.
//
// A plane of A consists of tiles of 128 rows x 128 bytes of K, a plane of B of the same tiles by
// columns. Rows of tiles come one after another, each along K. In a tile, chunk c of 16 bytes of
// row r is at place c ^ (r % 8) of its row, as wgmma reads it.
//
// A plane of C consists of tiles of 128 x 256 in the order of the registers: word u of thread t
// has the entries of rows r, r, r + 8, r + 8 and columns c, c + 1, c, c + 1, with
//   r = t / 128 * 64 + t / 32 % 4 * 16 + t % 32 / 4,   c = 8 u + 2 (t % 4).
#pragma once
#include "wgmma.cuh"

constexpr int ROWS = 128, COLS = 256, DEPTH = 128, STAGES = 4;
constexpr int TILE = ROWS * DEPTH, STAGE = TILE + COLS * DEPTH;
constexpr int MODULI = 18;

struct Moduli {
  int modulus[MODULI];
  // floor(2^32 / modulus) + 1
  int inverse[MODULI];
};

// Of one warpgroup, a thread copies. The other two have 64 rows of a tile of C each.
__global__ void __launch_bounds__(384, 1)
    multiply_planes(const int8_t* a, const int8_t* b, uint32_t* c, int row_tiles, int col_tiles,
                    int depth_tiles, int planes, int band, Moduli moduli) {
  extern __shared__ __align__(1024) int8_t stages[];
  __shared__ __align__(8) uint64_t full[STAGES], empty[STAGES];
  int group = threadIdx.x / 128;
  if (threadIdx.x == 0) {
    for (int s = 0; s < STAGES; s++) {
      barrier_init(shared_address(&full[s]), 1);
      barrier_init(shared_address(&empty[s]), 2);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  int total = row_tiles * col_tiles * planes, stage = 0, phase = 0;
  // Bands of row tiles, in a band the planes, then columns, then rows: a band of A stays in the
  // L2 cache while the columns of B pass.
  auto place = [&](int work, int& p, int& i, int& j) {
    int in_band = band * col_tiles * planes, first = work / in_band * band;
    int rows = min(band, row_tiles - first), rest = work % in_band;
    p = rest / (rows * col_tiles);
    rest %= rows * col_tiles;
    j = rest / rows;
    i = first + rest % rows;
  };
  if (group == 0) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (threadIdx.x != 0) return;
    for (int work = blockIdx.x; work < total; work += gridDim.x) {
      int p, i, j;
      place(work, p, i, j);
      const int8_t* left = a + (size_t)(p * row_tiles + i) * depth_tiles * TILE;
      const int8_t* right = b + (size_t)(p * col_tiles + j) * 2 * depth_tiles * TILE;
      for (int k = 0; k < depth_tiles; k++) {
        barrier_wait(shared_address(&empty[stage]), phase ^ 1);
        uint32_t to = shared_address(stages) + stage * STAGE,
                 barrier = shared_address(&full[stage]);
        barrier_expect(barrier, STAGE);
        copy(to, left + (size_t)k * TILE, TILE, barrier);
        copy(to + TILE, right + (size_t)k * TILE, TILE, barrier);
        copy(to + 2 * TILE, right + (size_t)(depth_tiles + k) * TILE, TILE, barrier);
        if (++stage == STAGES) stage = 0, phase ^= 1;
      }
    }
    return;
  }
  asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
  int half = group - 1, lane = threadIdx.x % 128;
  for (int work = blockIdx.x; work < total; work += gridDim.x) {
    int p, i, j, sum[128], last = -1;
    place(work, p, i, j);
    for (int k = 0; k < depth_tiles; k++) {
      barrier_wait(shared_address(&full[stage]), phase);
      uint32_t at = shared_address(stages) + stage * STAGE;
      uint64_t left = operand(at + half * 64 * DEPTH), right = operand(at + TILE);
      begin_products();
#pragma unroll
      for (int part = 0; part < 4; part++)
        multiply(sum, left + 2 * part, right + 2 * part, (k | part) != 0);
      end_products();
      wait_products<1>();
      if (last >= 0 && lane == 0) barrier_arrive(shared_address(&empty[last]));
      last = stage;
      if (++stage == STAGES) stage = 0, phase ^= 1;
    }
    wait_products<0>();
    if (lane == 0) barrier_arrive(shared_address(&empty[last]));
    int modulus = moduli.modulus[p], inverse = moduli.inverse[p];
    uint32_t* to =
        c + (((size_t)p * row_tiles + i) * col_tiles + j) * 32 * 256 + half * 128 + lane;
#pragma unroll
    for (int u = 0; u < 32; u++) {
      uint32_t word = 0;
#pragma unroll
      for (int v = 0; v < 4; v++) {
        int x = sum[4 * u + v];
        word |= (uint32_t)((x - __mulhi(x, inverse) * modulus) & 255) << (8 * v);
      }
      to[u * 256] = word;
    }
  }
}
