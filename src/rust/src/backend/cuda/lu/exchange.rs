//! Row exchanges, after a panel or a pipeline has found the pivots: lists of moves. They are
//! applied to columns on the right at once, and to columns on the left at once or all together at
//! the end.

use std::mem::size_of;

use crate::backend::cuda::driver::buffer::Buffer;
use crate::backend::cuda::driver::context::Context;
use crate::backend::cuda::driver::kernels::{args, Family, Kernel};
use crate::backend::cuda::lu::work::Late;
use crate::backend::cuda::lu::work::CLUSTER_PANEL;
use crate::backend::cuda::lu::work::{Deferred, LIST_WORDS};
use crate::backend::cuda::lu::work::{LuWorkspace, PANEL};
use crate::backend::cuda::matrix::views::View;
use crate::backend::cuda::panel::column_pipeline::PipelinePlan;
use crate::base::error::Result;
use crate::base::scalar::Scalar;

const EXCHANGE: Kernel = Kernel::new(Family::Lu, "rows_exchange_list");
const COMPOSE: Kernel = Kernel::untyped(Family::Lu, "exchanges_compose_lists");
const REORDER: Kernel = Kernel::new(Family::Lu, "rows_reorder_column");

/// Columns that one block moves, and the most threads it has for it.
const MOVED_COLUMNS: usize = 4;
pub(crate) const MOVING_THREADS: usize = 1024;
/// Threads that reorder a column.
const REORDERING_THREADS: u32 = 512;

/// Index of the list of moves of the panel that starts at column `first`.
fn place(first: usize) -> usize {
    first / PANEL * LIST_WORDS
}

impl Late {
    /// Panels of clusters, in blocks of `wide` columns, and then pipelines.
    fn new(plan: &PipelinePlan, wide: usize) -> Late {
        let (tail, launches) = (plan.tail, plan.launches());
        let panels = (0..tail).step_by(CLUSTER_PANEL);
        let mut lists: Vec<_> = panels.map(|first| (first, 2 * CLUSTER_PANEL)).collect();
        let wides = (0..tail).step_by(wide);
        let mut blocks: Vec<_> = wides.map(|b| (b, (b + wide).min(tail))).collect();
        for (first, _, pivots) in launches {
            lists.push((first, 2 * pivots));
            blocks.push((first, first + pivots));
        }
        // No exchanges follow the last block.
        blocks.pop();
        Late { blocks, lists }
    }

    /// The table for kernel `exchanges_compose_lists`: for each block the first row that moves and
    /// the first list that it needs; then for each list its place and room.
    fn table(&self) -> Vec<i32> {
        let of_block = |&(_, end): &(usize, usize)| {
            let before = self.lists.partition_point(|(first, _)| *first < end);
            [end as i32, before as i32]
        };
        let of_list = |&(first, room): &(usize, usize)| [place(first) as i32, room as i32];
        let blocks = self.blocks.iter().flat_map(of_block);
        blocks.chain(self.lists.iter().flat_map(of_list)).collect()
    }
}

impl Deferred {
    /// For columns that fit in shared memory, if there are several blocks of them.
    pub(crate) fn new<T: Scalar>(
        ctx: &'static Context,
        a: &View<T>,
        plan: &PipelinePlan,
        wide: usize,
    ) -> Result<Option<Deferred>> {
        if a.rows * size_of::<T>() > ctx.properties.shared {
            return Ok(None);
        }
        let late = Late::new(plan, wide);
        if late.blocks.is_empty() {
            return Ok(None);
        }
        Ok(Some(Deferred {
            table: Buffer::from_slice(ctx, &late.table())?,
            order: Buffer::of::<i32>(ctx, late.blocks.len() * a.rows)?,
            late,
        }))
    }
}

impl<T: Scalar> LuWorkspace<T> {
    /// The list of moves of the panel that starts at column `first`.
    pub(crate) fn list(&self, first: usize) -> u64 {
        self.lists.ptr + (place(first) * size_of::<i32>()) as u64
    }

    /// Applies the exchanges of the factored columns `first..first + n` to other columns.
    pub(crate) fn exchange(
        &self,
        first: usize,
        n: usize,
        column: usize,
        count: usize,
    ) -> Result<()> {
        let part = self.a.sub(0, column, self.a.rows, count);
        let mut panel = first;
        while panel < first + n {
            let width = self.width(panel);
            let room = match panel < self.plan.tail {
                true => 2 * width,
                false => 2 * width.min(first + n - panel),
            };
            self.ctx.launch::<T>(
                EXCHANGE,
                count.div_ceil(MOVED_COLUMNS),
                1,
                room.next_multiple_of(32).min(MOVING_THREADS) as u32,
                &args![count, part.ptr, part.ld(), self.list(panel), room as i32],
            )?;
            panel += width;
        }
        Ok(())
    }

    /// Applies the exchanges of the factored columns `first..first + n`, a block of panels or a
    /// pipeline, to all columns before them, unless they are deferred.
    pub(super) fn exchange_left(&self, first: usize, n: usize) -> Result<()> {
        match self.deferred {
            Some(_) => Ok(()),
            None => self.exchange(first, n, 0, first),
        }
    }

    /// Applies the deferred exchanges. Nothing has read those columns since.
    pub(super) fn exchange_deferred(&self) -> Result<()> {
        let Some(Deferred { late, table, order }) = &self.deferred else {
            return Ok(());
        };
        let Some((_, end)) = late.blocks.first() else {
            return Ok(());
        };
        let m = self.a.rows;
        self.ctx.launch_shared::<T>(
            COMPOSE,
            (late.blocks.len(), 1),
            MOVING_THREADS as u32,
            (m - end) * size_of::<i32>(),
            &args![
                m,
                self.lists.ptr,
                table.ptr,
                late.lists.len() as i32,
                order.ptr
            ],
        )?;
        for (i, (first, end)) in late.blocks.iter().enumerate() {
            let part = self.a.sub(0, *first, m, end - first);
            let order = order.ptr + (i * m * size_of::<i32>()) as u64;
            self.ctx.launch_shared::<T>(
                REORDER,
                (part.cols, 1),
                REORDERING_THREADS,
                (m - end) * size_of::<T>(),
                &args![m, *end, part.ptr, part.ld(), order],
            )?;
        }
        self.ctx.fence()
    }
}

#[cfg(test)]
#[path = "exchange_tests.rs"]
mod tests;
