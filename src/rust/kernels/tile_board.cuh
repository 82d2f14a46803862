// What the blocks of one Cholesky factorization have in common: the matrix in tiles, the flags that say which are final, the mail.
#pragma once
#include "tile_panel.cuh"
#include "tile_sync.cuh"

namespace tile {

constexpr int THREADS = 256;
constexpr int STAGES = 4;

// The mail holds diagonal tiles of L panel by panel: rows of 16, zero above the diagonal, then the inverse of the panel's diagonal
// block. All its bits are set before; a number that is written never is that, so it says by itself that it has come.
constexpr int LETTER = T * 16 + 256;  // doubles of a panel
constexpr Word NOTHING = ~0ull, NOT_A_NUMBER = 0x7ff8000000000000ull;

// Words of the block itself: what `await_tiles` found; the first panel of a tile beyond those `fetch` has, or -1, for each panel;
// the panel whose pivots are not ordinary numbers, and whether one fails; the task, and whether the work is over.
enum { UPTO = 0, HAVE = 1, UNUSUAL = HAVE + PANELS, FAILED, TASK, OVER, WORDS };

template <Layout LAYOUT>
struct Board {
    using Tall = Product<2 * T, T, STAGES, 4, 2, LAYOUT, LAYOUT, false, TOGETHER>;  // two tiles under one another
    using Wide = Product<T, 2 * T, STAGES, 2, 4, LAYOUT, LAYOUT, false, TOGETHER>;  // a diagonal tile and its left neighbour
    static constexpr int PANEL = 2 * T * 16;                       // doubles of a panel of two tiles
    static constexpr int LPANEL = T * 16;                          // of one
    static constexpr int SLABS = Tall::BYTES / 8;
    static_assert(Tall::BYTES == Wide::BYTES && LPANEL * PANELS + PANELS * 256 + 8 * 32 <= SLABS, "");

    i64 n, ld;
    double* a;
    int* info;      // greater than 0: the order of the first leading minor that is not positive
    int* progress;  // [i] > b: panel b of diagonal tile i is in the mail
    int* done;      // [i * tiles + k] > 0: tile (i, k) of L is final
    double* mail;
    int tiles;
    double* slabs;  // shared: slabs of products, then a diagonal tile of L and the inverses of its blocks
    double* tile;   // shared: rows of a tile, or of two, in panels
    int* word;      // shared

    __device__ __forceinline__ double* inverses() const { return slabs + LPANEL * PANELS; }
    __device__ __forceinline__ double* scratch() const { return inverses() + PANELS * 256; }
    __device__ __forceinline__ i64 offset(i64 r, i64 c) const { return LAYOUT == LINES ? r + c * ld : r * ld + c; }
    __device__ __forceinline__ bool failed() const { return load_acquire(info) > 0; }
    __device__ __forceinline__ Word* letter(int i, int b) const {
        return reinterpret_cast<Word*>(mail + ((i64)i * PANELS + b) * LETTER);
    }

    // Waits until tiles (i, k), (i + 1, k) where `two`, and (j, k) are final for k = first. Returns up to which k, at most `last`,
    // they are; -1 after a failure.
    __device__ __forceinline__ int await_tiles(int i, bool two, int j, int first, int last) const {
        if (threadIdx.x < 32) {
            int upto = -1;
            for (;;) {
                const int k = min(first + (int)threadIdx.x, last - 1);
                const int x = load_acquire(done + (i64)i * tiles + k), y = load_acquire(done + (i64)j * tiles + k);
                const int z = two ? load_acquire(done + (i64)(i + 1) * tiles + k) : 1;
                const bool ready = first + (int)threadIdx.x < last && min(min(x, y), z) > 0;
                const unsigned good = __ballot_sync(0xffffffffu, ready);
                if (good & 1) {
                    upto = first + (good == 0xffffffffu ? 32 : __ffs(~good) - 1);
                    break;
                }
                if (__any_sync(0xffffffffu, failed())) break;
            }
            if (threadIdx.x == 0) word[UPTO] = upto;
        }
        __syncthreads();
        const int upto = word[UPTO];
        __syncthreads();
        return upto;
    }

    // acc <- -A on rows of tile i and below, columns of tile j and beyond: the lower triangle, with ones on the diagonal past
    // its end.
    template <typename P>
    __device__ __forceinline__ void start(typename P::Acc& acc, int i, int j) const {
        const int lane = threadIdx.x & 31, g = lane >> 2, t = lane & 3;
        const i64 r0 = (i64)i * T + P::warp_row(threadIdx.x) + 2 * g, c0 = (i64)j * T + P::warp_col(threadIdx.x) + 2 * t;
#pragma unroll
        for (int x = 0; x < P::FM; ++x)
#pragma unroll
            for (int y = 0; y < P::FN; ++y)
#pragma unroll
                for (int e = 0; e < 8; ++e) {
                    const i64 r = r0 + x * 16 + ((e >> 1) & 1), c = c0 + y * 16 + (e >> 2) * 8 + (e & 1);
                    const bool exists = r < n && r >= c && c >= 0;
                    acc[x][y][e >> 2][e & 3] = -load_if(exists, a + offset(r, c), r == c ? 1 : 0);
                }
    }
    // acc += L L' from rows of tile i (and i + 1, where `two`) and of tile j, columns before tile `last`, as they become final.
    template <typename P>
    __device__ __forceinline__ bool accumulate(typename P::Acc& acc, int i, bool two, int j, int last) const {
        for (int k = 0; k < last;) {
            const int upto = await_tiles(i, two, j, k, last);
            if (upto < 0) return false;
            P p;
            p.sa.start(a, ld, (i64)i * T, n, (i64)k * T);
            p.sb.start(a, ld, (i64)j * T, n, (i64)k * T);
            p.begin(slabs, (i64)(upto - k) * T);
            p.run(acc, slabs);
            k = upto;
        }
        return true;
    }
    // to <- sign acc, a tile's width of its columns from `from` on.
    template <typename P>
    __device__ __forceinline__ void keep(const typename P::Acc& acc, double sign, double* to, int from) const {
        const int lane = threadIdx.x & 31, g = lane >> 2, t = lane & 3;
        const int wm = P::warp_row(threadIdx.x), wn = P::warp_col(threadIdx.x) - from;
        if (wn < 0 || wn >= T) return;
#pragma unroll
        for (int x = 0; x < P::FM; ++x)
#pragma unroll
            for (int y = 0; y < P::FN; ++y)
#pragma unroll
                for (int e = 0; e < 4; ++e) {
                    const int r = wm + x * 16 + 2 * g + (e & 1), b = (wn + y * 16) / 16, c = (e >> 1) * 8 + 2 * t;
                    const double(&four)[4] = acc[x][y][e >> 1];
                    *reinterpret_cast<double2*>(to + b * PANEL + panel_at(r, c)) =
                        make_double2(sign * four[2 * (e & 1)], sign * four[2 * (e & 1) + 1]);
                }
    }
    // Panel b of `from`, rows from r0 on (of the lower triangle only), goes to its place in tile (i, j), by COUNT threads t.
    template <int ROWS, int COUNT>
    __device__ __forceinline__ void store(int t, const double* from, int i, int j, int b, int r0, bool lower) const {
        const i64 top = (i64)i * T, left = (i64)j * T + 16 * b;
        const int rows = (int)min((i64)ROWS, n - top), cols = (int)min((i64)16, n - left);
        double* to = a + offset(top, left);
#pragma unroll
        for (int q = 0; q < ROWS * 16 / COUNT; ++q) {
            const int e = t + q * COUNT;
            const int r = LAYOUT == LINES ? e % ROWS : e / 16, c = LAYOUT == LINES ? e / ROWS : e % 16;
            const bool write = r >= r0 && r < rows && c < cols && (!lower || r >= 16 * b + c);
            store_if(write, to + offset(r, c), from[b * PANEL + panel_at(r, c)]);
        }
    }

    // Puts panel b of diagonal tile i into the mail, by 128 threads t.
    __device__ __forceinline__ void send(int t, const double* panel, int i, int b) const {
        Word* to = letter(i, b);
#pragma unroll
        for (int q = 0; q < LETTER / 128; ++q) {
            const int e = t + q * 128, r = e / 16, c = e % 16;
            if (e < 256 * b) continue;  // rows above the panel
            const double x = r >= T            ? inverses()[256 * b + panel_at(r - T, c)]
                             : 16 * b + c <= r ? panel[panel_at(r, c)]
                                               : 0.0;
            const Word bits = __double_as_longlong(x);
            store_relaxed(to + e, bits == NOTHING ? NOT_A_NUMBER : bits);
        }
    }
    // What `fetch` finds in its words when nothing has been fetched.
    __device__ __forceinline__ void expect_mail() const {
        if (threadIdx.x < PANELS) word[HAVE + threadIdx.x] = threadIdx.x + 1;
    }
    // Waits for panels of diagonal tile j beyond the first `have` and copies them from the mail to shared memory, by COUNT threads
    // t. How many there are now, or -1 after a failure, is in word[HAVE + have] after the caller's barrier. Urgent: waits for one
    // panel, and for the numbers themselves instead of a flag first.
    template <int COUNT>
    __device__ __forceinline__ void fetch(bool urgent, int t, int j, int have) const {
        int* const now = word + HAVE + have;
        if (!urgent) {
            if (t == 0) {
                int panels;
                while ((panels = load_acquire(progress + j)) <= have)
                    if (failed()) {
                        panels = -1;
                        break;
                    }
                *now = panels;
            }
            __syncthreads();
        }
        const int end = urgent ? have + 1 : *now;
        constexpr int EACH = LETTER / COUNT;
#pragma unroll 1
        for (int b = have; b < end; ++b) {
            const Word* from = letter(j, b);
            Word x[EACH];
            for (;;) {
                bool missing = false;
#pragma unroll
                for (int q = 0; q < EACH; ++q) x[q] = load_relaxed(from + t + q * COUNT);
#pragma unroll
                for (int q = 0; q < EACH; ++q) missing |= (x[q] == NOTHING) & (t + q * COUNT >= 256 * b);
                if (!urgent || !missing) break;
                if (failed()) {
                    *now = -1;
                    break;
                }
            }
#pragma unroll
            for (int q = 0; q < EACH; ++q) {
                const int e = t + q * COUNT, r = e / 16, c = e % 16;
                double* to = r >= T ? inverses() + b * 256 + panel_at(r - T, c) : slabs + b * LPANEL + panel_at(r, c);
                *to = __longlong_as_double(x[q]);
            }
        }
    }
};

}  // namespace tile
