// Rows of tiles, made by half blocks of a Cholesky factorization in tiles.
#pragma once
#include "tile_board.cuh"

namespace tile {

// What is made of a tile: a part of what is left of it, in its place; L's; L's for a scout, whose other half waits for each panel.
enum Kind { PREPARED, FINAL, FINAL_FOR_OTHERS };
constexpr int SOLVED_BARRIER = 3;  // + b: panel b of a scout's tile is made

// A tile in the hands of half a block.
template <Layout LAYOUT>
struct Maker : Crew<LAYOUT, 1, 2> {
    using Base = Crew<LAYOUT, 1, 2>;
    using typename Base::P;
    using Base::board, Base::slabs, Base::word, Base::thread, Base::sync;
    double* image;  // shared: a diagonal tile as mailed

    static constexpr int BYTES = P::BYTES + PANELS * LETTER * 8;

    // Starts the copies of panels `have` to `end` of diagonal tile j from the mail.
    __device__ __forceinline__ void copy_diagonal(int j, int have, int end) const {
#pragma unroll 1
        for (int b = have; b < end; ++b) {
            const unsigned to = shared_address(image + b * LETTER) + thread() * 16;
            const char* from = reinterpret_cast<const char*>(board.letter(j, b)) + thread() * 16;
#pragma unroll
            for (int q = 0; q < LETTER / 2 / CREW_SIZE; ++q) copy16(to + q * CREW_SIZE * 16, from + q * CREW_SIZE * 16, true);
        }
        copies_commit();
    }
    // Waits for panels of diagonal tile j beyond the first `have`, and for their copies: how many there are, or -1 after a failure.
    __device__ __forceinline__ int fetch(int j, int have) const {
        const int end = this->await_flag(board.progress + j, have + 1);
        if (end < 0) return -1;
        copy_diagonal(j, have, end);
        copies_wait<0>();
        sync();
        return end;
    }
    // The tile's accumulators to panels.
    __device__ __forceinline__ void deal(const typename P::Acc& acc) const {
        const int lane = threadIdx.x & 31, g = lane >> 2, t = lane & 3;
        const int wm = P::warp_row(thread()), wn = P::warp_col(thread());
#pragma unroll
        for (int x = 0; x < P::FM; ++x)
#pragma unroll
            for (int y = 0; y < P::FN; ++y)
#pragma unroll
                for (int e = 0; e < 4; ++e) {
                    const int r = wm + x * 16 + 2 * g + (e & 1), c = wn + y * 16 + (e >> 1) * 8 + 2 * t;
                    const double(&four)[4] = acc[x][y][e >> 1];
                    *reinterpret_cast<double2*>(slabs + c / 16 * PANEL + panel_at(r, c % 16)) =
                        make_double2(four[2 * (e & 1)], four[2 * (e & 1) + 1]);
                }
    }
    // The tile's accumulators, negated, to its place.
    __device__ __forceinline__ void put(const typename P::Acc& acc, int i, int j) const {
        const int lane = threadIdx.x & 31, g = lane >> 2, t = lane & 3;
        const i64 r0 = (i64)i * T + P::warp_row(thread()) + 2 * g, c0 = (i64)j * T + P::warp_col(thread()) + 2 * t;
        double* to = board.a + board.offset(r0, c0);
#pragma unroll
        for (int x = 0; x < P::FM; ++x)
#pragma unroll
            for (int y = 0; y < P::FN; ++y)
#pragma unroll
                for (int e = 0; e < 8; ++e) {
                    const int r = x * 16 + ((e >> 1) & 1), c = y * 16 + (e >> 2) * 8 + (e & 1);
                    store_if(r0 + r < board.n && r0 + r >= c0 + c, to + board.offset(r, c), negated(acc[x][y][e >> 2][e & 3]));
                }
    }
    // The tile's panels, from what is left of them, divided by diagonal tile j, of which `have` panels have been fetched. Returns
    // how many; fewer than all after a failure.
    __device__ __forceinline__ int solve(Kind kind, int i, int j, int have) const {
        const int r0 = thread() / 32 * 16;
#pragma unroll 1
        for (int b = 0; b < PANELS; ++b) {
            Block x, rest;
            double* letter = image + b * LETTER;
            if (kind == FINAL_FOR_OTHERS) {
                subtract_panels(rest, slabs, image, LETTER, b, r0);
                if (!this->template take_letter<LETTER / 2 / CREW_SIZE>(board.letter(j, b), letter, b * INVERSE / 2)) return b;
            } else {
                if (have == b && (have = fetch(j, b)) < 0) return b;
                subtract_panels(rest, slabs, image, LETTER, b, r0);
            }
            divide_block(x, rest, slabs + b * PANEL, letter, letter + PANEL, r0, 16 * b);
            if (kind == FINAL_FOR_OTHERS) barrier_arrive(SOLVED_BARRIER + b, THREADS);
            board.put_block(x, i, j, b, r0);
        }
        return PANELS;
    }
    // Tile (i, j), from what was prepared of it: columns of tiles from `first` to `last` are subtracted. Returns how many of its
    // panels were made.
    __device__ __forceinline__ int make(Kind kind, int i, int j, int first, int last) const {
        if (first > 0 && this->await_flag(board.flag(i, j), 0) < 0) return 0;
        typename P::Acc acc;
        this->start(acc, i, j);
        int have = 0;
        if (kind == FINAL) {
            if (thread() == 0) word[1] = load_acquire(board.progress + j);
            sync();
            if (word[1] == PANELS) copy_diagonal(j, 0, have = PANELS);
        }
        if (!this->accumulate(acc, i, j, first, last)) return 0;
        int made = PANELS;
        if (kind == PREPARED) {
            put(acc, i, j);
        } else {
            deal(acc);
            copies_wait<0>();
            sync();
            made = solve(kind, i, j, have);
        }
        sync();
        if (made == PANELS && thread() == 0) store_release(board.flag(i, j), kind == PREPARED ? 0 : 1);
        return made;
    }
};

// A block that makes the row of tiles before the leader takes it over: tile (i, i - 2) of L by its first half; what is left of
// (i, i - 1) and (i, i), for the leader, by its second.
template <Layout LAYOUT>
struct Scout {
    using Second = Crew<LAYOUT, 2, 1>;
    using Wide = typename Second::P;
    static constexpr int BYTES = Maker<LAYOUT>::BYTES + Wide::BYTES;
    const Board<LAYOUT>& board;
    double* shared;

    __device__ __forceinline__ static int prepared(int i) { return max(i - AHEAD, 0); }

    __device__ __forceinline__ bool first_half(int i) const {
        if (i < 2) return true;
        const Maker<LAYOUT> maker{{board, shared, board.word + CREW_WORDS}, shared + Maker<LAYOUT>::P::BYTES / 8};
        int made = maker.make(FINAL_FOR_OTHERS, i, i - 2, prepared(i), i - 2);
        if (made == PANELS) return true;
        // The other half must not wait for ever.
        if (threadIdx.x == 0) board.word[FAILED] = made + 1;
        maker.sync();
        for (; made < PANELS; ++made) barrier_arrive(SOLVED_BARRIER + made, THREADS);
        return false;
    }

    // Columns of tile WHICH of acc += Y X', Y and X 64 rows of a panel, unless there is none; then, `last`, they go to the mail.
    template <int WHICH>
    __device__ __forceinline__ void subtract(typename Wide::Acc& acc, const double* y_panel, const double* x_panel, bool some,
                                             bool last, int i) const {
        const int lane = threadIdx.x & 31, g = lane >> 2, t = lane & 3, wm = Wide::warp_row(Second::thread());
        auto pair = [&](const double* panel, int row, int half) {
            return *reinterpret_cast<const double2*>(panel + panel_at(row, 8 * half + 2 * t));
        };
        // Rows 2g and 2g + 1, as the accumulators of a product are dealt.
        double fa[2][4];
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const double2 u = pair(y_panel, wm + 2 * g, half), v = pair(y_panel, wm + 2 * g + 1, half);
            fa[half][0] = u.x, fa[half][1] = v.x, fa[half][2] = u.y, fa[half][3] = v.y;
        }
#pragma unroll
        for (int q = 0; q < PANELS; ++q) {
            double(&block)[2][4] = acc[0][WHICH * PANELS + q];
            if (some)
#pragma unroll
                for (int half = 0; half < 2; ++half)
#pragma unroll
                    for (int h = 0; h < 2; ++h) {
                        const double2 w = pair(x_panel, q * 16 + 8 * h + g, half);
                        const double fb[2] = {w.x, w.y};
                        mma_16x8x8(block[h], fa[half], fb);
                    }
            if (last)
#pragma unroll
                for (int e = 0; e < 4; ++e)
                    mail_pair(board.rest_letter(i, WHICH, q) + panel_at(wm + 2 * g + (e & 1), (e >> 1) * 8 + 2 * t),
                              block[e >> 1][2 * (e & 1)], block[e >> 1][2 * (e & 1) + 1]);
        }
    }
    __device__ __forceinline__ bool second_half(int i) const {
        const Second half{board, shared + Maker<LAYOUT>::BYTES / 8, board.word + CREW_WORDS + 2};
        const int columns = prepared(i);
        typename Wide::Acc acc;
        if (columns > 0) {
            if (half.await_flag(board.flag(i, i - 1), 0) < 0) return false;
            half.sync();
            if (half.await_flag(board.flag(i, i), 0) < 0) return false;
        }
        half.start(acc, i, i - 1);
        if (!half.accumulate(acc, i, i - 1, columns, i - 2)) return false;
#pragma unroll 1
        for (int b = i < 2 ? PANELS - 1 : 0; b < PANELS; ++b) {
            const double* y_panel = shared + b * PANEL;
            double* x_panel = half.slabs + b * PANEL;
            if (i >= 2) {
                if (!half.template take_letter<PANEL / 2 / CREW_SIZE>(board.left_letter(i - 2, b), x_panel, 0)) return false;
                barrier_sync(SOLVED_BARRIER + b, THREADS);
                if (board.word[FAILED] > 0 && board.word[FAILED] <= b + 1) return false;
            }
            subtract<0>(acc, y_panel, x_panel, i >= 2, b == PANELS - 1, i);
            subtract<1>(acc, y_panel, y_panel, i >= 2, b == PANELS - 1, i);
        }
        return true;
    }

    __device__ __forceinline__ void run(int first, int step) const {
        if (threadIdx.x == 0) board.word[FAILED] = 0;
        __syncthreads();
        for (int i = first; i < board.tiles; i += step) {
            const bool fine = threadIdx.x < CREW_SIZE ? first_half(i) : second_half(i);
            if (!__syncthreads_and(fine)) return;
        }
    }
};

}  // namespace tile
