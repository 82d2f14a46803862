//! Writes a file of tiles as a file of another format, column by column.
//!
//! A tile has a short part of each of many columns. All parts of one block of columns are written
//! before those of the next, into one range of the file. The system's page cache combines them into
//! long writes.

use std::path::Path;

use super::npy;
use crate::base::error::{Error, Result};
use crate::base::interrupt;
use crate::base::scalar::Scalar;
use crate::tiles::entries::{below, load};
use crate::tiles::{Below, Buffer, PlainFile, TileFile};

/// After each of these many bytes the data are synced to the disk and dropped from the page cache,
/// which they would otherwise fill.
const SETTLE: u64 = 256 << 20;

/// The header of the new file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    /// Nothing.
    Raw,
    /// The header of NumPy's format.
    Npy,
}

/// Writes the whole matrix, or factor, of a file of tiles to a new file. After an error there is no
/// new file.
pub fn export<T: Scalar>(file: &TileFile<T>, path: &Path, kind: ExportFormat) -> Result<()> {
    let below = below(file)?;
    let layout = *file.layout();
    let (rows, cols, ld) = (layout.rows(), layout.cols(), layout.tile());
    let size = size_of::<T>();
    let header = match kind {
        ExportFormat::Raw => Vec::new(),
        ExportFormat::Npy => npy::header(size, (rows, cols)),
    };
    let bytes = rows
        .checked_mul(cols)
        .and_then(|n| n.checked_mul(size))
        .and_then(|n| n.checked_add(header.len()))
        .filter(|n| *n <= i64::MAX as usize)
        .ok_or_else(|| Error::Dimension {
            what: format!("a {rows} x {cols} matrix is larger than any file"),
        })?;
    let to = PlainFile::create(path, bytes as u64)?;
    let mut tile = file.buffer()?;
    let mut turned = (below == Below::Mirrored)
        .then(|| file.buffer())
        .transpose()?;
    let place = |row: usize, col: usize| header.len() as u64 + ((col * rows + row) * size) as u64;
    let mut settled = 0;
    for j in 0..layout.block_cols() {
        for i in 0..layout.block_rows() {
            interrupt::poll()?;
            let (m, n) = layout.dimensions(i, j);
            let from = match (layout.index(i, j), &mut turned) {
                (Some(index), _) => {
                    load(file, index, &mut tile)?;
                    if i == j {
                        complete(&mut tile, ld, below);
                    }
                    &tile
                }
                (None, Some(turned)) => {
                    let index = layout.index(j, i).ok_or_else(|| Error::Internal {
                        what: "a tile was asked for that there is not".to_owned(),
                    })?;
                    load(file, index, &mut tile)?;
                    transpose(&tile, turned, ld);
                    turned
                }
                // A new file reads as zeros.
                (None, None) => continue,
            };
            for c in 0..n {
                let column = &from.bytes()[c * ld * size..][..m * size];
                to.write(column, place(i * ld, j * ld + c))?;
            }
        }
        let done = place(0, cols.min((j + 1) * ld));
        if done - settled > SETTLE {
            to.settle(settled, done - settled)?;
            settled = done;
        }
    }
    // The header is written last, so that an incomplete file of a stopped process is not valid.
    if !header.is_empty() {
        to.write(&header, 0)?;
    }
    to.finish()
}

/// Sets the entries below the diagonal of a diagonal tile.
fn complete<T: Scalar>(tile: &mut Buffer<T>, ld: usize, below: Below) {
    if below == Below::Stored {
        return;
    }
    for c in 0..ld {
        for r in c + 1..ld {
            tile[c * ld + r] = match below {
                Below::Mirrored => tile[r * ld + c],
                _ => T::from_f64(0.0),
            };
        }
    }
}

/// Transposes in squares, of which two fit into a processor's cache.
fn transpose<T: Scalar>(from: &Buffer<T>, to: &mut Buffer<T>, ld: usize) {
    const SIDE: usize = 32;
    for c0 in (0..ld).step_by(SIDE) {
        for r0 in (0..ld).step_by(SIDE) {
            for c in c0..ld.min(c0 + SIDE) {
                for r in r0..ld.min(r0 + SIDE) {
                    to[c * ld + r] = from[r * ld + c];
                }
            }
        }
    }
}
