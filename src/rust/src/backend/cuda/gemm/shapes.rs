//! The shapes of tiles of products: size, estimated times, and kernels.

use crate::backend::cuda::driver::kernels::{Family, Kernel};
use crate::backend::cuda::matrix::operand::OperandLayout;

/// Steps in one slab, the unit of depth.
pub(super) const SLAB: usize = 16;

/// A kind of tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TileShape {
    Large,
    Small,
    Tiny,
    Tall,
    Wide,
    LargeSingle,
    SmallSingle,
    Slim,
}

/// A kernel: how it is started, and its measured speed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Traits {
    /// Rows and columns of a tile.
    pub rows: usize,
    pub cols: usize,
    pub threads: u32,
    /// Blocks that one multiprocessor is made to hold at once.
    pub resident: usize,
    /// The fraction of the arithmetic rate that it reaches.
    pub efficiency: f64,
    /// Seconds from slab to slab of one block, at least.
    pub latency: f64,
    /// Seconds of a tile in addition to its slabs.
    pub tile: f64,
    /// Seconds of a launch with shared tiles in addition to their slabs, and for each share added
    /// up.
    pub stream: f64,
    pub share: f64,
}

impl TileShape {
    pub(crate) const ALL: [TileShape; 8] = [
        TileShape::Large,
        TileShape::Small,
        TileShape::Tiny,
        TileShape::Tall,
        TileShape::Wide,
        TileShape::LargeSingle,
        TileShape::SmallSingle,
        TileShape::Slim,
    ];

    /// Those that can make any product in double precision, and in single precision.
    pub(crate) const SQUARE: [TileShape; 3] = [TileShape::Large, TileShape::Small, TileShape::Tiny];
    pub(crate) const SINGLE: [TileShape; 2] = [TileShape::LargeSingle, TileShape::SmallSingle];

    /// The lines of the shorter side of a thin tile.
    pub(super) const THIN: usize = 16;
    /// The columns of a slim tile, for column-major A and B. Like tiny tiles it reads A once, and
    /// B a quarter as often as they do.
    pub(super) const SLIM: usize = 32;
    pub(super) const WITH_SLIM: [TileShape; 4] = [
        TileShape::Large,
        TileShape::Small,
        TileShape::Tiny,
        TileShape::Slim,
    ];

    pub(crate) fn traits(self) -> Traits {
        let thin = Traits {
            rows: 128,
            cols: TileShape::THIN,
            threads: 128,
            resident: 3,
            efficiency: 0.5,
            latency: 0.37e-6,
            tile: 1.1e-6,
            stream: 5e-6,
            share: 0.4e-6,
        };
        match self {
            TileShape::Large => Traits {
                rows: 128,
                cols: 128,
                threads: 256,
                resident: 1,
                efficiency: 0.89,
                latency: 0.0,
                tile: 8e-6,
                stream: 5e-6,
                share: 1e-6,
            },
            TileShape::Small => Traits {
                rows: 64,
                cols: 64,
                efficiency: 0.82,
                latency: 0.42e-6,
                tile: 1.3e-6,
                share: 0.6e-6,
                ..thin
            },
            TileShape::Tiny => Traits {
                rows: 32,
                cols: 32,
                resident: 4,
                efficiency: 0.6,
                latency: 0.1e-6,
                tile: 0.4e-6,
                ..thin
            },
            TileShape::Tall => thin,
            TileShape::Slim => Traits {
                cols: TileShape::SLIM,
                resident: 2,
                efficiency: 0.75,
                latency: 0.42e-6,
                share: 0.5e-6,
                ..thin
            },
            TileShape::Wide => Traits {
                rows: thin.cols,
                cols: thin.rows,
                ..thin
            },
            TileShape::LargeSingle => Traits {
                rows: 128,
                cols: 128,
                threads: 128,
                resident: 2,
                efficiency: 0.77,
                latency: 1.8e-6,
                tile: 5e-6,
                stream: 16e-6,
                share: 2e-6,
            },
            TileShape::SmallSingle => Traits {
                rows: 64,
                cols: 64,
                threads: 64,
                resident: 6,
                efficiency: 0.65,
                latency: 0.9e-6,
                tile: 1.3e-6,
                stream: 8e-6,
                share: 0.6e-6,
            },
        }
    }

    fn is_single(self) -> bool {
        TileShape::SINGLE.contains(&self)
    }

    /// Bytes of an element.
    pub(crate) fn element(self) -> usize {
        if self.is_single() {
            4
        } else {
            8
        }
    }

    /// Bytes of shared memory for a block: four slabs of both operands in double precision. In
    /// single precision five half slabs, whose steps lie up to four lines further apart than they
    /// are long.
    pub(crate) fn shared(self) -> usize {
        let t = self.traits();
        if self.is_single() {
            5 * (t.rows + 4 + t.cols + 4) * (SLAB / 2) * 4
        } else {
            4 * (t.rows + t.cols) * SLAB * 8
        }
    }
}

const fn of_square(name: &'static str) -> Kernel {
    Kernel::new(Family::Product, name)
}
const fn of_thin(name: &'static str) -> Kernel {
    Kernel::new(Family::ProductThin, name)
}
const fn of_single(name: &'static str) -> Kernel {
    Kernel::new(Family::ProductSingle, name)
}

/// The kernel for a shape of tile and layouts of A and B; none where the transposed product has one
/// instead.
pub(crate) fn kernel(shape: TileShape, a: OperandLayout, b: OperandLayout) -> Option<Kernel> {
    Some(match (shape, a, b) {
        (TileShape::Large, OperandLayout::Lines, OperandLayout::Depth) => {
            of_square("tiles_multiply_large_nn")
        }
        (TileShape::Large, OperandLayout::Depth, OperandLayout::Depth) => {
            of_square("tiles_multiply_large_tn")
        }
        (TileShape::Large, OperandLayout::Lines, OperandLayout::Lines) => {
            of_square("tiles_multiply_large_nt")
        }
        (TileShape::Small, OperandLayout::Lines, OperandLayout::Depth) => {
            of_square("tiles_multiply_small_nn")
        }
        (TileShape::Small, OperandLayout::Depth, OperandLayout::Depth) => {
            of_square("tiles_multiply_small_tn")
        }
        (TileShape::Small, OperandLayout::Lines, OperandLayout::Lines) => {
            of_square("tiles_multiply_small_nt")
        }
        (TileShape::Tiny, OperandLayout::Lines, OperandLayout::Depth) => {
            of_thin("tiles_multiply_tiny_nn")
        }
        (TileShape::Tiny, OperandLayout::Depth, OperandLayout::Depth) => {
            of_thin("tiles_multiply_tiny_tn")
        }
        (TileShape::Tiny, OperandLayout::Lines, OperandLayout::Lines) => {
            of_thin("tiles_multiply_tiny_nt")
        }
        (TileShape::Tall, OperandLayout::Lines, OperandLayout::Depth) => {
            of_thin("tiles_multiply_tall_nn")
        }
        (TileShape::Tall, OperandLayout::Depth, OperandLayout::Depth) => {
            of_thin("tiles_multiply_tall_tn")
        }
        (TileShape::Tall, OperandLayout::Lines, OperandLayout::Lines) => {
            of_thin("tiles_multiply_tall_nt")
        }
        (TileShape::Wide, OperandLayout::Lines, OperandLayout::Depth) => {
            of_thin("tiles_multiply_wide_nn")
        }
        (TileShape::Slim, OperandLayout::Lines, OperandLayout::Depth) => {
            of_thin("tiles_multiply_slim_nn")
        }
        (TileShape::LargeSingle, OperandLayout::Lines, OperandLayout::Depth) => {
            of_single("tiles_multiply_large_nn")
        }
        (TileShape::LargeSingle, OperandLayout::Depth, OperandLayout::Depth) => {
            of_single("tiles_multiply_large_tn")
        }
        (TileShape::LargeSingle, OperandLayout::Lines, OperandLayout::Lines) => {
            of_single("tiles_multiply_large_nt")
        }
        (TileShape::SmallSingle, OperandLayout::Lines, OperandLayout::Depth) => {
            of_single("tiles_multiply_small_nn")
        }
        (TileShape::SmallSingle, OperandLayout::Depth, OperandLayout::Depth) => {
            of_single("tiles_multiply_small_tn")
        }
        (TileShape::SmallSingle, OperandLayout::Lines, OperandLayout::Lines) => {
            of_single("tiles_multiply_small_nt")
        }
        _ => return None,
    })
}
