//! Plans a product in tiles: which tiles and launches, and whether several blocks share a tile.
//!
//! Whole tiles run in rounds, and a last round of few tiles leaves most of a GPU idle. Tiles that
//! are split along their depth keep all multiprocessors busy, but their partial sums must be added.
//! The plan with the smaller estimated time of the busiest multiprocessor is chosen. The constants
//! of the estimate, with those in `gemm/shapes.rs`, were fitted to an H200. Those of small tiles in
//! single precision are estimated; plans between which they decide differ by some microseconds.

use super::shapes::{TileShape, SLAB};
use crate::cost::flops::ProductSize;

/// Shares of a tile that the kernel adds up first (`FOLLOW` in `multiply.cuh`).
const FOLLOW: usize = 16;

/// Depth in slabs below which more blocks per multiprocessor are faster, because they wait for
/// memory.
const SHALLOW: usize = 16;

/// Depth in slabs above which tiny tiles, which read each line most often, are not used: memory is
/// too slow.
const DEEP: usize = 512;

/// The least share of a block, in slabs.
const SHORTEST_SHARE: usize = 4;

/// Seconds of a launch in addition to its tiles.
const LAUNCH_SECONDS: f64 = 3e-6;

/// The properties of a GPU on which a plan depends.
#[derive(Debug, Clone, Copy)]
pub(super) struct Machine {
    pub multiprocessors: usize,
    /// Operations per second of one multiprocessor, at most, in the product's precision.
    pub rate: f64,
    /// Blocks of each shape that one multiprocessor holds at once; 0: the shape cannot be used.
    pub resident: [usize; 8],
    /// Whether blocks may share tiles: there is memory for their sums.
    pub shares: bool,
}

/// Tiles of a product; those of a triangle are square.
pub(crate) fn tiles(work: &ProductSize, shape: TileShape) -> usize {
    let t = shape.traits();
    let rows = work.m.div_ceil(t.rows);
    if work.triangle {
        rows * (rows + 1) / 2
    } else {
        rows * work.n.div_ceil(t.cols)
    }
}

fn slabs(work: &ProductSize) -> usize {
    work.k.div_ceil(SLAB)
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ProductPlan {
    pub shape: TileShape,
    /// Blocks of a launch at most: as many as are resident together.
    pub blocks: usize,
    /// Whether tiles of the last rounds are shared between blocks.
    pub streamed: bool,
    seconds: f64,
}

/// One launch: `tiles` tiles from tile `first` on, of which the first `streamed` are shared between
/// all blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Launch {
    pub first: usize,
    pub tiles: usize,
    pub streamed: usize,
    pub blocks: usize,
}

impl Launch {
    pub(crate) fn operations(&self, work: &ProductSize, shape: TileShape) -> f64 {
        let t = shape.traits();
        2.0 * (t.rows * t.cols) as f64 * self.tiles as f64 * work.k as f64
    }
}

impl ProductPlan {
    /// The plan with the least estimated time among these shapes; None if no shape fits the
    /// machine.
    pub(crate) fn choose(
        machine: &Machine,
        work: &ProductSize,
        shapes: &[TileShape],
    ) -> Option<ProductPlan> {
        shapes
            .iter()
            .filter(|shape| **shape != TileShape::Tiny || slabs(work) <= DEEP)
            .flat_map(|shape| {
                let ways = [false, true].into_iter();
                ways.filter_map(|s| ProductPlan::new(machine, work, *shape, s))
            })
            .min_by(|a, b| a.seconds.total_cmp(&b.seconds))
    }

    /// A plan with this shape, with its estimated time; None if the shape does not fit the machine.
    pub(crate) fn new(
        machine: &Machine,
        work: &ProductSize,
        shape: TileShape,
        streamed: bool,
    ) -> Option<ProductPlan> {
        let wanted = match shape {
            TileShape::Small if slabs(work) > SHALLOW => 2,
            other => other.traits().resident,
        };
        if streamed && !machine.shares {
            return None;
        }
        let most = wanted.min(machine.resident[shape as usize]);
        // Fewer blocks leave fewer parts to add up. What is not cut has no use for fewer.
        let least = if streamed { 1 } else { most };
        (least.max(1)..=most)
            .map(|resident| ProductPlan::cost(machine, work, shape, streamed, resident))
            .min_by(|a, b| a.seconds.total_cmp(&b.seconds))
    }

    fn cost(
        machine: &Machine,
        work: &ProductSize,
        shape: TileShape,
        streamed: bool,
        resident: usize,
    ) -> ProductPlan {
        let (t, tiles, slabs) = (shape.traits(), tiles(work, shape), slabs(work));
        let blocks = machine.multiprocessors * resident;
        let slab = (2 * t.rows * t.cols * SLAB) as f64 / (machine.rate * t.efficiency);
        // Seconds for one slab of each of so many blocks on a multiprocessor.
        let step = |blocks: usize| (blocks as f64 * slab).max(t.latency);
        let each = tiles.div_ceil(machine.multiprocessors);
        let mut seconds = LAUNCH_SECONDS + each as f64 * t.tile;
        if streamed {
            let share = tiles as f64 * slabs as f64 / blocks as f64;
            let peers = blocks.div_ceil(tiles);
            let added = peers.min(FOLLOW) + peers / FOLLOW;
            seconds += share * step(resident) + t.stream + t.share * added as f64;
        } else {
            let (rounds, rest) = (each / resident, each % resident);
            let last = if rest > 0 { step(rest) } else { 0.0 };
            seconds += slabs as f64 * (rounds as f64 * step(resident) + last);
        }
        ProductPlan {
            shape,
            blocks,
            streamed,
            seconds,
        }
    }

    /// Operations for each step of depth of a round, in which every block has one tile.
    fn round(&self) -> f64 {
        let t = self.shape.traits();
        (2 * t.rows * t.cols * self.blocks) as f64
    }

    /// The launches for the tiles of `work`: at least one round each, and at most about
    /// `operations` operations.
    pub(crate) fn launches(&self, work: &ProductSize, operations: f64) -> Vec<Launch> {
        let (all, slabs) = (tiles(work, self.shape), slabs(work));
        let rounds = (operations / (self.round() * work.k as f64)) as usize;
        let at_once = rounds.max(1).saturating_mul(self.blocks);
        let launch = |first: usize| {
            let tiles = at_once.min(all - first);
            let rest = tiles % self.blocks;
            // A round of whole tiles is shared with what is left over, so that shares are long.
            let streamed = match self.streamed && rest > 0 {
                true if tiles > self.blocks => rest + self.blocks,
                true => tiles,
                false => 0,
            };
            let busy = match streamed {
                0 => tiles,
                shared => (shared * slabs / SHORTEST_SHARE).max(1),
            };
            Launch {
                first,
                tiles,
                streamed,
                blocks: busy.min(self.blocks),
            }
        };
        (0..all).step_by(at_once).map(launch).collect()
    }

    /// The part of depth `k` that one launch may have, so that a round takes at most about
    /// `operations` operations.
    pub(crate) fn depth(&self, k: usize, operations: f64) -> usize {
        let depth = (operations / self.round()) as usize / SLAB * SLAB;
        depth.max(64 * SLAB).min(k)
    }
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
