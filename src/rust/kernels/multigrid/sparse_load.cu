// arch: sm_60
// Loads sparse symmetric matrices from the host: checks, the other triangle, the diagonals; and
// prefix sums.
#include "common.cuh"

namespace {

constexpr int THREADS = 256;
constexpr int EACH = 8;  // numbers of a thread in a scan

// Faults, numbered as in `backend/cuda/multigrid/sparse_load.rs`.
constexpr int BROKEN = 1, NOT_FINITE = 2, NOT_SYMMETRIC = 4;

// The entries of a column that are read: all, or those of a triangle.
constexpr int ALL = 0, LOWER = 1;

__device__ __forceinline__ bool reads(int stored, i64 i, i64 j) {
    return stored == ALL || (stored == LOWER ? i >= j : i <= j);
}

// The sum of x over the threads before this one in a block of `WARPS` warps; `all` is the sum over
// the block.
template <int WARPS>
__device__ __forceinline__ int before(int x, int& all) {
    __shared__ int sums[WARPS];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    int s = x;
#pragma unroll
    for (int d = 1; d < 32; d <<= 1) {
        const int y = __shfl_up_sync(0xffffffffu, s, d);
        if (lane >= d) s += y;
    }
    __syncthreads();
    if (lane == 31) sums[warp] = s;
    __syncthreads();
    int base = 0;
    all = 0;
    for (int w = 0; w < WARPS; ++w) {
        if (w < warp) base += sums[w];
        all += sums[w];
    }
    return base + s - x;
}

}  // namespace

// out[i] = x[0] + ... + x[i - 1] within the numbers of a block, whose sum goes to `totals`.
extern "C" __global__ void __launch_bounds__(THREADS)
    scan_parts_plain(i64 n, const int* x, int* out, int* totals) {
    const i64 first = (blockIdx.x * (i64)THREADS + threadIdx.x) * EACH;
    int v[EACH], sum = 0, all;
#pragma unroll
    for (int k = 0; k < EACH; ++k) {
        v[k] = first + k < n ? x[first + k] : 0;
        sum += v[k];
    }
    int base = before<THREADS / 32>(sum, all);
#pragma unroll
    for (int k = 0; k < EACH; ++k) {
        if (first + k < n) out[first + k] = base;
        base += v[k];
    }
    if (threadIdx.x == 0) totals[blockIdx.x] = all;
}

// Prefix sums of the blocks' totals, in place, by one block; the sum of all follows them.
extern "C" __global__ void __launch_bounds__(1024) scan_totals_plain(int count, int* totals) {
    int carry = 0;
    for (int first = 0; first < count; first += 1024) {
        const int k = first + threadIdx.x;
        int all;
        const int base = before<32>(k < count ? totals[k] : 0, all);
        if (k < count) totals[k] = carry + base;
        carry += all;
    }
    if (threadIdx.x == 0) totals[count] = carry;
}

// out[i] += the sum of all earlier blocks; out[n] = the sum of all.
extern "C" __global__ void __launch_bounds__(THREADS)
    scan_add_plain(i64 n, const int* totals, int* out) {
    const i64 first = (blockIdx.x * (i64)THREADS + threadIdx.x) * EACH;
    const int base = totals[blockIdx.x];
#pragma unroll
    for (int k = 0; k < EACH; ++k)
        if (first + k < n) out[first + k] += base;
    if (blockIdx.x == 0 && threadIdx.x == 0) out[n] = totals[gridDim.x];
}

// Finds columns whose rows do not ascend or are out of range, and entries that are not finite. One
// warp per column.
extern "C" __global__ void __launch_bounds__(THREADS)
    sparse_check_plain(i64 n, int stored, const int* starts, const int* index, const double* values,
                       int* faults) {
    const int lane = threadIdx.x & 31;
    const i64 step = (i64)gridDim.x * (THREADS / 32);
    int found = 0;
    for (i64 j = (blockIdx.x * (i64)THREADS + threadIdx.x) >> 5; j < n; j += step)
        for (int e = starts[j] + lane; e < starts[j + 1]; e += 32) {
            const int i = index[e];
            if (i < 0 || i >= n || (e > starts[j] && index[e - 1] >= i)) found |= BROKEN;
            if (reads(stored, i, j) && !isfinite(values[e])) found |= NOT_FINITE;
        }
    if (found != 0) atomicOr(faults, found);
}

// Finds entries without an equal mirror image. One warp per row.
extern "C" __global__ void __launch_bounds__(THREADS)
    sparse_symmetric_plain(i64 n, const int* starts, const int* index, const double* values,
                           int* faults) {
    const int lane = threadIdx.x & 31;
    const i64 step = (i64)gridDim.x * (THREADS / 32);
    bool differs = false;
    for (i64 j = (blockIdx.x * (i64)THREADS + threadIdx.x) >> 5; j < n; j += step)
        for (int e = starts[j] + lane; e < starts[j + 1]; e += 32) {
            const int i = index[e];
            int low = starts[i], high = starts[i + 1];
            while (low < high) {
                const int middle = low + (high - low) / 2;
                if (index[middle] < j) low = middle + 1;
                else high = middle;
            }
            const double image = low < starts[i + 1] && index[low] == j ? values[low] : 0;
            if (image != values[e]) differs = true;
        }
    if (differs) atomicOr(faults, NOT_SYMMETRIC);
}

// Counts for each row its entries in its own column of a triangle, and those beyond the diagonal in
// other columns.
extern "C" __global__ void __launch_bounds__(THREADS)
    sparse_lengths_plain(i64 n, int stored, const int* starts, const int* index, int* own,
                         int* mirrored) {
    const int lane = threadIdx.x & 31;
    const i64 step = (i64)gridDim.x * (THREADS / 32);
    for (i64 j = (blockIdx.x * (i64)THREADS + threadIdx.x) >> 5; j < n; j += step) {
        int count = 0;
        for (int e = starts[j] + lane; e < starts[j + 1]; e += 32) {
            const int i = index[e];
            if (!reads(stored, i, j)) continue;
            ++count;
            if (i != j) atomicAdd(mirrored + i, 1);
        }
        count = warp_sum(count);
        if (lane == 0) own[j] = count;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    sparse_add_plain(i64 n, const int* x, const int* y, int* out) {
    for (i64 i = blockIdx.x * (i64)THREADS + threadIdx.x; i < n; i += (i64)gridDim.x * THREADS)
        out[i] = x[i] + y[i];
}

// Writes the entries of a triangle to their rows. Those of other columns go to `drawn` first, in an
// order that varies from run to run. `taken` starts with zeros.
extern "C" __global__ void __launch_bounds__(THREADS)
    sparse_fill_plain(i64 n, int stored, const int* starts, const int* index, const double* values,
                      const int* own, const int* mirrored, const int* to, int* taken,
                      int* drawn_index, double* drawn_values, int* out_index, double* out_values) {
    const int lane = threadIdx.x & 31;
    const i64 step = (i64)gridDim.x * (THREADS / 32);
    for (i64 j = (blockIdx.x * (i64)THREADS + threadIdx.x) >> 5; j < n; j += step) {
        // Columns before the diagonal, or after it.
        int place = to[j] + (stored == LOWER ? mirrored[j] : 0);
        for (int first = starts[j]; first < starts[j + 1]; first += 32) {
            const int e = first + lane;
            const bool there = e < starts[j + 1] && reads(stored, index[e], j);
            const unsigned all = __ballot_sync(0xffffffffu, there);
            if (there) {
                const int i = index[e], at = place + __popc(all & ((1u << lane) - 1));
                const double value = values[e];
                out_index[at] = i;
                out_values[at] = value;
                if (i != j) {
                    const int slot =
                        to[i] + (stored == LOWER ? 0 : own[i]) + atomicAdd(taken + i, 1);
                    drawn_index[slot] = (int)j;
                    drawn_values[slot] = value;
                }
            }
            place += __popc(all);
        }
    }
}

// Sorts the drawn entries by columns. One thread per entry.
extern "C" __global__ void __launch_bounds__(THREADS)
    sparse_order_plain(i64 n, i64 entries, int stored, const int* own, const int* mirrored,
                       const int* starts, const int* drawn_index, const double* drawn_values,
                       int* out_index, double* out_values) {
    for (i64 e = blockIdx.x * (i64)THREADS + threadIdx.x; e < entries;
         e += (i64)gridDim.x * THREADS) {
        // Finds the last row that does not begin after it.
        i64 low = 0, high = n;
        while (high - low > 1) {
            const i64 middle = low + (high - low) / 2;
            if (starts[middle] <= e) low = middle;
            else high = middle;
        }
        const int first = starts[low] + (stored == LOWER ? 0 : own[low]),
                  last = first + mirrored[low];
        if (e < first || e >= last) continue;
        const int column = drawn_index[e];
        int smaller = 0;
        for (int k = first; k < last; ++k) smaller += drawn_index[k] < column;
        out_index[first + smaller] = column;
        out_values[first + smaller] = drawn_values[e];
    }
}

// diag(by) A diag(by), with the places of A. `lanes` threads per row.
extern "C" __global__ void __launch_bounds__(THREADS)
    sparse_scaled_plain(int lanes, i64 n, const int* starts, const int* index, const double* values,
                        const double* by, int* out_starts, int* out_index, double* out_values) {
    const int lane = threadIdx.x & (lanes - 1);
    const i64 row = (blockIdx.x * (i64)THREADS + threadIdx.x) / lanes;
    if (row >= n) return;
    const int first = starts[row], last = starts[row + 1];
    if (lane == 0) out_starts[row] = first;
    if (lane == 0 && row == n - 1) out_starts[n] = last;
    const double mine = by[row];
    for (int e = first + lane; e < last; e += lanes) {
        out_index[e] = index[e];
        out_values[e] = mine * values[e] * by[index[e]];
    }
}

// The entries a_ii, and the diagonal for relaxation, which is 1 for a row without entries. `lanes`
// threads per row. Rows with more than `most` entries are listed, in any order: long_rows[0] is
// their number, and starts with 0.
extern "C" __global__ void __launch_bounds__(THREADS)
    sparse_diagonals_plain(int lanes, i64 n, const int* starts, const int* index,
                           const double* values, double* entries, double* diagonal, int most,
                           int* long_rows) {
    const int lane = threadIdx.x & (lanes - 1);
    const i64 row = (blockIdx.x * (i64)THREADS + threadIdx.x) / lanes;
    double own = 0, sum = 0;
    if (row < n)
        for (int e = starts[row] + lane; e < starts[row + 1]; e += lanes) {
            const double v = values[e];
            if (index[e] == row) own = v;
            sum += fabs(v);
        }
    for (int d = lanes >> 1; d > 0; d >>= 1) {
        own += __shfl_xor_sync(0xffffffffu, own, d);
        sum += __shfl_xor_sync(0xffffffffu, sum, d);
    }
    if (row >= n || lane > 0) return;
    const double bound = fmax(own, sum / 2);
    entries[row] = own;
    diagonal[row] = bound > 0 ? bound : 1;
    if (starts[row + 1] - starts[row] > most) long_rows[1 + atomicAdd(long_rows, 1)] = (int)row;
}
