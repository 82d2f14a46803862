//! Products with a matrix in a file of tiles, which is read in order while the other operand and
//! the product stay in memory.
//!
//! Both are cut into chunks of as many columns as fit in the device's memory. All tiles are read
//! once for each chunk; a device that computes in host memory has one chunk.

use std::sync::Arc;

use faer::{MatMut, MatRef};

use crate::algo::tiled::engine::slot_budget::Traffic;
use crate::algo::tiled::memory::{stream_slots, Budget, StreamSlots};
use crate::algo::tiled::solve::{homes, Passes};
use crate::algo::tiled::stream::{host_slots, Stream, AHEAD, AT_ONCE};
use crate::algo::tiled::tile_source::TileSource;
use crate::base::error::{Error, Result};
use crate::base::matrix::Trans;
use crate::base::progress::Moved;
use crate::base::scalar::Scalar;
use crate::device::async_copy::AsyncCopy;
use crate::device::blas::Blas;
use crate::device::memory::Memory;
use crate::tiles::entries::{below, load, Below};
use crate::tiles::plan_executor::Store;
use crate::tiles::{Buffer, Layout, TileFile};

/// A matrix or a factor in a file, as an operand of a product.
pub struct Stored<'a, T> {
    file: &'a TileFile<T>,
    below: Below,
}

impl<'a, T: Scalar> Stored<'a, T> {
    /// A file that holds neither a matrix nor a factor is [`Error::Argument`] of `x`.
    pub fn new(file: &'a TileFile<T>) -> Result<Self> {
        let below = below(file)?;
        Ok(Stored { file, below })
    }

    /// The bytes of tiles that are read, while they are.
    pub fn counter(&self) -> Arc<Moved> {
        self.file.counter()
    }

    /// Rows and columns.
    pub fn dimensions(&self) -> (usize, usize) {
        let layout = self.file.layout();
        (layout.rows(), layout.cols())
    }

    /// Multiplications for a column of the other operand, and as many additions.
    pub fn multiplications(&self) -> f64 {
        let (rows, cols) = self.dimensions();
        let all = rows as f64 * cols as f64;
        if self.below == Below::Zero {
            // Whole tiles on the diagonal.
            (all + (rows * self.file.layout().tile().min(rows)) as f64) / 2.0
        } else {
            all
        }
    }
}

impl<T: Scalar> Store<T> for Stored<'_, T> {
    /// Fills in the entries below the diagonal if the file has the upper triangle alone.
    fn load(&self, tile: usize, into: &mut Buffer<T>) -> Result<()> {
        load(self.file, tile, into)?;
        let (i, j) = self.layout().position(tile);
        if i == j && self.below != Below::Stored {
            let mirrored = self.below == Below::Mirrored;
            complete(into, self.layout().tile(), mirrored);
        }
        Ok(())
    }

    fn store(&self, _: usize, _: &Buffer<T>, _: usize) -> Result<()> {
        Err(Error::Internal {
            what: "an operand of a product was to be changed".into(),
        })
    }
}

/// Below the diagonal of a square matrix, what is above it, or zeros. Some columns at a time, so
/// that both triangles are gone through along their columns.
fn complete<T: Scalar>(a: &mut [T], n: usize, mirrored: bool) {
    const TOGETHER: usize = 16;
    for first in (0..n).step_by(TOGETHER) {
        for i in first + 1..n {
            for j in first..i.min(first + TOGETHER) {
                a[j * n + i] = if mirrored {
                    a[i * n + j]
                } else {
                    T::from_f64(0.0)
                };
            }
        }
    }
}

impl<T: Scalar> TileSource<T> for Stored<'_, T> {
    fn layout(&self) -> &Layout {
        self.file.layout()
    }

    fn blocks(&self) -> (usize, usize) {
        (self.layout().block_rows(), self.layout().block_cols())
    }

    fn part(&self, i: usize, j: usize) -> (usize, usize) {
        self.layout().dimensions(i, j)
    }
}

/// A part of the product's block of rows `to`: `op` of the tile, times the block of rows `from`.
#[derive(Debug, Clone, Copy)]
struct Term {
    op: Trans,
    from: usize,
    to: usize,
}

/// The terms of a tile: two if it stands for its mirror image as well.
fn terms<T: Scalar>(x: &Stored<'_, T>, op: Trans, tile: usize) -> impl Iterator<Item = Term> {
    let (i, j) = x.layout().position(tile);
    let as_it_is = Term {
        op: Trans::No,
        from: j,
        to: i,
    };
    let turned = Term {
        op: Trans::Yes,
        from: i,
        to: j,
    };
    let both = x.below == Below::Mirrored && i != j;
    // A symmetric matrix is its own transpose, as is a tile on its diagonal.
    let plain = op == Trans::No || x.below == Below::Mirrored;
    let first = if plain { as_it_is } else { turned };
    std::iter::once(first).chain(both.then_some(turned))
}

/// Columns of the other operand and of the product on a device, in blocks of rows, and which blocks
/// of the product have begun.
struct Blocks<M> {
    from: Vec<M>,
    into: Vec<M>,
    begun: Vec<bool>,
}

impl<M> Default for Blocks<M> {
    fn default() -> Self {
        Blocks {
            from: Vec::new(),
            into: Vec::new(),
            begun: Vec::new(),
        }
    }
}

impl<M> Blocks<M> {
    /// Loads `y`, for a product that goes to `homes`.
    fn new<'a, T: Scalar, D: Memory<T, Mat<'a> = M>>(
        dev: &D,
        y: MatRef<'a, T>,
        homes: Vec<MatMut<'a, T>>,
        tile: usize,
    ) -> Result<Self> {
        let begun = vec![false; homes.len()];
        let from = ranges(y.nrows(), tile).map(|(first, rows)| dev.load(y.subrows(first, rows)));
        Ok(Blocks {
            from: from.collect::<Result<_>>()?,
            into: homes
                .into_iter()
                .map(|home| dev.output(home))
                .collect::<Result<_>>()?,
            begun,
        })
    }

    fn store<'a, T: Scalar, D: Memory<T, Mat<'a> = M>>(self, dev: &D) -> Result<()> {
        drop(self.from);
        self.into.into_iter().try_for_each(|block| dev.store(block))
    }
}

/// Adds the terms of a tile; the number of operations.
fn apply<'m, T: Scalar, D: Blas<T>>(
    dev: &D,
    terms: impl Iterator<Item = Term>,
    tile: &D::Mat<'_>,
    blocks: &mut Blocks<D::Mat<'m>>,
) -> Result<f64> {
    let (rows, cols) = dev.shape(tile);
    let mut operations = 0.0;
    for Term { op, from, to } in terms {
        let begun = std::mem::replace(&mut blocks.begun[to], true);
        let beta = T::from_f64(if begun { 1.0 } else { 0.0 });
        let (from, to) = (&blocks.from[from], &mut blocks.into[to]);
        dev.gemm(T::from_f64(1.0), op, tile, Trans::No, from, beta, to)?;
        operations += 2.0 * rows as f64 * cols as f64 * dev.shape(from).1 as f64;
    }
    Ok(operations)
}

/// First row and number of rows of each block of `rows` rows.
fn ranges(rows: usize, tile: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..rows)
        .step_by(tile)
        .map(move |first| (first, tile.min(rows - first)))
}

/// `out = op(x) y`. On the CPU the result does not depend on the budget.
///
/// Zeros that are not stored are numbers like others: with NaN or an infinite number in `y` they
/// give NaN.
pub fn multiply<T: Scalar, D: AsyncCopy<T>>(
    dev: &D,
    x: &Stored<'_, T>,
    op: Trans,
    y: MatRef<'_, T>,
    mut out: MatMut<'_, T>,
    budget: Budget,
) -> Result<Passes> {
    let (rows, cols) = x.dimensions();
    let (inner, outer) = match op {
        Trans::No => (cols, rows),
        Trans::Yes => (rows, cols),
    };
    if y.nrows() != inner || out.shape() != (outer, y.ncols()) {
        return Err(Error::Dimension {
            what: "a product of matrices that do not conform".to_owned(),
        });
    }
    let q = y.ncols();
    let tile_bytes = x.tile_bytes()?;
    if q == 0 || rows == 0 || cols == 0 {
        out.fill(T::from_f64(0.0));
        return Ok(Passes {
            traffic: Traffic::default(),
            tile_bytes,
            chunks: 0,
            slots: StreamSlots::default(),
        });
    }
    let (mut slots, width) = stream_slots(dev, x, budget, (rows + cols, q))?;
    let chunks = q.div_ceil(width);
    if chunks == 1 {
        // No tile is read twice.
        slots.host = slots.host.min(AHEAD);
        slots.device = slots.device.map(|count| count.min(AHEAD));
    }
    let tiles: Vec<usize> = (0..x.layout().tiles()).collect();
    let host = host_slots(dev, x, slots)?;
    let mut stream = Stream::new(dev, x, slots, &host)?;
    let size = x.layout().tile();
    let mut homes = homes(out.as_mut(), width, size);
    let mut blocks = Blocks::default();
    let at_once = (AT_ONCE / tiles.len()).max(1);
    for first in (0..chunks).step_by(at_once) {
        let some = at_once.min(chunks - first);
        stream.run(&tiles.repeat(some), |k, tile| {
            let (chunk, k) = (first + k / tiles.len(), k % tiles.len());
            if k == 0 {
                let y = y.subcols(chunk * width, width.min(q - chunk * width));
                blocks = Blocks::new(dev, y, std::mem::take(&mut homes[chunk]), size)?;
            }
            let operations = apply(dev, terms(x, op, tiles[k]), tile, &mut blocks)?;
            if k + 1 == tiles.len() {
                std::mem::take(&mut blocks).store(dev)?;
            }
            Ok(operations)
        })?;
    }
    drop((blocks, homes));
    if x.below == Below::Zero {
        propagate_non_finite(y, op, size, out);
    }
    Ok(Passes {
        traffic: stream.traffic(),
        tile_bytes,
        chunks,
        slots,
    })
}

/// Propagates NaN and infinite numbers through tiles of zeros that are not stored. A row of an
/// upper triangular matrix has zeros for all rows of `y` in earlier blocks, one of its transpose
/// for those in later blocks.
fn propagate_non_finite<T: Scalar>(
    y: MatRef<'_, T>,
    op: Trans,
    tile: usize,
    mut out: MatMut<'_, T>,
) {
    let n = y.nrows();
    for j in 0..y.ncols() {
        let wrong = |i: &usize| !y[(*i, j)].into().is_finite();
        let rows = match op {
            Trans::No => (0..n).find(wrong).map(|i| (i / tile + 1) * tile..n),
            Trans::Yes => (0..n).rev().find(wrong).map(|i| 0..i / tile * tile),
        };
        for i in rows.into_iter().flatten() {
            out[(i, j)] = T::from_f64(f64::NAN);
        }
    }
}
