//! LU of as many columns as the blocks of one launch hold (`kernels/lu_pipeline.cu`): which kernel takes how many rows, what it is
//! started with, and which columns make a launch.

use super::buffer::Buffer;
use super::context::Context;
use super::kernels::{args, Family, Kernel};
use super::lu_cluster::CLUSTER_PANEL;
use super::memory::View;
use crate::error::{Error, Result};
use crate::scalar::Scalar;

/// Columns of a block.
const STRIPE: usize = 8;
/// Columns of a launch are a multiple of this, as its list of moves has the room of lists for so many, but for the last one's.
const UNIT: usize = 32;
/// The moves of more columns are not carried out by one block.
const MOST_COLUMNS: usize = 2048;

/// A kernel, and what it is started with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Pipeline {
    pub kernel: Kernel,
    /// Rows that it takes, and threads that have them.
    pub rows: usize,
    threads: usize,
}

const fn pipeline(name: &'static str, threads: usize, rows: usize) -> Pipeline {
    Pipeline {
        kernel: Kernel::new(Family::LuPipeline, name),
        rows: threads * rows,
        threads,
    }
}
const DOUBLE: [Pipeline; 3] = [
    pipeline("columns_eliminate_pipeline256x2", 256, 2),
    pipeline("columns_eliminate_pipeline512x2", 512, 2),
    pipeline("columns_eliminate_pipeline512x4", 512, 4),
];
const SINGLE: [Pipeline; 3] = [
    pipeline("columns_eliminate_pipeline256x4", 256, 4),
    pipeline("columns_eliminate_pipeline256x8", 256, 8),
    pipeline("columns_eliminate_pipeline512x8", 512, 8),
];

impl Pipeline {
    fn all<T>() -> &'static [Pipeline; 3] {
        match size_of::<T>() {
            8 => &DOUBLE,
            _ => &SINGLE,
        }
    }

    /// The least that takes so many rows.
    pub(super) fn of<T>(rows: usize) -> Option<Pipeline> {
        Pipeline::all::<T>()
            .iter()
            .find(|p| rows <= p.rows)
            .copied()
    }

    /// Threads of a block: those with rows, and a warp that is the clerk.
    fn all_threads(&self) -> u32 {
        self.threads as u32 + 32
    }

    /// Bytes of shared memory of a block: `Shared` in the kernel, two short integers for each row, and what alignment adds.
    fn shared<T>(&self) -> usize {
        let rows_of_u = 2 * STRIPE * size_of::<T>();
        let choices = 2 * size_of::<i32>() + 2 * self.threads / 32 * size_of::<u32>();
        rows_of_u + choices + 16 * self.threads + 2 * size_of::<u16>() * self.rows + 64
    }

    /// Words of the messages of a launch with so many pivots: a column for each and one behind them, and the pivots' rows.
    fn words<T>(&self, pivots: usize) -> usize {
        (pivots + 1) * self.rows * (size_of::<T>() / size_of::<u32>()) + pivots
    }
}

/// Both words of a number that is not there yet: `BLANK` in `kernels/pipeline.cuh`.
fn blank<T>() -> u32 {
    match size_of::<T>() {
        8 => 0x7ff4_b1a7,
        _ => 0x7fa4_b1a7,
    }
}

/// Which columns of a matrix are factored in pipelines.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Plan {
    rows: usize,
    cols: usize,
    /// The first of them, a multiple of a cluster's panel; the number of pivots where there are none.
    pub tail: usize,
    /// The most columns of a launch.
    capacity: usize,
}

impl Plan {
    /// For a matrix of `rows` rows and `cols` columns, on blocks for `capacity` columns that are resident together.
    fn new<T>(rows: usize, cols: usize, capacity: usize) -> Plan {
        let [.., largest] = Pipeline::all::<T>();
        let capacity = capacity.min(MOST_COLUMNS) / UNIT * UNIT;
        let k = rows.min(cols);
        let tail = rows
            .saturating_sub(largest.rows)
            .next_multiple_of(CLUSTER_PANEL);
        Plan {
            rows,
            cols,
            tail: if capacity == 0 { k } else { tail.min(k) },
            capacity,
        }
    }

    pub(super) fn none(rows: usize, cols: usize) -> Plan {
        Plan {
            rows,
            cols,
            tail: rows.min(cols),
            capacity: 0,
        }
    }

    /// As the device has it.
    pub(super) fn of<T: Scalar>(ctx: &'static Context, rows: usize, cols: usize) -> Result<Plan> {
        if !ctx.properties.cooperative || !ctx.has(Family::LuPipeline) {
            return Ok(Plan::none(rows, cols));
        }
        for p in Pipeline::all::<T>() {
            let shared = p.shared::<T>();
            if shared > ctx.properties.shared
                || ctx.resident::<T>(p.kernel, p.all_threads(), shared)? == 0
            {
                return Ok(Plan::none(rows, cols));
            }
        }
        let capacity = STRIPE * ctx.properties.multiprocessors;
        Ok(Plan::new::<T>(rows, cols, capacity))
    }

    /// Columns of the launch that starts at column `first`: all that are left, if they fit. Else those with a pivot at most; and where
    /// the kernel for the most rows is needed, it is left as soon as the next takes over: a column costs less there.
    pub(super) fn width<T>(&self, first: usize) -> usize {
        let (rows, cols) = (self.rows - first, self.cols - first);
        if cols <= self.capacity {
            return cols;
        }
        let most = self.capacity.min(rows.min(cols));
        let [.., smaller, _] = Pipeline::all::<T>();
        match rows.saturating_sub(smaller.rows).next_multiple_of(UNIT) {
            0 => most,
            to_smaller => most.min(to_smaller),
        }
    }

    /// The launches: their first columns, columns and pivots.
    pub(super) fn launches<T>(&self) -> Vec<(usize, usize, usize)> {
        let k = self.rows.min(self.cols);
        let mut all = Vec::new();
        let mut first = self.tail;
        while first < k {
            let width = self.width::<T>(first);
            all.push((first, width, width.min(k - first)));
            first += width;
        }
        all
    }

    /// Words of the messages of any of them.
    pub(super) fn words<T>(&self) -> usize {
        let of = |&(first, _, pivots): &(usize, usize, usize)| {
            Pipeline::of::<T>(self.rows - first).map_or(0, |p| p.words::<T>(pivots))
        };
        self.launches::<T>().iter().map(of).max().unwrap_or(0)
    }
}

/// Where a launch leaves what it found.
pub(super) struct Found {
    pub pivots: u64,
    pub zero: u64,
    /// Its own list of moves, of which the number is zero, and the room for destinations.
    pub list: u64,
    pub room: usize,
}

/// Factors the matrix `a` from pivot number `first` on in one launch, on messages of enough words.
pub(super) fn launch<T: Scalar>(
    ctx: &'static Context,
    a: View<T>,
    first: usize,
    messages: &Buffer,
    found: &Found,
) -> Result<()> {
    let Some(p) = Pipeline::of::<T>(a.rows) else {
        return Err(Error::Internal {
            what: format!("no pipeline for {} rows", a.rows),
        });
    };
    messages.fill_words(blank::<T>(), p.words::<T>(a.rows.min(a.cols)))?;
    ctx.launch_together::<T>(
        p.kernel,
        a.cols.div_ceil(STRIPE),
        p.all_threads(),
        p.shared::<T>(),
        &args![
            a.rows as i32,
            a.cols as i32,
            a.ptr,
            a.ld(),
            first,
            messages.ptr,
            found.pivots,
            found.zero,
            found.list,
            found.room as i32
        ],
    )
}

#[cfg(test)]
#[path = "lu_pipeline_tests.rs"]
mod tests;
