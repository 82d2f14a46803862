//! Updates of a Cholesky factor in a file of tiles, into a second file.

use std::ops::Range;

use faer::MatRef;

use crate::algo::tiled::factor::Factor;
use crate::algo::tiled::memory::{too_few, Budget};
use crate::algo::tiled::tile_source::TileSource;
use crate::algo::update::checks::{check_columns, check_shapes};
use crate::algo::update::panels as by_panels;
use crate::algo::update::panels::{check_finite, Means};
use crate::algo::update::window::{Cut, Pieces, Window};
use crate::base::error::{Error, Result};
use crate::base::interrupt;
use crate::base::matrix::Change;
use crate::base::progress;
use crate::base::scalar::Scalar;
use crate::device::async_copy::AsyncCopy;
use crate::device::update::PANEL;
use crate::tiles::{Buffer, Layout, State, TileFile};

/// Threads that load, and as many that store, where there is memory for their tiles.
const THREADS: usize = 4;

/// The file of a factor, and that of the updated factor.
struct Files<'a, T> {
    from: &'a TileFile<T>,
    to: &'a TileFile<T>,
}

impl<T: Scalar> Files<'_, T> {
    fn layout(&self) -> &Layout {
        self.from.layout()
    }

    /// The parts of a tile's columns in the triangle. Each has its start in the tile, its row and
    /// column in the matrix, and its length.
    fn parts(&self, tile: usize) -> impl Iterator<Item = (usize, (usize, usize), usize)> {
        let size = self.layout().tile();
        let (i, j) = self.layout().position(tile);
        let (rows, cols) = self.layout().dimensions(i, j);
        (0..cols).map(move |c| {
            let height = if i == j { c + 1 } else { rows };
            (c * size, (i * size, j * size + c), height)
        })
    }
}

impl<T: Scalar> Pieces<T> for Files<'_, T> {
    type Scratch = Buffer<T>;

    fn order(&self) -> usize {
        self.layout().rows()
    }

    fn count(&self) -> usize {
        self.layout().tiles()
    }

    fn columns(&self, piece: usize) -> Range<usize> {
        let (_, j) = self.layout().position(piece);
        let first = j * self.layout().tile();
        first..(first + self.layout().tile()).min(self.order())
    }

    fn scratch(&self) -> Result<Buffer<T>> {
        self.from.buffer()
    }

    fn load(&self, piece: usize, tile: &mut Buffer<T>, to: &Window<'_, T>) -> Result<()> {
        self.from.read(piece, tile)?;
        for (start, (row, column), height) in self.parts(piece) {
            let from = &tile[start..start + height];
            check_finite(from)?;
            if row + height == column + 1 && from[height - 1] == T::from_f64(0.0) {
                return Err(Error::Singular { index: column + 1 });
            }
            // SAFETY: the panel has these rows of the column, and no other piece does.
            unsafe {
                let to = to.column(column).add(row);
                std::ptr::copy_nonoverlapping(from.as_ptr(), to, height);
            }
        }
        Ok(())
    }

    fn store(&self, piece: usize, tile: &mut Buffer<T>, from: &Window<'_, T>) -> Result<()> {
        let size = self.layout().tile();
        let zero = T::from_f64(0.0);
        let mut used = 0;
        for (start, (row, column), height) in self.parts(piece) {
            let (to, rest) = tile[start..start + size].split_at_mut(height);
            // SAFETY: as above, and the panel is computed.
            let from = unsafe { std::slice::from_raw_parts(from.column(column).add(row), height) };
            to.copy_from_slice(from);
            rest.fill(zero);
            used = start + size;
        }
        tile[used..].fill(zero);
        self.to.write(piece, tile, self.from.step(piece))
    }
}

/// The least bytes of host memory for an update of a factor in these tiles: for the panels that a
/// column of tiles touches, a tile that is loaded and one that is stored.
pub fn least_memory<T: Scalar>(factor: &TileFile<T>) -> Result<u64> {
    let (cut, tile) = cut(factor);
    let slots = cut.least_slots(tile) as u64;
    let tiles = 2 * factor.buffer()?.bytes().len() as u64;
    Ok(slots.saturating_mul(cut.bytes::<T>()).saturating_add(tiles))
}

/// How a factor is cut into panels, and how many columns a tile has.
fn cut<T: Scalar>(factor: &TileFile<T>) -> (Cut, usize) {
    let n = factor.layout().rows();
    let cut = Cut { n, width: PANEL };
    (cut, factor.layout().tile().min(n))
}

/// Slots for panels and threads for tiles in so many bytes.
fn means<T: Scalar>(factor: &TileFile<T>, bytes: u64, on_device: Option<usize>) -> Result<Means> {
    let least = least_memory(factor)?;
    if bytes < least {
        return Err(too_few("host_memory", bytes, least));
    }
    let (cut, tile) = cut(factor);
    let tile_bytes = factor.buffer()?.bytes().len() as u64;
    let slots = cut.least_slots(tile);
    let more = (bytes - least) / (2 * tile_bytes);
    let threads = 1 + (more as usize).min(THREADS - 1);
    let left = bytes - least - (threads as u64 - 1) * 2 * tile_bytes;
    // One more column of tiles keeps the disk busy while panels are computed with.
    let most = slots + 2 + tile.div_ceil(PANEL);
    let more = (left / cut.bytes::<T>().max(1)) as usize;
    Ok(Means {
        cut,
        slots: slots.saturating_add(more).min(most),
        threads,
        on_device,
    })
}

/// Computes the factor of `R'R + V V'` or `R'R - V V'` from the factor R in a file. `make` makes
/// the file for it, of the same layout, once the factor is known to exist. Returns the margin, as
/// [`update`](super::factor::update). The new file is removed after an error.
pub fn update<T: Scalar, D: AsyncCopy<T>>(
    dev: &D,
    change: Change,
    from: &TileFile<T>,
    make: impl FnOnce() -> Result<TileFile<T>>,
    v: MatRef<'_, T>,
    budget: Budget,
) -> Result<f64> {
    let (n, k) = (from.layout().rows(), v.ncols());
    let factor = Factor::new(from, n)?;
    check_shapes((n, from.layout().cols()), v.shape())?;
    check_columns(v, "v")?;
    let on_device = dev.own_memory(budget.device);
    let on_device =
        on_device.map(|bytes| by_panels::on_device::<T>(cut(from).0, k, bytes, "gpu_memory"));
    let on_device = on_device.transpose()?;
    let means = means(from, budget.host, on_device)?;
    let margin = match change {
        Change::Up => 1.0,
        Change::Down => {
            progress::phase("checking");
            by_panels::margin(dev, &factor, v, budget, || check(from))?
        }
    };
    progress::phase("updating");
    let to = make()?;
    progress::watch(to.counter());
    let files = Files { from, to: &to };
    let done = by_panels::change(dev, change, &files, v, &means);
    match done.and_then(|()| to.set_state(State::Factor)) {
        Ok(()) => Ok(margin),
        Err(e) => {
            to.remove();
            Err(match e {
                // Of zeros on the diagonal the first, whichever was met.
                Error::Singular { .. } => factor.told(e),
                e => e,
            })
        }
    }
}

/// An error where the factor in a file is not finite.
fn check<T: Scalar>(from: &TileFile<T>) -> Result<()> {
    let files = Files { from, to: from };
    let mut tile = from.buffer()?;
    for piece in 0..files.count() {
        interrupt::poll()?;
        from.read(piece, &mut tile)?;
        for (start, _, height) in files.parts(piece) {
            check_finite(&tile[start..start + height])?;
        }
    }
    Ok(())
}
