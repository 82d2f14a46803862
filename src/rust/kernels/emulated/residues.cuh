// From doubles to residues, without double precision.
//
// A line times 2^s becomes integers y below 2^63. With four digits of 16 bits, y0 to y3,
//   y = y0 + w1 y1 + w2 y2 + w3 y3 (modulo p),   |w| <= p / 2,
// is below 2^24, exact in single precision, and so is what remains after a multiple of p.
#pragma once
#include "lines.cuh"
#include "planes.cuh"

namespace residues {

// Lengths of lines of zeros are below this.
constexpr float OF_ZEROS = -4000.0f;

// The exponent s of a line with log2 of its norm `length`, so that its integers have a norm of at
// most 2^bits.
__device__ __forceinline__ int scale(float bits, float length) {
    return length > OF_ZEROS ? (int)floorf(bits - length) : 0;
}

// round(x 2^s) for a result below 2^63.
__device__ __forceinline__ i64 integer(double x, int s) {
    const i64 bits = __double_as_longlong(x);
    i64 m = bits & 0xfffffffffffffll;
    const int e = (int)(bits >> 52) & 2047;
    if (e) m |= 1ll << 52;
    const int shift = max(e, 1) - 1075 + s;
    const int right = min(-shift, 54);
    const i64 y = shift >= 0 ? m << shift : (m + (1ll << (right - 1))) >> right;
    return bits < 0 ? -y : y;
}

constexpr float TWO_23 = 8388608.0f;

// The digit at half `upper` of a word, plus 2^15, as a number.
template <bool upper>
__device__ __forceinline__ float digit(unsigned word) {
    const unsigned bits = __byte_perm(word, 0x4b000000u, upper ? 0x7632 : 0x7610);
    return __uint_as_float(bits) - (TWO_23 + 32768.0f);
}

struct Digits {
    float y0, y1, y2, y3;

    __device__ __forceinline__ void set(i64 y) {
        const unsigned long long t = (unsigned long long)y + 0x8000800080008000ull;
        const unsigned bottom = (unsigned)t, top = (unsigned)(t >> 32);
        y0 = digit<false>(bottom), y1 = digit<true>(bottom);
        y2 = digit<false>(top), y3 = digit<true>(top);
    }

    __device__ __forceinline__ float residue(float4 w, float p) const {
        constexpr float ROUND = 1.5f * TWO_23;
        const float sum = fmaf(w.z, y3, fmaf(w.y, y2, fmaf(w.x, y1, y0)));
        const float q = fmaf(sum, w.w, ROUND) - ROUND;
        return fmaf(-p, q, sum);
    }
};

// Four signed residues as bytes.
__device__ __forceinline__ unsigned bytes(float a, float b, float c, float d) {
    // 128 more each, so that no byte borrows from the next one.
    const float one = fmaf(b, 256.0f, a) + (TWO_23 + 32896.0f);
    const float two = fmaf(d, 256.0f, c) + (TWO_23 + 32896.0f);
    return __byte_perm(__float_as_uint(one), __float_as_uint(two), 0x5410) ^ 0x80808080u;
}

// The magnitudes of four integers in units of 2^shift, rounded down, and at most 127.
__device__ __forceinline__ unsigned magnitudes(const i64* y, int shift) {
    unsigned word = 0;
#pragma unroll
    for (int v = 0; v < 4; v++)
        word |= (unsigned)min((y[v] < 0 ? -y[v] : y[v]) >> shift, 127ll) << (8 * v);
    return word;
}

// `parts` blocks, at most 8, make one tile of every plane. Entry k of line r is x[r + k ld], or
// x[r ld + k] if `along`. `plane` is the number of row tiles of a plane. With a `count` of 0 there
// is one plane, of magnitudes in units of 2^shift.
template <bool along>
__device__ __forceinline__ void make(const double* x, i64 ld, int lines, int depth, float bits,
                                     const float* lengths, const planes::Tables* tables,
                                     int count, int shift, char* out, int plane, int parts) {
    __shared__ float4 weights[planes::MOST];
    __shared__ float moduli[planes::MOST];
    const int t = threadIdx.x;
    if (t < planes::MOST) {
        const float* w = tables->weights[t];
        weights[t] = make_float4(w[0], w[1], w[2], w[3]);
        moduli[t] = (float)tables->modulus[t];
    }
    __syncthreads();
    const i64 stride = (i64)plane * gridDim.y * planes::BYTES;
    // A thread makes eight bytes of a line. Four lines and half of the depth are for one warp, so
    // that every sector of memory is read and written by one instruction.
    const int half = t / 4 % 8 + t / 32 % 2 * 8, chunk = half / 2;
    const int first = blockIdx.y * planes::DEPTH + half * 8;
    const int tile = blockIdx.x / parts, part = blockIdx.x % parts;
#pragma unroll 1
    for (int line = t % 4 + t / 64 * 4 + 16 * part; line < planes::ROWS; line += 16 * parts) {
        const int there = tile * planes::ROWS + line;
        const int s = there < lines ? scale(bits, lengths[there]) : 0;
        const int left = there < lines ? depth - first : 0;
        const double* from = along ? x + there * ld + first : x + there + first * ld;
        Digits y[8];
        unsigned word[2];
        double value[8];
#pragma unroll
        for (int h = 0; h < 8; h++) {
            value[h] = h < left ? *from : 0.0;
            from += along ? 1 : ld;
        }
#pragma unroll
        for (int q = 0; q < 2; q++) {
            i64 z[4];
#pragma unroll
            for (int h = 0; h < 4; h++) {
                z[h] = integer(value[4 * q + h], s);
                y[4 * q + h].set(z[h]);
            }
            if (count == 0) {
                word[q] = magnitudes(z, shift);
                continue;
            }
            // Modulo 256: the lowest bytes.
            word[q] = __byte_perm(__byte_perm((unsigned)z[0], (unsigned)z[1], 0x0040),
                                  __byte_perm((unsigned)z[2], (unsigned)z[3], 0x0040), 0x5410);
        }
        char* to = out + ((i64)tile * gridDim.y + blockIdx.y) * planes::BYTES +
                   line * planes::DEPTH + (chunk ^ line % 8) * 16 + half % 2 * 8;
        *(uint2*)to = make_uint2(word[0], word[1]);
#pragma unroll 1
        for (int l = 1; l < count; l++) {
            to += stride;
            const float4 w = weights[l];
            const float p = moduli[l];
#pragma unroll
            for (int q = 0; q < 2; q++)
                word[q] = bytes(y[4 * q].residue(w, p), y[4 * q + 1].residue(w, p),
                                y[4 * q + 2].residue(w, p), y[4 * q + 3].residue(w, p));
            *(uint2*)to = make_uint2(word[0], word[1]);
        }
    }
}

}  // namespace residues
