// Prototype of double products from 8-bit integers: see run.sh. Writes Markdown.
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "convert.cuh"

#define CHECK(call)                                                         \
  do {                                                                      \
    if (int status = (int)(call)) {                                         \
      fprintf(stderr, "%s: status %d, line %d\n", #call, status, __LINE__); \
      exit(1);                                                              \
    }                                                                       \
  } while (0)

constexpr int SHARED = STAGES * STAGE;
static int processors;

// 64 rows x 256 columns for each of two warpgroups, from shared memory alone.
__global__ void __launch_bounds__(256, 1) bare_loop(const int4* x, int* out, int times) {
  extern __shared__ __align__(1024) int8_t stages[];
  for (int i = threadIdx.x; i < SHARED / 16; i += 256) ((int4*)stages)[i] = x[i];
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  int half = threadIdx.x / 128, sum[128], all = 0;
#pragma unroll
  for (int i = 0; i < 128; i++) sum[i] = 0;
  for (int step = 0; step < times; step++) {
    uint32_t at = shared_address(stages) + step % STAGES * STAGE;
    uint64_t left = operand(at + half * 64 * DEPTH), right = operand(at + TILE);
    begin_products();
#pragma unroll
    for (int part = 0; part < 4; part++) multiply(sum, left + 2 * part, right + 2 * part, 1);
    end_products();
    wait_products<1>();
  }
  wait_products<0>();
#pragma unroll
  for (int i = 0; i < 128; i++) all ^= sum[i];
  if (all == 12345) out[threadIdx.x] = all;
}

__device__ uint64_t scattered(uint64_t z) {
  z *= 0x9E3779B97F4A7C15ull;
  z = (z ^ (z >> 31)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

__global__ void fill_bytes(uint64_t* x, size_t n, uint64_t seed) {
  size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  for (; i < n; i += (size_t)gridDim.x * blockDim.x)
    x[i] = seed ? scattered(i + (seed << 40)) : 0;
}

enum Kind { normal, whole, graded };
static const char* const NAMES[] = {"normal", "integers to 500", "normal times 2^-30 to 2^30"};

__global__ void fill_doubles(double* x, size_t n, uint64_t seed, Kind kind) {
  size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  for (; i < n; i += (size_t)gridDim.x * blockDim.x) {
    auto uniform = [&](int k) { return (scattered(4 * i + k + (seed << 40)) >> 11) * 0x1p-53; };
    double g = sqrt(-2 * log(uniform(0) + 0x1p-54)) * cospi(2 * uniform(1));
    x[i] = kind == whole    ? rint(g * 100)
           : kind == graded ? g * exp2(rint(60 * uniform(2) - 30))
                            : g;
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
  std::sort(all.begin(), all.end());
  return all[repeats / 2];
}

template <class T> T* room(size_t count) {
  void* p;
  CHECK(cudaMalloc(&p, count * sizeof(T)));
  return (T*)p;
}

static void multiply(const int8_t* a, const int8_t* b, uint32_t* c, int row_tiles, int col_tiles,
                     int depth_tiles, int planes) {
  multiply_planes<<<processors, 384, SHARED>>>(a, b, c, row_tiles, col_tiles, depth_tiles, planes,
                                               16, make_moduli());
  CHECK(cudaGetLastError());
}

static void rates(cublasHandle_t handle) {
  printf("\n## Integers\n\nTOPS: two operations for each product of two bytes.\n\n");
  printf("| what | n | planes | ms | TOPS |\n|:---|---:|---:|---:|---:|\n");
  auto* x = room<uint64_t>(SHARED / 8);
  auto* out = room<int>(256);
  for (int seed : {0, 1}) {
    fill_bytes<<<64, 256>>>(x, SHARED / 8, seed);
    int times = 400000;
    float t =
        milliseconds(3, [&] { bare_loop<<<processors, 256, SHARED>>>((int4*)x, out, times); });
    double operations = 2.0 * ROWS * COLS * DEPTH * times * processors;
    printf("| bare loop, %s | | | %.0f | %.0f |\n", seed ? "random bytes" : "zeros", t,
           operations / t * 1e-9);
  }
  for (size_t n : {4096, 8192, 16384}) {
    auto *a = room<int8_t>(15 * n * n), *b = room<int8_t>(15 * n * n);
    auto* c = room<uint32_t>(4 * n * n);
    fill_bytes<<<1024, 256>>>((uint64_t*)a, 15 * n * n / 8, 1);
    fill_bytes<<<1024, 256>>>((uint64_t*)b, 15 * n * n / 8, 2);
    for (int planes : {1, 15}) {
      float t =
          milliseconds(5, [&] { multiply(a, b, c, n / ROWS, n / COLS, n / DEPTH, planes); });
      printf("| planes, with residues | %zu | %d | %.3f | %.0f |\n", n, planes, t,
             2e-9 * n * n * n * planes / t);
    }
    int one = 1, zero = 0, order = (int)n;
    float t = milliseconds(5, [&] {
      CHECK(cublasGemmEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, order, order, order, &one, a,
                         CUDA_R_8I, order, b, CUDA_R_8I, order, &zero, c, CUDA_R_32I, order,
                         CUBLAS_COMPUTE_32I, CUBLAS_GEMM_DEFAULT));
    });
    printf("| cuBLAS, to 32 bits | %zu | 1 | %.3f | %.0f |\n", n, t, 2e-9 * n * n * n / t);
    for (void* p : {(void*)a, (void*)b, (void*)c}) CHECK(cudaFree(p));
  }
}

template <int COUNT> struct Product {
  int m, n, k, row_tiles, col_tiles, depth_tiles, *row_scales, *col_scales;
  int8_t *left, *right;
  uint32_t* planes;
  double bits;

  Product(int m, int n, int k) : m(m), n(n), k(k) {
    row_tiles = (m + ROWS - 1) / ROWS;
    col_tiles = (n + COLS - 1) / COLS;
    depth_tiles = (k + DEPTH - 1) / DEPTH;
    left = room<int8_t>((size_t)COUNT * row_tiles * depth_tiles * TILE);
    right = room<int8_t>((size_t)COUNT * col_tiles * 2 * depth_tiles * TILE);
    planes = room<uint32_t>((size_t)COUNT * row_tiles * col_tiles * 8192);
    row_scales = room<int>(m);
    col_scales = room<int>(n);
    Tables there = make_tables(COUNT, bits);
    Moduli moduli = make_moduli();
    CHECK(cudaMemcpyToSymbol(tables, &there, sizeof there));
    CHECK(cudaMemcpyToSymbol(moduli_there, &moduli, sizeof moduli));
  }
  ~Product() {
    for (void* p :
         {(void*)left, (void*)right, (void*)planes, (void*)row_scales, (void*)col_scales})
      cudaFree(p);
  }
  void scale(const double* a, const double* b) {
    scales_of_rows<<<(m + 31) / 32, dim3(32, 8)>>>(a, m, m, k, bits, row_scales);
    scales_of_columns<<<(n + 7) / 8, dim3(32, 8)>>>(b, k, n, k, bits, col_scales);
  }
  void convert(const double* a, const double* b) {
    to_residues<COUNT, false><<<dim3(row_tiles, depth_tiles), 256>>>(a, m, m, k, row_scales, left,
                                                                     row_tiles, depth_tiles);
    to_residues<COUNT, true><<<dim3(2 * col_tiles, depth_tiles), 256>>>(
        b, k, n, k, col_scales, right, 2 * col_tiles, depth_tiles);
  }
  void combine() { multiply(left, right, planes, row_tiles, col_tiles, depth_tiles, COUNT); }
  void restore(double* c) {
    from_residues<COUNT><<<dim3(row_tiles, col_tiles), 256>>>(
        planes, row_tiles, col_tiles, row_scales, col_scales, 1.0, 0.0, c, m, m, n);
  }
  void all(const double* a, const double* b, double* c) {
    scale(a, b), convert(a, b), combine(), restore(c);
  }
};

// |C - A B| / |A| |B| of an entry, in units of 2^-53, with A B in twice the precision.
static double error(const std::vector<double>& row, const std::vector<double>& col, double c) {
  double sum = 0, rest = 0, size = 0;
  for (size_t h = 0; h < row.size(); h++) {
    double p = row[h] * col[h], low = fma(row[h], col[h], -p), next = sum + p, z = next - sum;
    rest += (sum - (next - z)) + (p - z) + low;
    sum = next;
    size += fabs(p);
  }
  return size > 0 ? fabs((c - sum) - rest) / size * 0x1p53 : 0;
}

template <int COUNT> void product(cublasHandle_t handle, int m, int n, int k, Kind kind) {
  auto *a = room<double>((size_t)m * k), *b = room<double>((size_t)k * n);
  auto *c = room<double>((size_t)m * n), *d = room<double>((size_t)m * n);
  fill_doubles<<<1024, 256>>>(a, (size_t)m * k, 1, kind);
  fill_doubles<<<1024, 256>>>(b, (size_t)k * n, 2, kind);
  double one = 1, zero = 0, ours = 0, native = 0;
  auto by_cublas = [&] {
    CHECK(cublasDgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one, a, m, b, k, &zero, d, m));
  };
  {
    Product<COUNT> p(m, n, k);
    p.all(a, b, c);
    by_cublas();
    CHECK(cudaDeviceSynchronize());
    std::vector<double> row(k), col(k);
    for (int q = 0; q < 40; q++) {
      size_t i = (q * 7919ull + 13) % m, j = (q * 104729ull + 7) % n;
      double x, y;
      CHECK(cudaMemcpy2D(row.data(), 8, a + i, 8ull * m, 8, k, cudaMemcpyDeviceToHost));
      CHECK(cudaMemcpy(col.data(), b + j * k, 8ull * k, cudaMemcpyDeviceToHost));
      CHECK(cudaMemcpy(&x, c + i + j * m, 8, cudaMemcpyDeviceToHost));
      CHECK(cudaMemcpy(&y, d + i + j * m, 8, cudaMemcpyDeviceToHost));
      ours = std::max(ours, error(row, col, x));
      native = std::max(native, error(row, col, y));
    }
    int repeats = n > 10000 ? 3 : 7;
    double flops = 2.0 * m * n * k;
    float scale = milliseconds(repeats, [&] { p.scale(a, b); });
    float convert = milliseconds(repeats, [&] { p.convert(a, b); });
    float combine = milliseconds(repeats, [&] { p.combine(); });
    float restore = milliseconds(repeats, [&] { p.restore(c); });
    float all = milliseconds(repeats, [&] { p.all(a, b, c); });
    float peer = milliseconds(repeats, by_cublas);
    printf("| %d x %d x %d, %s | %d | %.2f | %.2f | %.2f | %.2f | %.2f | %.2f | %.1f | %.1f |\n",
           m, k, n, NAMES[kind], COUNT, ours, native, scale, convert, combine, restore,
           flops / all * 1e-9, flops / peer * 1e-9);
  }
  for (double* x : {a, b, c, d}) CHECK(cudaFree(x));
}

int main() {
  cudaDeviceProp device;
  CHECK(cudaGetDeviceProperties(&device, 0));
  processors = device.multiProcessorCount;
  for (auto kernel : {(const void*)bare_loop, (const void*)multiply_planes})
    CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED));
  cublasHandle_t handle;
  CHECK(cublasCreate(&handle));
  rates(handle);
  printf(
      "\n## Double products\n\nErrors: the largest |C - A B| / |A||B| of 40 entries in units of "
      "2^-53, emulated and native. Times in\nms: scales, residues, products of planes, and back. "
      "The last two columns are TFLOP/s.\n\n");
  printf(
      "| A x B | moduli | error | native | scales | residues | planes | back | emulated | cuBLAS "
      "|\n|:---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n");
  for (Kind kind : {normal, whole, graded}) {
    product<14>(handle, 300, 260, 1000, kind);
    product<15>(handle, 300, 260, 1000, kind);
    product<16>(handle, 300, 260, 1000, kind);
  }
  for (int n : {2048, 4096, 8192, 16384}) {
    product<14>(handle, n, n, n, normal);
    product<15>(handle, n, n, n, normal);
  }
  for (int k : {512, 1024, 2048}) product<14>(handle, 16384, 16384, k, normal);
}
