//! LU factorization with partial pivoting.
//!
//! From the column on from which the rows are few enough, one launch factors as many columns as its blocks hold (`kernels/lu_pipeline.cu`):
//! a small matrix is one launch.
//!
//! Before, where a cluster of blocks holds its rows, a panel has [`CLUSTER_PANEL`] columns and is one launch (`kernels/lu_panel.cu`);
//! elsewhere it has [`PANEL`], and takes a launch for each (`kernels/lu.cu`). Columns whose panels are all of the first kind are
//! factored panel by panel, the next one while the rest is brought up to the last. Others are halved down to panels: factor the
//! left half, exchange the rows of the right one, solve for its upper part, subtract the product, factor the rest.

use super::buffer::Buffer;
use super::context::Context;
use super::gemm::{multiply, Update};
use super::kernels::{args, Family, Kernel};
use super::lu_cluster::{cluster_rows, following, room, Cluster, CLUSTER_PANEL, FOLLOWING};
use super::lu_pipeline::pipelines;
use super::memory::View;
use super::pipeline::Plan;
use super::triangular::solve_lower;
use crate::device::LuInfo;
use crate::error::{Error, Result};
use crate::scalar::Scalar;

const ELIMINATE: Kernel = Kernel::new(Family::Lu, "panel_eliminate_column");
const LIST: Kernel = Kernel::untyped(Family::Lu, "exchanges_list_warp");
const EXCHANGE: Kernel = Kernel::new(Family::Lu, "rows_exchange_list");

const FOLLOW: Kernel = Kernel::new(Family::LuFollow, "columns_follow_block");

/// Columns of a panel, as in `kernels/lu.cu`.
const PANEL: usize = 32;
/// Integers of a panel's list of moves: their number, destinations and sources. That of more columns takes the room of those of as
/// many in panels.
pub(super) const LIST_WORDS: usize = 1 + 4 * PANEL;

/// Columns of a block of panels, and rows from which panels are put together.
const WIDE: usize = 4 * CLUSTER_PANEL;
const WIDE_FROM: usize = 6144;
/// Columns that one block moves, and the most threads it has for it.
const MOVED_COLUMNS: usize = 4;
pub(super) const MOVING_THREADS: usize = 1024;
const THREADS: usize = 256;
/// More chunks than this make every launch's reduction over them the longer part.
const MOST_CHUNKS: usize = 256;

/// What the panels share.
struct Work<T> {
    ctx: &'static Context,
    a: View<T>,
    space: Buffer,
    places: Buffer,
    pivots: Buffer,
    zero: Buffer,
    lists: Buffer,
    /// Room for a cluster's panel of so many rows, if there is one.
    cluster: Option<(usize, Buffer)>,
    /// Which columns are factored in pipelines, and room for their messages.
    plan: Plan,
    messages: Buffer,
}

/// Rows of one chunk when `m` rows are cut.
pub(super) fn chunk_rows(m: usize) -> usize {
    m.div_ceil(MOST_CHUNKS).next_multiple_of(THREADS)
}

/// The most chunks that `m` rows or fewer are cut into. Fewer rows may have more chunks: 65,537 make 129, one row
/// less makes 256.
pub(super) fn most_chunks(m: usize) -> usize {
    m.div_ceil(THREADS).min(MOST_CHUNKS)
}

pub(super) fn factor<T: Scalar>(ctx: &'static Context, a: View<T>) -> Result<LuInfo> {
    let wide = if a.rows < WIDE_FROM {
        CLUSTER_PANEL
    } else {
        WIDE
    };
    let plan = planned::<T>(ctx, (a.rows, a.cols))?;
    factor_as_planned(ctx, a, wide, plan)
}

/// Which columns are factored in pipelines.
fn planned<T: Scalar>(ctx: &'static Context, size: (usize, usize)) -> Result<Plan> {
    Plan::of::<T>(ctx, pipelines::<T>(), size, CLUSTER_PANEL)
}

/// As [`factor`], clusters' panels in blocks of `wide` columns, a multiple of theirs.
fn factor_as_planned<T: Scalar>(
    ctx: &'static Context,
    a: View<T>,
    wide: usize,
    plan: Plan,
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
    let work = Work {
        ctx,
        a,
        space: Buffer::of::<T>(ctx, 2 * (chunks * (PANEL + 1) + PANEL))?,
        places: Buffer::of::<i32>(ctx, 2 * chunks)?,
        pivots: Buffer::of::<i32>(ctx, k)?,
        zero: Buffer::of::<i32>(ctx, 1)?,
        lists: Buffer::of::<i32>(ctx, words)?,
        cluster: match plan.tail {
            0 => None,
            _ => match cluster_rows::<T>(ctx, a.rows)? {
                0 => None,
                rows => Some((rows, Buffer::of::<T>(ctx, room(rows, k))?)),
            },
        },
        plan,
        messages: Buffer::of::<u32>(ctx, plan.words::<T>())?,
    };
    work.zero.fill(0xff, size_of::<i32>())?;
    work.lists.fill(0, words * size_of::<i32>())?;
    // After an error no panel may be left in the other stream: its memory is given back.
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

impl<T: Scalar> Work<T> {
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
        self.pipelines()
    }

    /// The columns that are factored in pipelines.
    fn pipelines(&self) -> Result<()> {
        for (first, width, pivots) in self.plan.launches() {
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
            self.exchange(first, pivots, 0, first)?;
            self.update(first, pivots, next, self.a.cols - next)?;
            self.ctx.fence()?;
        }
        Ok(())
    }

    /// The first `k` columns by clusters' panels from left to right, and others brought up to them: as soon as the columns of the
    /// next panel are up to date it is factored, on multiprocessors of its own, beside the update of others.
    ///
    /// Panels make blocks of `wide` columns. What is behind the next block is brought up to a block as a whole, a share of it beside
    /// each of that block's panels: products of 128 columns are held up by memory.
    fn panels(&self, k: usize, wide: usize) -> Result<()> {
        let cols = self.a.cols;
        self.panel(0, k.min(CLUSTER_PANEL))?;
        // The block that columns from the end of this one on are not yet up to.
        let mut before: Option<(usize, usize)> = None;
        for block in (0..k).step_by(wide) {
            let end = (block + wide).min(k);
            let all = end - block;
            let share = (cols - end).div_ceil((all.div_ceil(CLUSTER_PANEL) - 1).max(1));
            let mut late = end;
            for first in (block..end).step_by(CLUSTER_PANEL) {
                let next = (first + CLUSTER_PANEL).min(end);
                let ahead = CLUSTER_PANEL.min(end - next);
                self.exchange(first, next - first, block, first - block)?;
                if ahead == 0 {
                    break;
                }
                self.beside_panel(first, next - first, (next, ahead), end)?;
                if let Some((b, n)) = before {
                    let count = share.next_multiple_of(CLUSTER_PANEL).min(cols - late);
                    self.ctx
                        .leaving(self.blocks(next), || self.update(b, n, late, count))?;
                    late += count;
                }
                self.ctx.join()?;
                self.ctx.fence()?;
            }
            if let Some((b, n)) = before {
                self.update(b, n, late, cols - late)?;
            }
            let ahead = CLUSTER_PANEL.min(k - end);
            if ahead == 0 {
                self.exchange(block, all, 0, block)?;
                self.update(block, all, end, cols - end)?;
                continue;
            }
            // Narrow blocks leave nothing for later.
            let (to, later) = match wide > CLUSTER_PANEL {
                true => ((end + wide).min(k), Some((block, all))),
                false => (cols, None),
            };
            self.beside_panel(block, all, (end, ahead), to)?;
            self.exchange(block, all, 0, block)?;
            self.ctx.join()?;
            self.ctx.fence()?;
            before = later;
        }
        Ok(())
    }

    /// Brings the next panel's columns up to the factored columns `first..first + n` and factors it, beside the update of those from
    /// there to column `to`. [`Context::join`] is left to do.
    fn beside_panel(
        &self,
        first: usize,
        n: usize,
        (panel, width): (usize, usize),
        to: usize,
    ) -> Result<()> {
        self.update(first, n, panel, width)?;
        self.ctx.beside(|| self.panel(panel, width))?;
        let others = panel + width;
        self.ctx.leaving(self.blocks(panel), || {
            self.update(first, n, others, to - others)
        })
    }

    /// Multiprocessors that the panel from column `first` on takes.
    fn blocks(&self, first: usize) -> usize {
        let rows = self.a.rows - first;
        Cluster::of::<T>(rows).map_or(0, |c| c.blocks(rows))
    }

    /// Brings `count` columns from `column` up to the factored columns `first..first + n`.
    fn update(&self, first: usize, n: usize, column: usize, count: usize) -> Result<()> {
        if count == 0 {
            return Ok(());
        }
        self.follow(first, n, column, count)?;
        let below = first + n;
        let rows = self.a.rows - below;
        multiply(
            self.ctx,
            Update::subtract(),
            self.a.sub(below, first, rows, n),
            self.a.sub(first, column, n, count),
            self.a.sub(below, column, rows, count),
        )
    }

    /// Factors `n` columns from `first`, whose earlier columns are done; exchanges rows within these columns alone.
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
        self.columns(next, rest)?;
        self.exchange(next, rest, first, half)
    }

    /// Brings `count` columns from `column` up to the factored columns `first..first + n`: exchanges and the rows of U.
    fn follow(&self, first: usize, n: usize, column: usize, count: usize) -> Result<()> {
        if n <= CLUSTER_PANEL && self.by_cluster(first) {
            let part = self.a.sub(0, column, self.a.rows, count);
            let panel = self.a.sub(first, first, n, n);
            return self.ctx.launch_shared::<T>(
                FOLLOW,
                (count.div_ceil(FOLLOWING), 1),
                THREADS as u32,
                following::<T>(),
                &args![
                    n as i32,
                    panel.ptr,
                    panel.ld(),
                    first,
                    count,
                    part.ptr,
                    self.list(first)
                ],
            );
        }
        self.exchange(first, n, column, count)?;
        solve_lower(
            self.ctx,
            true,
            self.a.sub(first, first, n, n),
            self.a.sub(first, column, n, count),
            0,
        )
    }

    /// Whether the panel from column `first` on, a multiple of its width, is a cluster's.
    fn by_cluster(&self, first: usize) -> bool {
        let most = self.cluster.as_ref().map_or(0, |(rows, _)| *rows);
        first < self.plan.tail && first.is_multiple_of(CLUSTER_PANEL) && self.a.rows - first <= most
    }

    /// Columns of the panel, or of the pipeline, from column `first` on, a multiple of a panel's.
    fn width(&self, first: usize) -> usize {
        if first >= self.plan.tail {
            self.plan.width(first)
        } else if self.by_cluster(first) {
            CLUSTER_PANEL
        } else {
            PANEL
        }
    }

    fn panel(&self, first: usize, n: usize) -> Result<()> {
        let panel = self.a.sub(first, first, self.a.rows - first, n);
        if let (true, Some((_, work))) = (self.by_cluster(first), &self.cluster) {
            let Some(cluster) = Cluster::of::<T>(panel.rows) else {
                return Err(Error::Internal {
                    what: format!("no cluster for a panel of {} rows", panel.rows),
                });
            };
            return self.ctx.launch_cluster::<T>(
                cluster.kernel,
                cluster.blocks(panel.rows),
                cluster.all_threads(),
                cluster.shared::<T>(),
                &args![
                    panel.rows,
                    n as i32,
                    panel.ptr,
                    panel.ld(),
                    work.ptr,
                    first,
                    self.pivots.ptr,
                    self.zero.ptr,
                    self.list(first)
                ],
            );
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

    /// The list of moves of the panel that starts at column `first`.
    fn list(&self, first: usize) -> u64 {
        self.lists.ptr + (first / PANEL * LIST_WORDS * size_of::<i32>()) as u64
    }

    /// Carries the exchanges of the factored columns `first..first + n` to other columns.
    fn exchange(&self, first: usize, n: usize, column: usize, count: usize) -> Result<()> {
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
}

#[cfg(test)]
#[path = "lu_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "lu_textbook_tests.rs"]
mod textbook_tests;
