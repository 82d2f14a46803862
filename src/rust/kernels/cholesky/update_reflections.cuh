// Makes the reflections of eight rows from their triangle R and the columns W of V'. See
// cholesky_update.cu.
//
// R~ is the Cholesky factor of M = R'R +- W'W. With T = R + R~, Y = W / T and L' = T / R~ = I + R /
// R~. A rounding error in M is multiplied by 1 / R~ on both sides in the result's distance from
// orthogonality. For nearly dependent columns S / R~ is large, where S is the diagonal matrix of
// the roots of M's diagonal. Then reflections are made row by row (update_safe_scaling.cuh).
#pragma once
#include "reciprocal.cuh"
#include "update_apply.cuh"

namespace reflect {

// Whether a number is far from overflow and underflow.
__device__ __forceinline__ bool is_tame(double q) {
    const unsigned bits = (unsigned)__double2hiint(q), least = (1023u - 300u) << 20,
                   most = (1023u + 300u) << 20;
    return bits - least < most - least;
}

// Two neighbours in shared memory. If a lane has MORE than one row, the compiler would otherwise
// split some of these reads, differently from run to run.
template <bool MORE>
__device__ __forceinline__ double2 pair_at(const double* p) {
    if constexpr (!MORE) return *reinterpret_cast<const double2*>(p);
    double2 x;
    asm volatile("ld.shared.v2.f64 {%0, %1}, [%2];"
                 : "=d"(x.x), "=d"(x.y)
                 : "r"(tile::shared_address(p)));
    return x;
}

// The largest allowed entries of S / R~ and of R / R~.
constexpr double CLOSE = 6, MOST = 8;

// What is known of eight rows before W.
struct Triangle {
    double square[2];   // R'R
    unsigned negative;  // bit 4 i + i / 2: the sign of row i

    __device__ __forceinline__ bool is_negative(int i) const {
        return negative >> (4 * i + i / 2) & 1;
    }

    // Takes R by columns: x[j] is row 2t + j of column g. `rows`: R with signs such that the
    // diagonal is positive.
    __device__ __forceinline__ void prepare(const double (&x)[2], int g, int t, double* rows) {
        negative = __ballot_sync(ALL, t == g / 2 && (g % 2 ? x[1] : x[0]) < 0);
        square[0] = square[1] = 0;
#pragma unroll
        for (int j = 0; j < 2; ++j) {
            const int row = 2 * t + j;
            const double y = row > g ? 0 : is_negative(row) ? -x[j] : x[j];
            mma_8x8x4(square[0], square[1], y, y);
            rows[row * ROWS + g] = y;
        }
        __syncwarp();
    }
};

// Reflections for the first eight of a warp's columns. Each lane has some of these rows and divides
// them: K rows of W by T, eight of R and eight of I by R~.
template <int K>
struct Maker {
    using L = Layout<K>;
    static constexpr int OWN = Bench<K>::PITCH, EACH = (K + 2 * ROWS + 31) / 32;
    static constexpr bool MIXED = K < 32;  // a lane's only row may be any

    // m: M on and above the diagonal. Each lane has all of M and factors it. Step by step a row of
    // R~ replaces one of M; or, in lanes of MIXED with a row of V, a row of T does. x: rows added
    // to R~ to form T. y: this lane's rows. All of m that is read is initialized first; without its
    // zeros the compiler runs out of registers (K = 64).
    double m[ROWS][ROWS] = {}, x[2][ROWS], y[EACH][ROWS], most;
    bool well;

    // Products of W in the order of the tensor cores.
    __device__ __forceinline__ void multiply(const Columns<K>& c, const Triangle& r,
                                             Bench<K>& bench, int g, int t, double kind) {
        double sum[2] = {0, 0}, more[2] = {0, 0};
#pragma unroll
        for (int i = 0; i < L::TILES; ++i) {
            mma_8x8x4(sum[0], sum[1], c.w[i][0], c.w[i][0]);
            mma_8x8x4(more[0], more[1], c.w[i][1], c.w[i][1]);
            bench.v[(8 * i + 2 * t) * OWN + g] = c.w[i][0];
            bench.v[(8 * i + 2 * t + 1) * OWN + g] = c.w[i][1];
        }
        *reinterpret_cast<double2*>(bench.square + g * ROWS + 2 * t) = make_double2(
            fma(kind, sum[0] + more[0], r.square[0]), fma(kind, sum[1] + more[1], r.square[1]));
    }
    __device__ __forceinline__ void load(const Bench<K>& bench, const double* before,
                                         const double* ones, int lane) {
#pragma unroll
        for (int i = 0; i < ROWS; ++i)
#pragma unroll
            for (int j = i / 2 * 2; j < ROWS; j += 2) {
                const double2 x = pair_at<!MIXED>(bench.square + i * ROWS + j);
                m[i][j] = x.x, m[i][j + 1] = x.y;
            }
#pragma unroll
        for (int e = 0; e < EACH; ++e) {
            const int row = e * 32 + lane, other = row - K & ROWS - 1;
            const double* from =
                row < K ? bench.v + row * OWN : (row < L::ROW ? before : ones) + other * ROWS;
#pragma unroll
            for (int j = 0; j < ROWS; j += 2) {
                const double2 x = pair_at<!MIXED>(from + j);
                y[e][j] = x.x, y[e][j + 1] = x.y;
            }
        }
        // For lanes with rows of R and I: the limit of their entries.
        const int other = lane - K & ROWS - 1;
        const double size = bench.square[other * (ROWS + 1)];
        double part;
        asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(part) : "d"(size));
        const int row = (EACH - 1) * 32 + lane;
        most = row < L::ROW ? MOST : CLOSE * part;
        well = is_tame(size);
    }

    // Loads row I of what is added to R~.
    template <int I>
    __device__ __forceinline__ void load_row(const double* before) {
#pragma unroll
        for (int j = I / 2 * 2; j < ROWS; j += 2) {
            const double2 pair = pair_at<!MIXED>(before + I * ROWS + j);
            x[I % 2][j] = pair.x, x[I % 2][j + 1] = pair.y;
        }
    }
    // Computes row I of R~, and subtracts its contribution from the rows. Their column I is then
    // final.
    template <int I>
    __device__ __forceinline__ void step(const double* before, int lane) {
        const double pivot = m[I][I], inverse = reciprocal(pivot), root = inverse_root(pivot);
        double sum[ROWS];
        if constexpr (I + 1 < ROWS) load_row<I + 1>(before);
#pragma unroll
        for (int j = I + 1; j < ROWS; ++j) {
            const double part = m[I][j] * inverse;
#pragma unroll
            for (int k = j; k < ROWS; ++k) m[j][k] = fma(-part, m[I][k], m[j][k]);
        }
#pragma unroll
        for (int j = I; j < ROWS; ++j) {
            sum[j] = fma(m[I][j], root, x[I % 2][j]);
            m[I][j] = MIXED ? sum[j] : m[I][j] * root;
        }
        const double other = reciprocal(sum[I]);
#pragma unroll
        for (int e = 0; e < EACH; ++e) {
            const bool is_v = MIXED || (e + 1) * 32 <= K;
            const int row = e * 32 + lane;
            y[e][I] *= is_v ? other : root;
#pragma unroll
            for (int j = I + 1; j < ROWS; ++j)
                y[e][j] = fma(-y[e][I], is_v ? sum[j] : m[I][j], y[e][j]);
            if ((e + 1) * 32 > K) well = well && (row < K || fabs(y[e][I]) <= most);
        }
    }

    // Fills the slot, without marking it ready. Returns whether the result is accurate.
    __device__ __forceinline__ bool make(const Columns<K>& c, const Triangle& r, Bench<K>& bench,
                                         const double* before, const Shared<K>& s, Slot<K>& slot,
                                         int lane, double kind) {
        multiply(c, r, bench, lane / 4, lane % 4, kind);
        if (lane < ROWS) slot.signs[lane] = r.is_negative(lane) ? -1 : 1;
        __syncwarp();
        load(bench, before, s.ones, lane);
        if (MIXED && lane >= K) before = s.zeros;
        load_row<0>(before);
        step<0>(before, lane), step<1>(before, lane), step<2>(before, lane), step<3>(before, lane);
        step<4>(before, lane), step<5>(before, lane), step<6>(before, lane), step<7>(before, lane);
        // All stores come last, since the compiler moves no load across a store.
#pragma unroll
        for (int e = 0; e < EACH; ++e)
#pragma unroll
            for (int j = 0; j < ROWS; ++j) {
                const int row = e * 32 + lane;
                if (row < L::ROW)
                    slot.rows[j * L::PITCH + row] = row == K + j ? y[e][j] + 1 : y[e][j];
            }
        well = __all_sync(ALL, well);
        __syncwarp();
        return well;
    }

    // Writes the new triangle, from a lane that divided by it.
    __device__ __forceinline__ void give(double* after, int lane) const {
        if (lane == K % 32) {
#pragma unroll
            for (int i = 0; i < ROWS; ++i)
#pragma unroll
                for (int j = i / 2 * 2; j < ROWS; j += 2)
                    *reinterpret_cast<double2*>(after + i * ROWS + j) =
                        make_double2(m[i][j], m[i][j + 1]);
        }
        __syncwarp();
    }
};

}  // namespace reflect
