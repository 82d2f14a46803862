//! The shapes of tiles of products: size, estimated times, and kernels.

use crate::backend::cuda::driver::kernels::{Family, Kernel};
use crate::backend::cuda::matrix::operand::Layout;

/// Steps in one slab, the unit of depth.
pub(super) const SLAB: usize = 16;

/// A kind of tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Large,
    Small,
    Tiny,
    Tall,
    F64Copy,
    LargeSingle,
    SmallSingle,
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

impl Shape {
    pub(crate) const ALL: [Shape; 7] = [
        Shape::Large,
        Shape::Small,
        Shape::Tiny,
        Shape::Tall,
        Shape::F64Copy,
        Shape::LargeSingle,
        Shape::SmallSingle,
    ];

    /// Those that can make any product in double precision, and in single precision.
    pub(crate) const SQUARE: [Shape; 3] = [Shape::Large, Shape::Small, Shape::Tiny];
    pub(crate) const SINGLE: [Shape; 2] = [Shape::LargeSingle, Shape::SmallSingle];

    /// The lines of the shorter side of a thin tile.
    pub(super) const THIN: usize = 16;

    pub(crate) fn traits(self) -> Traits {
        let thin = Traits {
            rows: 128,
            cols: Shape::THIN,
            threads: 128,
            resident: 3,
            efficiency: 0.5,
            latency: 0.37e-6,
            tile: 1.1e-6,
            stream: 5e-6,
            share: 0.4e-6,
        };
        match self {
            Shape::Large => Traits {
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
            Shape::Small => Traits {
                rows: 64,
                cols: 64,
                efficiency: 0.82,
                latency: 0.42e-6,
                tile: 1.3e-6,
                share: 0.6e-6,
                ..thin
            },
            Shape::Tiny => Traits {
                rows: 32,
                cols: 32,
                resident: 4,
                efficiency: 0.6,
                latency: 0.1e-6,
                tile: 0.4e-6,
                ..thin
            },
            Shape::Tall => thin,
            Shape::F64Copy => Traits {
                rows: thin.cols,
                cols: thin.rows,
                ..thin
            },
            Shape::LargeSingle => Traits {
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
            Shape::SmallSingle => Traits {
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
        Shape::SINGLE.contains(&self)
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
pub(crate) fn kernel(shape: Shape, a: Layout, b: Layout) -> Option<Kernel> {
    Some(match (shape, a, b) {
        (Shape::Large, Layout::Lines, Layout::Depth) => of_square("tiles_multiply_large_nn"),
        (Shape::Large, Layout::Depth, Layout::Depth) => of_square("tiles_multiply_large_tn"),
        (Shape::Large, Layout::Lines, Layout::Lines) => of_square("tiles_multiply_large_nt"),
        (Shape::Small, Layout::Lines, Layout::Depth) => of_square("tiles_multiply_small_nn"),
        (Shape::Small, Layout::Depth, Layout::Depth) => of_square("tiles_multiply_small_tn"),
        (Shape::Small, Layout::Lines, Layout::Lines) => of_square("tiles_multiply_small_nt"),
        (Shape::Tiny, Layout::Lines, Layout::Depth) => of_thin("tiles_multiply_tiny_nn"),
        (Shape::Tiny, Layout::Depth, Layout::Depth) => of_thin("tiles_multiply_tiny_tn"),
        (Shape::Tiny, Layout::Lines, Layout::Lines) => of_thin("tiles_multiply_tiny_nt"),
        (Shape::Tall, Layout::Lines, Layout::Depth) => of_thin("tiles_multiply_tall_nn"),
        (Shape::Tall, Layout::Depth, Layout::Depth) => of_thin("tiles_multiply_tall_tn"),
        (Shape::Tall, Layout::Lines, Layout::Lines) => of_thin("tiles_multiply_tall_nt"),
        (Shape::F64Copy, Layout::Lines, Layout::Depth) => of_thin("tiles_multiply_wide_nn"),
        (Shape::LargeSingle, Layout::Lines, Layout::Depth) => of_single("tiles_multiply_large_nn"),
        (Shape::LargeSingle, Layout::Depth, Layout::Depth) => of_single("tiles_multiply_large_tn"),
        (Shape::LargeSingle, Layout::Lines, Layout::Lines) => of_single("tiles_multiply_large_nt"),
        (Shape::SmallSingle, Layout::Lines, Layout::Depth) => of_single("tiles_multiply_small_nn"),
        (Shape::SmallSingle, Layout::Depth, Layout::Depth) => of_single("tiles_multiply_small_tn"),
        (Shape::SmallSingle, Layout::Lines, Layout::Lines) => of_single("tiles_multiply_small_nt"),
        _ => return None,
    })
}
