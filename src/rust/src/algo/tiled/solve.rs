//! Triangular systems with a Cholesky factor in a file of tiles, which is read in order while the
//! right-hand sides stay in memory.
//!
//! As soon as a block of rows of the solution is known its part is subtracted from all others, so
//! that each tile is used once. The right-hand sides are cut into chunks of as many columns as fit
//! in the device's memory. All tiles are read once for each chunk; a device that computes in host
//! memory has one chunk.

use faer::{MatMut, MatRef};

use crate::algo::tiled::engine::slot_budget::Traffic;
use crate::algo::tiled::factor::Factor;
use crate::algo::tiled::memory::{stream_slots, Budget, StreamSlots};
use crate::algo::tiled::stream::{host_slots, Stream, AT_ONCE};
use crate::algo::tiled::tile_source::TileSource;
use crate::base::error::Result;
use crate::base::matrix::{Diag, Part, Side, Trans, Uplo};
use crate::base::scalar::Scalar;
use crate::device::async_copy::AsyncCopy;
use crate::device::blas::Blas;

/// The system to be solved, for the factor R.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum System {
    /// `R X = B`
    Backward,
    /// `R'X = B`
    Forward,
    /// `R'R X = B`
    Both,
}

impl System {
    /// How often the triangle is gone through.
    pub fn sweeps(self) -> f64 {
        match self {
            System::Backward | System::Forward => 1.0,
            System::Both => 2.0,
        }
    }
}

/// How a stream of tiles was carried out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Passes {
    /// Tiles that were copied, and the bytes of one.
    pub traffic: Traffic,
    pub tile_bytes: u64,
    /// Chunks of columns.
    pub chunks: usize,
    /// The slots for tiles.
    pub slots: StreamSlots,
}

/// A step with one tile. A tile on the diagonal solves for the block of rows `known`. Another one
/// subtracts the part of `known` from the block `target`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SolveStep {
    pub(crate) forward: bool,
    pub(crate) known: usize,
    pub(crate) target: usize,
}

impl SolveStep {
    /// The tile's block row and block column.
    pub(crate) fn at(self) -> (usize, usize) {
        (self.known.min(self.target), self.known.max(self.target))
    }
}

/// The steps down from block row `first`: each divides, then subtracts from all below.
pub(crate) fn down(first: usize, count: usize) -> impl Iterator<Item = SolveStep> {
    (first..count).flat_map(move |known| {
        (known..count).map(move |target| SolveStep {
            forward: true,
            known,
            target,
        })
    })
}

/// The steps up. They begin with the tiles with which the steps down end.
fn up(count: usize) -> impl Iterator<Item = SolveStep> {
    (0..count).rev().flat_map(|known| {
        (0..=known).rev().map(move |target| SolveStep {
            forward: false,
            known,
            target,
        })
    })
}

fn steps(system: System, count: usize) -> Vec<SolveStep> {
    match system {
        System::Backward => up(count).collect(),
        System::Forward => down(0, count).collect(),
        System::Both => down(0, count).chain(up(count)).collect(),
    }
}

/// `R'` of the tile, or R.
pub(crate) fn side(step: SolveStep) -> Trans {
    if step.forward {
        Trans::Yes
    } else {
        Trans::No
    }
}

/// One step on the blocks of rows. Returns its number of operations.
fn apply<T: Scalar, D: Blas<T>>(
    dev: &D,
    step: SolveStep,
    tile: &D::Mat<'_>,
    blocks: &mut [D::Mat<'_>],
) -> Result<f64> {
    let trans = side(step);
    let (rows, cols) = dev.shape(tile);
    let SolveStep { known, target, .. } = step;
    let q = dev.shape(&blocks[known]).1;
    if known == target {
        let (left, upper) = (Side::Left, Uplo::Upper);
        let block = &mut blocks[known];
        dev.trsm(left, upper, trans, Diag::NonUnit, rows, tile, block)?;
        return Ok(rows as f64 * rows as f64 * q as f64);
    }
    let (before, after) = blocks.split_at_mut(known.max(target));
    let (solved, rest) = if known < target {
        (&before[known], &mut after[0])
    } else {
        (&after[0], &mut before[target])
    };
    let one = T::from_f64(1.0);
    dev.gemm(-one, trans, tile, Trans::No, solved, one, rest)?;
    Ok(2.0 * rows as f64 * cols as f64 * q as f64)
}

/// `out = op(R)^-1 b`, of the first rows of `b`, as many as `out` has: the order of the factor.
pub fn solve<T: Scalar, D: AsyncCopy<T>>(
    dev: &D,
    factor: &Factor<'_, T>,
    system: System,
    b: MatRef<'_, T>,
    out: MatMut<'_, T>,
    budget: Budget,
) -> Result<Passes> {
    let q = out.ncols();
    let tile_bytes = factor.tile_bytes()?;
    if q == 0 || factor.order() == 0 {
        return Ok(Passes {
            traffic: Traffic::default(),
            tile_bytes,
            chunks: 0,
            slots: StreamSlots::default(),
        });
    }
    let (slots, width) = stream_slots(dev, factor, budget, (factor.order(), q))?;
    let steps = steps(system, factor.count());
    let tiles = steps.iter().map(|t| factor.index(t.at().0, t.at().1));
    let tiles: Vec<usize> = tiles.collect::<Result<_>>()?;
    let host = host_slots(dev, factor, slots)?;
    let mut stream = Stream::new(dev, factor, slots, &host)?;
    let b = b.get(..factor.order(), ..);
    let count = q.div_ceil(width);
    let mut homes = homes(out, width, factor.tile());
    let mut blocks = Vec::with_capacity(factor.count());
    let at_once = (AT_ONCE / tiles.len()).max(1);
    for first in (0..count).step_by(at_once) {
        let some = at_once.min(count - first);
        stream.run(&tiles.repeat(some), |x, tile| {
            let (chunk, x) = (first + x / steps.len(), x % steps.len());
            if x == 0 {
                let cols = b.subcols(chunk * width, width.min(q - chunk * width));
                for (k, home) in std::mem::take(&mut homes[chunk]).into_iter().enumerate() {
                    let rows = cols.subrows(k * factor.tile(), factor.rows_of(k));
                    blocks.push(dev.load_into(rows, Part::All, home)?);
                }
            }
            let operations = apply(dev, steps[x], tile, &mut blocks)?;
            if x + 1 == steps.len() {
                blocks.drain(..).try_for_each(|block| dev.store(block))?;
            }
            Ok(operations)
        })?;
    }
    Ok(Passes {
        traffic: stream.traffic(),
        tile_bytes,
        chunks: count,
        slots,
    })
}

/// The parts of a result: for each chunk of `width` columns its blocks of `tile` rows.
pub(crate) fn homes<T: Scalar>(
    out: MatMut<'_, T>,
    width: usize,
    tile: usize,
) -> Vec<Vec<MatMut<'_, T>>> {
    let mut chunks = Vec::new();
    let mut right = out;
    while right.ncols() > 0 {
        let cols = width.min(right.ncols());
        let (mut below, rest) = right.split_at_col_mut(cols);
        let mut blocks = Vec::new();
        while below.nrows() > 0 {
            let rows = tile.min(below.nrows());
            let (block, rest) = below.split_at_row_mut(rows);
            blocks.push(block);
            below = rest;
        }
        chunks.push(blocks);
        right = rest;
    }
    chunks
}
