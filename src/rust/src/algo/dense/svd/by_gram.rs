//! Singular value decomposition by the eigenvectors of `X'X` and a QR factorization, in levels.
//!
//! With `X'X = V L V'` the columns of `X V = Q R` are orthogonal, but for the rounding in `X'X`:
//! row i of R has entries of about `eps s_1^2 / s_i` right of its diagonal, for singular values
//! `s_1 >= s_2 >= ...`. Up to `s_i = s_1 / 32` that is rounding of X, and so R has the
//! form
//!
//! ```text
//! R = [ diag(s)   0  ]
//!     [    0     R_2 ]
//! ```
//!
//! R_2 is decomposed in the same way. Its own norm is now the unit of rounding, so that small
//! singular values have the same errors as those of LAPACK. Each level finds a range of 32:1.
//!
//! In contrast to a decomposition of `X'X` alone, U and V are orthogonal to rounding, whatever the
//! condition: they are products of orthogonal matrices.

use super::by_qr::{by_qr, descending, Columns};
use super::vectors::{start, times, unit};
use super::Parts;
use crate::algo::dense::scaling::largest_column;
use crate::base::error::{Error, Result};
use crate::base::matrix::{Block, Part, Trans, Uplo};
use crate::base::scalar::{try_zeroed, Scalar};
use crate::device::elementwise::{Elementwise, Index};
use crate::device::memory::Memory;
use crate::device::spectral::SymmetricEigen;

/// The least singular value of a level, relative to the largest.
const RANGE: f64 = 1.0 / 32.0;

/// The time of a level, in that of n^3 operations by products: eigenvectors take some 9, `X'X`,
/// `X V` and QR the rest.
const LEVEL: f64 = 15.0;

/// The time of a polar decomposition, with eigenvectors.
const POLAR: f64 = 45.0;

/// The time of the CPU's routine: some 1.3 times that of a level.
const ROUTINE: f64 = 20.0;

/// The least mean of `log2(s_i / s_1)` of matrices that few levels decompose. Where the logarithms
/// are uniform, half of the values are then in the first level.
const MEAN: f64 = -4.5;

/// Steps of the power method for s_1 squared.
const POWERS: usize = 4;

/// What the first level finds of `X = U D V'`.
pub(super) struct Level<M, T> {
    /// Its singular values, and approximations of the others.
    d: Vec<T>,
    /// How many of them are singular values.
    count: usize,
    left: Option<M>,
    right: M,
    /// R_2, unless it is rounding.
    pub rest: Option<M>,
}

/// The first level of a square matrix of norm about one. `None` if all levels take longer than a
/// polar decomposition, or the device's `routine`.
pub(super) fn level<T: Scalar, D: Elementwise<T> + SymmetricEigen<T>>(
    dev: &D,
    x: &D::Mat<'static>,
    routine: bool,
    vectors: bool,
) -> Result<Option<Level<D::Mat<'static>, T>>> {
    let (_, n) = dev.shape(x);
    let (one, zero) = (T::from_f64(1.0), T::from_f64(0.0));
    let mut gram = dev.blank(n, n)?;
    dev.syrk(Trans::Yes, x, &mut gram)?;
    if routine && !has_few_levels(dev, &gram)? {
        return Ok(None);
    }
    let mut squares = try_zeroed::<T>(n)?;
    let mut ascending = dev.blank(n, n)?;
    dev.syev(&gram, &mut squares, Some(&mut ascending))?;
    squares.reverse();
    let other = if routine { ROUTINE } else { POLAR };
    if work(&squares, other) > other {
        return Ok(None);
    }
    let mut right = gram;
    let order: Vec<i32> = (0..n as i32).rev().collect();
    let (rows, columns) = (Index::From(0), Index::List(&order));
    dev.gather(rows, columns, zero, &ascending, &mut right)?;
    let mut product = ascending;
    dev.gemm(one, Trans::No, x, Trans::No, &right, zero, &mut product)?;
    let count = in_range(&squares);
    let Columns { d, left, rest } = by_qr(dev, product, count, vectors)?;
    let rest = match rest {
        Some(rest) if largest_column(dev, &rest)? > T::EPS * d[0].to_f64() => Some(rest),
        _ => None,
    };
    Ok(Some(Level {
        d,
        count,
        left,
        right,
        rest,
    }))
}

/// Whether the mean of `log2(s_i / s_1)` is at least [`MEAN`]. It follows from the determinant of
/// X'X, which its Cholesky factor gives in a fraction of the time of eigenvectors.
fn has_few_levels<T: Scalar, D: Elementwise<T>>(dev: &D, gram: &D::Mat<'_>) -> Result<bool> {
    let (_, n) = dev.shape(gram);
    let mut factor = dev.duplicate(gram, Part::All)?;
    match dev.potrf(Uplo::Upper, &mut factor) {
        Ok(()) => {}
        Err(Error::NotPositiveDefinite { .. }) => return Ok(false),
        Err(e) => return Err(e),
    }
    let logs = dev
        .diagonal(&factor)?
        .into_iter()
        .map(|r| r.to_f64().log2());
    let mean = logs.sum::<f64>() / n as f64;
    let (mut v, mut square) = (unit(start::<T>(n)?).0, 0.0);
    for _ in 0..POWERS {
        (v, square) = unit(times(dev, Trans::No, gram, &v)?);
    }
    Ok(mean - 0.5 * square.log2() >= MEAN)
}

impl<M, T: Scalar> Level<M, T> {
    /// Takes the decomposition of R_2 in.
    pub fn join<D>(&mut self, dev: &D, (d, vectors): Parts<M, T>) -> Result<()>
    where
        D: Elementwise<T> + Memory<T, Mat<'static> = M>,
    {
        self.d.truncate(self.count);
        self.d.extend(d);
        if let (Some(left), Some((u, v))) = (&mut self.left, vectors) {
            multiply_last(dev, &u, left)?;
            multiply_last(dev, &v, &mut self.right)?;
        }
        Ok(())
    }

    /// The decomposition.
    pub fn parts(self) -> Parts<M, T> {
        (descending(self.d), self.left.map(|left| (left, self.right)))
    }
}

/// How many of these squares of singular values, in descending order, the first level finds.
fn in_range<T: Scalar>(squares: &[T]) -> usize {
    let least = RANGE * RANGE * squares[0].to_f64();
    squares.partition_point(|s| s.to_f64() > least).max(1)
}

/// The time of all levels. Below rounding the squares mean nothing, and the rest is taken to need
/// the `other` way, whose time for the whole matrix is given.
fn work<T: Scalar>(squares: &[T], other: f64) -> f64 {
    let n = squares.len() as f64;
    let rounding = n * T::EPS * squares[0].to_f64();
    let (mut rest, mut work) = (squares, 0.0);
    while let Some(first) = rest.first() {
        let cube = (rest.len() as f64 / n).powi(3);
        if first.to_f64() <= rounding {
            return work + other * cube;
        }
        work += LEVEL * cube;
        rest = &rest[in_range(rest)..];
    }
    work
}

/// The last columns of `a`, as many as B has, become their product with B.
fn multiply_last<T: Scalar, D: Elementwise<T>>(
    dev: &D,
    b: &D::Mat<'static>,
    a: &mut D::Mat<'static>,
) -> Result<()> {
    let (n, count) = (dev.shape(a).0, dev.shape(b).0);
    let first = n - count;
    let (mut old, mut new) = (dev.blank(n, count)?, dev.blank(n, count)?);
    let block = Block {
        row: 0,
        col: first,
        rows: n,
        cols: count,
    };
    dev.copy_block(a, block, &mut old, (0, 0))?;
    let (one, zero) = (T::from_f64(1.0), T::from_f64(0.0));
    dev.gemm(one, Trans::No, &old, Trans::No, b, zero, &mut new)?;
    dev.copy_block(&new, Block::leading(n, count), a, (0, first))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::cpu::CpuDevice;
    use faer::Mat;

    fn of(values: impl Iterator<Item = f64>) -> (usize, f64) {
        let squares: Vec<f64> = values.map(|s| s * s).collect();
        (in_range(&squares), work(&squares, POLAR))
    }

    #[test]
    fn one_level_decomposes_what_has_no_small_values() {
        let (dev, n) = (CpuDevice::new(1), 90);
        let found = |x: Mat<f64>| {
            let x = dev.load_temporary(x.as_ref(), Part::All).unwrap();
            level::<f64, _>(&dev, &x, true, true).unwrap()
        };
        let mixed = Mat::from_fn(n, n, |i, j| ((i * i * 7 + j * j * 3 + i * j) as f64).sin());
        let near = Mat::from_fn(n, n, |i, j| f64::from(i == j) + 0.005 * mixed[(i, j)]);
        let one = found(near).unwrap();
        assert!(one.rest.is_none() && one.left.is_some() && one.count == n);
        let hilbert = Mat::from_fn(n, n, |i, j| 1.0 / (i + j + 1) as f64);
        assert!(found(hilbert).is_none());
        let graded = Mat::from_fn(n, n, |i, j| mixed[(i, j)] * 0.8f64.powi(j as i32));
        assert!(found(graded).is_none());
    }

    #[test]
    fn levels_are_ranges() {
        let even = of((0..320).map(|i| 1.0 - f64::from(i) / 320.0));
        assert_eq!(even.0, 310);
        assert!(even.1 < LEVEL * 1.01);
        let one_large = of((0..1000).map(|i| if i == 0 { 1.0 } else { 0.01 }));
        assert_eq!(one_large.0, 1);
        assert!(one_large.1 < POLAR);
        let geometric = of((0..1000).map(|i| 10f64.powf(-0.015 * f64::from(i))));
        assert!(geometric.1 > LEVEL * 2.0);
        let few = of((0..1000).map(|i| if i < 20 { 0.5f64.powi(i) } else { 1e-17 }));
        assert!(few.1 > POLAR);
        assert_eq!(of([0.0; 3].into_iter()), (1, POLAR));
    }
}
