// From doubles to residues and back, in integer arithmetic.
//
// Row i of A times 2^s_i, rounded to integers, has a norm of at most 2^T, and so has each column
// of B. With 2^(2 T + 1) below the product P of the moduli, the entries C' of the product of
// integers follow from their residues (Chinese remainders):
//
//   C' / P = sum r_p f_p modulo 1,   f_p = (P / p)^-1 mod p / p.
//
// With fractions of 128 bits the sum wraps around by itself.
#pragma once
#include <cmath>

#include "planes.cuh"

static const int MODULUS[MODULI] = {256, 255, 253, 251, 247, 241, 239, 233, 229,
                                    227, 223, 217, 211, 199, 197, 193, 191, 181};

struct Tables {
  // 256^i modulo p as signed bytes, four in a word
  uint32_t low[MODULI], high[MODULI];
  uint32_t fraction[MODULI][4];
  // P = mantissa 2^exponent
  uint64_t mantissa;
  int exponent;
};

__constant__ Tables tables;
__constant__ Moduli moduli_there;

inline Moduli make_moduli() {
  Moduli all;
  for (int l = 0; l < MODULI; l++) {
    all.modulus[l] = MODULUS[l];
    all.inverse[l] = (int)((1ull << 32) / MODULUS[l]) + 1;
  }
  return all;
}

// Tables for so many moduli, and T.
inline Tables make_tables(int count, double& bits) {
  typedef unsigned __int128 wide;
  Tables t = {};
  wide product = 1;
  double log2_product = 0;
  for (int l = 0; l < count; l++) {
    int p = MODULUS[l], power = 1, rest = 1, inverse = 1;
    log2_product += log2((double)p);
    for (int i = 0; i < 8; i++) {
      int digit = power > p / 2 ? power - p : power;
      uint32_t byte = (uint32_t)(digit > 127 ? 127 : digit) & 255;
      (i < 4 ? t.low : t.high)[l] |= byte << (8 * (i % 4));
      power = power * 256 % p;
    }
    for (int q = 0; q < count; q++)
      if (q != l) rest = rest * (MODULUS[q] % p) % p;
    while (rest * inverse % p != 1) inverse++;
    // round(2^128 inverse / p)
    wide whole = ~(wide)0 / p, part = ~(wide)0 % p + 1;
    wide fraction = whole * inverse + (part * inverse + p / 2) / p;
    for (int i = 0; i < 4; i++) t.fraction[l][i] = (uint32_t)(fraction >> (32 * i));
    product *= p;
    for (; product >> 100; product >>= 1) t.exponent++;
  }
  for (; product >> 64; product >>= 1) t.exponent++;
  for (; !(product >> 63); product <<= 1) t.exponent--;
  t.mantissa = (uint64_t)product;
  bits = (log2_product - 1.02) / 2;
  return t;
}

// Exponents s of the rows of A: 32 rows a block, 8 threads a row.
__global__ void scales_of_rows(const double* x, size_t ld, int rows, int k, double bits, int* s) {
  __shared__ double parts[8][33];
  int row = blockIdx.x * 32 + threadIdx.x;
  auto entry = [&](int h) { return row < rows ? x[row + h * ld] : 0.0; };
  double most = 0, squares = 0;
  for (int h = threadIdx.y; h < k; h += 8) most = fmax(most, fabs(entry(h)));
  parts[threadIdx.y][threadIdx.x] = most;
  __syncthreads();
  for (int i = 0; i < 8; i++) most = fmax(most, parts[i][threadIdx.x]);
  __syncthreads();
  int e = most > 0 ? ilogb(most) : 0;
  double unit = scalbn(1.0, -e);
  for (int h = threadIdx.y; h < k; h += 8) {
    double v = entry(h) * unit;
    squares += v * v;
  }
  parts[threadIdx.y][threadIdx.x] = squares;
  __syncthreads();
  if (threadIdx.y != 0 || row >= rows) return;
  squares = 1e-300;
  for (int i = 0; i < 8; i++) squares += parts[i][threadIdx.x];
  s[row] = (int)floor(bits - 0.5 * log2(squares * (1 + 1e-12)) - e);
}

// Exponents s of the columns of B: a warp for a column.
__global__ void scales_of_columns(const double* x, size_t ld, int cols, int k, double bits,
                                  int* s) {
  int col = blockIdx.x * 8 + threadIdx.y, lane = threadIdx.x;
  if (col >= cols) return;
  const double* y = x + col * ld;
  double most = 0, squares = 0;
  for (int h = lane; h < k; h += 32) most = fmax(most, fabs(y[h]));
  for (int by = 16; by; by /= 2) most = fmax(most, __shfl_xor_sync(~0u, most, by));
  int e = most > 0 ? ilogb(most) : 0;
  double unit = scalbn(1.0, -e);
  for (int h = lane; h < k; h += 32) squares += y[h] * unit * (y[h] * unit);
  for (int by = 16; by; by /= 2) squares += __shfl_xor_sync(~0u, squares, by);
  if (lane == 0) s[col] = (int)floor(bits - 0.5 * log2(squares * (1 + 1e-12) + 1e-300) - e);
}

// round(a 2^s)
__device__ __forceinline__ long long integer_of(double a, int s) {
  long long bits = __double_as_longlong(a), m = bits & 0xfffffffffffffll, value;
  int e = (int)(bits >> 52) & 2047;
  if (e) m |= 1ll << 52;
  int shift = (e ? e : 1) - 1075 + s;
  if (shift >= 0)
    value = m << min(shift, 63);
  else
    value = shift < -54 ? 0 : (m + (1ll << (-shift - 1))) >> -shift;
  return bits < 0 ? -value : value;
}

__device__ __forceinline__ int dot_bytes(uint32_t digits, uint32_t weights, int sum) {
  int d;
  asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(digits), "r"(weights), "r"(sum));
  return d;
}

__device__ __forceinline__ uint32_t bytes_of(int a, int b, int c, int d) {
  return (a & 255) | (uint32_t)(b & 255) << 8 | (uint32_t)(c & 255) << 16 | (uint32_t)d << 24;
}

// Residue of y modulo moduli 1 to 17, from its bytes. The highest one is signed.
__device__ __forceinline__ int residue(long long y, int p, int inverse, uint32_t low,
                                       uint32_t high) {
  int top = (int)(y >> 32);
  int sum = dot_bytes((uint32_t)top & 0xffffff, high, dot_bytes((uint32_t)y, low, 0));
  sum += (top >> 24) * (int)(int8_t)(high >> 24);
  return sum - __mulhi(sum + (p >> 1), inverse) * p;
}

// A tile of all planes a block. Entry (r, k) is x[r + k ld], or x[r ld + k] if `along`.
template <int COUNT, bool along>
__global__ void __launch_bounds__(256)
    to_residues(const double* x, size_t ld, int rows, int k, const int* s, int8_t* out,
                int row_tiles, int depth_tiles) {
  int i = blockIdx.x, j = blockIdx.y, t = threadIdx.x;
  size_t plane = (size_t)row_tiles * depth_tiles * TILE;
  for (int step = 0; step < 4; step++) {
    int row = along ? t / 8 + 32 * step : t % 128, chunk = along ? t % 8 : t / 128 + 2 * step;
    int there = i * ROWS + row, first = j * DEPTH + chunk * 16;
    int scale = there < rows ? s[there] : 0;
    long long v[16];
#pragma unroll
    for (int h = 0; h < 16; h++) {
      size_t at = along ? there * ld + first + h : there + (first + h) * ld;
      v[h] = integer_of(there < rows && first + h < k ? x[at] : 0.0, scale);
    }
    int8_t* to =
        out + ((size_t)i * depth_tiles + j) * TILE + row * DEPTH + ((chunk ^ (row % 8)) * 16);
    uint32_t w[4];
#pragma unroll
    for (int q = 0; q < 4; q++)
      w[q] = bytes_of((int)v[4 * q], (int)v[4 * q + 1], (int)v[4 * q + 2], (int)v[4 * q + 3]);
    *(uint4*)to = make_uint4(w[0], w[1], w[2], w[3]);
#pragma unroll 1
    for (int l = 1; l < COUNT; l++) {
      int p = moduli_there.modulus[l], inverse = moduli_there.inverse[l];
      uint32_t low = tables.low[l], high = tables.high[l];
      auto one = [&](int h) { return residue(v[h], p, inverse, low, high); };
#pragma unroll
      for (int q = 0; q < 4; q++)
        w[q] = bytes_of(one(4 * q), one(4 * q + 1), one(4 * q + 2), one(4 * q + 3));
      *(uint4*)(to + l * plane) = make_uint4(w[0], w[1], w[2], w[3]);
    }
  }
}

// C' as a double, from C' / P as a signed number of 128 bits.
__device__ __forceinline__ double value_of(uint64_t low, uint64_t high) {
  bool negative = (int64_t)high < 0;
  if (negative) {
    low = ~low + 1;
    high = ~high + (low == 0);
  }
  double value;
  if (high) {
    int zeros = __clzll(high);
    uint64_t top = zeros ? high << zeros | low >> (64 - zeros) : high;
    value = scalbn((double)__umul64hi(top, tables.mantissa), tables.exponent - zeros);
  } else {
    // Below 2^54 or so: rounded to an integer, so that zero is zero.
    uint64_t product = __umul64hi(low, tables.mantissa);
    int digits = 64 - tables.exponent;
    value = digits < 64 ? (double)((product + (1ull << (digits - 1))) >> digits) : 0.0;
  }
  return negative ? -value : value;
}

// C <- alpha A B + beta C from the planes of C': a tile a block.
template <int COUNT>
__global__ void __launch_bounds__(256)
    from_residues(const uint32_t* planes, int row_tiles, int col_tiles, const int* row_scales,
                  const int* col_scales, double alpha, double beta, double* c, size_t ld, int m,
                  int n) {
  int i = blockIdx.x, j = blockIdx.y, t = threadIdx.x, lane = t % 32;
  size_t plane = (size_t)row_tiles * col_tiles * 8192;
  const uint32_t* at = planes + ((size_t)i * col_tiles + j) * 8192 + t;
  int first = i * ROWS + t / 128 * 64 + t / 32 % 4 * 16 + lane / 4;
  for (int u = 0; u < 32; u++) {
    uint32_t sum[4][4] = {}, words[COUNT];
#pragma unroll
    for (int l = 0; l < COUNT; l++) words[l] = __ldcs(at + l * plane + u * 256);
#pragma unroll
    for (int l = 0; l < COUNT; l++) {
      const uint32_t* f = tables.fraction[l];
#pragma unroll
      for (int v = 0; v < 4; v++)
        asm("mad.lo.cc.u32 %0, %4, %5, %0; madc.lo.cc.u32 %1, %4, %6, %1;\n"
            "madc.lo.cc.u32 %2, %4, %7, %2; madc.lo.u32 %3, %4, %8, %3;\n"
            "mad.hi.cc.u32 %1, %4, %5, %1; madc.hi.cc.u32 %2, %4, %6, %2;\n"
            "madc.hi.u32 %3, %4, %7, %3;"
            : "+r"(sum[v][0]), "+r"(sum[v][1]), "+r"(sum[v][2]), "+r"(sum[v][3])
            : "r"(words[l] >> (8 * v) & 255), "r"(f[0]), "r"(f[1]), "r"(f[2]), "r"(f[3]));
    }
#pragma unroll
    for (int v = 0; v < 4; v++) {
      int row = first + v / 2 * 8, col = j * COLS + u * 8 + 2 * (lane % 4) + v % 2;
      if (row >= m || col >= n) continue;
      double value =
          value_of(sum[v][0] | (uint64_t)sum[v][1] << 32, sum[v][2] | (uint64_t)sum[v][3] << 32);
      value = alpha * scalbn(value, -(row_scales[row] + col_scales[col]));
      double* to = c + row + (size_t)col * ld;
      *to = beta == 0 ? value : value + beta * *to;
    }
  }
}
