//! Clusters of blocks that factor a panel of LU: which kernel takes how many rows, and what it is started with.

use super::context::Context;
use super::kernels::{Family, Kernel};
use crate::error::Result;
use crate::scalar::Scalar;

/// Columns of a cluster's panel, as in `kernels/lu_panel.cu`.
pub(super) const CLUSTER_PANEL: usize = 128;
/// Blocks of a cluster, and rows of a block, at most.
const BLOCKS: usize = 16;
const ROWS: usize = 1024;
/// Columns that one block brings up to a panel, as in `kernels/lu_follow.cu`.
pub(super) const FOLLOWING: usize = 16;

/// A kernel for a cluster's panels, and what it is started with.
#[derive(Clone, Copy)]
pub(super) struct Cluster {
    pub kernel: Kernel,
    /// Rows of a block, threads of it, and columns that they have in hand.
    rows: usize,
    threads: usize,
    in_hand: usize,
}

impl Cluster {
    /// For panels of `rows` rows, more than pipelines take: the one that spreads them widest. Fewer rows are as well done. None where
    /// there are too many.
    pub(super) fn of<T: Scalar>(rows: usize) -> Option<Cluster> {
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

    pub(super) fn blocks(&self, rows: usize) -> usize {
        rows.div_ceil(self.rows)
    }

    /// Threads of a block: those with rows, and four warps of clerks.
    pub(super) fn all_threads(&self) -> u32 {
        self.threads as u32 + 128
    }

    /// Bytes of shared memory of a block: `Shared` in `kernels/lu_rows.cuh`, and what alignment adds.
    pub(super) fn shared<T>(&self) -> usize {
        let before = CLUSTER_PANEL - self.in_hand;
        let offers = (2 * BLOCKS + 1) * (32 + self.in_hand * size_of::<T>());
        let candidates = self.threads * (16 + 8);
        let factors = before * (self.in_hand + 2 + before + 1) * size_of::<T>();
        offers + candidates + 16 + factors + CLUSTER_PANEL * size_of::<i32>() + 64
    }
}

/// Bytes of shared memory of a block that brings columns up to a panel: `Columns` in `kernels/lu_follow.cu`.
pub(super) fn following<T>() -> usize {
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

/// Elements of workspace for panels of up to `rows` rows and `cols` columns: blocks are filled up with rows that are not there.
pub(super) fn room(rows: usize, cols: usize) -> usize {
    (rows + ROWS) * CLUSTER_PANEL.min(cols)
}

#[cfg(test)]
mod tests {
    use super::super::lu_pipeline::pipelines;
    use super::super::pipeline::Pipeline;
    use super::*;

    /// No panel that is left to clusters has a cluster of one block, and every kernel has its use.
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
