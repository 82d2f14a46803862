// Planes of bytes: the residues of operands and of C modulo each modulus.
//
// A plane of an operand consists of tiles of 128 lines (rows of A, columns of B) x 128 bytes of
// depth. A row of tiles comes after the other, each along the depth. Chunk c of 16 bytes of line r
// of a tile is at place c ^ (r % 8) of the line. So tensor cores read it without bank conflicts.
//
// A plane of C consists of tiles of 128 x 256, column of tiles after column. Its words have the
// order of the sums in the registers of a warp. With
//   r = t / 32 * 16 + t % 32 / 4,   c = 8 u + 2 (t % 4),
// word 256 u + t of a tile has the entries (r, c), (r, c + 1), (r + 8, c) and (r + 8, c + 1).
#pragma once
#include "common.cuh"

namespace planes {

constexpr int ROWS = 128, COLS = 256, DEPTH = 128;
constexpr int BYTES = ROWS * DEPTH;
constexpr int WORDS = ROWS * COLS / 4;

// Moduli at most.
constexpr int MOST = 16;
// Bytes of a fraction: see restore.cuh.
constexpr int FRACTION = 12;

// What depends on the moduli, in words.
struct Tables {
    // The moduli p, and floor(2^38 / p) + 1.
    int modulus[MOST], inverse[MOST];
    // 2^16, 2^32, 2^48 modulo p, of the smallest magnitude; 1 / p.
    float weights[MOST][4];
    // Byte i of the fractions of moduli 4 g to 4 g + 3.
    unsigned fractions[FRACTION][MOST / 4];
    // The product of the moduli is mantissa 2^exponent, and the mantissa is at least 2^63.
    unsigned mantissa_low, mantissa_high;
    int exponent;
};

enum Region { FULL = 0, LOWER = 1, UPPER = 2 };

// The tiles of C that are computed, for all planes: bands of row tiles one after the other, in a
// band one plane after the other, in a plane columns from the left. So a band of A stays in the
// cache while columns of B pass.
struct Grid {
    int rows, cols, planes, band, region;

    // The tiles of a region in rows `first` to `first + height` of the first `upto` columns.
    __device__ __forceinline__ int count(int first, int height, int upto) const {
        if (region == FULL) return height * upto;
        if (region == LOWER) {
            // Column j has the rows from 2 j on.
            const int whole = min(upto, first / 2 + 1);
            int sum = whole * height;
            for (int j = whole; j < upto && 2 * j < first + height; j++)
                sum += first + height - 2 * j;
            return sum;
        }
        // Column j has the rows to 2 j + 1.
        int sum = 0, j = first / 2;
        for (; j < upto && 2 * j + 2 < first + height; j++) sum += max(2 * j + 2 - first, 0);
        return sum + max(upto - j, 0) * height;
    }

    __device__ __forceinline__ int total() const {
        int sum = 0;
        for (int first = 0; first < rows; first += band)
            sum += count(first, min(band, rows - first), cols);
        return sum * planes;
    }

    // The plane and the tile of a number below `total()`.
    __device__ __forceinline__ void place(int number, int& plane, int& row, int& col) const {
        int first = 0, height = min(band, rows), tiles = count(0, height, cols);
        while (number >= tiles * planes) {
            number -= tiles * planes;
            first += band;
            height = min(band, rows - first);
            tiles = count(first, height, cols);
        }
        plane = number / tiles;
        number -= plane * tiles;
        if (region == UPPER) {
            for (col = first / 2; 2 * col + 2 < first + height; col++) {
                const int these = max(2 * col + 2 - first, 0);
                if (number < these) {
                    row = first + number;
                    return;
                }
                number -= these;
            }
            col += number / height;
            row = first + number % height;
            return;
        }
        const int whole = region == FULL ? cols : min(cols, first / 2 + 1);
        if (number < whole * height) {
            col = number / height;
            row = first + number % height;
            return;
        }
        number -= whole * height;
        for (col = whole;; col++) {
            const int these = first + height - 2 * col;
            if (number < these) {
                row = 2 * col + number;
                return;
            }
            number -= these;
        }
    }
};

__device__ __forceinline__ bool in_region(int region, int row_tile, int col_tile) {
    if (region == LOWER) return row_tile >= 2 * col_tile;
    return region == FULL || row_tile <= 2 * col_tile + 1;
}

// The deepest product whose sums `reduced` takes.
constexpr int DEEPEST = 1 << 15;

// Four sums, each plus the residue in the same byte of `before`, modulo p: a byte from 0 to p. For
// |x| <= 2^29 the quotient is exact, because 2^29 / 2^38 < 1 / p, or one too small where x is a
// negative multiple of p. That leaves p.
__device__ __forceinline__ unsigned reduced(const int* sums, unsigned before, int p, int inverse) {
    unsigned word = 0;
#pragma unroll
    for (int v = 0; v < 4; v++) {
        const int x = sums[v] + (int)(before >> (8 * v) & 255);
        word |= (unsigned)((x - (__mulhi(x, inverse) >> 6) * p) & 255) << (8 * v);
    }
    return word;
}

// Four sums of products of magnitudes as bytes that stand for no more: 0 for nothing, else the
// exponent and three bits of a number in single precision, above those of 1. Sums of several parts
// of the depth count as the largest one, which `before` has.
__device__ __forceinline__ unsigned logarithms(const int* sums, unsigned before) {
    constexpr int ONE = (127 << 3) - 1;
    unsigned word = 0;
#pragma unroll
    for (int v = 0; v < 4; v++) {
        const int log = max(__float_as_int(__int2float_rd(sums[v])) >> 20, ONE) - ONE;
        word |= (unsigned)log << (8 * v);
    }
    return __vmaxu4(word, before);
}

// The word of a plane of C for four sums and the word before. A modulus of 0 stands for magnitudes.
__device__ __forceinline__ unsigned word(const int* sums, unsigned before, int p, int inverse) {
    return p ? reduced(sums, before, p, inverse) : logarithms(sums, before);
}

}  // namespace planes
