// arch: sm_75
// Double products from 8-bit integers: from doubles to residues and back. See README.md.
#include "lines.cuh"
#include "planes.cuh"
#include "residues.cuh"
#include "restore.cuh"

// The sums of slices of lines whose depth is contiguous: a warp for each line and slice.
extern "C" __global__ void __launch_bounds__(256)
    lines_measure_along_f64(const double* x, i64 ld, i64 lines, i64 depth, i64 slice, int* out,
                            const int* stop) {
    if (stopped(stop)) return;
    const i64 line = blockIdx.x * 8ll + threadIdx.x / 32, from = blockIdx.y * slice;
    const i64 to = min(depth, from + slice);
    if (line >= lines) return;
    lines::Sums s;
    for (i64 k = from + threadIdx.x % 32; k < to; k += 32) s.add(x[line * ld + k]);
#pragma unroll
    for (int by = 16; by > 0; by /= 2) {
        lines::Sums y;
        y.high = __shfl_xor_sync(0xffffffffu, s.high, by);
        y.sum = __shfl_xor_sync(0xffffffffu, s.sum, by);
        y.squares = __shfl_xor_sync(0xffffffffu, s.squares, by);
        y.logs = __shfl_xor_sync(0xffffffffu, s.logs, by);
        y.low = __shfl_xor_sync(0xffffffffu, s.low, by);
        y.zeros = __shfl_xor_sync(0xffffffffu, s.zeros, by);
        s.add(y);
    }
    if (threadIdx.x % 32 == 0) lines::store(s, out, blockIdx.y * lines + line, gridDim.y * lines);
}

// The same for contiguous lines: eight threads for each line and slice.
extern "C" __global__ void __launch_bounds__(256)
    lines_measure_across_f64(const double* x, i64 ld, i64 lines, i64 depth, i64 slice, int* out,
                             const int* stop) {
    if (stopped(stop)) return;
    __shared__ int parts[6 * 256];
    const i64 line = blockIdx.x * 32ll + threadIdx.x % 32, from = blockIdx.y * slice;
    const i64 to = min(depth, from + slice);
    lines::Sums s;
    if (line < lines)
        for (i64 k = from + threadIdx.x / 32; k < to; k += 8) s.add(x[line + k * ld]);
    lines::store(s, parts, threadIdx.x, 256);
    __syncthreads();
    if (threadIdx.x >= 32 || line >= lines) return;
    for (int i = 1; i < 8; i++) s.add(lines::load(parts, threadIdx.x + 32 * i, 256));
    lines::store(s, out, blockIdx.y * lines + line, gridDim.y * lines);
}

// Logarithms to base 2 of the norms of lines, from the sums of their slices. `summary` has the
// largest of six numbers over all lines but those of zeros, as ordered integers:
// - the logarithm of the norm, and its negative,
// - the logarithm of the norm less the exponent of the lowest bit,
// - the logarithm of the mean magnitude less the mean logarithm of the entries,
// - the logarithm of the root of the mean square less that mean,
// - 1 where an entry is not finite, else 0.
extern "C" __global__ void __launch_bounds__(256)
    lines_finish_slices_f64(const int* sums, i64 slices, i64 lines, i64 depth, float* lengths,
                            int* summary, const int* stop) {
    if (stopped(stop)) return;
    constexpr float NONE = -1e9f, ALL = 1e9f;
    const i64 line = blockIdx.x * 256ll + threadIdx.x;
    float length = NONE, negative = NONE, width = NONE, mean = NONE, square = NONE, bad = 0;
    if (line < lines) {
        lines::Sums s = lines::load(sums, line, slices * lines);
        for (i64 i = 1; i < slices; i++) s.add(lines::load(sums, i * lines + line, slices * lines));
        if (s.high != lines::NOTHING) {
            // Each addition of a slice rounds once more.
            const float more = slices * 1e-7f, margin = lines::MARGIN + more;
            length = s.high + 0.5f * log2f(s.squares) + margin;
            negative = -length;
            width = length - s.low;
            const float entries = log2f((float)depth), logs = s.logs / depth;
            const float lowest = logs - (1e-4f + more) * fabsf(logs) - margin;
            mean = s.zeros ? ALL : s.high + log2f(s.sum) - entries + margin - lowest;
            square = s.zeros ? ALL : length - 0.5f * entries - lowest;
            bad = s.high == lines::INFINITE;
        }
        lengths[line] = length;
    }
    lines::raise(summary, length);
    lines::raise(summary + 1, negative);
    lines::raise(summary + 2, width);
    lines::raise(summary + 3, mean);
    lines::raise(summary + 4, square);
    lines::raise(summary + 5, bad);
}

// Decides about products from integers, from the summaries of both operands: whether entries are
// finite and in range, and whether the error is at most `allowed`, as `plan.rs` has it. They are
// cancelled by flags[0], those in double precision in their place by flags[1]. `low` and `high` are
// limits of sums of logarithms of norms.
extern "C" __global__ void __launch_bounds__(32)
    bound_decide_lines_f64(const int* first, const int* second, float low, float high, float bits,
                           float allowed, int* flags, const int* stop) {
    if (threadIdx.x > 0) return;
    const bool cancelled = stopped(stop);
    auto sum = [&](int i, int j) { return lines::number(first[i]) + lines::number(second[j]); };
    const float error = exp2f(sum(4, 3) - bits) + exp2f(sum(3, 4) - bits);
    const bool taken = sum(5, 5) == 0 && sum(0, 0) <= high && -sum(1, 1) >= low && error <= allowed;
    flags[0] = cancelled || !taken;
    flags[1] = cancelled || taken;
}

extern "C" __global__ void __launch_bounds__(256)
    residues_make_along_f64(const double* x, i64 ld, int lines, int depth, float bits,
                            const float* lengths, const planes::Tables* tables, int count,
                            int shift, char* out, int plane, int parts, const int* stop) {
    if (stopped(stop)) return;
    residues::make<true>(x, ld, lines, depth, bits, lengths, tables, count, shift, out, plane,
                         parts);
}

extern "C" __global__ void __launch_bounds__(256)
    residues_make_across_f64(const double* x, i64 ld, int lines, int depth, float bits,
                             const float* lengths, const planes::Tables* tables, int count,
                             int shift, char* out, int plane, int parts, const int* stop) {
    if (stopped(stop)) return;
    residues::make<false>(x, ld, lines, depth, bits, lengths, tables, count, shift, out, plane,
                          parts);
}

namespace {

// Where the square of 256 x 256 entries stands of which a block's tile of C is half. `col` is the
// column of the tile.
__device__ __forceinline__ i64 square_of_tile(int col) {
    return (i64)col * ((gridDim.x + 1) / 2) + blockIdx.x / 2;
}

}  // namespace

// Sets the squares of C to 1 where sums of magnitudes do not prove the bound.
extern "C" __global__ void __launch_bounds__(256)
    bound_check_tiles_f64(const unsigned* plane, int least, const float* row_lengths,
                          const float* col_lengths, int rows, int cols, int region,
                          int* unproven, const int* stop) {
    if (stopped(stop) || !planes::in_region(region, blockIdx.x, blockIdx.y)) return;
    if (!restore::is_proven(plane, least, row_lengths, col_lengths, rows, cols, region) &&
        threadIdx.x == 0)
        unproven[square_of_tile(blockIdx.y)] = 1;
}

// Squares whose word in `unproven` is not 0 are left out.
extern "C" __global__ void __launch_bounds__(256)
    residues_restore_tiles_f64(const unsigned* planes_of_c, int count,
                               const planes::Tables* tables, float row_bits,
                               const float* row_lengths, float col_bits, const float* col_lengths,
                               int whole, double alpha, double beta, double* c, i64 rs, i64 cs,
                               int rows, int cols, int region, const int* unproven, int parts,
                               const int* stop) {
    const int col = blockIdx.y / parts;
    if (stopped(stop) || !planes::in_region(region, blockIdx.x, col)) return;
    if (unproven && unproven[square_of_tile(col)]) return;
    restore::tile(planes_of_c, count, tables, row_bits, row_lengths, col_bits, col_lengths, whole,
                  alpha, beta, c, rs, cs, rows, cols, region, parts);
}
