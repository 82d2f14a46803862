// Slabs of an operand in single precision, copied to shared memory while others are multiplied.
#pragma once
#include "copies.cuh"

namespace tile {

// Copies 16 bytes, or 4, if `on`.
__device__ __forceinline__ void copy16(unsigned to, const void* from, bool on) {
    asm volatile(
        "{ .reg .pred p; setp.ne.b32 p, %2, 0; @p cp.async.cg.shared.global [%0], [%1], 16; }" ::
            "r"(to),
        "l"(from), "r"((int)on)
        : "memory");
}
__device__ __forceinline__ void copy4(unsigned to, const void* from, bool on) {
    asm volatile(
        "{ .reg .pred p; setp.ne.b32 p, %2, 0; @p cp.async.ca.shared.global [%0], [%1], 4; }" ::"r"(
            to),
        "l"(from), "r"((int)on)
        : "memory");
}
// Copies 4 bytes; writes zeros if not `on`.
__device__ __forceinline__ void copy4_or_zero(unsigned to, const void* from, bool on) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from),
                 "r"(on ? 4 : 0)
                 : "memory");
}

// An addition that the compiler does not transform. It would otherwise keep the offset of each part
// from a common start in a register.
__device__ __forceinline__ void move(const char*& p, i64 by) {
    asm volatile("add.s64 %0, %0, %1;" : "+l"(p) : "l"(by));
}

// One slab of an operand: SIZE lines, BK deep. Shared memory holds one step after the other, PITCH
// elements apart, so that a thread reads four lines of a step at once.
//
// If the depth is contiguous, a warp moves single elements, eight steps of four lines. PITCH is
// then four more than a multiple of 32, so that these go to different banks.
//
// WIDE copies move 16 bytes of lines, or any element of a slab whose lines all exist. NARROW copies
// move one element, if lines are missing or not aligned.
template <int SIZE, int BK, int THREADS, Layout LAYOUT>
struct Slab {
    static constexpr int NARROW = 1, WIDE = 4;
    static constexpr int PITCH = LAYOUT == DEPTH ? SIZE + 4 : SIZE;
    static constexpr int FLOATS = PITCH * BK;

    // How the threads share a slab. The parts of a thread go along the depth first, then across
    // lines.
    template <int MODE>
    struct Deal {
        static constexpr int UNIT = LAYOUT == LINES ? MODE : 1;  // elements per copy
        static constexpr int ACROSS =
            LAYOUT == LINES ? SIZE / UNIT : 8;         // threads along the contiguous dimension
        static constexpr int STEP = THREADS / ACROSS;  // along the other, from part to part
        static constexpr int TURNS =
            LAYOUT == LINES ? 1 : BK / ACROSS;  // parts along the contiguous dimension
        static constexpr int PARTS = SIZE * BK / UNIT / THREADS;
        static_assert(SIZE * BK / UNIT % THREADS == 0 && THREADS % ACROSS == 0 &&
                          PARTS % TURNS == 0,
                      "");

        static __device__ __forceinline__ int across(int thread) { return thread % ACROSS * UNIT; }
        static __device__ __forceinline__ int down(int thread) { return thread / ACROSS; }
        static __device__ __forceinline__ unsigned place(int thread) {
            return (LAYOUT == LINES ? down(thread) * PITCH + across(thread)
                                    : across(thread) * PITCH + down(thread)) *
                   4;
        }
        // Bytes from the place of part 0 to that of part q, and from its source along the
        // contiguous dimension.
        static constexpr int place_of(int q) {
            return LAYOUT == LINES ? q * STEP * PITCH * 4
                                   : (q % TURNS * ACROSS * PITCH + q / TURNS * STEP) * 4;
        }
        static constexpr int turn_of(int q) { return q % TURNS * ACROSS * 4; }
    };

    const char* from;  // where this thread reads next
    i64 step;          // bytes from part to part that is not a turn
    unsigned place;    // byte offset of part 0 in a slab
    int lines;         // lines that exist
    bool plain;        // may be copied WIDE

    // Starts at lines from `first` on, of the `total` lines of an operand at p, and at depth k0.
    // ld: elements from line to line, or from step to step.
    __device__ __forceinline__ void start(const float* p, i64 ld, i64 first, i64 total, i64 k0) {
        using D = Deal<WIDE>;
        const i64 left = total - first;
        lines = left < SIZE ? (int)left : SIZE;
        p += LAYOUT == LINES ? first + k0 * ld : first * ld + k0;
        step = D::STEP * ld * 4;
        plain =
            lines == SIZE && (LAYOUT == DEPTH || (((unsigned long long)p & 15) | (ld & 3)) == 0);
        const int x = thread_again();
        from = reinterpret_cast<const char*>(p + D::down(x) * ld + D::across(x));
        place = D::place(x);
    }
    // Switches from wide to narrow copies.
    __device__ __forceinline__ void narrow() {
        using W = Deal<WIDE>;
        using N = Deal<NARROW>;
        const int x = thread_again();
        const i64 ld = step / W::STEP;
        from += (N::down(x) - W::down(x)) * ld + (N::across(x) - W::across(x)) * 4;
        step = N::STEP * ld;
        place = N::place(x);
    }
    // What is copied: everything (WIDE), or parts whose number of STEPs is below a limit (NARROW).
    template <int MODE>
    __device__ __forceinline__ int limit() const {
        using D = Deal<MODE>;
        if (MODE == WIDE) return 1;
        const int x = thread_again();
        return LAYOUT == DEPTH ? max(lines - D::down(x), 0) : D::across(x) < lines ? SIZE * BK : 0;
    }
    // Starts the copy of part q to a slab at `to`; parts follow one another. WIDE: unless the limit
    // is 0. NARROW: zeros from the limit on.
    template <int MODE>
    __device__ __forceinline__ void copy(unsigned to, int q, int limit) {
        using D = Deal<MODE>;
        const unsigned at = to + place + D::place_of(q);
        const char* source = from + D::turn_of(q);
        if (LAYOUT == LINES && MODE == WIDE) copy16(at, source, limit != 0);
        else copy4(at, source, MODE == WIDE ? limit != 0 : q / D::TURNS * D::STEP < limit);
        if (q == D::PARTS - 1 && LAYOUT == DEPTH) move(from, back<MODE>());
        else if (q % D::TURNS == D::TURNS - 1) move(from, step);
    }
    // Bytes from the last part of a slab to the first part of the next one, if the depth is
    // contiguous.
    template <int MODE>
    __device__ __forceinline__ i64 back() const {
        using D = Deal<MODE>;
        return BK * 4 - (D::PARTS / D::TURNS - 1) * step;
    }
    // Copies `depth` steps of the slab after `skip` others, and fills the rest with zeros.
    __device__ __forceinline__ void copy_partial(unsigned to, bool wide, int skip,
                                                 int depth) const {
        using D = Deal<NARROW>;
        Slab s = *this;
        if (wide) s.narrow();
        s.from += LAYOUT == LINES ? skip * D::PARTS * s.step : (i64)skip * BK * 4;
        const int x = thread_again();
#pragma unroll 1
        for (int q = 0; q < D::PARTS; ++q) {
            const int line = LAYOUT == LINES ? D::across(x) : D::down(x) + q / D::TURNS * D::STEP;
            const int at = LAYOUT == LINES ? D::down(x) + q * D::STEP
                                           : D::across(x) + q % D::TURNS * D::ACROSS;
            copy4_or_zero(to + s.place + D::place_of(q),
                          s.from + s.step * (q / D::TURNS) + D::turn_of(q),
                          line < lines && at < depth);
        }
    }
};

}  // namespace tile
