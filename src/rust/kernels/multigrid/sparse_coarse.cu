// arch: sm_60
// Aggregates of the rows of a sparse matrix, and the matrix of aggregates. `src/device/sparse.rs`
// defines them.
#include "common.cuh"

namespace {

constexpr int THREADS = 256;

// The state of rows that are in no aggregate yet, and of rows that will be in none.
constexpr int LEFT = -1, APART = -2;

// As in src/device/sparse.rs.
constexpr float WEAK = 1.0f / 64, FAINT = 1.0f / 256;

__device__ __forceinline__ unsigned mixed(unsigned x) {
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return x ^ (x >> 16);
}

// `priority` of src/device/sparse.rs.
__device__ __forceinline__ unsigned long long priority(unsigned i, unsigned j, double strength) {
    const unsigned low = min(i, j), high = max(i, j);
    const unsigned drawn = mixed(mixed(low) + high * 0x9e3779b1u);
    return (unsigned long long)(__float_as_uint((float)strength) & ~0x3ffu) << 32 | drawn;
}

// A warp sorts at most this many entries of a coarse row in shared memory, before it adds them up.
constexpr int SHORT = 256, WARPS = 4;
constexpr int NONE = 0x7fffffff;

// Collects the entries in the rows of an aggregate's members, in order. Columns become numbers of
// aggregates.
__device__ __forceinline__ void gather(int first, int last, int base, const int* members,
                                       const int* before, const int* starts, const int* index,
                                       const double* values, const int* aggregate, int worker,
                                       int workers, int lane, int* keys, double* sums) {
    for (int m = first + worker; m < last; m += workers) {
        const int row = members[m], begin = starts[row], count = starts[row + 1] - begin,
                  to = before[m] - base;
        for (int k = lane; k < count; k += 32) {
            const int column = aggregate[index[begin + k]];
            keys[to + k] = column < 0 ? NONE : column;
            if (sums != nullptr) sums[to + k] = values[begin + k];
        }
    }
}

}  // namespace

// Rows that their diagonal entry dominates will be in no aggregate.
extern "C" __global__ void __launch_bounds__(THREADS)
    aggregate_begin_plain(int lanes, i64 n, const int* starts, const int* index,
                          const double* values, const double* entries, double dominant, int* root) {
    const int lane = threadIdx.x & (lanes - 1);
    const i64 row = (blockIdx.x * (i64)THREADS + threadIdx.x) / lanes;
    double sum = 0;
    if (row < n)
        for (int e = starts[row] + lane; e < starts[row + 1]; e += lanes)
            if (index[e] != row) sum += fabs(values[e]);
    for (int d = lanes >> 1; d > 0; d >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, d);
    if (row < n && lane == 0) root[row] = sum <= dominant * entries[row] ? APART : LEFT;
}

// For each row without an aggregate: its strongest neighbour without an aggregate. With `joining`:
// the aggregate of its strongest neighbour in one, or else the row itself. A weak neighbour does
// not count. With `relaxes`, strength is relative to the row's strongest neighbour, else absolute.
extern "C" __global__ void __launch_bounds__(THREADS)
    aggregate_propose_plain(int lanes, i64 n, const int* starts, const int* index,
                            const double* values, const double* diagonal, int relaxes,
                            const int* root, int joining, int* best) {
    const int lane = threadIdx.x & (lanes - 1);
    const i64 row = (blockIdx.x * (i64)THREADS + threadIdx.x) / lanes;
    unsigned long long most = 0;
    int found = -1;
    float top = 0;
    if (row < n && root[row] == LEFT) {
        const double own = sqrt(diagonal[row]);
        for (int e = starts[row] + lane; e < starts[row + 1]; e += lanes) {
            const int j = index[e];
            if (j == row || values[e] >= 0) continue;
            const double strength = -values[e] / (own * sqrt(diagonal[j]));
            if (!(strength > 0)) continue;
            top = fmaxf(top, (float)strength);
            if (joining ? root[j] < 0 : root[j] != LEFT) continue;
            const unsigned long long p = priority((unsigned)row, (unsigned)j, strength);
            if (found < 0 || p > most) most = p, found = j;
        }
    }
    for (int d = lanes >> 1; d > 0; d >>= 1) {
        const unsigned long long other = __shfl_xor_sync(0xffffffffu, most, d);
        const int j = __shfl_xor_sync(0xffffffffu, found, d);
        top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, d));
        // Among equal ones the first counts, as if one thread had gone through the row.
        if (j >= 0 && (found < 0 || other > most || (other == most && j < found)))
            most = other, found = j;
    }
    if (row >= n || lane > 0 || root[row] != LEFT) return;
    if (found >= 0 && __uint_as_float((unsigned)(most >> 32)) < (relaxes ? WEAK * top : FAINT))
        found = -1;
    best[row] = !joining ? found : found < 0 ? (int)row : root[found];
}

// Rows that chose each other form an aggregate. With `joining`, rows join what they chose.
extern "C" __global__ void __launch_bounds__(THREADS)
    aggregate_accept_plain(i64 n, int joining, const int* best, int* root) {
    const i64 row = blockIdx.x * (i64)THREADS + threadIdx.x;
    if (row >= n || root[row] != LEFT) return;
    const int j = best[row];
    if (joining) root[row] = j;
    // The last choice of a row in an aggregate is in that aggregate too.
    else if (j >= 0 && best[j] == row) root[row] = min((int)row, j);
}

extern "C" __global__ void __launch_bounds__(THREADS)
    aggregate_flag_plain(i64 n, const int* root, int* flag) {
    for (i64 i = blockIdx.x * (i64)THREADS + threadIdx.x; i < n; i += (i64)gridDim.x * THREADS)
        flag[i] = root[i] == i;
}

// aggregate[i] = number[of[i]], or -1 if `of` is negative.
extern "C" __global__ void __launch_bounds__(THREADS)
    aggregate_number_plain(i64 n, const int* of, const int* number, int* aggregate) {
    for (i64 i = blockIdx.x * (i64)THREADS + threadIdx.x; i < n; i += (i64)gridDim.x * THREADS)
        aggregate[i] = of[i] < 0 ? -1 : number[of[i]];
}

extern "C" __global__ void __launch_bounds__(THREADS)
    aggregate_sizes_plain(i64 n, const int* aggregate, int* sizes) {
    for (i64 i = blockIdx.x * (i64)THREADS + threadIdx.x; i < n; i += (i64)gridDim.x * THREADS)
        if (aggregate[i] >= 0) atomicAdd(sizes + aggregate[i], 1);
}

// The members of each aggregate, in an order that varies from run to run. `taken` starts with
// zeros.
extern "C" __global__ void __launch_bounds__(THREADS)
    aggregate_draw_plain(i64 n, const int* aggregate, const int* starts, int* taken, int* drawn) {
    for (i64 i = blockIdx.x * (i64)THREADS + threadIdx.x; i < n; i += (i64)gridDim.x * THREADS) {
        const int k = aggregate[i];
        if (k >= 0) drawn[starts[k] + atomicAdd(taken + k, 1)] = (int)i;
    }
}

// The members of each aggregate, ascending.
extern "C" __global__ void __launch_bounds__(THREADS)
    aggregate_order_plain(i64 count, const int* aggregate, const int* starts, const int* drawn,
                          int* members) {
    for (i64 m = blockIdx.x * (i64)THREADS + threadIdx.x; m < count;
         m += (i64)gridDim.x * THREADS) {
        const int row = drawn[m], k = aggregate[row];
        int smaller = 0;
        for (int e = starts[k]; e < starts[k + 1]; ++e) smaller += drawn[e] < row;
        members[starts[k] + smaller] = row;
    }
}

// The number of entries in the row of each member.
extern "C" __global__ void __launch_bounds__(THREADS)
    coarsen_lengths_plain(i64 count, const int* members, const int* starts, int* lengths) {
    for (i64 m = blockIdx.x * (i64)THREADS + threadIdx.x; m < count; m += (i64)gridDim.x * THREADS)
        lengths[m] = starts[members[m] + 1] - starts[members[m]];
}

// Rows of P'AP, one warp each: counts their entries, or writes them if `out_index` is not null.
// `before` says where the entries of each member begin among those of all members. Rows with more
// than SHORT entries are left to `coarsen_long_plain`, and a flag is set.
extern "C" __global__ void __launch_bounds__(32 * WARPS)
    coarsen_short_plain(i64 count, const int* groups, const int* members, const int* before,
                        const int* starts, const int* index, const double* values,
                        const int* aggregate, double scale, int* lengths, int* any_long,
                        const int* out_starts, int* out_index, double* out_values) {
    __shared__ int all_keys[WARPS][SHORT];
    __shared__ double all_sums[WARPS][SHORT];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    int* keys = all_keys[warp];
    double* sums = all_sums[warp];
    const bool fills = out_index != nullptr;
    for (i64 k = blockIdx.x * (i64)WARPS + warp; k < count; k += (i64)gridDim.x * WARPS) {
        const int first = groups[k], last = groups[k + 1], base = before[first],
                  length = before[last] - base;
        if (length > SHORT) {
            if (!fills && lane == 0) *any_long = 1;
            continue;
        }
        __syncwarp();
        gather(first, last, base, members, before, starts, index, values, aggregate, 0, 1, lane,
               keys, fills ? sums : nullptr);
        __syncwarp();
        int found = 0;
        unsigned firsts = 0;  // bit r: entry 32 r + lane is the first of its column
        double own[SHORT / 32];
#pragma unroll
        for (int r = 0; r < SHORT / 32; ++r) {
            const int e = 32 * r + lane;
            if (32 * r >= length) break;
            const int key = e < length ? keys[e] : NONE;
            bool is_first = key != NONE;
            for (int f = 0; f < e && is_first; ++f) is_first = keys[f] != key;
            double sum = 0;
            if (fills && is_first) {
                sum = sums[e];
                for (int f = e + 1; f < length; ++f)
                    if (keys[f] == key) sum += sums[f];
            }
            own[r] = sum;
            if (is_first) firsts |= 1u << r;
            found += is_first;
        }
        if (!fills) {
            found = warp_sum(found);
            if (lane == 0) lengths[k] = found;
            continue;
        }
        __syncwarp();
        int mine[SHORT / 32];
#pragma unroll
        for (int r = 0; r < SHORT / 32; ++r) {
            const int e = 32 * r + lane;
            if (e < length) {
                mine[r] = keys[e];
                if (!(firsts >> r & 1)) keys[e] = NONE;
            }
        }
        __syncwarp();
#pragma unroll
        for (int r = 0; r < SHORT / 32; ++r) {
            if (!(firsts >> r & 1)) continue;
            int place = out_starts[k];
            for (int f = 0; f < length; ++f) place += keys[f] < mine[r];
            out_index[place] = mine[r];
            out_values[place] = scale * own[r];
        }
    }
}

// The long rows, one block each. Sorts their entries by merging in global memory, counts them, and
// adds them up if `out_index` is not null. The workspace has two places per entry.
extern "C" __global__ void __launch_bounds__(THREADS)
    coarsen_long_plain(i64 count, const int* groups, const int* members, const int* before,
                       const int* starts, const int* index, const double* values,
                       const int* aggregate, double scale, int* keys_a, double* sums_a, int* keys_b,
                       double* sums_b, int* lengths, const int* out_starts, int* out_index,
                       double* out_values) {
    __shared__ int heads[THREADS / 32];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const bool fills = out_index != nullptr;
    for (i64 k = blockIdx.x; k < count; k += gridDim.x) {
        const int first = groups[k], last = groups[k + 1], base = before[first],
                  length = before[last] - base;
        if (length <= SHORT) continue;
        int *keys = keys_a + base, *other_keys = keys_b + base;
        double *sums = sums_a + base, *other_sums = sums_b + base;
        if (!fills)
            gather(first, last, base, members, before, starts, index, values, aggregate, warp,
                   THREADS / 32, lane, keys, sums);
        __syncthreads();
        // The buffers are swapped as often as they were while the entries were sorted.
        for (i64 width = 1; width < length; width *= 2) {
            for (int e = threadIdx.x; e < length && !fills; e += THREADS) {
                const int key = keys[e];
                const i64 run = e / width;
                const bool right = run & 1;
                // The place in the neighbouring run: equal entries of the left run come first.
                i64 low = right ? (run - 1) * width : min((run + 1) * width, (i64)length);
                i64 high = right ? run * width : min((run + 2) * width, (i64)length);
                const i64 beside = low;
                while (low < high) {
                    const i64 middle = low + (high - low) / 2;
                    if (right ? keys[middle] <= key : keys[middle] < key) low = middle + 1;
                    else high = middle;
                }
                const i64 to = (right ? run - 1 : run) * width + (e - run * width) + (low - beside);
                other_keys[to] = key;
                other_sums[to] = sums[e];
            }
            __syncthreads();
            int* swapped_keys = keys;
            keys = other_keys, other_keys = swapped_keys;
            double* swapped_sums = sums;
            sums = other_sums, other_sums = swapped_sums;
        }
        int found = 0;
        for (int from = 0; from < length; from += THREADS) {
            const int e = from + threadIdx.x;
            const bool head = e < length && keys[e] != NONE && (e == 0 || keys[e - 1] != keys[e]);
            const unsigned all = __ballot_sync(0xffffffffu, head);
            __syncthreads();
            if (lane == 0) heads[warp] = __popc(all);
            __syncthreads();
            int place = found + __popc(all & ((1u << lane) - 1));
            for (int w = 0; w < THREADS / 32; ++w) {
                if (w < warp) place += heads[w];
                found += heads[w];
            }
            if (fills && head) {
                double sum = sums[e];
                for (int f = e + 1; f < length && keys[f] == keys[e]; ++f) sum += sums[f];
                out_index[out_starts[k] + place] = keys[e];
                out_values[out_starts[k] + place] = scale * sum;
            }
        }
        if (!fills && threadIdx.x == 0) lengths[k] = found;
        __syncthreads();
    }
}
