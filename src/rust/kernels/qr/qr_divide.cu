// arch: sm_80 sm_90
// Rows divided by a triangle on tensor cores, for panels of QR: X M = B for an upper triangular M
// of order up to 128, by substitution. `qr_panel.cu` has the mathematics, and the same without
// tensor cores.
//
// A warp has 16 rows in registers, as accumulators of 16 x 8: lane (g = lane / 4, p = lane % 4) has
// rows g and g + 8 of columns 2 p and 2 p + 1 of every 8. The four lanes that share a row solve for
// eight columns by substitution and store them. Then their product with M is subtracted from all
// columns to the right. The solved columns serve as the left operand unchanged, because the order
// of the steps of a product is free: a lane's two columns are its steps of the two halves, and M is
// read accordingly. When the first eight columns are finished, the others move up, so that
// registers keep their names in a loop.
//
// Shared memory holds M in tiles of 8 x 8, row after row of tiles from the diagonal on, columns of
// a tile contiguous. A diagonal tile is replaced by its inverse; or it has contiguous rows, and
// reciprocals on its diagonal. Nothing below the diagonal or beyond column n affects a column
// before n.
//
// Single precision is computed in double and rounded once.
#include "tile_f64.cuh"

namespace {

constexpr int LD = 128;  // of all small matrices
constexpr int THREADS = 128, WARPS = THREADS / 32;
constexpr int TILE = 8, TILES = LD / TILE;  // columns at once, and how often at most
constexpr int ROWS = 16;                    // of a warp

__device__ __forceinline__ double* shared_memory() {
    extern __shared__ __align__(16) double memory[];
    return memory;
}

// B and the destination of X, from the first row on; and `back`, unless null, a second destination
// with the layout of B.
template <typename T>
struct Lines {
    const T* from;
    i64 ld_from;
    T* to;
    i64 ld_to;
    T* back;
    i64 count;
    bool upper;  // B is the upper triangle of what is there
};

// A diagonal tile D, with contiguous rows and reciprocals on the diagonal, by eight lanes; this one
// has column c. If safe, D is replaced by its inverse with contiguous columns. Returns whether it
// was.
//
// X = B D^-1 by a product has an error of eps |B| |D^-1|, and so X D - B one of eps |X| |D| |D^-1|
// |D|. If X has orthonormal columns, those of B are as long as those of D. Let s be the lengths of
// the columns and w = |D^-1| |D|. If s_0 w_0 + s_1 w_1 + ... <= MUCH s_j, column j of the residual
// is within MUCH times the unavoidable rounding error. The scales of columns do not affect this.
__device__ __forceinline__ bool invert(double* tile, int c, bool there) {
    constexpr double MUCH = 16;
    double d[TILE], y[TILE], s = 0, much = 0;
#pragma unroll
    for (int l = 0; l < TILE; ++l) {
        d[l] = l <= c ? tile[l * TILE + c] : 0;
        if (l == c) d[l] = 1 / d[l];
        s = fmax(s, fabs(d[l]));
    }
#pragma unroll
    for (int k = TILE - 1; k >= 0; --k) {
        double sum = 0;
#pragma unroll
        for (int l = k + 1; l < TILE; ++l) sum += tile[k * TILE + l] * y[l];
        const double r = tile[k * (TILE + 1)];
        y[k] = k == c ? r : k < c ? -r * sum : 0;
    }
#pragma unroll
    for (int k = 0; k < TILE; ++k) {
        double w = 0;
#pragma unroll
        for (int l = k; l < TILE; ++l) {
            const double z = fabs(__shfl_sync(0xffffffffu, y[k], l, TILE));
            w += z * fabs(d[l]);
        }
        const double length = __shfl_sync(0xffffffffu, s, k, TILE);
        if (k <= c) much += length * w;
    }
    const unsigned safe = __ballot_sync(0xffffffffu, much <= MUCH * s);
    const bool all = there && (safe >> (threadIdx.x & 24) & 0xff) == 0xff;
    if (all)
#pragma unroll
        for (int k = 0; k < TILE; ++k) tile[c * TILE + k] = y[k];
    return all;
}

// M <- the upper triangle of a matrix, times 1 or -1; inverted[i]: whether diagonal tile i was
// inverted. The block meets.
template <typename T>
__device__ __forceinline__ void load_triangle(double* triangle, int* inverted, int n, const T* from,
                                              double sign) {
    // Rows of tiles b and across - 1 - b have across + 1 tiles together. A thread has an element of
    // every other tile, and the loads of DEEP such pairs are in flight together.
    constexpr int AT_ONCE = THREADS / (TILE * TILE), EACH = (TILES + AT_ONCE) / AT_ONCE, DEEP = 2;
    const int across = (n + TILE - 1) / TILE, low = threadIdx.x % TILE,
              high = threadIdx.x / TILE % TILE;
    const auto start = [across](int row) { return row * across - row * (row - 1) / 2; };
#pragma unroll 1
    for (int b0 = 0; 2 * b0 < across; b0 += DEEP) {
        T x[DEEP][EACH];
#pragma unroll
        for (int store = 0; store < 2; ++store)
#pragma unroll
            for (int d = 0; d < DEEP; ++d) {
                const int b = b0 + d, last = across - 1 - b;
#pragma unroll
                for (int e = 0; e < EACH; ++e) {
                    const int q = e * AT_ONCE + threadIdx.x / (TILE * TILE);
                    const int row = q <= last ? b : last, column = q <= last ? b + q : q - 1;
                    const bool there = b <= last && column < across && (q <= last || b < last);
                    const int k = row * TILE + low, c = column * TILE + high;
                    if (!store) {
                        x[d][e] = k == c ? T(1) : T(0);
                        if (there && k <= c && c < n) x[d][e] = from[k + c * LD];
                    } else if (there) {
                        const int within = row == column ? low * TILE + high : high * TILE + low;
                        triangle[(start(row) + column - row) * TILE * TILE + within] =
                            sign * x[d][e];
                    }
                }
            }
    }
    __syncthreads();
    const int own = threadIdx.x / TILE;
    if (own < across) {
        double* reciprocal = triangle + start(own) * TILE * TILE + low * (TILE + 1);
        *reciprocal = 1 / *reciprocal;
    }
    __syncthreads();
    // Lanes without a tile read the first one, and do not change it.
    const bool there = own < across;
    const bool done = invert(triangle + (there ? start(own) : 0) * TILE * TILE, low, there);
    if (there) inverted[own] = done;
    __syncthreads();
}

// Solves for eight columns of a warp's rows: those before column k + 1 are final after step k.
__device__ __forceinline__ void substitute(double (&x)[4], const double* diagonal, int p) {
    const double2* m = reinterpret_cast<const double2*>(diagonal) + p;
#pragma unroll
    for (int k = 0; k < TILE; ++k) {
        const double2 by = m[k * TILE / 2];
        // Column k is number `mine` of its lane.
        const int mine = k % 2, holder = k / 2;
#pragma unroll
        for (int h = 0; h < 4; h += 2) {
            const double z =
                __shfl_sync(0xffffffffu, x[h + mine] * (mine ? by.y : by.x), holder, 4);
            if (p == holder) x[h + mine] = z;
            if (p > holder) x[h] -= z * by.x;
            if (mine ? p > holder : p >= holder) x[h + 1] -= z * by.y;
        }
    }
}

// Divides 16 rows from `first` on, of at most MOST tiles, by one warp.
template <int MOST, typename T>
__device__ __forceinline__ void divide_rows(const double* triangle, const int* inverted, int n,
                                            const Lines<T>& lines, i64 first) {
    const int lane = threadIdx.x % 32, p = lane % 4;
    const i64 row = first + lane / 4;
    // The existing columns of each of a lane's two rows.
    int end[2] = {row < lines.count ? n : 0, row + TILE < lines.count ? n : 0};
    const int begin[2] = {lines.upper ? (int)row : 0, lines.upper ? (int)row + TILE : 0};
    double x[MOST][4];
    {
        const T* from = lines.from + row + 2 * p * lines.ld_from;
#pragma unroll
        for (int u = 0; u < MOST; ++u, from += TILE * lines.ld_from)
#pragma unroll
            for (int e = 0; e < 4; ++e) {
                const int c = u * TILE + 2 * p + e % 2, h = e / 2;
                T y = T(0);
                if (c >= begin[h] && c < end[h]) y = from[h * TILE + e % 2 * lines.ld_from];
                x[u][e] = y;
            }
    }
    T* to = lines.to + row + 2 * p * lines.ld_to;
    T* back = lines.back + row + 2 * p * lines.ld_from;
#pragma unroll 1
    for (int left = (n + TILE - 1) / TILE; left > 0; --left) {
        if (*inverted++) {
            const double2 by = reinterpret_cast<const double2*>(triangle)[lane];
            const double left_half[4] = {x[0][0], x[0][2], x[0][1], x[0][3]}, b[2] = {by.x, by.y};
            double z[4] = {};
            tile::mma_16x8x8(z, left_half, b);
#pragma unroll
            for (int e = 0; e < 4; ++e) x[0][e] = z[e];
        } else {
            substitute(x[0], triangle, p);
        }
#pragma unroll
        for (int e = 0; e < 4; ++e) {
            const int h = e / 2;
            if (2 * p + e % 2 >= end[h]) continue;
            const T y = x[0][e];
            to[h * TILE + e % 2 * lines.ld_to] = y;
            if (lines.back != nullptr) back[h * TILE + e % 2 * lines.ld_from] = y;
        }
        end[0] -= TILE, end[1] -= TILE;
        to += TILE * lines.ld_to;
        back += TILE * lines.ld_from;
        // The halves of the left operand are even and odd columns.
        const double solved[4] = {-x[0][0], -x[0][2], -x[0][1], -x[0][3]};
        const double2* m = reinterpret_cast<const double2*>(triangle) + lane;
        const auto update = [&](int u) {
            const double2 by = m[u * TILE * TILE / 2];
            const double b[2] = {by.x, by.y};
            tile::mma_16x8x8(x[u], solved, b);
#pragma unroll
            for (int e = 0; e < 4; ++e) x[u - 1][e] = x[u][e];
        };
        if (left > 1) update(1);
            // In pairs, so that few conditions are tested: results in columns beyond the last are
            // not used.
#pragma unroll
        for (int u = 2; u < MOST; u += 2)
            if (left > u) update(u), update(u + 1);
        triangle += left * TILE * TILE;
    }
}

// Divides all rows, of which this block, number `block` of `blocks`, takes its share. Few rows are
// spread over blocks before they fill one.
template <int MOST, typename T>
__device__ __forceinline__ void divide_lines(int n, const T* m, double sign, const Lines<T>& lines,
                                             int block, int blocks) {
    __shared__ int inverted[TILES];
    double* triangle = shared_memory();
    load_triangle(triangle, inverted, n, m, sign);
    const int sets = (int)((lines.count + ROWS - 1) / ROWS);
#pragma unroll 1
    for (int set = block + threadIdx.x / 32 * blocks; set < sets; set += blocks * WARPS)
        divide_rows<MOST>(triangle, inverted, n, lines, (i64)set * ROWS);
}

// Q1 <- A R1^-1.
template <int MOST, typename T>
__device__ __forceinline__ void divide_panel(i64 m, int n, const T* a, i64 ld, const T* r, T* q,
                                             i64 ldq, const int* stop) {
    if (stopped(stop)) return;
    const Lines<T> lines = {a, ld, q, ldq, nullptr, m, false};
    divide_lines<MOST>(n, r, 1, lines, blockIdx.x, gridDim.x);
}

// The rows of V below V1, Q1 M^-1, to A and in place. With `follow` the first blocks also compute T
// = M (-P)^-1, 16 rows each; without it V is written to A only.
template <int MOST, typename T>
__device__ __forceinline__ void finish_panel(i64 m, int n, const T* factors, const T* p,
                                             T* triangle, i64 ldt, T* q, i64 ldq, T* a, i64 ld,
                                             bool follow, const int* stop) {
    if (stopped(stop)) return;
    const int before = follow ? (n + ROWS - 1) / ROWS : 0;
    const bool beside = blockIdx.x < before;
    Lines<T> lines = {q + n, ldq, a + n, ld, follow ? q + n : nullptr, m - n, false};
    if (beside) lines = {factors, LD, triangle, ldt, nullptr, n, true};
    divide_lines<MOST>(n, beside ? p : factors, beside ? -1 : 1, lines,
                       beside ? blockIdx.x : blockIdx.x - before,
                       beside ? before : gridDim.x - before);
}

}  // namespace

// For panels of at most 8 * MOST columns; PER blocks share a multiprocessor.
#define INSTANCES(T, SUFFIX, NAME, MOST, PER)                                                  \
    extern "C" __global__ void __launch_bounds__(THREADS, PER) panel_divide_##NAME##_##SUFFIX( \
        i64 m, int n, const T* a, i64 ld, const T* r, T* q, i64 ldq, const int* stop) {        \
        divide_panel<MOST>(m, n, a, ld, r, q, ldq, stop);                                      \
    }                                                                                          \
    extern "C" __global__ void __launch_bounds__(THREADS, PER) panel_finish_##NAME##_##SUFFIX( \
        i64 m, int n, const T* factors, const T* p, T* triangle, i64 ldt, T* q, i64 ldq, T* a, \
        i64 ld, int follow, const int* stop) {                                                 \
        finish_panel<MOST>(m, n, factors, p, triangle, ldt, q, ldq, a, ld, follow != 0, stop); \
    }

INSTANCES(double, f64, tiles, TILES, 3)
INSTANCES(double, f64, narrow, TILES / 2, 4)
INSTANCES(float, f32, tiles, TILES, 3)
INSTANCES(float, f32, narrow, TILES / 2, 4)
