// From the residues of C to doubles.
//
// The entries C' of the product of integers follow from their residues r (Chinese remainders):
//   C' / P = sum r_p f_p (modulo 1),   f_p = ((P / p)^-1 modulo p) / p,
// where P is the product of the moduli, above 2 |C'|. Fractions f are rounded to 96 bits, and their
// sum wraps around by itself. Its error is at most 255 x 2^-97 for each modulus. With ten moduli,
// whose P is below 2^80, C' is known to 0.02. With sixteen it is known to 2^41, where rounded lines
// leave errors of 2^54 and more.
#pragma once
#include "planes.cuh"
#include "residues.cuh"

namespace restore {

// c plus the products of the bytes of a and b.
__device__ __forceinline__ unsigned dot(unsigned a, unsigned b, unsigned c) {
    asm("dp4a.u32.u32 %0, %1, %2, %0;" : "+r"(c) : "r"(a), "r"(b));
    return c;
}

// 2^e for an e from -1022 to 1023. Others come with zeros alone.
__device__ __forceinline__ double power(int e) {
    return __hiloint2double((1023 + min(max(e, -1022), 1023)) << 20, 0);
}

// C', times 2^-scale, from C' / P as a signed number of 96 bits. `whole`: C' is an integer to which
// it is rounded.
__device__ __forceinline__ double value(unsigned low, unsigned middle, unsigned high,
                                        const planes::Tables& t, int scale, bool whole) {
    const bool negative = (int)high < 0;
    if (negative) {
        asm("sub.cc.u32 %0, 0, %0; subc.cc.u32 %1, 0, %1; subc.u32 %2, 0, %2;"
            : "+r"(low), "+r"(middle), "+r"(high));
    }
    // The first 64 bits from the first one or from bit 64 on.
    const int zeros = high ? __clz(high) : 32;
    const unsigned first = __funnelshift_lc(middle, high, zeros);
    const unsigned second = __funnelshift_lc(low, middle, zeros);
    const unsigned long long top = (unsigned long long)first << 32 | second;
    const unsigned long long mantissa =
        (unsigned long long)t.mantissa_high << 32 | t.mantissa_low;
    double x = (double)__umul64hi(top, mantissa);
    // C' = x 2^(exponent - zeros)
    const int e = t.exponent - zeros;
    x = whole ? rint(x * power(e)) * power(-scale) : x * power(e - scale);
    // A sum that cancels is +0.
    return negative && x != 0 ? -x : x;
}

// Some blocks, `parts`, restore one tile of C: C <- alpha C' 2^-scales + beta C.
__device__ __forceinline__ void tile(const unsigned* planes_of_c, int count,
                                     const planes::Tables* tables, float row_bits,
                                     const float* row_lengths, float col_bits,
                                     const float* col_lengths, bool whole, double alpha,
                                     double beta, double* c, i64 rs, i64 cs, int rows, int cols,
                                     int region, int parts) {
    constexpr int GROUPS = planes::MOST / 4;
    unsigned fractions[planes::FRACTION][GROUPS];
#pragma unroll
    for (int i = 0; i < planes::FRACTION; i++)
#pragma unroll
        for (int g = 0; g < GROUPS; g++) fractions[i][g] = tables->fractions[i][g];
    const int t = threadIdx.x, lane = t % 32;
    const int tile = blockIdx.y / parts, part = blockIdx.y % parts;
    const i64 stride = (i64)gridDim.x * (gridDim.y / parts) * planes::WORDS;
    const unsigned* from =
        planes_of_c + ((i64)tile * gridDim.x + blockIdx.x) * planes::WORDS + part * 256 + t;
    const int row0 = blockIdx.x * planes::ROWS + t / 32 * 16 + lane / 4;
    const int col0 = tile * planes::COLS + 2 * (lane % 4);
    int row_scales[2];
#pragma unroll
    for (int v = 0; v < 2; v++) {
        const int row = row0 + 8 * v;
        row_scales[v] = row < rows ? residues::scale(row_bits, row_lengths[row]) : 0;
    }
#pragma unroll 1
    for (int u = part; u < planes::COLS / 8; u += parts, from += 256 * parts) {
        if (col0 - 2 * (lane % 4) + 8 * u >= cols) break;
        unsigned words[planes::MOST];
#pragma unroll
        for (int l = 0; l < planes::MOST; l++) words[l] = l < count ? __ldcs(from + l * stride) : 0;
        // The bytes of an entry side by side.
#pragma unroll
        for (int g = 0; g < 4 * GROUPS; g += 4) {
            const unsigned a = __byte_perm(words[g], words[g + 1], 0x5140);
            const unsigned b = __byte_perm(words[g + 2], words[g + 3], 0x5140);
            const unsigned d = __byte_perm(words[g], words[g + 1], 0x7362);
            const unsigned e = __byte_perm(words[g + 2], words[g + 3], 0x7362);
            words[g] = __byte_perm(a, b, 0x5410), words[g + 1] = __byte_perm(a, b, 0x7632);
            words[g + 2] = __byte_perm(d, e, 0x5410), words[g + 3] = __byte_perm(d, e, 0x7632);
        }
#pragma unroll
        for (int v = 0; v < 4; v++) {
            unsigned sums[planes::FRACTION];
#pragma unroll
            for (int i = 0; i < planes::FRACTION; i++) {
                sums[i] = 0;
#pragma unroll
                for (int g = 0; g < GROUPS; g++)
                    sums[i] = dot(words[4 * g + v], fractions[i][g], sums[i]);
            }
            unsigned pair[planes::FRACTION / 2];
#pragma unroll
            for (int i = 0; i < planes::FRACTION / 2; i++)
                pair[i] = sums[2 * i] + (sums[2 * i + 1] << 8);
            unsigned low = pair[0], middle = pair[2], high = pair[4] + (pair[5] << 16);
            asm("add.cc.u32 %0, %0, %3; addc.cc.u32 %1, %1, %4; addc.u32 %2, %2, 0;\n"
                "add.cc.u32 %1, %1, %5; addc.u32 %2, %2, %6;"
                : "+r"(low), "+r"(middle), "+r"(high)
                : "r"(pair[1] << 16), "r"(pair[1] >> 16), "r"(pair[3] << 16), "r"(pair[3] >> 16));
            const int row = row0 + v / 2 * 8, col = col0 + 8 * u + v % 2;
            if (row >= rows || col >= cols) continue;
            if (region == planes::LOWER ? row < col : region == planes::UPPER && row > col)
                continue;
            const int scale =
                row_scales[v / 2] + residues::scale(col_bits, col_lengths[col]);
            const double x = alpha * value(low, middle, high, *tables, scale, whole);
            double* to = c + row * rs + col * cs;
            *to = beta == 0 ? x : x + beta * *to;
        }
    }
}

// Whether sums of magnitudes prove the bound for a block's tile: those of all entries, but where a
// line is zero, are at least what the byte `least` stands for.
__device__ __forceinline__ bool is_proven(const unsigned* plane, int least,
                                          const float* row_lengths, const float* col_lengths,
                                          int rows, int cols, int region) {
    const int t = threadIdx.x, lane = t % 32;
    const unsigned* from = plane + ((i64)blockIdx.y * gridDim.x + blockIdx.x) * planes::WORDS + t;
    const int row0 = blockIdx.x * planes::ROWS + t / 32 * 16 + lane / 4;
    const int col0 = blockIdx.y * planes::COLS + 2 * (lane % 4);
    bool proven = true, counts[2];
#pragma unroll
    for (int v = 0; v < 2; v++) {
        const int row = row0 + 8 * v;
        counts[v] = row < rows && row_lengths[row] > residues::OF_ZEROS;
    }
#pragma unroll 4
    for (int u = 0; u < planes::COLS / 8; u++) {
        const unsigned word = __ldcs(from + u * 256);
#pragma unroll
        for (int v = 0; v < 4; v++) {
            const int row = row0 + v / 2 * 8, col = col0 + 8 * u + v % 2;
            if (!counts[v / 2] || col >= cols || !(col_lengths[col] > residues::OF_ZEROS))
                continue;
            if (region == planes::LOWER ? row < col : region == planes::UPPER && row > col)
                continue;
            if ((int)(word >> (8 * v) & 255) < least) proven = false;
        }
    }
    return __syncthreads_and(proven);
}

}  // namespace restore
