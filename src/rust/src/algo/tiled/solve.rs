//! Triangular systems with a Cholesky factor in a file of tiles: its tiles pass by while the
//! right-hand sides stay in memory.
//!
//! As soon as a block of rows of the solution is known its part is subtracted from all others, so
//! that each tile is used once. On a device of its own memory as many columns of the right-hand
//! sides as fit stay there, and the tiles pass by once for each such chunk.

use faer::{MatMut, MatRef};

use crate::algo::tiled::engine::room::Traffic;
use crate::algo::tiled::factor::Factor;
use crate::algo::tiled::memory::{room, Budget, Room};
use crate::algo::tiled::source::Passing;
use crate::algo::tiled::stream::{slots, Stream, AT_ONCE};
use crate::base::error::Result;
use crate::base::matrix::{Diag, Part, Side, Trans, Uplo};
use crate::base::scalar::Scalar;
use crate::device::async_copy::AsyncCopy;

/// What is solved, for the factor R.
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

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Passes {
    /// Tiles that were copied, and the bytes of one.
    pub traffic: Traffic,
    pub tile_bytes: u64,
    /// Chunks of columns.
    pub chunks: usize,
    /// Tiles that memory had room for.
    pub room: Room,
}

/// What is done with a tile: the block of rows `known` is divided by the one on the diagonal, and
/// subtracted from the block `target` by means of another.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Task {
    pub(crate) forward: bool,
    pub(crate) known: usize,
    pub(crate) target: usize,
}

impl Task {
    /// The tile's block row and block column.
    pub(crate) fn at(self) -> (usize, usize) {
        (self.known.min(self.target), self.known.max(self.target))
    }
}

/// The steps down from block row `first`: each divides, then subtracts from all below.
pub(crate) fn down(first: usize, count: usize) -> impl Iterator<Item = Task> {
    (first..count).flat_map(move |known| {
        (known..count).map(move |target| Task {
            forward: true,
            known,
            target,
        })
    })
}

/// The steps up, where what comes first on the way up is what came last on the way down.
fn up(count: usize) -> impl Iterator<Item = Task> {
    (0..count).rev().flat_map(|known| {
        (0..=known).rev().map(move |target| Task {
            forward: false,
            known,
            target,
        })
    })
}

fn tasks(system: System, count: usize) -> Vec<Task> {
    match system {
        System::Backward => up(count).collect(),
        System::Forward => down(0, count).collect(),
        System::Both => down(0, count).chain(up(count)).collect(),
    }
}

/// `R'` of the tile, or R.
pub(crate) fn side(task: Task) -> Trans {
    if task.forward {
        Trans::Yes
    } else {
        Trans::No
    }
}

/// One task on the blocks of rows; the number of operations.
fn apply<T: Scalar, D: AsyncCopy<T>>(
    dev: &D,
    task: Task,
    tile: &D::Mat<'_>,
    blocks: &mut [D::Mat<'_>],
) -> Result<f64> {
    let trans = side(task);
    let (rows, cols) = dev.shape(tile);
    let Task { known, target, .. } = task;
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
            room: Room { host: 0, device: 0 },
        });
    }
    let (room, width) = room(dev, factor, budget, (factor.order(), q))?;
    let tasks = tasks(system, factor.count());
    let tiles = tasks.iter().map(|t| factor.index(t.at().0, t.at().1));
    let tiles: Vec<usize> = tiles.collect::<Result<_>>()?;
    let slots = slots(dev, factor, room)?;
    let mut stream = Stream::new(dev, factor, room, &slots)?;
    let b = b.get(..factor.order(), ..);
    if dev.is_host() {
        let mut blocks = Vec::with_capacity(factor.count());
        let mut rest = out;
        for k in 0..factor.count() {
            let (home, below) = rest.split_at_row_mut(factor.extent(k));
            let from = b.subrows(k * factor.tile(), factor.extent(k));
            blocks.push(dev.load_into(from, Part::All, home)?);
            rest = below;
        }
        stream.run(&tiles, |x, tile| apply(dev, tasks[x], tile, &mut blocks))?;
        blocks.into_iter().try_for_each(|block| dev.store(block))?;
    } else {
        let mut chunks = Chunks {
            dev,
            factor,
            width,
            b,
            out,
            blocks: Vec::new(),
        };
        let count = q.div_ceil(width);
        let at_once = (AT_ONCE / tiles.len()).max(1);
        for first in (0..count).step_by(at_once) {
            let some = at_once.min(count - first);
            stream.run(&tiles.repeat(some), |x, tile| {
                let (chunk, x) = (first + x / tasks.len(), x % tasks.len());
                if x == 0 {
                    chunks.bring(chunk)?;
                }
                let operations = apply(dev, tasks[x], tile, &mut chunks.blocks)?;
                if x + 1 == tasks.len() {
                    chunks.fetch(chunk)?;
                }
                Ok(operations)
            })?;
        }
    }
    Ok(Passes {
        traffic: stream.traffic(),
        tile_bytes,
        chunks: q.div_ceil(width),
        room,
    })
}

/// Right-hand sides on their way to a device and back.
struct Chunks<'c, T: Scalar, D: AsyncCopy<T>> {
    dev: &'c D,
    factor: &'c Factor<'c, T>,
    width: usize,
    b: MatRef<'c, T>,
    out: MatMut<'c, T>,
    /// The blocks of rows of the chunk that is there.
    blocks: Vec<D::Mat<'static>>,
}

impl<T: Scalar, D: AsyncCopy<T>> Chunks<'_, T, D> {
    /// The first column of a chunk, and how many it has.
    fn columns(&self, chunk: usize) -> (usize, usize) {
        let first = chunk * self.width;
        (first, self.width.min(self.b.ncols() - first))
    }

    fn bring(&mut self, chunk: usize) -> Result<()> {
        let (first, cols) = self.columns(chunk);
        if self.blocks.first().map(|b| self.dev.shape(b).1) != Some(cols) {
            self.blocks.clear();
        }
        for k in 0..self.factor.count() {
            let (row, rows) = (k * self.factor.tile(), self.factor.extent(k));
            let from = self.b.submatrix(row, first, rows, cols);
            match self.blocks.get_mut(k) {
                Some(block) => self.dev.refill(from, Part::All, block)?,
                None => self.blocks.push(self.dev.load_temporary(from, Part::All)?),
            }
        }
        Ok(())
    }

    fn fetch(&mut self, chunk: usize) -> Result<()> {
        let (first, cols) = self.columns(chunk);
        for (k, block) in self.blocks.iter().enumerate() {
            let (row, rows) = (k * self.factor.tile(), self.factor.extent(k));
            let to = self.out.as_mut().submatrix_mut(row, first, rows, cols);
            self.dev.read(block, to)?;
        }
        Ok(())
    }
}
