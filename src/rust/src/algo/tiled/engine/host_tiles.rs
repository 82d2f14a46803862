//! Tiles of a matrix, and of its factor, that lie in host memory as columns.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;

use faer::{MatMut, MatRef};
use rayon::prelude::*;

use crate::algo::tiled::engine::tiles::Tiles;
use crate::base::error::{Error, Result};
use crate::base::host_memory::{copy_past_cache, Pages};
use crate::base::progress::Moved;
use crate::base::scalar::Scalar;
use crate::base::threads::{owns_pool, wanted};
use crate::tiles::{Buffer, Layout, Strips};

/// A matrix and its factor, both whole in host memory. A tile comes from the matrix, and from the
/// factor's place once it has been stored there.
pub(crate) struct HostTiles<'a, T> {
    layout: Layout,
    matrix: MatRef<'a, T>,
    factor: *mut T,
    /// Numbers from a column of the factor to the next.
    stride: usize,
    pages: Pages,
    strips: Strips,
    /// Of each strip.
    steps: Vec<AtomicU32>,
    moved: Arc<Moved>,
}

// SAFETY: tiles lie apart in the factor, and no two threads load or store the same one at a time.
unsafe impl<T: Sync> Sync for HostTiles<'_, T> {}

/// An address that threads may share.
#[derive(Clone, Copy)]
struct Address<T>(*mut T);
// SAFETY: what is done with it is the business of who makes it.
unsafe impl<T> Send for Address<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Address<T> {}

impl<T> Address<T> {
    /// # Safety
    /// It lies in what begins there.
    unsafe fn at(self, at: usize) -> *const T {
        self.0.add(at)
    }

    /// # Safety
    /// So many numbers from `at` on exist, and nobody else uses them.
    unsafe fn slice<'s>(self, at: usize, len: usize) -> &'s mut [T] {
        std::slice::from_raw_parts_mut(self.0.add(at), len)
    }
}

/// Bytes that a thread copies at least, of a tile that several copy.
const PIECE: usize = 256 << 10;

/// Columns of so many bytes.
fn each_column(columns: Range<usize>, bytes: usize, f: impl Fn(usize) + Sync + Send) {
    let least = (PIECE / bytes.max(1)).max(1);
    columns.into_par_iter().with_min_len(least).for_each(f);
}

impl<'a, T: Scalar> HostTiles<'a, T> {
    /// `None` where columns are not contiguous.
    pub(crate) fn new(
        strips: Strips,
        matrix: MatRef<'a, T>,
        factor: MatMut<'a, T>,
    ) -> Option<Self> {
        let layout = *strips.layout();
        let rows = layout.rows();
        let fits = (matrix.nrows(), factor.nrows()) == (rows, rows);
        let dense = matrix.row_stride() == 1 && factor.row_stride() == 1;
        let stride = usize::try_from(factor.col_stride()).ok()?.max(1);
        let numbers = match rows {
            0 => 0,
            _ => (rows - 1) * stride + rows,
        };
        (fits && dense).then(|| HostTiles {
            layout,
            matrix,
            factor: factor.as_ptr_mut(),
            stride,
            // SAFETY: from the first entry to the last, which outlive this value.
            pages: unsafe { Pages::of_any(factor.as_ptr_mut().cast(), numbers * size_of::<T>()) },
            strips,
            steps: (0..strips.count()).map(|_| AtomicU32::new(0)).collect(),
            moved: Arc::default(),
        })
    }

    /// Of a matrix whose factor stays elsewhere. `None` as of [`HostTiles::new`].
    pub(crate) fn to_read(strips: Strips, matrix: MatRef<'a, T>) -> Option<Self> {
        let layout = *strips.layout();
        let fits = matrix.nrows() == layout.rows() && matrix.row_stride() == 1;
        fits.then(|| HostTiles {
            layout,
            matrix,
            factor: std::ptr::null_mut(),
            stride: 1,
            // SAFETY: of no bytes.
            pages: unsafe { Pages::of_any(std::ptr::null_mut(), 0) },
            strips,
            steps: (0..strips.count()).map(|_| AtomicU32::new(0)).collect(),
            moved: Arc::default(),
        })
    }

    /// What comes and goes, for who watches it.
    pub(crate) fn counter(&self) -> Arc<Moved> {
        self.moved.clone()
    }

    /// Copies columns: whole tiles by several threads, since a device waits for the next one. Of
    /// strips many are copied at once, with a thread each.
    fn each(&self, columns: Range<usize>, copy: impl Fn(usize) + Sync + Send) {
        if self.strips.each() == 1 && owns_pool() {
            each_column(columns, self.layout.tile() * size_of::<T>(), copy);
        } else {
            columns.for_each(copy);
        }
    }

    fn start(&self, i: usize, j: usize) -> usize {
        (j * self.stride + i) * self.layout.tile()
    }

    /// How many rows of column `c` of a tile are at or above the diagonal of the matrix.
    fn height(&self, (i, j): (usize, usize), c: usize) -> usize {
        let (rows, _) = self.layout.dimensions(i, j);
        if i == j {
            rows.min(c + 1)
        } else {
            rows
        }
    }
}

impl<T: Scalar> Tiles<T> for HostTiles<'_, T> {
    fn layout(&self) -> Layout {
        self.layout
    }

    fn step(&self, tile: usize) -> u32 {
        self.steps[self.strips.of(tile).start].load(Ordering::Acquire)
    }

    fn strips(&self) -> Strips {
        self.strips
    }

    fn load(&self, tile: usize, columns: Range<usize>, into: &mut Buffer<T>) -> Result<()> {
        let (i, j) = self.layout.position(tile);
        let (size, (rows, cols)) = (self.layout.tile(), self.layout.dimensions(i, j));
        let strip = self.strips.from(tile, columns.start);
        let stored = self.steps[strip].load(Ordering::Acquire) > 0;
        let (first, count) = (columns.start, columns.len());
        let factor = Address(self.factor);
        let to = Address(into.as_mut_ptr());
        let zero = T::from_f64(0.0);
        self.each(columns, |c| {
            // SAFETY: a column of the buffer, which has as many.
            let to = unsafe { to.slice((c - first) * size, size) };
            let height = if c < cols { self.height((i, j), c) } else { 0 };
            let (to, rest) = to.split_at_mut(height);
            if i == j || rows < size || c >= cols {
                rest.fill(zero);
            }
            if height == 0 {
                return;
            }
            if stored {
                let start = self.start(i, j) + c * self.stride;
                // SAFETY: a column of the tile in the factor, which nobody changes meanwhile.
                let from = unsafe { std::slice::from_raw_parts(factor.at(start), height) };
                to.copy_from_slice(from);
            } else {
                let from = self
                    .matrix
                    .get(.., j * size + c)
                    .get(i * size..i * size + height);
                // SAFETY: contiguous, see `new`.
                let from = unsafe { std::slice::from_raw_parts(from.as_ptr(), height) };
                to.copy_from_slice(from);
            }
        });
        self.moved.has_read((count * size * size_of::<T>()) as u64);
        Ok(())
    }

    fn store(&self, tile: usize, columns: Range<usize>, from: &Buffer<T>, step: u32) -> Result<()> {
        if self.factor.is_null() {
            return Err(Error::Internal {
                what: "a tile that should stay was to be stored".into(),
            });
        }
        let (i, j) = self.layout.position(tile);
        let (size, (rows, cols)) = (self.layout.tile(), self.layout.dimensions(i, j));
        let (first, count) = (columns.start, columns.len());
        let factor = Address(self.factor);
        let zero = T::from_f64(0.0);
        self.each(first..columns.end.min(cols), |c| {
            // SAFETY: a column of the tile in the factor, which nobody else uses meanwhile.
            let to = unsafe { factor.slice(self.start(i, j) + c * self.stride, rows) };
            let (to, below) = to.split_at_mut(self.height((i, j), c));
            let start = (c - first) * size;
            let from = &from[start..start + to.len()];
            // SAFETY: as long as one another.
            unsafe {
                copy_past_cache(
                    from.as_ptr().cast(),
                    to.as_mut_ptr().cast(),
                    size_of_val(from),
                );
            }
            below.fill(zero);
        });
        self.moved
            .has_written((count * size * size_of::<T>()) as u64);
        let strip = self.strips.from(tile, first);
        self.steps[strip].store(step, Ordering::Release);
        Ok(())
    }

    fn is_in_memory(&self) -> bool {
        true
    }

    fn background_threads(&self) -> usize {
        if self.factor.is_null() {
            return 0;
        }
        (wanted() / 4).clamp(1, MOST_BACKGROUND)
    }

    /// Has the system hand out the factor's memory, and writes zeros below the tiles on the
    /// diagonal while it is in the processor's cache.
    fn background(&self, go_on: &dyn Fn() -> bool) {
        let (n, size) = (self.layout.rows(), self.layout.tile());
        let factor = Address(self.factor);
        while let Some(bytes) = self.pages.touch_next().filter(|_| go_on()) {
            let (from, to) = (bytes.start / size_of::<T>(), bytes.end / size_of::<T>());
            for c in from / self.stride..to.div_ceil(self.stride) {
                let column = c * self.stride;
                let first = column + (c / size + 1) * size;
                let (first, end) = (first.max(from), (column + n).min(to));
                if first < end {
                    // SAFETY: nobody else writes below the tiles on the diagonal, and no two
                    // threads have the same bytes.
                    let to = unsafe { factor.slice(first, end - first) };
                    to.fill(T::from_f64(0.0));
                }
            }
        }
    }
}

/// Threads that write zeros at most.
const MOST_BACKGROUND: usize = 16;

#[cfg(test)]
mod tests {
    use faer::Mat;

    use super::*;
    use crate::tiles::Shape;

    #[test]
    fn strips_come_and_go() {
        come_and_go(1300, 600, 600);
        come_and_go(130, 40, 40);
        come_and_go(130, 40, 7);
        come_and_go(130, 40, 1);
    }

    fn come_and_go(n: usize, tile: usize, width: usize) {
        let layout = Layout::new(n, n, tile, Shape::Triangle).unwrap();
        let matrix = Mat::<f64>::from_fn(n, n, |i, j| (i * n + j + 1) as f64);
        let mut factor = Mat::<f64>::from_fn(n, n, |_, _| f64::NAN);
        let strips = Strips::new(layout, width);
        let tiles = HostTiles::new(strips, matrix.as_ref(), factor.as_mut()).unwrap();
        let mut buffer = Buffer::<f64>::strip(&strips).unwrap();
        // The second time what was stored, and stored changed, comes back.
        for round in 0..2 {
            for strip in (0..strips.count()).rev() {
                let (number, columns) = strips.position(strip);
                let (i, j) = layout.position(number);
                buffer.fill(f64::NAN);
                tiles.load(number, columns.clone(), &mut buffer).unwrap();
                for (c, column) in columns.clone().zip(buffer.chunks_exact(tile)) {
                    for (r, x) in column.iter().enumerate() {
                        let (row, col) = (i * tile + r, j * tile + c);
                        let there = row <= col && col < n;
                        let was = if there { matrix[(row, col)] } else { 0.0 };
                        assert_eq!(*x, was * f64::from(1 + round), "{row} {col}");
                    }
                }
                buffer.iter_mut().for_each(|x| *x *= 2.0 - f64::from(round));
                tiles.store(number, columns, &buffer, 1).unwrap();
            }
        }
        tiles.background(&|| true);
        for (i, j) in (0..n).flat_map(|j| (0..n).map(move |i| (i, j))) {
            let made = if i <= j { 2.0 * matrix[(i, j)] } else { 0.0 };
            assert_eq!(factor[(i, j)], made, "{i} {j}");
        }
    }
}
