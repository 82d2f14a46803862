// Stages of double products from 8-bit integers, by the package's kernels: see run.sh. Writes
// Markdown.
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "planes.cuh"
#include "wgmma.cuh"

extern "C" {
typedef const int* Stop;
typedef const planes::Tables* TablesThere;
__global__ void lines_measure_along_f64(const double*, i64, i64, i64, i64, int*, Stop);
__global__ void lines_measure_across_f64(const double*, i64, i64, i64, i64, int*, Stop);
__global__ void lines_finish_slices_f64(const int*, i64, i64, i64, float*, int*, Stop);
__global__ void residues_make_along_f64(const double*, i64, int, int, float, const float*,
                                        TablesThere, int, int, char*, int, int, Stop);
__global__ void residues_make_across_f64(const double*, i64, int, int, float, const float*,
                                         TablesThere, int, int, char*, int, int, Stop);
__global__ void residues_restore_tiles_f64(const unsigned*, int, TablesThere, float, const float*,
                                           float, const float*, int, double, double, double*, i64,
                                           i64, int, int, int, Stop, int, Stop);
__global__ void bound_check_tiles_f64(const unsigned*, int, const float*, const float*, int, int,
                                      int, int*, Stop);
__global__ void planes_multiply_hopper(const char*, int, const char*, int, unsigned*, int, int,
                                       int, int, int, int, int, TablesThere, Stop);
__global__ void planes_multiply_tensor(const char*, int, const char*, int, unsigned*, int, int,
                                       int, int, int, int, int, TablesThere, Stop);
}

#define CHECK(call)                                                         \
  do {                                                                      \
    if (int status = (int)(call)) {                                         \
      fprintf(stderr, "%s: status %d, line %d\n", #call, status, __LINE__); \
      exit(1);                                                              \
    }                                                                       \
  } while (0)

constexpr int STAGE = (128 + 256) * 128, HOPPER = 4 * STAGE, TENSOR = 2 * STAGE;
constexpr int DEEPEST = 8192, BAND = 16;
static int processors;

// Four products of 64 x 256 x 32 bytes a step from shared memory, by each of two warpgroups.
__global__ void __launch_bounds__(256, 1) bare_wgmma(const int4* x, int* out, int times) {
  extern __shared__ __align__(1024) char stages[];
  for (int i = threadIdx.x; i < HOPPER / 16; i += 256) ((int4*)stages)[i] = x[i];
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  int half = threadIdx.x / 128, sum[128], all = 0;
#pragma unroll
  for (int i = 0; i < 128; i++) sum[i] = 0;
  unsigned base = (unsigned)__cvta_generic_to_shared(stages);
  for (int step = 0; step < times; step++) {
    unsigned at = base + step % 4 * STAGE;
    unsigned long long left = wgmma::operand(at + half * 64 * 128);
    unsigned long long right = wgmma::operand(at + 128 * 128);
    wgmma::begin_products();
#pragma unroll
    for (int part = 0; part < 4; part++)
      wgmma::multiply(sum, left + 2 * part, right + 2 * part, 1);
    wgmma::end_products();
    wgmma::wait_products<1>();
  }
  wgmma::wait_products<0>();
#pragma unroll
  for (int i = 0; i < 128; i++) all ^= sum[i];
  if (all == 12345) out[threadIdx.x] = all;
}

// Sixteen products of 16 x 8 x 32 bytes a step from registers, by each warp.
__global__ void __launch_bounds__(256, 2) bare_mma(const unsigned* x, int* out, int times) {
  int d[16][4] = {}, all = 0;
  unsigned a[4][4], b[4][2];
  for (int i = 0; i < 4; i++) {
    for (int v = 0; v < 4; v++) a[i][v] = x[threadIdx.x + 256 * (4 * i + v)];
    for (int v = 0; v < 2; v++) b[i][v] = x[threadIdx.x + 256 * (16 + 2 * i + v)];
  }
  for (int step = 0; step < times; step++) {
#pragma unroll
    for (int i = 0; i < 16; i++)
      asm volatile(
          "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
          "{%8, %9}, {%0, %1, %2, %3};"
          : "+r"(d[i][0]), "+r"(d[i][1]), "+r"(d[i][2]), "+r"(d[i][3])
          : "r"(a[i / 4][0]), "r"(a[i / 4][1]), "r"(a[i / 4][2]), "r"(a[i / 4][3]),
            "r"(b[i % 4][0]), "r"(b[i % 4][1]));
  }
  for (int i = 0; i < 16; i++)
    for (int v = 0; v < 4; v++) all ^= d[i][v];
  if (all == 12345) out[threadIdx.x] = all;
}

__device__ uint64_t scattered(uint64_t z) {
  z *= 0x9E3779B97F4A7C15ull;
  z = (z ^ (z >> 31)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

// Normal numbers.
__global__ void fill(double* x, size_t n, uint64_t seed) {
  size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  for (; i < n; i += (size_t)gridDim.x * blockDim.x) {
    auto uniform = [&](int k) { return (scattered(4 * i + k + (seed << 40)) >> 11) * 0x1p-53; };
    x[i] = sqrt(-2 * log(uniform(0) + 0x1p-54)) * cospi(2 * uniform(1));
  }
}

// The median of so many runs after one.
template <class F> float milliseconds(int repeats, F run) {
  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  std::vector<float> all(repeats);
  run();
  for (float& one : all) {
    CHECK(cudaEventRecord(begin));
    run();
    CHECK(cudaEventRecord(end));
    CHECK(cudaEventSynchronize(end));
    CHECK(cudaEventElapsedTime(&one, begin, end));
  }
  CHECK(cudaGetLastError());
  std::sort(all.begin(), all.end());
  return all[repeats / 2];
}

template <class T> T* room(size_t count) {
  void* p;
  CHECK(cudaMalloc(&p, count * sizeof(T)));
  return (T*)p;
}

static void bare_rates() {
  auto* x = room<double>(HOPPER / 8);
  auto* out = room<int>(256);
  int times = 100000;
  printf("\n## Bare loops\n\nTOPS: two operations for each product of two bytes.\n\n");
  printf("| instruction | operands | ms | TOPS |\n|:---|:---|---:|---:|\n");
  for (bool zeros : {true, false}) {
    if (zeros)
      CHECK(cudaMemset(x, 0, HOPPER));
    else
      fill<<<64, 256>>>(x, HOPPER / 8, 1);
    const char* name = zeros ? "zeros" : "random bytes";
    float t = milliseconds(
        3, [&] { bare_wgmma<<<processors, 256, HOPPER>>>((int4*)x, out, 4 * times); });
    double operations = 2.0 * 128 * 256 * 128 * 4 * times * processors;
    printf("| wgmma, shared memory | %s | %.0f | %.0f |\n", name, t, operations / t * 1e-9);
    t = milliseconds(3, [&] { bare_mma<<<2 * processors, 256>>>((unsigned*)x, out, times); });
    operations = 2.0 * 16 * 8 * 32 * 16 * 8 * times * 2 * processors;
    printf("| mma.sync, registers | %s | %.0f | %.0f |\n", name, t, operations / t * 1e-9);
  }
}

// Tables as `moduli.rs` has them, but for fractions: a time does not depend on these.
static planes::Tables tables(int count, double& bits) {
  static const int MODULI[planes::MOST] = {256, 255, 253, 251, 247, 241, 239, 233,
                                           229, 227, 223, 217, 211, 199, 197, 193};
  planes::Tables t = {};
  bits = -1.02;
  for (int l = 0; l < count; l++) {
    int p = MODULI[l], power = 1;
    bits += log2((double)p);
    t.modulus[l] = p, t.inverse[l] = (int)((1ll << 38) / p) + 1;
    for (int i = 0; i < 3; i++) {
      power = (int)((i64)power * 65536 % p);
      t.weights[l][i] = (float)(power > p / 2 ? power - p : power);
    }
    t.weights[l][3] = 1.0f / p;
  }
  for (auto& byte : t.fractions)
    for (unsigned& word : byte) word = 0x9E3779B9;
  t.mantissa_high = 1u << 31, t.exponent = (int)bits - 63;
  bits /= 2;
  return t;
}

static void measure_stages(cublasHandle_t handle, int n, int k, int count, bool hopper,
                           int repeats) {
  auto *a = room<double>((size_t)n * k), *b = room<double>((size_t)n * k);
  auto *c = room<double>((size_t)n * n);
  fill<<<1024, 256>>>(a, (size_t)n * k, 1);
  fill<<<1024, 256>>>(b, (size_t)n * k, 2);
  int rows = n / 128, cols = n / 256, deep = std::min(k, DEEPEST);
  // As `lines.rs` has them.
  int slices = std::max(std::min((k + 127) / 128, 8), (k + 1023) / 1024);
  int slice = (k + slices - 1) / slices;
  auto *left = room<char>((size_t)count * n * deep), *right = room<char>((size_t)count * n * deep);
  auto* planes_of_c = room<unsigned>((size_t)count * n * n / 4);
  auto *sums = room<int>((size_t)6 * slices * n), *summary = room<int>(12);
  auto *first = room<float>(n), *second = room<float>(n);
  auto *there = room<planes::Tables>(1), *of_magnitudes = room<planes::Tables>(1);
  auto* unproven = room<int>((size_t)n * n >> 16);
  double bits;
  planes::Tables here = tables(count, bits);
  CHECK(cudaMemcpy(there, &here, sizeof here, cudaMemcpyHostToDevice));
  here.modulus[0] = 0;
  CHECK(cudaMemcpy(of_magnitudes, &here, sizeof here, cudaMemcpyHostToDevice));
  int shift = std::max(0, (int)bits - 5 - (int)std::ceil(std::log2((double)k) / 2));
  // Blocks that share a tile, as `job.rs` has them.
  auto shared_by = [&](int tiles, int most) {
    int blocks = 1;
    while (blocks < most && blocks * tiles < 4 * processors) blocks *= 2;
    return blocks;
  };
  int lines = shared_by(rows * (deep / 128), 8), pieces = shared_by(rows * cols, 16);
  auto measure = [&] {
    lines_measure_across_f64<<<dim3(n / 32, slices), 256>>>(a, n, n, k, slice, sums, nullptr);
    lines_finish_slices_f64<<<n / 256, 256>>>(sums, slices, n, k, first, summary, nullptr);
    lines_measure_along_f64<<<dim3(n / 8, slices), 256>>>(b, k, n, k, slice, sums, nullptr);
    lines_finish_slices_f64<<<n / 256, 256>>>(sums, slices, n, k, second, summary, nullptr);
  };
  auto convert = [&](int from) {
    residues_make_across_f64<<<dim3(rows * lines, deep / 128), 256>>>(
        a + (size_t)from * n, n, n, deep, (float)bits, first, there, count, 0, left, rows, lines,
        nullptr);
    residues_make_along_f64<<<dim3(rows * lines, deep / 128), 256>>>(
        b + from, k, n, deep, (float)bits, second, there, count, 0, right, rows, lines,
        nullptr);
  };
  // Magnitudes: one plane, whose modulus is 0, and residues that are none.
  auto prove = [&] {
    for (int from = 0; from < k; from += deep) {
      residues_make_across_f64<<<dim3(rows * lines, deep / 128), 256>>>(
          a + (size_t)from * n, n, n, deep, (float)bits, first, there, 0, shift, left, rows,
          lines, nullptr);
      residues_make_along_f64<<<dim3(rows * lines, deep / 128), 256>>>(
          b + from, k, n, deep, (float)bits, second, there, 0, shift, right, rows,
          lines, nullptr);
      auto kernel = hopper ? planes_multiply_hopper : planes_multiply_tensor;
      kernel<<<processors, hopper ? 384 : 256, hopper ? HOPPER : TENSOR>>>(
          left, rows, right, rows, planes_of_c, rows, cols, deep / 128, 1, BAND, 0, from > 0,
          of_magnitudes, nullptr);
    }
    bound_check_tiles_f64<<<dim3(rows, cols), 256>>>(planes_of_c, 2, first, second, n, n, 0,
                                                     unproven, nullptr);
  };
  auto multiply = [&](int from) {
    auto kernel = hopper ? planes_multiply_hopper : planes_multiply_tensor;
    kernel<<<processors, hopper ? 384 : 256, hopper ? HOPPER : TENSOR>>>(
        left, rows, right, rows, planes_of_c, rows, cols, deep / 128, count, BAND, 0, from > 0,
        there, nullptr);
  };
  auto restore = [&] {
    residues_restore_tiles_f64<<<dim3(rows, cols * pieces), 256>>>(
        planes_of_c, count, there, (float)bits, first, (float)bits, second, 0, 1.0, 0.0, c, 1, n,
        n, n, 0, nullptr, pieces, nullptr);
  };
  auto parts = [&](auto part) {
    for (int from = 0; from < k; from += deep) part(from);
  };
  double flops = 2.0 * n * n * k, one = 1, zero = 0;
  float t[] = {milliseconds(repeats, measure), milliseconds(repeats, [&] { parts(convert); }),
               milliseconds(repeats, [&] { parts(multiply); }), milliseconds(repeats, restore),
               milliseconds(repeats, prove),
               milliseconds(repeats, [&] {
                 measure();
                 parts([&](int from) { convert(from), multiply(from); });
                 restore();
               }),
               milliseconds(repeats, [&] {
                 CHECK(cublasDgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, k, &one, a, n, b, k,
                                   &zero, c, n));
               })};
  printf("| %s | %d | %d | %d | %.2f | %.2f | %.2f | %.0f | %.2f | %.2f | %.1f | %.1f |\n",
         hopper ? "wgmma" : "mma.sync", n, k, count, t[0], t[1], t[2], flops * count / t[2] * 1e-9,
         t[3], t[4], flops / t[5] * 1e-9, flops / t[6] * 1e-9);
  for (void* p : {(void*)a, (void*)b, (void*)c, (void*)left, (void*)right, (void*)planes_of_c,
                  (void*)sums, (void*)summary, (void*)first, (void*)second, (void*)there,
                  (void*)of_magnitudes, (void*)unproven})
    CHECK(cudaFree(p));
}

int main() {
  cudaDeviceProp device;
  CHECK(cudaGetDeviceProperties(&device, 0));
  processors = device.multiProcessorCount;
  auto allow = [](const void* kernel, int bytes) {
    CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  };
  allow((const void*)bare_wgmma, HOPPER);
  allow((const void*)planes_multiply_hopper, HOPPER);
  allow((const void*)planes_multiply_tensor, TENSOR);
  cublasHandle_t handle;
  CHECK(cublasCreate(&handle));
  printf(
      "\n## Stages\n\nC of order n from sums of k normal numbers. Times in ms: measuring, "
      "residues, products\nof planes, back, and the proof by magnitudes, which is no part of the "
      "whole. The last two columns are\nTFLOP/s, of the whole and of cublasDgemm.\n\n");
  printf("| products | n | k | moduli | measure | residues | planes | TOPS | back | proof | "
         "whole | cuBLAS |\n|:---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n");
  for (int n : {2048, 4096, 8192}) measure_stages(handle, n, n, 14, true, 7);
  for (int n : {4096, 8192}) measure_stages(handle, n, n, 14, false, 7);
  for (int count : {2, 8, 16}) measure_stages(handle, 8192, 8192, count, true, 7);
  for (int k : {1024, 2048, 16384}) measure_stages(handle, 16384, k, 14, true, 3);
  bare_rates();
}
