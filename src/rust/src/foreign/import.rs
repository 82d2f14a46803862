//! Reads a file of another format into a file of tiles.
//!
//! A tile has a short part of each of many lines, and memory does not hold whole lines. But the
//! lines of one block of tiles are one range of the file. That range is first read sequentially
//! into the system's page cache, and then copied part by part. If the cache is too small, the parts
//! come from the disk.

use super::source::{Source, StorageOrder};
use crate::base::error::{Error, Result};
use crate::base::interrupt;
use crate::base::progress;
use crate::base::scalar::{try_zeroed, Scalar};
use crate::tiles::{Buffer, Shape, TileFile};

/// Bytes that are read at once to fill the page cache. Parts of lines that are at least as long are
/// read directly.
const AT_ONCE: usize = 4 << 20;
/// Longer files would fill the page cache, so what was read of them is dropped from it.
const LARGE: u64 = 1 << 30;
/// Rows that are transposed at once: eight doubles are a line of a processor's cache.
const ROWS: usize = 8;

/// Writes all tiles of a new file. If the file stores the upper triangle, entries below the
/// diagonal are not read.
pub fn import<T: Scalar>(source: &Source, file: &TileFile<T>) -> Result<()> {
    let layout = *file.layout();
    if (source.rows, source.cols) != (layout.rows(), layout.cols()) {
        return Err(Error::Internal {
            what: "a matrix was read into a file for one of other dimensions".to_owned(),
        });
    }
    let (blocks, across) = match source.order {
        StorageOrder::Columns => (layout.block_cols(), layout.block_rows()),
        StorageOrder::Rows => (layout.block_rows(), layout.block_cols()),
    };
    let mut pieces = Pieces::new(source, layout.tile())?;
    let mut tile = file.buffer()?;
    for block in 0..blocks {
        // The stored tiles among those that share these lines.
        let stored = match (layout.shape(), source.order) {
            (Shape::Full, _) => 0..across,
            (Shape::Triangle, StorageOrder::Columns) => 0..block + 1,
            (Shape::Triangle, StorageOrder::Rows) => block..across,
        };
        let ends = (stored.start, stored.end);
        pieces.warm(block, ends)?;
        for other in stored {
            interrupt::poll()?;
            let (i, j) = match source.order {
                StorageOrder::Columns => (other, block),
                StorageOrder::Rows => (block, other),
            };
            let dimensions = layout.dimensions(i, j);
            pieces.fill((i, j), dimensions, &mut tile)?;
            if layout.shape() == Shape::Triangle && i == j {
                clear_below(&mut tile, layout.tile());
            }
            let index = layout.index(i, j).ok_or_else(|| Error::Internal {
                what: "a tile was read that there is not".to_owned(),
            })?;
            file.write(index, &tile, 0)?;
            progress::tick();
        }
        pieces.forget(block, ends);
    }
    Ok(())
}

fn clear_below<T: Scalar>(tile: &mut Buffer<T>, ld: usize) {
    for c in 0..ld {
        tile[c * ld + c + 1..(c + 1) * ld].fill(T::from_f64(0.0));
    }
}

/// A source, and memory for parts of its lines.
struct Pieces<'a, T> {
    source: &'a Source,
    tile: usize,
    bytes: Vec<u8>,
    /// Some rows of a tile, one after the other.
    rows: Vec<T>,
    scratch: Vec<u8>,
}

impl<'a, T: Scalar> Pieces<'a, T> {
    fn new(source: &'a Source, tile: usize) -> Result<Self> {
        let rows = match source.order {
            StorageOrder::Columns => 0,
            StorageOrder::Rows => ROWS * tile,
        };
        Ok(Pieces {
            source,
            tile,
            bytes: vec![0; tile * source.number.size()],
            rows: try_zeroed(rows)?,
            scratch: Vec::new(),
        })
    }

    /// The lines of a block (first and number), and the part of each line that belongs to the tiles
    /// from `ends.0` to `ends.1` (first entry and length).
    fn lines(&self, block: usize, ends: (usize, usize)) -> ((usize, usize), (usize, usize)) {
        let (lines, length) = match self.source.order {
            StorageOrder::Columns => (self.source.cols, self.source.rows),
            StorageOrder::Rows => (self.source.rows, self.source.cols),
        };
        let within = |n: usize, (from, to): (usize, usize)| {
            let from = (from * self.tile).min(n);
            (from, (to * self.tile).min(n) - from)
        };
        (
            within(lines, (block, block + 1)),
            within(length, (ends.0, ends.1)),
        )
    }

    /// Reads the data of the tiles of a block into the page cache.
    fn warm(&mut self, block: usize, ends: (usize, usize)) -> Result<()> {
        let (lines, needed) = self.lines(block, ends);
        let piece = needed.1.min(self.tile) * self.source.number.size();
        if piece >= AT_ONCE || lines.1 < 2 {
            return Ok(());
        }
        let Some((_, _, together)) = self.source.span(lines, needed) else {
            return Ok(());
        };
        // If less than half of the range is needed, reads each line's part of it.
        let apart =
            needed.1 as u64 * lines.1 as u64 * self.source.number.size() as u64 * 2 < together;
        let (steps, count) = if apart { (lines.1, 1) } else { (1, lines.1) };
        self.scratch.resize(AT_ONCE, 0);
        for step in 0..steps {
            let Some((file, at, bytes)) = self.source.span((lines.0 + step, count), needed) else {
                break;
            };
            let mut done = 0;
            while done < bytes {
                interrupt::poll()?;
                let part = (bytes - done).min(AT_ONCE as u64);
                // If the file ends here, the later read of the missing part gives the error.
                if !file.read(&mut self.scratch[..part as usize], at + done)? {
                    return Ok(());
                }
                done += part;
            }
        }
        Ok(())
    }

    /// Drops a block of a large file from the page cache.
    fn forget(&self, block: usize, ends: (usize, usize)) {
        let (lines, needed) = self.lines(block, ends);
        if let Some((file, at, bytes)) = self.source.span(lines, needed) {
            if file.bytes().is_ok_and(|all| all > LARGE) {
                file.forget(at, bytes);
            }
        }
    }

    /// Fills a tile of `rows` x `cols` entries; the rest of its memory is zero.
    fn fill(
        &mut self,
        (i, j): (usize, usize),
        (rows, cols): (usize, usize),
        tile: &mut Buffer<T>,
    ) -> Result<()> {
        let (source, ld) = (self.source, self.tile);
        if (rows, cols) != (ld, ld) {
            tile.fill(T::from_f64(0.0));
        }
        let number = source.number;
        match source.order {
            StorageOrder::Columns => {
                let bytes = &mut self.bytes[..rows * number.size()];
                source.read((j * ld, cols), i * ld, bytes, |c, bytes| {
                    number.decode(bytes, &mut tile[c * ld..][..rows]);
                })
            }
            StorageOrder::Rows => {
                let bytes = &mut self.bytes[..cols * number.size()];
                for first in (0..rows).step_by(ROWS) {
                    let count = ROWS.min(rows - first);
                    let some = &mut self.rows;
                    source.read((i * ld + first, count), j * ld, bytes, |r, bytes| {
                        number.decode(bytes, &mut some[r * cols..][..cols]);
                    })?;
                    for c in 0..cols {
                        let to = &mut tile[c * ld + first..][..count];
                        for (r, to) in to.iter_mut().enumerate() {
                            *to = some[r * cols + c];
                        }
                    }
                }
                Ok(())
            }
        }
    }
}
