//! Clusters of blocks that factor a panel of LU: which kernel takes how many rows, its arguments,
//! and what runs at the same time.

use crate::backend::cuda::driver::buffer::Buffer;
use crate::backend::cuda::driver::context::Context;
use crate::backend::cuda::driver::kernels::{args, Family, Kernel};
use crate::backend::cuda::lu::work::CLUSTER_PANEL;
use crate::backend::cuda::lu::work::{LuWorkspace, THREADS};
use crate::backend::cuda::matrix::views::View;
use crate::base::error::{Error, Result};
use crate::base::scalar::Scalar;

const FOLLOW: Kernel = Kernel::new(Family::LuFollow, "columns_follow_block");

/// Blocks of a cluster, and rows of a block, at most.
const BLOCKS: usize = 16;
const ROWS: usize = 1024;
/// Columns that one block updates by a panel, as in `kernels/lu/lu_follow.cu`.
const FOLLOWING: usize = 16;

/// A kernel for the panels of clusters, and its launch parameters.
#[derive(Clone, Copy)]
struct Cluster {
    kernel: Kernel,
    /// Rows of a block, its threads, and columns that they hold.
    rows: usize,
    threads: usize,
    in_hand: usize,
}

impl Cluster {
    /// For panels of `rows` rows, more than pipelines take: the kernel with the most blocks. It is
    /// as good for fewer rows. None if there are too many rows.
    fn of<T: Scalar>(rows: usize) -> Option<Cluster> {
        const fn cluster(kernel: Kernel, rows: usize, threads: usize, in_hand: usize) -> Cluster {
            Cluster {
                kernel,
                rows,
                threads,
                in_hand,
            }
        }
        const fn kernel(name: &'static str) -> Kernel {
            Kernel::new(Family::LuPanel, name)
        }
        const DOUBLE: [Cluster; 3] = [
            cluster(kernel("panel_eliminate_cluster256"), 256, 128, 32),
            cluster(kernel("panel_eliminate_cluster512"), 512, 256, 16),
            cluster(kernel("panel_eliminate_cluster1024"), 1024, 256, 8),
        ];
        const SINGLE: [Cluster; 2] = [
            cluster(kernel("panel_eliminate_cluster512"), 512, 128, 32),
            cluster(kernel("panel_eliminate_cluster1024"), 1024, 256, 16),
        ];
        let all: &[Cluster] = if size_of::<T>() == 8 {
            &DOUBLE
        } else {
            &SINGLE
        };
        all.iter().find(|c| rows <= BLOCKS * c.rows).copied()
    }

    fn blocks(&self, rows: usize) -> usize {
        rows.div_ceil(self.rows)
    }

    /// Threads of a block: those with rows, and four warps of clerks.
    fn all_threads(&self) -> u32 {
        self.threads as u32 + 128
    }

    /// Bytes of shared memory of a block: `Shared` in `kernels/lu/lu_rows.cuh`, with alignment.
    fn shared<T>(&self) -> usize {
        let before = CLUSTER_PANEL - self.in_hand;
        let offers = (2 * BLOCKS + 1) * (32 + self.in_hand * size_of::<T>());
        let candidates = self.threads * (16 + 8);
        let factors = before * (self.in_hand + 2 + before + 1) * size_of::<T>();
        offers + candidates + 16 + factors + CLUSTER_PANEL * size_of::<i32>() + 64
    }
}

/// Bytes of shared memory of a block that brings columns up to a panel: `Columns` in
/// `kernels/lu/lu_follow.cu`.
fn following<T>() -> usize {
    let numbers = CLUSTER_PANEL * (CLUSTER_PANEL + 1 + FOLLOWING + 2);
    numbers * size_of::<T>() + FOLLOWING / 8 * 4 * 80 * size_of::<f64>()
}

/// The most rows of a matrix's panels that clusters of this device take.
pub(super) fn cluster_rows<T: Scalar>(ctx: &'static Context, rows: usize) -> Result<usize> {
    if !ctx.has(Family::LuPanel) {
        return Ok(0);
    }
    let mut most = rows.min(BLOCKS * ROWS);
    while let Some(cluster) = Cluster::of::<T>(most) {
        let shared = cluster.shared::<T>();
        if shared.max(following::<T>()) <= ctx.properties.shared {
            let blocks = cluster.blocks(most);
            if ctx.takes_cluster::<T>(cluster.kernel, blocks, cluster.all_threads(), shared)? {
                return Ok(most);
            }
        }
        most /= 2;
        if most == 0 {
            break;
        }
    }
    Ok(0)
}

/// Elements of workspace for panels of up to `rows` rows and `cols` columns: the rows are padded to
/// whole blocks.
pub(crate) fn room(rows: usize, cols: usize) -> usize {
    (rows + ROWS) * CLUSTER_PANEL.min(cols)
}

impl<T: Scalar> LuWorkspace<T> {
    /// Factors the first `k` columns in panels of clusters from left to right, and updates the
    /// others. As soon as the columns of the next panel are up to date, it is factored on separate
    /// multiprocessors while the others are updated.
    ///
    /// Panels make blocks of `wide` columns. Columns behind the next block are updated by a whole
    /// block at once, a share of them during each panel of that block: products of depth 128 are
    /// limited by memory.
    pub(crate) fn panels(&self, k: usize, wide: usize) -> Result<()> {
        let cols = self.a.cols;
        self.panel(0, k.min(CLUSTER_PANEL))?;
        // The block by which the columns behind this one are not updated yet.
        let mut before: Option<(usize, usize)> = None;
        for block in (0..k).step_by(wide) {
            let end = (block + wide).min(k);
            let all = end - block;
            let share = (cols - end).div_ceil((all.div_ceil(CLUSTER_PANEL) - 1).max(1));
            let mut late = end;
            for first in (block..end).step_by(CLUSTER_PANEL) {
                let next = (first + CLUSTER_PANEL).min(end);
                let ahead = CLUSTER_PANEL.min(end - next);
                self.done(first);
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
                self.exchange_left(block, all)?;
                self.update(block, all, end, cols - end)?;
                continue;
            }
            // With narrow blocks no update is left for later.
            let (to, later) = match wide > CLUSTER_PANEL {
                true => ((end + wide).min(k), Some((block, all))),
                false => (cols, None),
            };
            self.beside_panel(block, all, (end, ahead), to)?;
            self.exchange_left(block, all)?;
            self.ctx.join()?;
            self.ctx.fence()?;
            before = later;
        }
        Ok(())
    }

    /// Brings the next panel's columns up to the factored columns `first..first + n` and factors
    /// it, while the columns from there to column `to` are updated. The caller must call
    /// [`Context::join`].
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

    /// Whether the panel from column `first` on, a multiple of its width, is factored by a cluster.
    pub(super) fn by_cluster(&self, first: usize) -> bool {
        let most = self.cluster.as_ref().map_or(0, |(rows, _)| *rows);
        first < self.plan.tail && first % CLUSTER_PANEL == 0 && self.a.rows - first <= most
    }

    /// Factors a panel by a cluster, from pivot number `first` on, in the workspace `work`.
    pub(super) fn cluster_panel(&self, panel: View<T>, first: usize, work: &Buffer) -> Result<()> {
        let n = panel.cols;
        let Some(cluster) = Cluster::of::<T>(panel.rows) else {
            return Err(Error::Internal {
                what: format!("no cluster for a panel of {} rows", panel.rows),
            });
        };
        self.ctx.launch_cluster::<T>(
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
        )
    }

    /// Brings `count` columns from `column` up to a panel of a cluster: exchanges and the rows of
    /// U.
    pub(super) fn follow_cluster(
        &self,
        first: usize,
        n: usize,
        column: usize,
        count: usize,
    ) -> Result<()> {
        let part = self.a.sub(0, column, self.a.rows, count);
        let panel = self.a.sub(first, first, n, n);
        self.ctx.launch_shared::<T>(
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
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::cuda::lu::pipeline::pipelines;
    use crate::backend::cuda::panel::column_pipeline::Pipeline;

    /// No panel for clusters has a cluster of one block, and every kernel is used.
    fn clusters_have_several_blocks<T: Scalar>(kernels: usize) {
        let mut used = Vec::new();
        for rows in 1..=BLOCKS * ROWS {
            if Pipeline::of(pipelines::<T>(), rows).is_some() {
                continue;
            }
            let cluster = Cluster::of::<T>(rows).unwrap();
            assert!((2..=BLOCKS).contains(&cluster.blocks(rows)), "{rows}");
            if !used.contains(&cluster.kernel) {
                used.push(cluster.kernel);
            }
        }
        assert_eq!(used.len(), kernels);
        assert!(Cluster::of::<T>(BLOCKS * ROWS + 1).is_none());
    }

    #[test]
    fn clusters_have_what_pipelines_leave() {
        clusters_have_several_blocks::<f64>(3);
        clusters_have_several_blocks::<f32>(2);
    }
}
