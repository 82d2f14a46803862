//! Plans pipelines of columns. One launch factors as many columns as its blocks hold, and each
//! block sends its columns on to the blocks behind it (`kernels/common/column_pipeline.cuh`). The
//! plan says which columns form a launch, which kernel runs it, and with which arguments.

use std::mem::size_of;

use crate::backend::cuda::driver::buffer::Buffer;
use crate::backend::cuda::driver::context::Context;
use crate::backend::cuda::driver::kernels::{args, Arg, Kernel};
use crate::backend::cuda::matrix::views::View;
use crate::base::error::{Error, Result};
use crate::base::scalar::Scalar;

/// Columns of a block.
pub(crate) const STRIPE: usize = 8;
/// Columns of a launch are a multiple of this, but for the last one's.
pub(crate) const UNIT: usize = 32;
/// The exchanges of more columns are not carried out by one block.
const MOST_COLUMNS: usize = 2048;

/// A kernel, and its launch parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Pipeline {
    pub kernel: Kernel,
    /// Rows that it takes, threads that hold them, and threads of a block that hold none.
    pub rows: usize,
    pub threads: usize,
    pub clerks: usize,
    /// Bytes of dynamic shared memory of a block.
    pub shared: usize,
}

/// The kernels of a factorization, by the rows that they take.
pub(crate) type Pipelines = [Pipeline; 3];

impl Pipeline {
    /// The smallest of them that takes `rows` rows.
    pub(crate) fn of(all: &Pipelines, rows: usize) -> Option<Pipeline> {
        all.iter().find(|p| rows <= p.rows).copied()
    }

    fn all_threads(&self) -> u32 {
        (self.threads + self.clerks) as u32
    }

    /// Words of the messages of a launch with `pivots` pivots: a column and an integer for each,
    /// and one more column.
    pub(crate) fn words<T>(&self, pivots: usize) -> usize {
        (pivots + 1) * self.rows * (size_of::<T>() / size_of::<u32>()) + pivots
    }
}

/// Both words of a number that is not there yet: `BLANK` in `kernels/common/column_pipeline.cuh`.
pub(crate) fn blank<T>() -> u32 {
    match size_of::<T>() {
        8 => 0x7ff4_b1a7,
        _ => 0x7fa4_b1a7,
    }
}

/// Which columns of a matrix are factored in pipelines.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct PipelinePlan {
    all: &'static Pipelines,
    rows: usize,
    cols: usize,
    /// The first of them; the number of pivots where there are none.
    pub tail: usize,
    /// The most columns of a launch.
    pub capacity: usize,
}

impl PipelinePlan {
    /// For a matrix of `rows` rows and `cols` columns, on blocks for `capacity` columns that are
    /// resident together. The first column is a multiple of `unit`.
    pub(crate) fn new(
        all: &'static Pipelines,
        (rows, cols): (usize, usize),
        unit: usize,
        capacity: usize,
    ) -> PipelinePlan {
        let [.., largest] = all;
        let capacity = capacity.min(MOST_COLUMNS) / UNIT * UNIT;
        let k = rows.min(cols);
        let tail = rows.saturating_sub(largest.rows).next_multiple_of(unit);
        PipelinePlan {
            all,
            rows,
            cols,
            tail: if capacity == 0 { k } else { tail.min(k) },
            capacity,
        }
    }

    pub(crate) fn none(all: &'static Pipelines, (rows, cols): (usize, usize)) -> PipelinePlan {
        PipelinePlan::new(all, (rows, cols), 1, 0)
    }

    /// The plan for the properties of a device.
    pub(crate) fn of<T: Scalar>(
        ctx: &'static Context,
        all: &'static Pipelines,
        size: (usize, usize),
        unit: usize,
    ) -> Result<PipelinePlan> {
        if !ctx.properties.cooperative || !ctx.has(all[0].kernel.family) {
            return Ok(PipelinePlan::none(all, size));
        }
        for p in all {
            if p.shared > ctx.properties.shared
                || ctx.resident::<T>(p.kernel, p.all_threads(), p.shared)? == 0
            {
                return Ok(PipelinePlan::none(all, size));
            }
        }
        let capacity = STRIPE * ctx.properties.multiprocessors;
        Ok(PipelinePlan::new(all, size, unit, capacity))
    }

    /// Columns of the launch that starts at column `first`: all that are left, if they fit.
    /// Otherwise at most the columns with a pivot. The kernel for the most rows stops as soon as
    /// the next one can take over, where a column costs less.
    pub(crate) fn width(&self, first: usize) -> usize {
        let (rows, cols) = (self.rows - first, self.cols - first);
        if cols <= self.capacity {
            return cols;
        }
        let most = self.capacity.min(rows.min(cols));
        let [.., smaller, _] = self.all;
        match rows.saturating_sub(smaller.rows).next_multiple_of(UNIT) {
            0 => most,
            to_smaller => most.min(to_smaller),
        }
    }

    /// The launches: their first columns, columns and pivots.
    pub(crate) fn launches(&self) -> Vec<(usize, usize, usize)> {
        let k = self.rows.min(self.cols);
        let mut all = Vec::new();
        let mut first = self.tail;
        while first < k {
            let width = self.width(first);
            all.push((first, width, width.min(k - first)));
            first += width;
        }
        all
    }

    /// Words of the messages of any of them.
    pub(crate) fn words<T>(&self) -> usize {
        let of = |&(first, _, pivots): &(usize, usize, usize)| {
            Pipeline::of(self.all, self.rows - first).map_or(0, |p| p.words::<T>(pivots))
        };
        self.launches().iter().map(of).max().unwrap_or(0)
    }

    /// Factors the matrix `a`, what is left from some column on, in one launch, on messages of
    /// enough words. The kernel's arguments are its size, address and leading dimension, the
    /// messages, and `others`.
    pub(crate) fn launch<T: Scalar>(
        &self,
        ctx: &'static Context,
        a: View<T>,
        messages: &Buffer,
        others: &[Arg],
    ) -> Result<()> {
        let Some(p) = Pipeline::of(self.all, a.rows) else {
            return Err(Error::Internal {
                what: format!("no pipeline for {} rows", a.rows),
            });
        };
        messages.fill_words(blank::<T>(), p.words::<T>(a.rows.min(a.cols)))?;
        let mut args = args![a.rows as i32, a.cols as i32, a.ptr, a.ld(), messages.ptr].to_vec();
        args.extend_from_slice(others);
        ctx.launch_together::<T>(
            p.kernel,
            a.cols.div_ceil(STRIPE),
            p.all_threads(),
            p.shared,
            &args,
        )
    }
}

#[cfg(test)]
#[path = "column_pipeline_tests.rs"]
mod tests;
