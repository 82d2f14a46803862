//! Aggregates of the rows of a sparse matrix (`kernels/multigrid/sparse_coarse.cu`).

use super::sparse_load::scan;
use crate::backend::cuda::driver::buffer::Buffer;
use crate::backend::cuda::driver::kernels::{args, Family, Kernel};
use crate::backend::cuda::elementwise::vectors::THREADS;
use crate::backend::cuda::matrix::views::blocks_for;
use crate::backend::cuda::multigrid::csr::DeviceCsr;
use crate::backend::cuda::CudaDevice;
use crate::base::error::Result;
use crate::device::sparse::ROUNDS;

const BEGIN: Kernel = Kernel::untyped(Family::SparseCoarse, "aggregate_begin_plain");
const PROPOSE: Kernel = Kernel::untyped(Family::SparseCoarse, "aggregate_propose_plain");
const ACCEPT: Kernel = Kernel::untyped(Family::SparseCoarse, "aggregate_accept_plain");
const FLAG: Kernel = Kernel::untyped(Family::SparseCoarse, "aggregate_flag_plain");
const NUMBER: Kernel = Kernel::untyped(Family::SparseCoarse, "aggregate_number_plain");
const SIZES: Kernel = Kernel::untyped(Family::SparseCoarse, "aggregate_sizes_plain");
const DRAW: Kernel = Kernel::untyped(Family::SparseCoarse, "aggregate_draw_plain");
const ORDER: Kernel = Kernel::untyped(Family::SparseCoarse, "aggregate_order_plain");

/// The aggregate of each row, -1 of none; where the members of each begin, and they.
pub struct DeviceAggregates {
    pub(crate) rows: usize,
    pub(crate) count: usize,
    /// Rows that are in one.
    pub(crate) joined: usize,
    pub(crate) aggregate: Buffer,
    pub(crate) starts: Buffer,
    pub(crate) members: Buffer,
}

impl CudaDevice {
    pub(crate) fn aggregate(&self, a: &DeviceCsr, apart: f64) -> Result<DeviceAggregates> {
        let (ctx, n) = (self.ctx, a.n);
        let room = || Buffer::of::<i32>(ctx, n);
        let (root, best) = (room()?, room()?);
        let [starts, index, values, own, diagonal] =
            [&a.starts, &a.index, &a.values, &a.own, &a.diagonal].map(|b| b.ptr);
        let lanes = a.few_lanes();
        let (blocks, lanes) = ((n * lanes).div_ceil(THREADS as usize), lanes as i32);
        ctx.launch::<f64>(
            BEGIN,
            blocks,
            1,
            THREADS,
            &args![lanes, n, starts, index, values, own, apart, root.ptr],
        )?;
        let relaxes = i32::from(apart >= 0.0);
        for round in 0..=ROUNDS {
            let joining = i32::from(round == ROUNDS);
            ctx.launch::<f64>(
                PROPOSE,
                blocks,
                1,
                THREADS,
                &args![
                    lanes, n, starts, index, values, diagonal, relaxes, root.ptr, joining, best.ptr
                ],
            )?;
            ctx.launch::<f64>(
                ACCEPT,
                n.div_ceil(THREADS as usize),
                1,
                THREADS,
                &args![n, joining, best.ptr, root.ptr],
            )?;
        }
        let number = Buffer::of::<i32>(ctx, n + 1)?;
        ctx.launch::<f64>(
            FLAG,
            blocks_for(n),
            1,
            THREADS,
            &args![n, root.ptr, best.ptr],
        )?;
        let count = scan(ctx, n, &best, &number)?;
        self.numbered(n, count, &root, &number)
    }

    pub(super) fn compose(
        &self,
        inner: &DeviceAggregates,
        outer: &DeviceAggregates,
    ) -> Result<DeviceAggregates> {
        self.numbered(inner.rows, outer.count, &inner.aggregate, &outer.aggregate)
    }

    /// Row i is in aggregate `number[of[i]]`, or in none where `of` is negative.
    fn numbered(
        &self,
        rows: usize,
        count: usize,
        of: &Buffer,
        number: &Buffer,
    ) -> Result<DeviceAggregates> {
        let ctx = self.ctx;
        let aggregate = Buffer::of::<i32>(ctx, rows)?;
        let by_row =
            |kernel, args: &[_]| ctx.launch::<f64>(kernel, blocks_for(rows), 1, THREADS, args);
        by_row(NUMBER, &args![rows, of.ptr, number.ptr, aggregate.ptr])?;
        let taken = Buffer::zeroed::<i32>(ctx, count)?;
        by_row(SIZES, &args![rows, aggregate.ptr, taken.ptr])?;
        let starts = Buffer::of::<i32>(ctx, count + 1)?;
        let joined = scan(ctx, count, &taken, &starts)?;
        taken.clear(count * size_of::<i32>())?;
        let (drawn, members) = (
            Buffer::of::<i32>(ctx, joined)?,
            Buffer::of::<i32>(ctx, joined)?,
        );
        by_row(
            DRAW,
            &args![rows, aggregate.ptr, starts.ptr, taken.ptr, drawn.ptr],
        )?;
        ctx.launch::<f64>(
            ORDER,
            blocks_for(joined),
            1,
            THREADS,
            &args![joined, aggregate.ptr, starts.ptr, drawn.ptr, members.ptr],
        )?;
        Ok(DeviceAggregates {
            rows,
            count,
            joined,
            aggregate,
            starts,
            members,
        })
    }
}
