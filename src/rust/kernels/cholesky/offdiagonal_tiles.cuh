// Tiles computed by half blocks of a Cholesky factorization in tiles.
#pragma once
#include "tile_scoreboard.cuh"

namespace tile {

// What a task computes: a partial remainder of a tile, in place, or the tile of L.
enum Kind { PREPARED, FINAL };

// Half a block, which computes a tile.
template <Layout LAYOUT>
struct Maker : Crew<LAYOUT, 1, 2> {
    using Base = Crew<LAYOUT, 1, 2>;
    using Base::board, Base::slabs, Base::word, Base::thread, Base::sync;
    using typename Base::P;
    double* image;  // shared: a diagonal tile as sent

    static constexpr int BYTES = P::BYTES + PANELS * LETTER * 8;

    // Starts the copies of panels `have` to before `end` of diagonal tile j from its messages.
    __device__ __forceinline__ void copy_diagonal(int j, int have, int end) const {
#pragma unroll 1
        for (int b = have; b < end; ++b) {
            const unsigned to = shared_address(image + b * LETTER) + thread() * 16;
            const char* from = reinterpret_cast<const char*>(board.letter(j, b)) + thread() * 16;
#pragma unroll
            for (int q = 0; q < LETTER / 2 / CREW_SIZE; ++q)
                copy16(to + q * CREW_SIZE * 16, from + q * CREW_SIZE * 16, true);
        }
        copies_commit();
    }
    // Waits for panels of diagonal tile j beyond the first `have`, and for their copies. Returns
    // how many panels there are, or -1 after a failure.
    __device__ __forceinline__ int fetch(int j, int have) const {
        const int end = this->await_flag(board.progress + j, have + 1);
        if (end < 0) return -1;
        copy_diagonal(j, have, end);
        copies_wait<0>();
        sync();
        return end;
    }
    static __device__ __forceinline__ void add(typename P::Acc& total, const typename P::Acc& acc) {
#pragma unroll
        for (int x = 0; x < P::FM; ++x)
#pragma unroll
            for (int y = 0; y < P::FN; ++y) block_add(total[x][y], acc[x][y]);
    }
    // Writes the tile's accumulators to panels.
    __device__ __forceinline__ void deal(const typename P::Acc& acc) const {
        const int lane = threadIdx.x & 31, g = lane >> 2, t = lane & 3;
        const int wm = P::warp_row(thread()), wn = P::warp_col(thread());
#pragma unroll
        for (int x = 0; x < P::FM; ++x)
#pragma unroll
            for (int y = 0; y < P::FN; ++y)
#pragma unroll
                for (int e = 0; e < 4; ++e) {
                    const int r = wm + x * 16 + 2 * g + (e & 1),
                              c = wn + y * 16 + (e >> 1) * 8 + 2 * t;
                    const double(&four)[4] = acc[x][y][e >> 1];
                    *reinterpret_cast<double2*>(slabs + c / 16 * PANEL + panel_at(r, c % 16)) =
                        make_double2(four[2 * (e & 1)], four[2 * (e & 1) + 1]);
                }
    }
    // Writes the tile's negated accumulators to the matrix.
    __device__ __forceinline__ void put(const typename P::Acc& acc, int i, int j) const {
        const int lane = threadIdx.x & 31, g = lane >> 2, t = lane & 3;
        const i64 r0 = (i64)i * T + P::warp_row(thread()) + 2 * g,
                  c0 = (i64)j * T + P::warp_col(thread()) + 2 * t;
        double* to = board.a + board.offset(r0, c0);
#pragma unroll
        for (int x = 0; x < P::FM; ++x)
#pragma unroll
            for (int y = 0; y < P::FN; ++y)
#pragma unroll
                for (int e = 0; e < 8; ++e) {
                    const int r = x * 16 + ((e >> 1) & 1), c = y * 16 + (e >> 2) * 8 + (e & 1);
                    store_if(r0 + r < board.n && r0 + r >= c0 + c, to + board.offset(r, c),
                             negated(acc[x][y][e >> 2][e & 3]));
                }
    }
    // Divides the tile's panels by diagonal tile j, of which `have` panels have arrived. Returns
    // false after a failure.
    __device__ __forceinline__ bool solve(int i, int j, int have) const {
        const int r0 = thread() / 32 * 16;
#pragma unroll 1
        for (int b = 0; b < PANELS; ++b) {
            Block x, rest;
            const double* letter = image + b * LETTER;
            if (have == b && (have = fetch(j, b)) < 0) return false;
            subtract_panels(rest, slabs, image, LETTER, b, r0);
            divide_block(x, rest, slabs + b * PANEL, letter, letter + PANEL, r0, 16 * b);
            board.put_block(x, i, j, b, r0);
        }
        return true;
    }
    // The negated remainder of tile (i, j): adds the products of tile columns from `first` to
    // `last` to the prepared part. Returns false after a failure.
    __device__ __forceinline__ bool sum(typename P::Acc& total, int i, int j, int first,
                                        int last) const {
        if (first > 0 && this->await_flag(board.flag(i, j), 0) < 0) return false;
#pragma unroll
        for (int x = 0; x < P::FM; ++x)
#pragma unroll
            for (int y = 0; y < P::FN; ++y) {
                double entry[8];
                this->load_matrix(entry, i, j, P::warp_col(thread()) / 16 + y, x);
#pragma unroll
                for (int e = 0; e < 8; ++e) total[x][y][e >> 2][e & 3] = negated(entry[e]);
            }
        for (int k = first; k < last; k += SUMMED) {
            typename P::Acc acc;
            P::clear(acc);
            if (!this->accumulate(acc, i, j, k, min(k + SUMMED, last))) return false;
            add(total, acc);
        }
        return true;
    }
    // Computes tile (i, j), with products of tile columns before `last`. Returns false after a
    // failure.
    __device__ __forceinline__ bool make(Kind kind, int i, int j, int last) const {
        typename P::Acc acc;
        int have = 0;
        if (kind == FINAL) {
            if (thread() == 0) word[1] = load_acquire(board.progress + j);
            sync();
            if (word[1] == PANELS) copy_diagonal(j, 0, have = PANELS);
        }
        if (!sum(acc, i, j, 0, last)) return false;
        if (kind == PREPARED) {
            put(acc, i, j);
        } else {
            deal(acc);
            copies_wait<0>();
            sync();
            if (!solve(i, j, have)) return false;
        }
        sync();
        if (thread() == 0) store_release(board.flag(i, j), kind == PREPARED ? 0 : 1);
        return true;
    }
};

}  // namespace tile
