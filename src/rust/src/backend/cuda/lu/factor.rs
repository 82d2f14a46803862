//! LU factorization with partial pivoting.
//!
//! From the column on from which the rows are few enough, one launch factors as many columns as its
//! blocks hold (`kernels/lu/lu_pipeline.cu`): a small matrix is one launch.
//!
//! Before, where a cluster of blocks holds its rows, a panel has [`CLUSTER_PANEL`] columns and is
//! one launch (`kernels/lu/lu_panel.cu`); elsewhere it has [`PANEL`], and takes a launch for each
//! (`kernels/lu/lu.cu`). Columns whose panels are all of the first kind are factored panel by
//! panel, the next one while the rest is brought up to the last. Others are halved down to panels:
//! factor the left half, exchange the rows of the right one, solve for its upper part, subtract the
//! product, factor the rest.

use super::cluster::{cluster_rows, room};
use super::pipeline::pipelines;
use crate::backend::cuda::driver::buffer::Buffer;
use crate::backend::cuda::driver::context::Context;
use crate::backend::cuda::driver::kernels::{args, Family, Kernel};
use crate::backend::cuda::gemm::gemm_syrk::multiply;
use crate::backend::cuda::gemm::update::{Bound, Update};
use crate::backend::cuda::lu::work::CLUSTER_PANEL;
use crate::backend::cuda::lu::work::{chunk_rows, most_chunks, LuWorkspace, PANEL, THREADS};
use crate::backend::cuda::lu::work::{Deferred, LIST_WORDS};
use crate::backend::cuda::matrix::views::View;
use crate::backend::cuda::panel::column_pipeline::PipelinePlan;
use crate::backend::cuda::triangular::trsm::solve_lower;
use crate::base::error::Result;
use crate::base::progress;
use crate::base::scalar::Scalar;
use crate::cost::flops::lu_flops;
use crate::device::lapack::LuInfo;

const ELIMINATE: Kernel = Kernel::new(Family::Lu, "panel_eliminate_column");
const LIST: Kernel = Kernel::untyped(Family::Lu, "exchanges_list_warp");

/// Columns of a block of panels, and rows from which panels are put together.
const WIDE: usize = 4 * CLUSTER_PANEL;
const WIDE_FROM: usize = 6144;

pub(crate) fn factor<T: Scalar>(ctx: &'static Context, a: View<T>) -> Result<LuInfo> {
    let wide = if a.rows < WIDE_FROM {
        CLUSTER_PANEL
    } else {
        WIDE
    };
    let plan = planned::<T>(ctx, (a.rows, a.cols))?;
    factor_as_planned(ctx, a, wide, plan, wide > CLUSTER_PANEL)
}

/// Which columns are factored in pipelines.
fn planned<T: Scalar>(ctx: &'static Context, size: (usize, usize)) -> Result<PipelinePlan> {
    PipelinePlan::of::<T>(ctx, pipelines::<T>(), size, CLUSTER_PANEL)
}

/// Like [`factor`], with the panels of clusters in blocks of `wide` columns, a multiple of their
/// width. With `deferred`, exchanges of columns to the left are applied at the end, if there is
/// memory.
fn factor_as_planned<T: Scalar>(
    ctx: &'static Context,
    a: View<T>,
    wide: usize,
    plan: PipelinePlan,
    deferred: bool,
) -> Result<LuInfo> {
    let k = a.rows.min(a.cols);
    if k == 0 {
        return Ok(LuInfo {
            ipiv: Vec::new(),
            zero: None,
        });
    }
    let chunks = most_chunks(a.rows);
    let words = k.next_multiple_of(CLUSTER_PANEL) / PANEL * LIST_WORDS;
    let cluster = match plan.tail {
        0 => None,
        _ => match cluster_rows::<T>(ctx, a.rows)? {
            0 => None,
            rows => Some((rows, Buffer::of::<T>(ctx, room(rows, k))?)),
        },
    };
    let by_clusters = cluster.as_ref().is_some_and(|(rows, _)| a.rows <= *rows);
    let deferred = match deferred && by_clusters {
        true => Deferred::new(ctx, &a, &plan, wide)?,
        false => None,
    };
    let work = LuWorkspace {
        ctx,
        a,
        space: Buffer::of::<T>(ctx, 2 * (chunks * (PANEL + 1) + PANEL))?,
        places: Buffer::of::<i32>(ctx, 2 * chunks)?,
        pivots: Buffer::of::<i32>(ctx, k)?,
        zero: Buffer::of::<i32>(ctx, 1)?,
        lists: Buffer::of::<i32>(ctx, words)?,
        cluster,
        deferred,
        plan,
        all: progress::part(lu_flops((a.rows, a.cols))),
        messages: Buffer::of::<u32>(ctx, plan.words::<T>())?,
    };
    work.zero.fill(0xff, size_of::<i32>())?;
    work.lists.fill(0, words * size_of::<i32>())?;
    // After an error no panel may be left in the second stream, because its memory is freed.
    ctx.or_drain(work.all(wide))?;
    let mut pivots = vec![0i32; k];
    work.pivots.to_slice(&mut pivots)?;
    let mut zero = [-1i32];
    work.zero.to_slice(&mut zero)?;
    Ok(LuInfo {
        ipiv: pivots.into_iter().map(|p| p as usize).collect(),
        zero: usize::try_from(zero[0]).ok(),
    })
}

impl<T: Scalar> LuWorkspace<T> {
    fn all(&self, wide: usize) -> Result<()> {
        let tail = self.plan.tail;
        match &self.cluster {
            _ if tail == 0 => {}
            Some((rows, _)) if self.a.rows <= *rows => self.panels(tail, wide)?,
            _ => {
                self.columns(0, tail)?;
                self.update(0, tail, tail, self.a.cols - tail)?;
            }
        }
        self.pipelines()?;
        self.exchange_deferred()
    }

    /// Reports to progress that all columns before this one are queued.
    pub(crate) fn done(&self, column: usize) {
        let (m, n) = (self.a.rows - column, self.a.cols - column);
        self.all.left(lu_flops((m, n)));
    }

    /// The columns that are factored in pipelines.
    fn pipelines(&self) -> Result<()> {
        for (first, width, pivots) in self.plan.launches() {
            self.done(first);
            let part = self.a.sub(first, first, self.a.rows - first, width);
            let found = args![
                first,
                self.pivots.ptr,
                self.zero.ptr,
                self.list(first),
                2 * pivots as i32
            ];
            self.plan.launch(self.ctx, part, &self.messages, &found)?;
            let next = first + width;
            self.exchange_left(first, pivots)?;
            self.update(first, pivots, next, self.a.cols - next)?;
            self.ctx.fence()?;
        }
        Ok(())
    }

    /// Brings `count` columns from `column` up to the factored columns `first..first + n`.
    pub(crate) fn update(&self, first: usize, n: usize, column: usize, count: usize) -> Result<()> {
        if count == 0 {
            return Ok(());
        }
        self.follow(first, n, column, count)?;
        let below = first + n;
        let rows = self.a.rows - below;
        multiply(
            self.ctx,
            Update {
                bound: self.bound(),
                ..Update::subtract()
            },
            self.a.sub(below, first, rows, n),
            self.a.sub(first, column, n, count),
            self.a.sub(below, column, rows, count),
        )
    }

    /// Where doubles are fast the host does not wait, and zeros mean doubles. Elsewhere the wait is
    /// short beside a product in double precision.
    fn bound(&self) -> Bound {
        match self.ctx.properties.double_keeps_up() {
            true => Bound::DenseEntries,
            false => Bound::Entries,
        }
    }

    /// Factors `n` columns from `first`, whose earlier columns are done; exchanges rows within
    /// these columns alone.
    fn columns(&self, first: usize, n: usize) -> Result<()> {
        let width = self.width(first);
        if n <= width {
            return self.panel(first, n);
        }
        // A cluster's panels begin at multiples of their width.
        let unit = match self.cluster {
            Some(_) if n > CLUSTER_PANEL => CLUSTER_PANEL,
            _ => width,
        };
        let half = n.div_ceil(2).next_multiple_of(unit);
        let (next, rest) = (first + half, n - half);
        self.columns(first, half)?;
        self.update(first, half, next, rest)?;
        self.done(next);
        self.columns(next, rest)?;
        self.exchange(next, rest, first, half)
    }

    /// Brings `count` columns from `column` up to the factored columns `first..first + n`:
    /// exchanges and the rows of U.
    fn follow(&self, first: usize, n: usize, column: usize, count: usize) -> Result<()> {
        if n <= CLUSTER_PANEL && self.by_cluster(first) {
            return self.follow_cluster(first, n, column, count);
        }
        self.exchange(first, n, column, count)?;
        solve_lower(
            self.ctx,
            (true, self.bound()),
            self.a.sub(first, first, n, n),
            self.a.sub(first, column, n, count),
            0,
        )
    }

    /// Columns of the panel, or of the pipeline, from column `first` on, a multiple of a panel's.
    pub(crate) fn width(&self, first: usize) -> usize {
        if first >= self.plan.tail {
            self.plan.width(first)
        } else if self.by_cluster(first) {
            CLUSTER_PANEL
        } else {
            PANEL
        }
    }

    pub(crate) fn panel(&self, first: usize, n: usize) -> Result<()> {
        let panel = self.a.sub(first, first, self.a.rows - first, n);
        if let (true, Some((_, work))) = (self.by_cluster(first), &self.cluster) {
            return self.cluster_panel(panel, first, work);
        }
        let chunk = chunk_rows(panel.rows);
        for j in 0..=n {
            self.ctx.launch::<T>(
                ELIMINATE,
                panel.rows.div_ceil(chunk),
                1,
                THREADS as u32,
                &args![
                    panel.rows,
                    n as i32,
                    j as i32 - 1,
                    chunk,
                    panel.ptr,
                    panel.ld(),
                    first,
                    self.space.ptr,
                    self.places.ptr,
                    self.pivots.ptr,
                    self.zero.ptr
                ],
            )?;
        }
        self.ctx.launch::<T>(
            LIST,
            1,
            1,
            32,
            &args![first as i32, n as i32, self.pivots.ptr, self.list(first)],
        )?;
        self.ctx.fence()
    }
}

#[cfg(test)]
#[path = "factor_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "textbook_tests.rs"]
mod textbook_tests;
