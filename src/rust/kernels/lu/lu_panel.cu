// arch: sm_90
// A panel of the LU factorization with partial pivoting, by one cluster of blocks and one launch.
//
// The panel stays in registers, some columns at a time. Rows stay in place until the end. For each
// column every block finds its largest candidate and sends it, with the rest of its row, to the
// mailboxes of all blocks. All choose the same pivot and eliminate. No step waits for memory:
// entries of L and U go to `work`, where rows keep their first places. Before the next columns are
// taken up the blocks meet and update them (lu_rows.cuh).
//
// A warp has 32 rows in each of SETS sets. A lane is responsible for one row, and holds every
// fourth column of four rows, since reading a number from shared memory to all lanes costs as much
// as four products.
#include "lu_candidate.cuh"

namespace {

// Columns c0 to c0 + w - 1, by the warps with rows.
template <typename T, int THREADS, int SLOTS, int SETS>
__device__ __forceinline__ void eliminate(const Panel<T, THREADS, SLOTS>& p, int c0, int w,
                                          Rows<T, SETS>& at, T (&x)[SETS][4][SLOTS]) {
    constexpr int ENTRIES = THREADS / 32;
    Shared<T, THREADS, SLOTS>& s = p.s;
    const int lane = p.lane, part = lane % PARTS;
    T v[SETS][4];  // the present column, of four rows
#pragma unroll
    for (int h = 0; h < SETS; ++h)
#pragma unroll
        for (int q = 0; q < 4; ++q) v[h][q] = __shfl_sync(ALL, x[h][q][0], lane & ~3);
    Candidate<T> own = candidate(v, at, c0, part);
    s.keys[c0 & 1][p.t] = own.choice.high;
#pragma unroll 1
    for (int group = c0; group < c0 + w; group += PARTS) {
#pragma unroll 1
        for (int j = group; j < min(group + PARTS, c0 + w); ++j) {
            const int parity = j & 1, turn = j % PARTS;
            T inverse = rounded_reciprocal(own.value);
            keep(inverse);
            __syncthreads();
            // The block's largest candidate, by the high words of all its candidates.
            unsigned keys[ENTRIES], top = 0;
#pragma unroll
            for (int i = 0; i < ENTRIES; ++i)
                keys[i] = s.keys[parity][lane * ENTRIES + i], top = max(top, keys[i]);
            const unsigned largest = __reduce_max_sync(ALL, top);
            int equal = 0;
#pragma unroll
            for (int i = 0; i < ENTRIES; ++i) equal += keys[i] == largest;
            const unsigned lanes = __ballot_sync(ALL, equal > 0);
            const bool twice = __any_sync(ALL, equal > 1);
            unsigned mine = __ballot_sync(ALL, own.choice.high == largest);
            if (__builtin_expect(twice || (lanes & (lanes - 1)), 0)) {
                // Several are equal so far, or there is none.
                s.tied[p.t] = own.choice;
                asm volatile("bar.sync 1, %0;" ::"n"(THREADS) : "memory");
                Choice c = s.tied[lane];
#pragma unroll 1
                for (int i = 32; i < THREADS; i += 32) c = better(c, s.tied[i + lane]);
                const int place = __shfl_sync(ALL, c.place, best_lane(c));
                mine = __ballot_sync(ALL, largest == 0 ? p.t == 0 : own.choice.place == place);
            }
            if (mine) {
                // The warp with the candidate writes its row, by the four lanes that share it; the
                // clerks send it.
                const int leader = __ffs(mine) - 1,
                          set = SETS > 1 ? __shfl_sync(ALL, own.set, leader) : 0;
                if (lane / PARTS == leader / PARTS) {
                    lay_out<0, 4 * SETS>(4 * set + leader % PARTS, s.offer.row[part], x);
                    if (lane == leader) {
                        s.offer.choice = own.choice;
                        s.offer.head = {inverse, own.value};
                    }
                }
                asm volatile("bar.arrive 2, %0;" ::"n"(32 + 32 * CLERKS) : "memory");
            }
            cluster::mailbox_wait(&s.boxes[parity], j >> 1 & 1);
            const Choice offered =
                lane < p.blocks ? s.offers[parity][lane % BLOCKS].choice : Choice{0, 0, NO_ROW, 0};
            const Offer<T, SLOTS>& taken = s.offers[parity][best_lane(offered)];
            const Choice found = taken.choice;
            const auto head = taken.head;
            T l[SETS][4];
            if (__builtin_expect(is_ordinary(found, T()), 1)) {
#pragma unroll
                for (int h = 0; h < SETS; ++h)
#pragma unroll
                    for (int q = 0; q < 4; ++q) l[h][q] = v[h][q] * head.inverse;
            } else {
#pragma unroll
                for (int h = 0; h < SETS; ++h)
#pragma unroll
                    for (int q = 0; q < 4; ++q)
                        l[h][q] = is_zero(found) ? v[h][q] : divided(v[h][q], head.value);
            }
            // Rows that are finished no longer need x. The next column goes first.
#pragma unroll
            for (int e = 0; e < SLOTS; ++e) {
                const T u = taken.row[part][e];
#pragma unroll
                for (int h = 0; h < SETS; ++h)
#pragma unroll
                    for (int q = 0; q < 4; ++q) x[h][q][e] -= l[h][q] * u;
                if (e == 1) {
#pragma unroll
                    for (int h = 0; h < SETS; ++h) {
#pragma unroll
                        for (int q = 0; q < 4; ++q)
                            v[h][q] = __shfl_sync(ALL, turn == PARTS - 1 ? x[h][q][1] : x[h][q][0],
                                                  (lane & ~3) | (turn + 1) % PARTS);
                        at.place[h] = at.place[h] == found.place ? j
                                      : at.place[h] == j         ? found.place
                                                                 : at.place[h];
                    }
                    own = candidate(v, at, j + 1, part);
                    s.keys[parity ^ 1][p.t] = own.choice.high;
                }
            }
#pragma unroll
            for (int h = 0; h < SETS; ++h) {
                if (at.row[h] != NO_ROW && at.place[h] > j) *at.out[h] = fourth(l[h], part);
                at.out[h] += p.ld;
            }
        }
        // The next columns move to the front.
#pragma unroll
        for (int e = 1; e < SLOTS; ++e)
#pragma unroll
            for (int h = 0; h < SETS; ++h)
#pragma unroll
                for (int q = 0; q < 4; ++q) x[h][q][e - 1] = x[h][q][e];
    }
}

// The work of the clerks: they send the block's candidate, and record the pivots. Returns the first
// column without a pivot, or -1.
template <typename T, int THREADS, int SLOTS>
__device__ __forceinline__ int keep_books(const Panel<T, THREADS, SLOTS>& p, int c0, int w) {
    constexpr int PIECE = 16 / sizeof(T), PIECES = SLOTS / PIECE, WHOLE = 2 + PARTS * PIECES,
                  AT_ONCE = 2 * CLERKS;
    Shared<T, THREADS, SLOTS>& s = p.s;
    const int lane = p.lane, clerk = p.t - THREADS, to = clerk % BLOCKS,
              which_piece = clerk / BLOCKS;
    const unsigned inbox = cluster::there(&s.offers[0][p.me], to),
                   box = cluster::there(&s.boxes[0], to);
    int none = -1;
#pragma unroll 1
    for (int j = c0; j < c0 + w; ++j) {
        const int parity = j & 1, turn = j % PARTS, rest = c0 + w - j,
                  live = (rest + turn + PARTS - 1) / PARTS;
        if (clerk == 0)
            cluster::mailbox_expect(&s.boxes[parity],
                                    p.blocks * (2 + PARTS * ((live + PIECE - 1) / PIECE)) * 16);
        __syncthreads();
        asm volatile("bar.sync 2, %0;" ::"n"(32 + 32 * CLERKS) : "memory");
        const unsigned place = inbox + parity * (int)sizeof(s.offers[0]);
#pragma unroll
        for (int k = 0; k < WHOLE; k += AT_ONCE) {
            const int piece = k + which_piece, at = piece < WHOLE ? piece : 0;
            const bool really = to < p.blocks && piece < WHOLE &&
                                (piece < 2 || (piece - 2) % PIECES * PIECE < live);
            cluster::mailbox_send16(really, box + parity * 8, place + at * 16,
                                    reinterpret_cast<const uint4*>(&s.offer) + at);
        }
        cluster::mailbox_wait(&s.boxes[parity], j >> 1 & 1);
        if (clerk < 32) {
            const int which = best_lane(lane < p.blocks ? s.offers[parity][lane % BLOCKS].choice
                                                        : Choice{0, 0, NO_ROW, 0});
            const Offer<T, SLOTS>& taken = s.offers[parity][which];
            const Choice found = taken.choice;
            const int c = turn + lane;
            // The row of U, by the block that had it.
            if (which == p.me && lane < rest)
                p.work[found.row + (j + lane) * p.ld] =
                    lane == 0 ? taken.head.value : taken.row[c % PARTS][c / PARTS % SLOTS];
            if (lane == 0) {
                s.origin[j] = found.row;
                if (p.me == 0) p.pivots[p.first + j] = (int)(p.first + found.place);
            }
            if (is_zero(found) && none < 0) none = (int)(p.first + j);
        }
    }
    return none;
}

template <typename T, int THREADS, int SETS, int SLOTS>
__device__ __forceinline__ void panel(i64 m, int n, T* a, i64 lda, T* work, i64 first, int* pivots,
                                      int* zero, int* moves) {
    constexpr int WIDTH = PARTS * SLOTS;
    extern __shared__ __align__(16) unsigned char memory[];
    int t = threadIdx.x;
    asm volatile("" : "+r"(t));  // reading this register takes long too
    Shared<T, THREADS, SLOTS>& s =
        *cluster::own(reinterpret_cast<Shared<T, THREADS, SLOTS>*>(memory));
    const int blocks = cluster::size(), me = cluster::rank(), part = t % PARTS;
    const Panel<T, THREADS, SLOTS> p = {
        s, first, (i64)blocks * THREADS * SETS, blocks, me, t, t & 31, work, pivots};
    Rows<T, SETS> at;
    i64 four[SETS];  // the first of the rows of which this lane has columns
    int none = -1;
#pragma unroll
    for (int h = 0; h < SETS; ++h) {
        const int r = (h * blocks + me) * THREADS + t;
        at.row[h] = at.place[h] = r < m && t < THREADS ? r : NO_ROW;
        at.out[h] = work + r;
        four[h] = r - part;
    }
    if (t < 2) cluster::mailbox_open(&s.boxes[t]);
#pragma unroll 1
    for (int c0 = 0; c0 < n; c0 += WIDTH) {
        const int w = min(WIDTH, n - c0);
        T x[SETS][4][SLOTS];
#pragma unroll
        for (int h = 0; h < SETS; ++h)
#pragma unroll
            for (int e = 0; e < SLOTS; ++e) {
                const int c = part + PARTS * e;
#pragma unroll
                for (int q = 0; q < 4; ++q)
                    x[h][q][e] = four[h] + q < m && c < w && t < THREADS
                                     ? a[four[h] + q + (c0 + c) * lda]
                                     : T(0);
            }
        cluster::meet();
        if (c0 > 0) {
            lower_rows(s, work, p.ld, c0 - WIDTH);
            upper_rows(s, a, lda, work, p.ld, c0, w);
        }
        if (t < THREADS) {
            if (c0 > 0) bring_up(s, work, p.ld, c0, four, x);
            eliminate(p, c0, w, at, x);
        } else {
            const int here = keep_books(p, c0, w);
            if (none < 0) none = here;
        }
    }
    // All of U is in `work`, and no message is in flight.
    cluster::meet();
#pragma unroll
    for (int h = 0; h < SETS; ++h) {
        if (at.row[h] == NO_ROW) continue;
        constexpr int GROUP = 32;  // loads in flight together
        const T* from = work + at.row[h];
        T* to = a + at.place[h];
#pragma unroll 1
        for (int c = 0; c < n; c += GROUP) {
            T y[GROUP];
#pragma unroll
            for (int i = 0; i < GROUP; ++i) y[i] = c + i < n ? __ldcg(from + (c + i) * p.ld) : T(0);
#pragma unroll
            for (int i = 0; i < GROUP; ++i)
                if (c + i < n) to[(c + i) * lda] = y[i];
        }
        // The order of moves does not matter.
        if (at.place[h] != at.row[h]) {
            const int e = 1 + atomicAdd(moves, 1);
            moves[e] = (int)first + at.place[h];
            moves[e + 2 * LARGEST] = (int)first + at.row[h];
        }
    }
    if (me == 0 && t == THREADS && none >= 0 && *zero < 0) *zero = none;
}

}  // namespace

// Factors a panel of m rows and n <= 128 columns at a, whose first pivot has number `first`. L and
// U replace the panel. pivots[first + j]: the row exchanged for row first + j. *zero: the first
// column without a pivot, unless it is set already. `moves`: the composition of the exchanges, in
// rows of the whole matrix: their number, which must be 0 at the start, destinations, and then 256
// places for sources.
//
// One cluster of at most 16 blocks with blocks * ROWS >= m, of THREADS + 128 threads. `work`:
// blocks * ROWS * n elements.
#define ENTRY(T, SUFFIX, ROWS, THREADS, SLOTS)                                                   \
    extern "C" __global__ void __launch_bounds__(THREADS + 32 * CLERKS, 1)                       \
        panel_eliminate_cluster##ROWS##_##SUFFIX(i64 m, int n, T* a, i64 ld, T* work, i64 first, \
                                                 int* pivots, int* zero, int* moves) {           \
        panel<T, THREADS, ROWS / THREADS, SLOTS>(m, n, a, ld, work, first, pivots, zero, moves); \
    }
ENTRY(double, f64, 256, 128, 8)
ENTRY(double, f64, 512, 256, 4)
ENTRY(double, f64, 1024, 256, 2)
ENTRY(float, f32, 512, 128, 8)
ENTRY(float, f32, 1024, 256, 4)
