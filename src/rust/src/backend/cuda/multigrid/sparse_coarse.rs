//! The matrix of aggregates (`kernels/multigrid/sparse_coarse.cu`).

use super::sparse_aggregates::DeviceAggregates;
use super::sparse_load::{finish, scan};
use crate::backend::cuda::driver::buffer::Buffer;
use crate::backend::cuda::driver::kernels::{args, Family, Kernel};
use crate::backend::cuda::elementwise::vectors::THREADS;
use crate::backend::cuda::matrix::views::blocks_for;
use crate::backend::cuda::multigrid::csr::{whole, DeviceCsr};
use crate::backend::cuda::CudaDevice;
use crate::base::error::Result;

const LENGTHS: Kernel = Kernel::untyped(Family::SparseCoarse, "coarsen_lengths_plain");
const SHORT: Kernel = Kernel::untyped(Family::SparseCoarse, "coarsen_short_plain");
const LONG: Kernel = Kernel::untyped(Family::SparseCoarse, "coarsen_long_plain");

/// Rows, each of a warp, of a block of the kernel for short ones.
const ROWS: usize = 4;
/// The most blocks of either kernel, which go on to further rows.
const BLOCKS: usize = 1 << 16;

/// Room for the entries of long rows while they are sorted: columns and values, twice.
struct Room([Buffer; 4]);

impl CudaDevice {
    pub(crate) fn coarser(
        &self,
        a: &DeviceCsr,
        of: &DeviceAggregates,
        scale: f64,
    ) -> Result<DeviceCsr> {
        let (ctx, n) = (self.ctx, of.count);
        let lengths = Buffer::of::<i32>(ctx, of.joined)?;
        ctx.launch::<f64>(
            LENGTHS,
            blocks_for(of.joined),
            1,
            THREADS,
            &args![of.joined, of.members.ptr, a.starts.ptr, lengths.ptr],
        )?;
        let before = Buffer::of::<i32>(ctx, of.joined + 1)?;
        let all = scan(ctx, of.joined, &lengths, &before)?;
        drop(lengths);
        let lengths = Buffer::of::<i32>(ctx, n)?;
        let long = Buffer::zeroed::<i32>(ctx, 1)?;
        let [groups, members, before] = [&of.starts, &of.members, &before].map(|b| b.ptr);
        let [starts, index, values] = [&a.starts, &a.index, &a.values].map(|b| b.ptr);
        let aggregate = of.aggregate.ptr;
        let both = args![n, groups, members, before, starts, index, values, aggregate, scale];
        // Each counts, or fills the starts, places and values that are given.
        let short_rows = |out: [u64; 3]| {
            let own = args![lengths.ptr, long.ptr, out[0], out[1], out[2]];
            let args = [&both[..], &own].concat();
            let blocks = n.div_ceil(ROWS).min(BLOCKS);
            ctx.launch::<f64>(SHORT, blocks, 1, 32 * ROWS as u32, &args)
        };
        let long_rows = |room: &Room, out: [u64; 3]| {
            let [keys_a, sums_a, keys_b, sums_b] = room.0.each_ref().map(|b| b.ptr);
            let sorted = args![keys_a, sums_a, keys_b, sums_b];
            let own = args![lengths.ptr, out[0], out[1], out[2]];
            let args = [&both[..], &sorted, &own].concat();
            ctx.launch::<f64>(LONG, n.min(BLOCKS), 1, THREADS, &args)
        };
        short_rows([0; 3])?;
        let room = if whole(&long, 1)?[0] != 0 {
            Some(Room([
                Buffer::of::<i32>(ctx, all)?,
                Buffer::of::<f64>(ctx, all)?,
                Buffer::of::<i32>(ctx, all)?,
                Buffer::of::<f64>(ctx, all)?,
            ]))
        } else {
            None
        };
        if let Some(room) = &room {
            long_rows(room, [0; 3])?;
        }
        let to = Buffer::of::<i32>(ctx, n + 1)?;
        let entries = scan(ctx, n, &lengths, &to)?;
        let made = (
            Buffer::of::<i32>(ctx, entries)?,
            Buffer::of::<f64>(ctx, entries)?,
        );
        if entries > 0 {
            let out = [to.ptr, made.0.ptr, made.1.ptr];
            short_rows(out)?;
            if let Some(room) = &room {
                long_rows(room, out)?;
            }
        }
        finish(ctx, (n, entries), [to, made.0, made.1])
    }
}
