//! Whether a dense matrix is symmetric, entry by entry.

use std::ops::Range;

use faer::MatRef;

use crate::base::error::Result;
use crate::base::interrupt;
use crate::base::matrix::{Block, Part};
use crate::base::scalar::Scalar;
use crate::base::threads::{join, share, wanted};
use crate::device::elementwise::{Elementwise, Operand};
use crate::device::functions::{Fold, Lines, Zip};

/// A comparison with the entry across the diagonal costs about as much as this many
/// multiplications.
const COMPARED: f64 = 16.0;

/// Whether all of a range are, by so many threads.
fn all(range: Range<usize>, threads: usize, is: &(impl Fn(usize) -> bool + Sync)) -> bool {
    if threads < 2 || range.len() < 2 {
        return range.into_iter().all(is);
    }
    let middle = range.start + range.len() * (threads / 2) / threads;
    let middle = middle.max(range.start + 1);
    let (left, right) = join(
        threads,
        |t| all(range.start..middle, t, is),
        |t| all(middle..range.end, t, is),
    );
    left && right
}

/// Whether all entries of a square matrix of the host are their mirror images; NaN is not.
pub fn is_symmetric<T: Scalar>(a: MatRef<'_, T>) -> Result<bool> {
    const SIDE: usize = 256;
    let n = a.nrows();
    let blocks = n.div_ceil(SIDE);
    for i in 0..blocks {
        interrupt::poll()?;
        let same = |j: usize| {
            let (row, col) = (i * SIDE, j * SIDE);
            let (rows, cols) = (SIDE.min(n - row), SIDE.min(n - col));
            let (x, y) = (
                a.submatrix(row, col, rows, cols),
                a.submatrix(col, row, cols, rows),
            );
            (0..cols).all(|j| (0..rows).all(|i| x[(i, j)] == y[(j, i)]))
        };
        let work = COMPARED * (SIDE * SIDE * (blocks - i)) as f64;
        if !all(i..blocks, share(wanted(), work), &same) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether base R's `isSymmetric()` is TRUE for a matrix of finite numbers without dimnames.
///
/// Among the entries that differ from their mirror images, the mean difference must be at most
/// `100 eps` times their mean magnitude, or at most `100 eps` if that magnitude is not above it.
/// Before that, rows 1, 2, n - 1 and n alone are compared so with their columns, with a tolerance
/// eight times as large.
pub fn is_symmetric_as_base(a: MatRef<'_, f64>) -> Result<bool> {
    const TOLERANCE: f64 = 100.0 * f64::EPSILON;
    let n = a.nrows();
    if n < 2 || is_symmetric(a)? {
        return Ok(true);
    }
    for i in [0, 1, n - 2, n - 1] {
        let mut found = Difference::default();
        found.add_row(a, i, 0..n);
        if !found.is_within(8.0 * TOLERANCE) {
            return Ok(false);
        }
    }
    let mut found = Difference::default();
    // By blocks, so that what is read across the diagonal stays in the cache.
    const SIDE: usize = 64;
    for rows in (0..n).step_by(SIDE) {
        interrupt::poll()?;
        for cols in (0..n).step_by(SIDE) {
            for i in rows..n.min(rows + SIDE) {
                found.add_row(a, i, cols..n.min(cols + SIDE));
            }
        }
    }
    Ok(found.is_within(TOLERANCE))
}

/// How entries differ from their mirror images, as `all.equal()` measures it. Sums are of 2^-20
/// times the entries, so that none overflows.
#[derive(Default)]
struct Difference {
    count: f64,
    size: f64,
    difference: f64,
}

impl Difference {
    const UNIT: f64 = 1.0 / (1 << 20) as f64;

    fn add_row(&mut self, a: MatRef<'_, f64>, i: usize, columns: Range<usize>) {
        for j in columns {
            let (x, y) = (a[(i, j)], a[(j, i)]);
            if x != y {
                self.count += 1.0;
                self.size += x.abs() * Self::UNIT;
                self.difference += (x - y).abs() * Self::UNIT;
            }
        }
    }

    fn is_within(&self, tolerance: f64) -> bool {
        if self.count == 0.0 {
            return true;
        }
        let size = self.size / self.count / Self::UNIT;
        let scale = match size.is_finite() && size > tolerance {
            true => size,
            false => 1.0,
        };
        self.difference / self.count / Self::UNIT / scale <= tolerance
    }
}

/// Columns that are compared with rows at once.
const STRIP: usize = 512;

/// As [`is_symmetric`], of a matrix on a device, with room for three strips of it. Infinite entries
/// are not their mirror images either.
pub fn is_symmetric_resident<T: Scalar, D: Elementwise<T>>(
    dev: &D,
    a: &D::Mat<'_>,
) -> Result<bool> {
    let (n, cols) = dev.shape(a);
    if n != cols {
        return Ok(false);
    }
    for first in (0..n).step_by(STRIP) {
        interrupt::poll()?;
        let width = STRIP.min(n - first);
        // The rest of the square was looked at from the other side.
        let long = n - first;
        let (mut tall, mut wide) = (dev.blank(long, width)?, dev.blank(width, long)?);
        let block = |rows, cols| Block {
            row: first,
            col: first,
            rows,
            cols,
        };
        dev.copy_block(a, block(long, width), &mut tall, (0, 0))?;
        dev.copy_block(a, block(width, long), &mut wide, (0, 0))?;
        let mut turned = dev.blank(long, width)?;
        dev.transpose(&wide, &mut turned)?;
        drop(wide);
        let mut difference = dev.blank(long, width)?;
        let (x, y) = (Operand::Matrix(&tall), Operand::Matrix(&turned));
        dev.zip(Zip::Subtract, x, y, &mut difference)?;
        let largest = dev.fold(Fold::Largest, Lines::All, false, &difference)?;
        if largest.iter().any(|d| *d != 0.0) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The largest magnitudes of a square matrix on a device, below its diagonal and above it, with
/// room for two strips of it; NaN where there is one.
pub fn triangles_resident<T: Scalar, D: Elementwise<T>>(
    dev: &D,
    a: &D::Mat<'_>,
) -> Result<(f64, f64)> {
    let n = dev.shape(a).0;
    // What is on the diagonal of the block that begins beside that of the matrix is next to it.
    let largest = |block: Block, part: Part| -> Result<f64> {
        let mut strip = dev.blank(block.rows, block.cols)?;
        dev.copy_block(a, block, &mut strip, (0, 0))?;
        let triangle = dev.duplicate(&strip, part)?;
        let found = dev.fold(Fold::Largest, Lines::All, false, &triangle)?;
        Ok(found.into_iter().fold(0.0, larger))
    };
    let (mut below, mut above) = (0.0, 0.0);
    for first in (0..n.saturating_sub(1)).step_by(STRIP) {
        interrupt::poll()?;
        let (long, width) = (n - first - 1, STRIP.min(n - first - 1));
        let tall = Block {
            row: first + 1,
            col: first,
            rows: long,
            cols: width,
        };
        let wide = Block {
            row: first,
            col: first + 1,
            rows: width,
            cols: long,
        };
        below = larger(below, largest(tall, Part::Lower)?);
        above = larger(above, largest(wide, Part::Upper)?);
    }
    Ok((below, above))
}

/// As `f64::max`, but NaN stays.
pub(crate) fn larger(x: f64, y: f64) -> f64 {
    if x.is_nan() || x > y {
        x
    } else {
        y
    }
}

#[cfg(test)]
mod tests {
    use super::{all, is_symmetric_as_base, larger};
    use faer::Mat;

    #[test]
    fn near_symmetry_is_that_of_base_r() {
        let near = |by: f64, scale: f64| {
            let mut a = Mat::from_fn(9, 9, |i, j| scale * (1.0 + (i * j) as f64));
            a[(5, 3)] *= 1.0 + by;
            is_symmetric_as_base(a.as_ref()).unwrap()
        };
        for scale in [1e-3, 1.0, 1e300, 1e307] {
            assert!(
                near(0.0, scale) && near(1.5e-14, scale) && !near(1e-13, scale),
                "{scale}"
            );
        }
        // Differences of small numbers count as such.
        assert!(near(0.5, 1e-16));
        assert!(is_symmetric_as_base(Mat::zeros(0, 0).as_ref()).unwrap());
    }

    #[test]
    fn every_one_of_a_range_is_looked_at() {
        for threads in [1, 2, 3, 7] {
            for range in [0..0, 4..5, 3..5, 2..102, 0..7] {
                assert!(all(range.clone(), threads, &|i| range.contains(&i)));
                for off in range.clone() {
                    assert!(!all(range.clone(), threads, &|i| i != off));
                }
            }
        }
    }

    #[test]
    fn the_larger_of_two_is_nan_where_one_is() {
        assert_eq!((larger(1.0, 2.0), larger(2.0, 1.0)), (2.0, 2.0));
        assert!(larger(f64::NAN, 1.0).is_nan() && larger(1.0, f64::NAN).is_nan());
    }
}
