// arch: sm_80 sm_90
// What the blocks of one Cholesky factorization share: the matrix in tiles, the flags of final
// tiles, the mailbox.
#pragma once
#include "tile_panel.cuh"
#include "tile_sync.cuh"

namespace tile {

constexpr int THREADS = 256;
constexpr int CREW_SIZE = THREADS / 2;  // threads of half a block
#if __CUDA_ARCH__ >= 900
constexpr int STAGES = 4;
#else
constexpr int STAGES = 2;
#endif

// The mailbox has the messages of the owners of rows, one per panel, laid out as panels are in
// shared memory. All bits are set at the start. No number that is written has all bits set, so a
// number shows that it has arrived.
//
// For tile row i: the panels of diagonal tile L(i, i), zero above the diagonal, each followed by
// the inverse of its diagonal block; then the panels of L(i + 1, i).
constexpr int PANEL = T * 16, INVERSE = 16 * 16;  // doubles
constexpr int LETTER = PANEL + INVERSE;
constexpr int LEFT_MAIL = PANELS * LETTER, MAIL = LEFT_MAIL + PANELS * PANEL;
constexpr Word NOTHING = ~0ull;

// The products of so many tiles are summed before they are subtracted. A sum that starts with a
// large entry of A is rounded at its size for every term.
constexpr int SUMMED = 8;

// Tile columns for which a row of tiles is prepared before its owner takes over.
constexpr int AHEAD = 8;

// Words of the block.
enum { FAILED = 0, ORDINARY, CREW_WORDS = ORDINARY + 2, WORDS = CREW_WORDS + 4 };

// The block's shared memory.
__device__ __forceinline__ int* block_words() {
    __shared__ int words[WORDS];
    return words;
}
__device__ __forceinline__ double* block_memory() {
    extern __shared__ __align__(128) double memory[];
    return memory;
}

__device__ __forceinline__ Word letters(double x) {
    const int high = __double2hiint(x), low = __double2loint(x);
    // A number with the bits of NOTHING becomes another NaN.
    return (Word)(unsigned)((high & low) == -1 ? 0x7fffffff : high) << 32 | (unsigned)low;
}
__device__ __forceinline__ void mail_pair(double* to, double x, double y) {
    store_relaxed(reinterpret_cast<Word*>(to), letters(x), letters(y));
}

// A warp writes 16 rows of a panel to a message.
__device__ __forceinline__ void mail_block(const Block& x, double* to, int r0) {
    const int lane = threadIdx.x & 31, g = lane >> 2, c = 2 * (lane & 3);
#pragma unroll
    for (int e = 0; e < 4; ++e)
        mail_pair(to + panel_at(r0 + 8 * (e & 1) + g, 8 * (e >> 1) + c), x[e >> 1][2 * (e & 1)],
                  x[e >> 1][2 * (e & 1) + 1]);
}

template <Layout LAYOUT>
struct Board {
    i64 n, ld;
    double* a;
    int* info;      // greater than 0: the order of the first leading minor that is not positive
    int* progress;  // [i]: how many panels of diagonal tile i are in the mailbox
    // [i * tiles + k]: 1 if tile (i, k) of L is final, 0 if it is prepared for an owner, negative
    // before.
    int* done;
    double* mailbox;
    int tiles;
    int* word;  // shared

    __device__ __forceinline__ i64 offset(i64 r, i64 c) const {
        return LAYOUT == LINES ? r + c * ld : r * ld + c;
    }
    __device__ __forceinline__ bool failed() const { return load_acquire(info) > 0; }
    __device__ __forceinline__ int* flag(int i, int k) const { return done + (i64)i * tiles + k; }
    __device__ __forceinline__ double* letter(int i, int b) const {
        return mailbox + (i64)i * MAIL + b * LETTER;
    }
    __device__ __forceinline__ double* left_letter(int i, int b) const {
        return mailbox + (i64)i * MAIL + LEFT_MAIL + b * PANEL;
    }

    // Rows r0 to r0 + 15 of panel b of tile (i, j) <- x, by a warp.
    __device__ __forceinline__ void put_block(const Block& x, int i, int j, int b, int r0) const {
        const int lane = threadIdx.x & 31, g = lane >> 2, t = lane & 3;
        const i64 row = (i64)i * T + r0 + g, column = (i64)j * T + 16 * b + 2 * t;
        double* to = a + offset(row, column);
#pragma unroll
        for (int e = 0; e < 8; ++e) {
            const int r = (e >> 1 & 1) * 8, c = (e >> 2) * 8 + (e & 1);
            store_if(row + r < n && column + c < n, to + offset(r, c), x[e >> 2][e & 3]);
        }
    }
};

// Half a block, which computes a tile of single or double width while the other half works
// separately. Its warps form WARPS_N columns.
template <Layout LAYOUT, int WIDTH, int WARPS_N>
struct Crew {
    using P = Product<T, WIDTH * T, STAGES, 4 / WARPS_N, WARPS_N, LAYOUT, LAYOUT, false, CREW>;
    static_assert(P::THREADS == CREW_SIZE && P::BYTES >= PANEL * PANELS * 8, "");

    const Board<LAYOUT>& board;
    double* slabs;  // shared: slabs of products, then panels
    int* word;      // shared: two words

    static __device__ __forceinline__ int thread() { return threadIdx.x & (CREW_SIZE - 1); }
    static __device__ __forceinline__ void sync() { crew_sync<CREW_SIZE>(); }

    // Waits until a flag of the scoreboard is at least `least`. Returns the flag, or -1 after a
    // failure. Callers meet before the next call.
    __device__ __forceinline__ int await_flag(const int* flag, int least) const {
        if (thread() == 0) {
            int now;
            for (int asked = 1; (now = load_acquire(flag)) < least; ++asked)
                if (asked % 8 == 0 && board.failed()) break;
            word[1] = now < least ? -1 : now;
        }
        sync();
        return word[1];
    }
    // Waits until tiles (i, k), (j, k) and for double width (j + 1, k) are final for k = first.
    // Returns the k up to which they are, at most `last`, or -1 after a failure.
    __device__ __forceinline__ int await_tiles(int i, int j, int first, int last) const {
        if (thread() < 32) {
            int upto = -1;
            for (int asked = 1;; ++asked) {
                const int k = min(first + thread(), last - 1);
                const int x = load_acquire(board.flag(i, k)), y = load_acquire(board.flag(j, k));
                const bool ready = first + thread() < last && min(x, y) > 0;
                const unsigned good = __ballot_sync(0xffffffffu, ready);
                if (good & 1) {
                    upto = first + (good == 0xffffffffu ? 32 : __ffs(~good) - 1);
                    break;
                }
                if (asked % 8 == 0 && __any_sync(0xffffffffu, board.failed())) break;
            }
            if (thread() == 0) word[0] = upto;
        }
        sync();
        return word[0];
    }
    // 256 EACH doubles of a message from number 256 `skip` on: requested, and written to shared
    // memory when they arrive. Returns false after a failure. Threads meet when all have theirs.
    template <int EACH>
    struct Letter {
        static_assert(CREW_SIZE == 128, "a pair to a thread");
        Word x[EACH][2];

        __device__ __forceinline__ void ask(const double* letter, int skip) {
            const Word* from = reinterpret_cast<const Word*>(letter) + 2 * thread();
#pragma unroll
            for (int q = 0; q < EACH; ++q)
                if (q >= skip) load_relaxed(from + 2 * q * CREW_SIZE, x[q][0], x[q][1]);
        }
        __device__ __forceinline__ bool take(const Crew& crew, const double* letter, double* to,
                                             int skip) {
            bool fine = true;
            for (int asked = 1;; ++asked) {
                bool missing = false;
#pragma unroll
                for (int q = 0; q < EACH; ++q)
                    missing |= q >= skip && (x[q][0] == NOTHING || x[q][1] == NOTHING);
                if (!missing || (asked % 16 == 0 && !(fine = !crew.board.failed()))) break;
                ask(letter, skip);
            }
#pragma unroll
            for (int q = 0; q < EACH; ++q)
                if (q >= skip)
                    *reinterpret_cast<double2*>(to + 2 * (thread() + q * CREW_SIZE)) =
                        make_double2(__longlong_as_double(x[q][0]), __longlong_as_double(x[q][1]));
            return all(fine);
        }
    };
    // Whether the condition holds in all threads of the crew, which meet here.
    static __device__ __forceinline__ bool all(bool fine) {
        int found;
        asm volatile(
            "{ .reg .pred p, q; setp.ne.b32 p, %1, 0; barrier.cta.red.and.pred q, %2, %3, p; "
            "selp.b32 %0, 1, 0, q; }"
            : "=r"(found)
            : "r"((int)fine), "r"(threadIdx.x / CREW_SIZE + 1), "n"(CREW_SIZE)
            : "memory");
        return found != 0;
    }
    // x <- A for a thread with 16 columns from column 16 b of tile (i, j) on, in the x-th 16 rows
    // of its warp: the lower triangle, with ones on the diagonal beyond the matrix.
    __device__ __forceinline__ void load_matrix(double* entry, int i, int j, int b,
                                                int x = 0) const {
        const int lane = threadIdx.x & 31, g = lane >> 2, t = lane & 3;
        const i64 r0 = (i64)i * T + P::warp_row(thread()) + x * 16 + 2 * g,
                  c0 = (i64)j * T + 16 * b + 2 * t;
#pragma unroll
        for (int e = 0; e < 8; ++e) {
            const i64 r = r0 + ((e >> 1) & 1), c = c0 + (e >> 2) * 8 + (e & 1);
            const bool exists = r < board.n && r >= c && c >= 0;
            entry[e] = load_if(exists, board.a + board.offset(r, c), r == c ? 1 : 0);
        }
    }
    // acc += L L' for rows of tiles i and j (and j + 1), over tile columns from `first` to `last`
    // as these become final. Returns false after a failure.
    __device__ __forceinline__ bool accumulate(typename P::Acc& acc, int i, int j, int first,
                                               int last) const {
        for (int k = first; k < last;) {
            const int upto = await_tiles(i, j, k, last);
            if (upto < 0) return false;
            P p;
            p.sa.start(board.a, board.ld, (i64)i * T, board.n, (i64)k * T);
            p.sb.start(board.a, board.ld, (i64)j * T, board.n, (i64)k * T);
            p.begin(slabs, (i64)(upto - k) * T);
            p.run(acc, slabs);
            k = upto;
        }
        return true;
    }
};

}  // namespace tile
