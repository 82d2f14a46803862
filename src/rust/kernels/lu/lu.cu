// arch: sm_60
// A panel of the LU factorization with partial pivoting, and row exchanges.
//
// A panel of at most 32 columns is factored with one launch per column. The rows are cut into
// chunks, one thread block each. A launch finds the pivot among the chunks' candidates, which the
// launch before left. It exchanges, scales and eliminates its own rows, and leaves its candidate
// for the next column. A candidate has its whole row and the row to be exchanged for it. Candidates
// alternate between two buffers, so that no block reads what another block of the same launch
// writes.
#include "common.cuh"

namespace {

constexpr int WIDTH = 32;  // columns of a panel
constexpr int THREADS = 256;
constexpr int GROUP = 8;  // columns whose loads are in flight together

// Candidates for one column.
template <typename T>
struct Candidates {
    T* value;  // largest magnitude of each chunk; -1 where it has none
    int* row;  // its row, counted from the panel's first
    T* rows;   // that row of the panel: WIDTH elements a chunk
    T* top;    // the row to be exchanged

    __device__ Candidates(T* space, int* places, i64 chunks, int parity)
        : value(space + parity * (chunks * (WIDTH + 1) + WIDTH)),
          row(places + parity * chunks),
          rows(value + chunks),
          top(rows + chunks * WIDTH) {}
};

// Step j of a panel of m rows and `width` columns at a; j = -1 only finds the candidates of column
// 0. A NaN is never a maximum, except at the head of the column, where no comparison removes it, as
// in BLAS's idamax.
template <typename T>
__device__ __forceinline__ void lu_column(i64 m, int width, int j, i64 chunk_rows, T* a, i64 ld,
                                          i64 first, T* space, int* places, int* pivots,
                                          int* zero) {
    __shared__ T values[32];
    __shared__ int indices[32];
    __shared__ T pivot_row[WIDTH];
    __shared__ T top_row[WIDTH];
    const int t = threadIdx.x;
    const i64 chunks = gridDim.x;
    const i64 begin = blockIdx.x * chunk_rows;
    const i64 end = begin + chunk_rows < m ? begin + chunk_rows : m;
    const int parity = (j + 1) & 1;
    const Candidates<T> now(space, places, chunks, parity ^ 1);
    const Candidates<T> next(space, places, chunks, parity);

    i64 p = j;
    if (j >= 0) {
        Candidate<T> c = {T(-1), 0x7fffffff};
        for (i64 q = t; q < chunks; q += THREADS)
            c = better(c, Candidate<T>{now.value[q], now.row[q]});
        c = block_best(c, values, indices);
        const T head = now.top[j];
        if (head == head && c.value > T(0)) p = c.index;
        if (t < width) {
            top_row[t] = now.top[t];
            pivot_row[t] = p == j ? now.top[t] : now.rows[(p / chunk_rows) * WIDTH + t];
        }
        __syncthreads();
        if (blockIdx.x == 0) {
            if (t < width) a[j + t * ld] = pivot_row[t];
            if (t == 0) {
                pivots[first + j] = (int)(first + p);
                if (pivot_row[j] == T(0) && *zero < 0) *zero = (int)(first + j);
            }
        }
    }

    Candidate<T> best = {T(-1), 0x7fffffff};
    const int following = j + 1;
    for (i64 r = begin + t; r < end; r += THREADS) {
        if (r <= j) continue;
        if (j >= 0) {
            if (r == p)
                for (int c = 0; c < width; ++c) a[r + c * ld] = top_row[c];
            const T pivot = pivot_row[j];
            T l = a[r + j * ld];
            if (pivot != T(0)) {
                l /= pivot;
                a[r + j * ld] = l;
            }
            // Loads precede stores that may alias them, a group of columns at a time.
            for (int group = j + 1; group < width; group += GROUP) {
                T y[GROUP];
#pragma unroll
                for (int i = 0; i < GROUP; ++i)
                    y[i] = group + i < width ? a[r + (group + i) * ld] : T(0);
#pragma unroll
                for (int i = 0; i < GROUP; ++i)
                    if (group + i < width)
                        a[r + (group + i) * ld] = y[i] - l * pivot_row[group + i];
            }
        }
        if (following < width) {
            const T v = magnitude(a[r + following * ld]);
            if (v == v) best = better(best, Candidate<T>{v, (int)r});
        }
    }
    if (following >= width) return;
    best = block_best(best, values, indices);  // its barriers also publish the rows updated above
    if (t == 0) {
        next.value[blockIdx.x] = best.value;
        next.row[blockIdx.x] = best.index;
    }
    if (t < width) {
        if (best.index != 0x7fffffff) next.rows[blockIdx.x * WIDTH + t] = a[best.index + t * ld];
        if (begin <= following && following < end) next.top[t] = a[following + t * ld];
    }
}

// The net effect of the exchanges of rows first + i and pivots[first + i], i < count <= 32, as a
// list of moves (to, from): list[0] moves, then the destinations, then the sources. One warp.
__device__ __forceinline__ void exchange_list(int first, int count, const int* pivots, int* list) {
    __shared__ int row[2 * WIDTH];  // rows touched: the first `count`, then those met below them
    __shared__ int content[2 * WIDTH];  // which row's contents stand there now
    const int lane = threadIdx.x;
    row[lane] = first + lane;
    content[lane] = first + lane;
    int known = count;
    __syncwarp();
    for (int i = 0; i < count; ++i) {
        const int p = pivots[first + i];
        int place = -1;
        for (int base = 0; base < known; base += 32) {
            const int e = base + lane;
            const unsigned hit = __ballot_sync(0xffffffffu, e < known && row[e] == p);
            if (hit) place = base + __ffs(hit) - 1;
        }
        if (place < 0) {
            place = known++;
            if (lane == 0) {
                row[place] = p;
                content[place] = p;
            }
        }
        __syncwarp();
        if (lane == 0) {
            const int c = content[i];
            content[i] = content[place];
            content[place] = c;
        }
        __syncwarp();
    }
    if (lane == 0) list[0] = known;
    for (int e = lane; e < known; e += 32) {
        list[1 + e] = row[e];
        list[1 + 2 * WIDTH + e] = content[e];
    }
}

// Carries out a list of moves on n columns, with up to MOST_MOVES moves per thread; the list has
// room for `room`. A block reads all moved rows of its columns before it writes them.
constexpr int MOST_MOVES = 4;
template <typename T>
__device__ __forceinline__ void rows_exchange(i64 n, T* a, i64 ld, const int* list, int room) {
    constexpr int COLUMNS = 4;
    const int moves = list[0];
    const i64 c0 = blockIdx.x * (i64)COLUMNS;
    const int t = threadIdx.x, threads = blockDim.x;
    T v[MOST_MOVES][COLUMNS];
#pragma unroll
    for (int i = 0; i < MOST_MOVES; ++i) {
        const int move = t + i * threads;
        if (move < moves) {
            const i64 from = list[1 + room + move];
#pragma unroll
            for (int c = 0; c < COLUMNS; ++c)
                if (c0 + c < n) v[i][c] = a[from + (c0 + c) * ld];
        }
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < MOST_MOVES; ++i) {
        const int move = t + i * threads;
        if (move < moves) {
            const i64 to = list[1 + move];
#pragma unroll
            for (int c = 0; c < COLUMNS; ++c)
                if (c0 + c < n) a[to + (c0 + c) * ld] = v[i][c];
        }
    }
}

// Composes the lists of later panels for columns to the left: the source of each row. One thread
// block per block of columns. `table` has a pair for each block of columns: the first row that
// moves, and the first list that it still needs. Then it has a pair for each of `count` lists, in
// order: its place in `lists`, and its room. Row r comes from row order[blockIdx.x * m + r]. Shared
// memory: one integer per row that moves.
__device__ __forceinline__ void lists_compose(i64 m, const int* lists, const int* table, int count,
                                              int* order) {
    extern __shared__ __align__(16) unsigned char memory[];
    int* content = reinterpret_cast<int*>(memory);
    const int t = threadIdx.x, threads = blockDim.x;
    const int* mine = table + 2 * blockIdx.x;
    const int* pair = table + 2 * gridDim.x;
    const int top = mine[0], rows = (int)m - top;
    int* to = order + blockIdx.x * m + top;
    for (int r = t; r < rows; r += threads) content[r] = top + r;
    for (int l = mine[1]; l < count; ++l) {
        const int* list = lists + pair[2 * l];
        const int room = pair[2 * l + 1], moves = list[0];
        int places[MOST_MOVES], v[MOST_MOVES];
        // Unused room is read too: waiting for the number of moves first would take two round
        // trips.
#pragma unroll
        for (int i = 0; i < MOST_MOVES; ++i) {
            const int move = t + i * threads;
            places[i] = move < room ? list[1 + move] : top;
            v[i] = move < room ? list[1 + room + move] : top;
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < MOST_MOVES; ++i)
            if (t + i * threads < moves) v[i] = content[v[i] - top];
        __syncthreads();
#pragma unroll
        for (int i = 0; i < MOST_MOVES; ++i)
            if (t + i * threads < moves) content[places[i] - top] = v[i];
    }
    __syncthreads();
    for (int r = t; r < rows; r += threads) to[r] = content[r];
}

// Row r of a column takes the contents of row order[r], for rows from `top` to m - 1. A block has
// one column, which it reads and writes once, in order. Shared memory, one number per row that
// moves, allows access out of order.
template <typename T>
__device__ __forceinline__ void rows_reorder(i64 m, i64 top, T* a, i64 ld, const int* order) {
    extern __shared__ __align__(16) unsigned char memory[];
    T* column = reinterpret_cast<T*>(memory);
    a += blockIdx.x * ld + top;
    order += top;
    const int rows = (int)(m - top), t = threadIdx.x, threads = blockDim.x, first = (int)top;
    for (int base = t; base < rows; base += GROUP * threads) {
        T x[GROUP];
#pragma unroll
        for (int i = 0; i < GROUP; ++i)
            if (base + i * threads < rows) x[i] = a[base + i * threads];
#pragma unroll
        for (int i = 0; i < GROUP; ++i)
            if (base + i * threads < rows) column[base + i * threads] = x[i];
    }
    __syncthreads();
    for (int base = t; base < rows; base += GROUP * threads) {
        int from[GROUP];
#pragma unroll
        for (int i = 0; i < GROUP; ++i)
            if (base + i * threads < rows) from[i] = order[base + i * threads] - first;
#pragma unroll
        for (int i = 0; i < GROUP; ++i)
            if (base + i * threads < rows) a[base + i * threads] = column[from[i]];
    }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(32)
    exchanges_list_warp(int first, int count, const int* pivots, int* list) {
    exchange_list(first, count, pivots, list);
}
extern "C" __global__ void __launch_bounds__(1024)
    exchanges_compose_lists(i64 m, const int* lists, const int* table, int count, int* order) {
    lists_compose(m, lists, table, count, order);
}

#define INSTANCES(T, SUFFIX)                                                                     \
    extern "C" __global__ void __launch_bounds__(THREADS) panel_eliminate_column_##SUFFIX(       \
        i64 m, int width, int j, i64 chunk_rows, T* a, i64 ld, i64 first, T* space, int* places, \
        int* pivots, int* zero) {                                                                \
        lu_column<T>(m, width, j, chunk_rows, a, ld, first, space, places, pivots, zero);        \
    }                                                                                            \
    extern "C" __global__ void __launch_bounds__(1024)                                           \
        rows_exchange_list_##SUFFIX(i64 n, T* a, i64 ld, const int* list, int room) {            \
        rows_exchange<T>(n, a, ld, list, room);                                                  \
    }                                                                                            \
    extern "C" __global__ void __launch_bounds__(512)                                            \
        rows_reorder_column_##SUFFIX(i64 m, i64 top, T* a, i64 ld, const int* order) {           \
        rows_reorder<T>(m, top, a, ld, order);                                                   \
    }

INSTANCES(double, f64)
INSTANCES(float, f32)
