//! How a product on the tensor cores is cut: which tiles, in how many launches, and whether tiles are shared between blocks.
//!
//! The cost of a choice is estimated as the time of the busiest multiprocessor. A tile of order s takes `2 s^2` operations for
//! each step of its depth. Whole tiles are handed out in rounds, so that a last round with few tiles leaves most of the GPU idle;
//! tiles cut along their depth (streamed) fill it, for the price of adding the parts up.

/// Steps in one slab, the unit of depth.
pub(super) const SLAB: usize = 16;

/// Shares of a tile that the kernel adds up first (`FOLLOW` in `product.cu`).
const FOLLOW: usize = 16;

/// A kind of tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Large,
    Small,
}

impl Shape {
    pub(super) const ALL: [Shape; 2] = [Shape::Large, Shape::Small];

    /// Rows and columns of a tile.
    pub(super) fn order(self) -> usize {
        match self {
            Shape::Large => 128,
            Shape::Small => 64,
        }
    }

    pub(super) fn threads(self) -> u32 {
        match self {
            Shape::Large => 256,
            Shape::Small => 128,
        }
    }

    /// Bytes of shared memory for a block: four slabs of both operands.
    pub(super) fn shared(self) -> usize {
        4 * 2 * self.order() * SLAB * 8
    }

    /// Blocks that one multiprocessor is made to hold at once (`product.cu`).
    pub(super) fn most_resident(self) -> usize {
        match self {
            Shape::Large => 1,
            Shape::Small => 3,
        }
    }

    /// The part of the tensor cores' rate that its kernel reaches.
    fn efficiency(self) -> f64 {
        match self {
            Shape::Large => 0.92,
            Shape::Small => 0.85,
        }
    }
}

/// A GPU as far as a plan depends on it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Machine {
    pub multiprocessors: usize,
    /// Operations per second of one multiprocessor.
    pub rate: f64,
    /// Blocks of each shape that one multiprocessor holds at once; 0: the shape cannot be used.
    pub resident: [usize; 2],
}

/// A product's tiles.
#[derive(Debug, Clone, Copy)]
pub(super) struct Work {
    pub m: usize,
    pub n: usize,
    pub k: usize,
    /// A triangle of a square matrix.
    pub triangle: bool,
}

impl Work {
    pub(super) fn tiles(&self, shape: Shape) -> usize {
        let rows = self.m.div_ceil(shape.order());
        if self.triangle {
            rows * (rows + 1) / 2
        } else {
            rows * self.n.div_ceil(shape.order())
        }
    }

    pub(super) fn slabs(&self) -> usize {
        self.k.div_ceil(SLAB)
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Plan {
    pub shape: Shape,
    /// Blocks of a launch, all of them resident together.
    pub blocks: usize,
    /// Whether tiles of the last rounds are shared between blocks.
    pub streamed: bool,
    pub seconds: f64,
}

/// One launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Launch {
    pub first: usize,
    pub tiles: usize,
    pub streamed: usize,
    pub blocks: usize,
}

impl Plan {
    /// The cheapest plan; none where no shape fits the machine.
    pub(super) fn choose(machine: &Machine, work: &Work, may_stream: bool) -> Option<Plan> {
        let mut best: Option<Plan> = None;
        for shape in Shape::ALL {
            for resident in 1..=machine.resident[shape as usize] {
                for streamed in [false, true] {
                    if streamed && !may_stream {
                        continue;
                    }
                    let plan = Plan::cost(machine, work, shape, resident, streamed);
                    if best.is_none_or(|b| plan.seconds < b.seconds) {
                        best = Some(plan);
                    }
                }
            }
        }
        best
    }

    fn cost(machine: &Machine, work: &Work, shape: Shape, resident: usize, streamed: bool) -> Plan {
        let (tiles, slabs) = (work.tiles(shape), work.slabs());
        let blocks = machine.multiprocessors * resident;
        let order = shape.order() as f64;
        let slab = 2.0 * order * order * SLAB as f64 / (machine.rate * shape.efficiency());
        let total = tiles as f64 * slabs as f64;
        let busiest = if streamed {
            total / machine.multiprocessors as f64
        } else {
            tiles.div_ceil(machine.multiprocessors) as f64 * slabs as f64
        };
        // The first slabs of a block have to come from memory, and the last tile has to go there.
        let mut seconds = busiest * slab + 4e-6;
        if streamed {
            let peers = blocks.div_ceil(tiles).max(2);
            let sums = peers.min(FOLLOW) + peers / FOLLOW;
            seconds += 6e-6 + 1e-6 * sums as f64;
        }
        Plan {
            shape,
            blocks,
            streamed,
            seconds,
        }
    }

    /// The launches that make the tiles of `work`, each of about `flops` operations at most but of one round at least.
    pub(super) fn launches(&self, work: &Work, flops: f64) -> Vec<Launch> {
        let (all, slabs) = (work.tiles(self.shape), work.slabs());
        let order = self.shape.order() as f64;
        let round = 2.0 * order * order * work.k as f64 * self.blocks as f64;
        let rounds = ((flops / round) as usize).max(1);
        let at_once = rounds.saturating_mul(self.blocks);
        let mut launches = Vec::new();
        let mut first = 0;
        while first < all {
            let tiles = at_once.min(all - first);
            let rest = tiles % self.blocks;
            // With less than a full round before them, the odd tiles are shared together with that round: shares stay long.
            let streamed = match (self.streamed && rest > 0, tiles > self.blocks) {
                (false, _) => 0,
                (true, true) => rest + self.blocks,
                (true, false) => tiles,
            };
            let blocks = if streamed > 0 {
                self.blocks.min(streamed * slabs)
            } else {
                self.blocks.min(tiles)
            };
            launches.push(Launch {
                first,
                tiles,
                streamed,
                blocks,
            });
            first += tiles;
        }
        launches
    }

    /// Steps of depth that one launch may have so that a round of tiles is about `flops` operations at most.
    pub(super) fn depth(&self, k: usize, flops: f64) -> usize {
        let order = self.shape.order() as f64;
        let step = 2.0 * order * order * self.blocks as f64;
        let depth = (flops / step) as usize / SLAB * SLAB;
        depth.max(64 * SLAB).min(k)
    }
}
