//! Whether a dense matrix is symmetric, entry by entry.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use faer::MatRef;

use crate::base::chunks::in_parts_of;
use crate::base::error::Result;
use crate::base::interrupt;
use crate::base::matrix::{Block, Part};
use crate::base::scalar::Scalar;
use crate::base::threads::wanted;
use crate::device::elementwise::{Elementwise, Operand};
use crate::device::functions::{Fold, Lines, Zip};

/// A comparison with the entry across the diagonal costs about as much as this many
/// multiplications.
const COMPARED: f64 = 16.0;

/// Order of the blocks that are compared: their columns are read as they lie in memory.
const SIDE: usize = 32;

/// Whether all entries of a square matrix of the host are their mirror images; NaN is not.
pub fn is_symmetric<T: Scalar>(a: MatRef<'_, T>) -> Result<bool> {
    let blocks = a.nrows().div_ceil(SIDE);
    let differs = AtomicBool::new(false);
    // One of the first and one of the last rows of blocks together: all have the same work.
    let rows = |pairs: Range<usize>| {
        for k in pairs {
            let last = blocks - 1 - k;
            let of = |i: usize| (0..=i).all(|j| are_mirrored(a, i * SIDE, j * SIDE));
            if differs.load(Ordering::Relaxed) || !of(k) || (last > k && !of(last)) {
                differs.store(true, Ordering::Relaxed);
            }
        }
        Ok(())
    };
    let cost = COMPARED * (SIDE * SIDE * (blocks + 1)) as f64;
    let pairs = 0..blocks.div_ceil(2);
    in_parts_of(1, wanted(), pairs, cost, rows, |(), ()| Ok(()))?;
    Ok(!differs.into_inner())
}

/// Whether the block that begins at this row and column is the mirror image of that across the
/// diagonal.
fn are_mirrored<T: Scalar>(a: MatRef<'_, T>, row: usize, col: usize) -> bool {
    let (rows, cols) = (SIDE.min(a.nrows() - row), SIDE.min(a.ncols() - col));
    let (here, there) = (
        a.submatrix(row, col, rows, cols),
        a.submatrix(col, row, cols, rows),
    );
    let mut across = [T::from_f64(0.0); SIDE * SIDE];
    for i in 0..rows {
        for (j, x) in there.col(i).iter().enumerate() {
            across[j * SIDE + i] = *x;
        }
    }
    let mut differ = false;
    for j in 0..cols {
        for (x, y) in here.col(j).iter().zip(&across[j * SIDE..]) {
            differ |= x != y;
        }
    }
    !differ
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
    use super::{is_symmetric, is_symmetric_as_base, larger};
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
    fn every_entry_is_compared() {
        for n in [0, 1, 2, 31, 32, 33, 64, 65, 97, 130] {
            let a = Mat::from_fn(n, n, |i, j| (i * j) as f64);
            assert!(is_symmetric(a.as_ref()).unwrap(), "{n}");
            let step = n.div_ceil(13).max(1);
            for at in (0..n * n).step_by(step).filter(|at| at % n != at / n) {
                let mut b = a.clone();
                b[(at % n, at / n)] += 0.5;
                assert!(!is_symmetric(b.as_ref()).unwrap(), "{n}: {at}");
            }
            if n > 0 {
                let mut b = a.clone();
                b[(n - 1, n - 1)] = f64::NAN;
                assert!(!is_symmetric(b.as_ref()).unwrap(), "{n}");
            }
        }
        let large = Mat::from_fn(2000, 2000, |i, j| (i + j) as f64);
        assert!(is_symmetric(large.as_ref()).unwrap());
        let mut other = large.clone();
        other[(1999, 0)] += 1.0;
        assert!(!is_symmetric(other.as_ref()).unwrap());
    }

    #[test]
    fn the_larger_of_two_is_nan_where_one_is() {
        assert_eq!((larger(1.0, 2.0), larger(2.0, 1.0)), (2.0, 2.0));
        assert!(larger(f64::NAN, 1.0).is_nan() && larger(1.0, f64::NAN).is_nan());
    }
}
