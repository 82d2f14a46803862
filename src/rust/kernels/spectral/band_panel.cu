// arch: sm_70
// A panel of the reduction to a band of width 32, in two launches whose blocks are all resident.
//
// `band_panel_reflect`: P = (I - V T V') R, as qr_panel.cu explains: CholeskyQR2 and Householder
// reconstruction, with the same panels refused. Rows stay in shared memory. Blocks meet twice, for
// the two Gram matrices. All factor these by themselves, which takes less time than a third
// meeting.
//
// `band_panel_join`: W = Y T - V (T' Z T) / 2 with Y = A V and Z = V'Y, for A - V W' - W V'. A is
// symmetric, and so is Z. Blocks meet once, for Z.
//
// The sums over rows do not depend on the number of blocks. A launch empties the board that the one
// before it used, even if it is stopped.
#include "small_factors.cuh"

namespace {

using namespace board;

struct Shared {
    double gram[SQUARE];                        // a Gram matrix; then P = V1' S R2
    double r[2][SQUARE], m[SQUARE], v[SQUARE];  // R1, R2, M, V1 by columns
    double inverse[SIDE], signs[SIDE];
    int refused, unused[3];
    double rows[1];
};

struct Panel {
    Shared& s;
    const Rows rows;
    double *a, *v, *t, *tau;
    const i64 ld, ldv, ldt;
    const int warp, lane;

    // R of the Gram matrix of a pass, and its inverse diagonal. False if there is none.
    __device__ __forceinline__ bool root_of(int pass, double2 pair, const Sums& sums) {
        double* r = s.r[pass];
        if (threadIdx.x == 0) s.refused = 0;
        const double x = pair.x - (sums.row == sums.column),
                     y = pair.y - (sums.row == sums.column + 1);
        const double tiny = Limits<double>::small;
        const bool close = magnitude(x) <= tiny && magnitude(y) <= tiny;
        // Near the identity the factor is known to first order.
        const bool exact = __syncthreads_or(pass == 0 || !close);
        if (exact && warp == 0) {
            double column[SIDE], distance = 0;
#pragma unroll
            for (int i = 0; i < SIDE; ++i) column[i] = s.gram[i * SIDE + lane];
#pragma unroll
            for (int i = 0; i < SIDE; ++i) {
                const double e = column[i] - (i == lane);
                distance += e * e;
            }
            const bool near = pass == 0 || warp_sum(distance) < FAR;
            const bool fine = small::eliminate_symmetric(column, r);
            s.inverse[lane] = rounded_reciprocal(root(r[lane * SIDE]));
            if (lane == 0) s.refused = !(near && fine);
        }
        __syncthreads();
        if (s.refused) return false;
#pragma unroll
        for (int q = 0; q < EACH; ++q) {
            const int e = threadIdx.x + q * THREADS, k = e / SIDE, c = k + e % SIDE;
            if (c >= SIDE) continue;
            if (exact)
                r[e] *= s.inverse[k];
            else
                r[e] = c == k ? 1 + (s.gram[k * SIDE + k] - 1) / 2 : s.gram[k * SIDE + c];
        }
        __syncthreads();
        return true;
    }

    // V1, M, the signs and tau, from the first rows of Q1 in `s.v`; then `s.inverse` is that of M's
    // diagonal. False if a column is negligible below the diagonal.
    __device__ __forceinline__ bool reconstruct() {
        const bool square = rows.count == SIDE;
        if (warp == 0) {
            double column[SIDE], above = 0;
#pragma unroll
            for (int i = 0; i < SIDE; ++i) column[i] = s.v[i * SIDE + lane];
#pragma unroll
            for (int i = 0; i < SIDE; ++i)
                if (i <= lane) above += column[i] * column[i];
            const double below = s.gram[lane * (SIDE + 1)] - above;
            const bool judged = !square || lane < SIDE - 1;
            if (!(below > 64 * Limits<double>::eps) && judged) s.refused = 1;
            // `s.v` is overwritten.
            __syncwarp();
            small::Signed().run(column, s.r[1], square, s.v, s.m, s.signs, s.inverse);
            __syncwarp();
            const double x = s.signs[lane] * s.m[lane * SIDE] / s.r[1][lane * SIDE];
            if (blockIdx.x == 0 && !s.refused) tau[lane] = -x;
        }
        __syncthreads();
        if (s.refused) return false;
#pragma unroll
        for (int q = 0; q < EACH; ++q) {
            const int e = threadIdx.x + q * THREADS;
            if (e >= SQUARE) continue;
            s.v[e] = e % SIDE == 0 ? 1.0 : s.v[e] * s.inverse[e / SIDE];
        }
        return true;
    }

    // The first rows of Q1, from the block that has them to all.
    __device__ __forceinline__ void give_top(Word* top) const {
#pragma unroll 1
        for (int c = warp; c < SIDE / 2; c += WARPS) {
            const double* at = s.rows + 2 * c * SIDE + lane;
            put(top + lane * SIDE + 2 * c, at[0], at[SIDE]);
        }
    }

    // V, to the panel below R, and with its ones and zeros.
    __device__ __forceinline__ void store_rows() const {
        rows.each([&](int slot, int first) {
            const int row = first + lane;
            if (row >= rows.count) return;
#pragma unroll 1
            for (int c = warp; c < SIDE; c += WARPS) {
                double x = s.rows[slot * SQUARE + c * SIDE + lane];
                if (first == 0) x = row > c ? s.v[c * SIDE + row - c] : row == c ? 1.0 : 0.0;
                if (row > c) a[row + c * ld] = x;
                v[row + c * ldv] = x;
            }
        });
    }

    // Returns false if the panel is refused.
    __device__ __forceinline__ bool run(Word* words, const int* stop) {
        // Loads do not wait for the flag.
        const bool cancelled = stopped(stop);
        const int held = rows.each([&](int slot, int first) {
            load_set(s.rows + slot * SQUARE, a, ld, first, rows.count);
        });
        if (cancelled) return true;
        __syncthreads();
        // Two blocks have small products to make. Where there are more blocks than chunks, they
        // have no rows.
        const bool makes_r = blockIdx.x == gridDim.x - 1,
                   makes_t = blockIdx.x == max((int)gridDim.x - 2, 0);
        Word* top = words + 2 * Sums::size(rows.chunks);
#pragma unroll 1
        for (int pass = 0; pass < 3; ++pass) {
            const double* divisor = s.gram;
            if (pass < 2) {
                Sums sums(words + pass * Sums::size(rows.chunks), rows.chunks);
                if (pass == 1 && blockIdx.x == 0) give_top(top);
                rows.each([](int, int) {}, [&](int chunk, int slot) {
                    const double* x = s.rows + slot * SQUARE;
                    sums.add(chunk, x, x, rows.sets);
                });
                sums.add_up();
                const double2 pair = sums.read<2>(s.gram, top, pass ? SQUARE : 0, s.v);
                if (!root_of(pass, pair, sums)) return false;
                if (pass == 1 && !reconstruct()) return false;
                divisor = pass ? s.m : s.r[0];
            } else {
                // T = -M P^-1
#pragma unroll 1
                for (int e = threadIdx.x; e < SQUARE; e += THREADS) {
                    const int c = e / SIDE, i = e % SIDE;
                    s.rows[e] = i <= c ? -s.m[i * SIDE + c - i] : 0.0;
                }
                __syncthreads();
            }
            small::divide(s.rows, pass < 2 ? held : 1, divisor, s.inverse);
            if (pass == 0) continue;
            if (pass == 2) {
#pragma unroll 1
                for (int e = threadIdx.x; e < SQUARE; e += THREADS)
                    t[e % SIDE + e / SIDE * ldt] = s.rows[e];
                break;
            }
            store_rows();
#pragma unroll 1
            for (int job = 0; job < 2; ++job) {
                if (!(job ? makes_t : makes_r)) continue;
                small::multiply_upper(job ? s.v : s.r[1], s.signs, job, s.r[job],
                                      [&](int i, int j, double x) {
                                          if (!job) {
                                              a[i + j * ld] = s.signs[i] * x;
                                              return;
                                          }
                                          s.gram[i * SIDE + j - i] = x;
                                          if (i == j) s.inverse[i] = rounded_reciprocal(x);
                                      });
            }
            if (!makes_t) break;
            __syncthreads();
        }
        return true;
    }
};

// Two rows and four columns of X B: rows of X and columns of `set` are contiguous.
__device__ __forceinline__ void multiply_add(double (&c)[2][4], const double* set, const double* b,
                                             int row, int column) {
#pragma unroll 4
    for (int k = 0; k < SIDE; ++k) {
        const double2 x = *reinterpret_cast<const double2*>(set + k * SIDE + row);
        const double2* y = reinterpret_cast<const double2*>(b + k * SIDE + column);
        const double2 y0 = y[0], y1 = y[1];
        c[0][0] += x.x * y0.x, c[0][1] += x.x * y0.y, c[0][2] += x.x * y1.x, c[0][3] += x.x * y1.y;
        c[1][0] += x.y * y0.x, c[1][1] += x.y * y0.y, c[1][2] += x.y * y1.x, c[1][3] += x.y * y1.y;
    }
}

struct Join {
    double t[SQUARE], z[SQUARE], f[SQUARE];  // T; Z and D, F: by rows
    double rows[1];                          // sets of V, then of Y

    // `left` is to have V and W side by side, `right` W and V.
    __device__ __forceinline__ void run(const Rows rows_of, const double* v, i64 ldv,
                                        const double* y, i64 ldy, const double* from, i64 ldt,
                                        double* left, double* right, i64 ld, int held,
                                        Word* words, const int* stop) {
        const bool cancelled = stopped(stop);
        const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, m = rows_of.count;
        double *v_sets = rows, *y_sets = rows + held * SQUARE;
        double x[EACH];
#pragma unroll
        for (int q = 0; q < EACH; ++q) {
            const int e = threadIdx.x + q * THREADS, i = e / SIDE, j = e % SIDE;
            x[q] = i <= j ? from[i + j * ldt] : 0.0;
        }
        rows_of.each([&](int slot, int first) {
            load_set(v_sets + slot * SQUARE, v, ldv, first, m);
            load_set(y_sets + slot * SQUARE, y, ldy, first, m);
        });
        if (cancelled) return;
#pragma unroll
        for (int q = 0; q < EACH; ++q)
            if (threadIdx.x + q * THREADS < SQUARE) t[threadIdx.x + q * THREADS] = x[q];
        __syncthreads();
        Sums sums(words, rows_of.chunks);
        rows_of.each([](int, int) {}, [&](int chunk, int slot) {
            sums.add(chunk, v_sets + slot * SQUARE, y_sets + slot * SQUARE, rows_of.sets);
        });
        sums.add_up();
        // V to where it is not yet.
        rows_of.each([&](int slot, int first) {
            const int row = first + lane;
            if (row >= m) return;
#pragma unroll 1
            for (int c = warp; c < SIDE; c += WARPS) {
                const double x = v_sets[slot * SQUARE + c * SIDE + lane];
                if (left != v) left[row + c * ld] = x;
                right[row + (SIDE + c) * ld] = x;
            }
        });
        sums.read<0>(z);
        __syncthreads();
        // A warp has all 32 rows of a set, and eight columns.
        const int row = lane % 16 * 2, column = warp % 4 * 8 + lane / 16 * 4;
        // F = Z T, then D = T'F / 2.
#pragma unroll 1
        for (int product = 0; product < 2; ++product) {
            double c[2][4] = {};
            if (warp < 4) {
                multiply_add(c, product ? t : z, product ? f : t, row, column);
#pragma unroll
                for (int i = 0; i < 2; ++i)
#pragma unroll
                    for (int j = 0; j < 4; ++j)
                        (product ? z : f)[(row + i) * SIDE + column + j] =
                            product ? -c[i][j] / 2 : c[i][j];
            }
            __syncthreads();
        }
        rows_of.each([&](int slot, int first) {
            // Warps take turns, so that those of two sets work at once.
            if ((warp / 4 + slot) % 2 || warp == WARPS - 1) return;
            double c[2][4] = {};
#pragma unroll 1
            for (int product = 0; product < 2; ++product)
                multiply_add(c, (product ? v_sets : y_sets) + slot * SQUARE, product ? z : t, row,
                             column);
#pragma unroll
            for (int i = 0; i < 2; ++i)
#pragma unroll
                for (int j = 0; j < 4; ++j) {
                    const i64 at = first + row + i + (column + j) * ld;
                    if (first + row + i >= m) continue;
                    left[at + SIDE * ld] = c[i][j];
                    right[at] = c[i][j];
                }
        });
    }
};

}  // namespace

// `before`: the board of the launch before, of which `words` words are emptied. `first` and `stop`:
// see qr_panel.cu.
extern "C" __global__ void __launch_bounds__(THREADS, 1) band_panel_reflect_f64(
    int m, int sets, int chunks, double* a, i64 ld, double* v, i64 ldv, double* t, i64 ldt,
    double* tau, Word* board, Word* before, i64 words, i64 first, int* stop) {
    clear(before, words);
    Panel panel = {*shared_memory<Shared>(), {m, sets, chunks}, a, v, t, tau, ld, ldv, ldt,
                   (int)threadIdx.x / 32, (int)threadIdx.x % 32};
    if (!panel.run(board, stop) && blockIdx.x == 0 && threadIdx.x == 0) *stop = (int)(first + 1);
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) band_panel_join_f64(
    int m, int sets, int chunks, const double* v, i64 ldv, const double* y, i64 ldy,
    const double* t, i64 ldt, double* left, double* right, i64 ld, int held, Word* board,
    Word* before, i64 words, const int* stop) {
    clear(before, words);
    shared_memory<Join>()->run({m, sets, chunks}, v, ldv, y, ldy, t, ldt, left, right, ld, held,
                               board, stop);
}
