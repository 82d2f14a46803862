// Slabs of an operand in double precision, copied to shared memory while others are multiplied.
#pragma once
#include "copies.cuh"

namespace tile {

// Starts the copy of 16 or 8 bytes; copies zeros if not `on`.
__device__ __forceinline__ void copy16(unsigned to, const void* from, bool on) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from),
                 "r"(on ? 16 : 0)
                 : "memory");
}
__device__ __forceinline__ void copy8(unsigned to, const void* from, bool on) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(to), "l"(from),
                 "r"(on ? 8 : 0)
                 : "memory");
}

// One slab of an operand: SIZE lines, BK deep. Shared memory holds chunks of two elements. Their
// places are permuted so that neither copies nor reads of fragments have bank conflicts. Threads
// copy WIDE (one chunk at a time) or NARROW (one element, if chunks are not aligned). DOWN: slabs
// are read from the last to the first.
template <int SIZE, int BK, int THREADS, Layout LAYOUT, int ROWBITS, int ROWSHIFT, bool DOWN>
struct Slab {
    static constexpr int NARROW = 1, WIDE = 2;
    // How the threads share a slab, with UNIT elements per copy.
    template <int UNIT>
    struct Deal {
        static constexpr int ACROSS =
            (LAYOUT == LINES ? SIZE : BK) / UNIT;      // along the contiguous dimension
        static constexpr int STEP = THREADS / ACROSS;  // along the other, from part to part
        static constexpr int PARTS = SIZE * BK / UNIT / THREADS;
        static_assert(SIZE * BK / UNIT % THREADS == 0 && THREADS % ACROSS == 0, "");
        // The steps of a thread are permuted part by part as in `part_of`; all its lines alike.
        static_assert(LAYOUT == DEPTH ? STEP % 8 == 0 : STEP == 1 || STEP % 2 == 0, "");

        static __device__ __forceinline__ int across(int thread) { return thread % ACROSS * UNIT; }
        static __device__ __forceinline__ int down(int thread) { return thread / ACROSS; }
        static __device__ __forceinline__ unsigned place(int thread) {
            const int d = down(thread);
            return (d * (LAYOUT == LINES ? SIZE : BK) + (across(thread) ^ swizzle(d))) * 8;
        }
        static __device__ __forceinline__ unsigned part_of(unsigned to, int q) {
            return LAYOUT == LINES ? (to ^ (((q * STEP >> 1) & 3) << 5)) + q * STEP * SIZE * 8
                                   : to + q * STEP * BK * 8;
        }
    };

    const char* from;  // where this thread reads next
    i64 step;          // bytes from part to part
    unsigned place;    // byte offset of part 0 in a slab
    int lines;         // lines that exist
    bool plain;        // lines may be read 16 bytes at a time

    // The permutation of the elements of a line (or of a step): its exclusive or with the position
    // along it.
    static __device__ __forceinline__ int swizzle(int d) {
        return LAYOUT == LINES ? ((d >> 1) & 3) << 2
               : ROWBITS == 1  ? ((d >> ROWSHIFT) & 1) << 3
                               : ((d >> ROWSHIFT) & 3) << 2;
    }

    // Starts at lines from `first` on, of the `total` lines of an operand at p, and at depth k0.
    // ld: elements from line to line, or from step to step.
    __device__ __forceinline__ void start(const double* p, i64 ld, i64 first, i64 total, i64 k0) {
        const i64 left = total - first;
        lines = left < SIZE ? (int)left : SIZE;
        p += LAYOUT == LINES ? first + k0 * ld : first * ld + k0;
        // A chunk of two lines must not exceed the last line.
        plain = (((unsigned long long)p & 15) | (ld & 1) | (LAYOUT == LINES ? lines & 1 : 0)) == 0;
        using D = Deal<WIDE>;
        const int x = thread_again() & (THREADS - 1);
        from = reinterpret_cast<const char*>(p + D::down(x) * ld + D::across(x));
        step = D::STEP * ld * 8;
        place = D::place(x);
    }
    // Switches from wide to narrow copies.
    __device__ __forceinline__ void narrow() {
        using W = Deal<WIDE>;
        using N = Deal<NARROW>;
        const int x = thread_again() & (THREADS - 1);
        const i64 ld = step / W::STEP;
        from += (N::down(x) - W::down(x)) * ld + (N::across(x) - W::across(x)) * 8;
        step = N::STEP * ld;
        place = N::place(x);
    }
    // If `depth` steps of a slab exist, its parts below this number of STEPs do.
    template <int UNIT>
    __device__ __forceinline__ int limit(int depth) const {
        using D = Deal<UNIT>;
        const int x = thread_again() & (THREADS - 1);
        if (LAYOUT == LINES) return D::across(x) < lines ? depth - D::down(x) : 0;
        return D::across(x) < depth ? lines - D::down(x) : 0;
    }
    // Starts the copy of part q to a slab at `to`; copies zeros from the limit on.
    template <int UNIT>
    __device__ __forceinline__ void copy(unsigned to, int q, int limit) {
        using D = Deal<UNIT>;
        if (UNIT == WIDE) copy16(D::part_of(to + place, q), from, q * D::STEP < limit);
        else copy8(D::part_of(to + place, q), from, q * D::STEP < limit);
        from += step;
        if (q == D::PARTS - 1 && LAYOUT == DEPTH) from += (DOWN ? -BK : BK) * 8 - D::PARTS * step;
        if (q == D::PARTS - 1 && LAYOUT == LINES && DOWN) from -= 2 * D::PARTS * step;
    }
    // Moves the source by this number of slabs.
    template <int UNIT>
    __device__ __forceinline__ void skip(int slabs) {
        from += LAYOUT == LINES ? slabs * (Deal<UNIT>::PARTS * step) : (i64)slabs * BK * 8;
    }
};

}  // namespace tile
