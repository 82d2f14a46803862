//! How a product in tiles is cut: into which tiles and launches, and whether tiles are shared between blocks.
//!
//! Whole tiles are handed out in rounds, so that a last round of few tiles leaves most of a GPU idle. Tiles that are cut along their
//! depth (streamed) fill it, for the price of adding the parts up. The cheaper way is chosen by an estimate of the time that the
//! busiest multiprocessor takes. Its constants, with those of each shape in `product_shapes.rs`, were fitted to an H200, but for those
//! of small tiles in single precision, which are estimated; what they decide between lies within some microseconds.

use super::product_shapes::{Shape, SLAB};

/// Shares of a tile that the kernel adds up first (`FOLLOW` in `multiply.cuh`).
const FOLLOW: usize = 16;

/// Slabs below which more blocks of a multiprocessor do better, because they wait for memory.
const SHALLOW: usize = 16;

/// Slabs above which tiny tiles, that read each line most often, are left out: memory cannot follow.
const DEEP: usize = 512;

/// The least share of a block, in slabs.
const SHORTEST_SHARE: usize = 4;

/// What a launch takes besides its tiles.
const LAUNCH_SECONDS: f64 = 3e-6;

/// A GPU as far as a plan depends on it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Machine {
    pub multiprocessors: usize,
    /// Operations per second of one multiprocessor, at most, in the product's precision.
    pub rate: f64,
    /// Blocks of each shape that one multiprocessor holds at once; 0: the shape cannot be used.
    pub resident: [usize; 7],
}

/// A product's size.
#[derive(Debug, Clone, Copy)]
pub(super) struct Work {
    pub m: usize,
    pub n: usize,
    pub k: usize,
    /// A triangle of a square matrix, in square tiles.
    pub triangle: bool,
}

impl Work {
    pub(super) fn tiles(&self, shape: Shape) -> usize {
        let t = shape.traits();
        let rows = self.m.div_ceil(t.rows);
        if self.triangle {
            rows * (rows + 1) / 2
        } else {
            rows * self.n.div_ceil(t.cols)
        }
    }

    fn slabs(&self) -> usize {
        self.k.div_ceil(SLAB)
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Plan {
    pub shape: Shape,
    /// Blocks of a launch at most: as many as are resident together.
    pub blocks: usize,
    /// Whether tiles of the last rounds are shared between blocks.
    pub streamed: bool,
    seconds: f64,
}

/// One launch: `tiles` tiles from tile `first` on, of which the first `streamed` are shared between all blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Launch {
    pub first: usize,
    pub tiles: usize,
    pub streamed: usize,
    pub blocks: usize,
}

impl Launch {
    pub(super) fn operations(&self, work: &Work, shape: Shape) -> f64 {
        let t = shape.traits();
        2.0 * (t.rows * t.cols) as f64 * self.tiles as f64 * work.k as f64
    }
}

impl Plan {
    /// The cheapest way with one of these shapes, tiles of some of which may be shared; none where no shape fits the machine.
    pub(super) fn choose(
        machine: &Machine,
        work: &Work,
        shapes: &[Shape],
        may_stream: impl Fn(Shape) -> bool,
    ) -> Option<Plan> {
        shapes
            .iter()
            .filter(|shape| **shape != Shape::Tiny || work.slabs() <= DEEP)
            .flat_map(|shape| {
                let streamed = may_stream(*shape).then_some(true);
                std::iter::once(false)
                    .chain(streamed)
                    .filter_map(|s| Plan::new(machine, work, *shape, s))
            })
            .min_by(|a, b| a.seconds.total_cmp(&b.seconds))
    }

    /// This way, with the time that it is thought to take; none where the shape does not fit the machine.
    pub(super) fn new(
        machine: &Machine,
        work: &Work,
        shape: Shape,
        streamed: bool,
    ) -> Option<Plan> {
        let wanted = match shape {
            Shape::Small if work.slabs() > SHALLOW => 2,
            other => other.traits().resident,
        };
        let most = wanted.min(machine.resident[shape as usize]);
        // Fewer blocks leave fewer parts to add up. What is not cut has no use for fewer.
        let least = if streamed { 1 } else { most };
        (least.max(1)..=most)
            .map(|resident| Plan::cost(machine, work, shape, streamed, resident))
            .min_by(|a, b| a.seconds.total_cmp(&b.seconds))
    }

    fn cost(machine: &Machine, work: &Work, shape: Shape, streamed: bool, resident: usize) -> Plan {
        let (t, tiles, slabs) = (shape.traits(), work.tiles(shape), work.slabs());
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
        Plan {
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

    /// The launches that make the tiles of `work`, of about so many operations each at most but of one round at least.
    pub(super) fn launches(&self, work: &Work, operations: f64) -> Vec<Launch> {
        let (all, slabs) = (work.tiles(self.shape), work.slabs());
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

    /// How much of a depth of `k` one launch may have, so that a round takes about so many operations at most.
    pub(super) fn depth(&self, k: usize, operations: f64) -> usize {
        let depth = (operations / self.round()) as usize / SLAB * SLAB;
        depth.max(64 * SLAB).min(k)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const H200: Machine = Machine {
        multiprocessors: 132,
        rate: 256.0 * 1.98e9,
        resident: [1, 3, 4, 3, 3, 2, 6],
    };
    fn work(m: usize, n: usize, k: usize, triangle: bool) -> Work {
        Work { m, n, k, triangle }
    }

    fn chosen(work: Work, shapes: &[Shape]) -> (Shape, bool) {
        let plan = Plan::choose(&H200, &work, shapes, |_| true).unwrap();
        (plan.shape, plan.streamed)
    }

    /// The fastest ways by measurement.
    #[test]
    fn chooses_what_was_measured_to_be_fastest() {
        let square = |n| chosen(work(n, n, n, false), &Shape::SQUARE);
        assert_eq!(square(256), (Shape::Tiny, false));
        assert_eq!(square(512), (Shape::Tiny, false));
        assert_eq!(square(768), (Shape::Small, true));
        assert_eq!(square(1024), (Shape::Small, false));
        assert_eq!(square(1280), (Shape::Large, true));
        assert_eq!(square(1536), (Shape::Large, true));
        assert_eq!(square(2048).0, Shape::Large);
        assert_eq!(square(2560), (Shape::Large, true));
        assert_eq!(square(4096), (Shape::Large, true));
        let cross = |n, k| chosen(work(n, n, k, true), &Shape::SQUARE);
        assert_eq!(cross(1024, 1024), (Shape::Tiny, false));
        assert_eq!(cross(2048, 2048), (Shape::Small, false));
        assert_eq!(cross(64, 1_000_000), (Shape::Small, true));
        assert_eq!(cross(256, 10_000), (Shape::Small, true));
        assert_eq!(
            chosen(work(2048, 32, 2048, false), &Shape::SQUARE),
            (Shape::Tiny, true)
        );
        assert_eq!(
            chosen(work(8192, 8192, 64, false), &Shape::SQUARE).0,
            Shape::Small
        );
        let single = |n| chosen(work(n, n, n, false), &Shape::SINGLE);
        assert_eq!(single(256).0, Shape::SmallSingle);
        assert_eq!(single(4096), (Shape::LargeSingle, true));
        assert_eq!(single(8192).0, Shape::LargeSingle);
        let thin = [Shape::Tall];
        assert_eq!(
            chosen(work(1_000_000, 8, 8, false), &thin),
            (Shape::Tall, false)
        );
        assert_eq!(
            chosen(work(50, 1, 1_000_000, false), &thin),
            (Shape::Tall, true)
        );
    }

    /// Where another product needs its blocks, only those with a multiprocessor each wait for one another.
    #[test]
    fn tiles_are_shared_only_where_they_may_be() {
        for (m, n, k) in [
            (512, 3000, 8192),
            (8192, 3000, 512),
            (512, 512, 4096),
            (700, 90, 5000),
        ] {
            let work = work(m, n, k, false);
            let alone = |s: Shape| H200.resident[s as usize] == 1;
            let plan = Plan::choose(&H200, &work, &Shape::SQUARE, alone).unwrap();
            assert!(!plan.streamed || plan.shape == Shape::Large, "{m} {n} {k}");
            let any = Plan::choose(&H200, &work, &Shape::SQUARE, |_| true).unwrap();
            assert!(any.seconds <= plan.seconds, "{m} {n} {k}");
        }
        // One that is cut among small tiles otherwise.
        assert!(chosen(work(512, 512, 4096, false), &Shape::SQUARE).1);
    }

    #[test]
    fn shapes_that_do_not_fit_are_not_chosen() {
        let small = Machine {
            resident: [0, 1, 0, 1, 1, 0, 1],
            ..H200
        };
        let none = Machine {
            resident: [0; 7],
            ..H200
        };
        let w = work(4096, 4096, 4096, false);
        let plan = Plan::choose(&small, &w, &Shape::SQUARE, |_| true).unwrap();
        assert_eq!(plan.shape, Shape::Small);
        assert_eq!(plan.blocks, 132);
        assert_eq!(Plan::choose(&none, &w, &Shape::SQUARE, |_| true), None);
        let plan = Plan::choose(&small, &w, &Shape::SINGLE, |_| true).unwrap();
        assert_eq!(plan.shape, Shape::SmallSingle);
        let plan = Plan::choose(&H200, &work(64, 64, 1 << 20, true), &Shape::SQUARE, |_| {
            false
        })
        .unwrap();
        assert!(!plan.streamed);
    }

    /// Launches follow one another without gaps, and no block of a launch is without work or waits for one that is not there.
    #[test]
    fn launches_make_all_tiles_once() {
        for shape in Shape::ALL {
            for streamed in [false, true] {
                for (m, n, k) in [
                    (1, 1, 1),
                    (64, 64, 1 << 20),
                    (1000, 300, 50),
                    (5000, 5000, 100),
                    (40_000, 40_000, 16),
                ] {
                    for triangle in [false, true] {
                        let w = work(m, if triangle { m } else { n }, k, triangle);
                        let plan = Plan::new(&H200, &w, shape, streamed).unwrap();
                        for operations in [1.0, 1e9, 1e12, 1e15] {
                            let mut next = 0;
                            for l in plan.launches(&w, operations) {
                                assert_eq!(l.first, next);
                                assert!(l.tiles > 0 && l.streamed <= l.tiles);
                                assert!(l.blocks > 0 && l.blocks <= plan.blocks);
                                assert!(streamed || l.streamed == 0);
                                assert!(l.streamed == 0 || l.streamed * w.slabs() >= l.blocks);
                                assert!(l.streamed > 0 || l.blocks <= l.tiles);
                                next += l.tiles;
                            }
                            assert_eq!(next, w.tiles(shape));
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn long_sums_are_cut() {
        let plan = Plan::new(&H200, &work(64, 64, 1, false), Shape::Small, false).unwrap();
        let depth = plan.depth(10_000_000, 1e12);
        assert!(depth < 10_000_000 && depth.is_multiple_of(SLAB));
        assert!(plan.round() * depth as f64 <= 1e12);
        assert_eq!(plan.depth(100, 1e12), 100);
        assert_eq!(plan.depth(100, 1.0), 100);
        assert_eq!(plan.depth(10_000, 1.0), 64 * SLAB);
    }
}
