//! The contract for entry-by-entry arithmetic, reductions, and the movement of parts of matrices.
//!
//! Entries are computed in double precision and rounded to the element type once, whatever that is:
//! the four operations and the root are then the same on every machine, and other functions within
//! a few units in the last place. Results go to matrices of the caller's; nothing of them is read,
//! except by [`Elementwise::scatter`], [`Elementwise::set_diagonal`] and
//! [`Elementwise::scale_columns`], and they are never one of the operands.

use faer::Mat;

use crate::base::error::{Error, Result};
use crate::base::matrix::Trans;
use crate::base::scalar::Scalar;
use crate::device::functions::{Fold, Lines, Map, Zip};
use crate::device::lapack::Lapack;

/// What [`Elementwise::scale_columns`] makes of y, x and `by`, of matrices of one shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scaling {
    /// `y <- x diag(by)`.
    Replace,
    /// `y <- y + x diag(by)`.
    Add,
    /// `y <- x + y diag(by)`.
    Onto,
}

/// An operand of arithmetic by entries.
pub enum Operand<'o, M> {
    /// One of the result's shape.
    Matrix(&'o M),
    Number(f64),
    /// The entries of a matrix of any shape but an empty one, by columns, over and over again down
    /// the columns of the result.
    Recycled(&'o M),
}

impl<M> Clone for Operand<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for Operand<'_, M> {}

/// Which rows, or which columns: places counted from 0.
#[derive(Debug, Clone, Copy)]
pub enum Index<'i> {
    /// As many as the other matrix has, from this one on.
    From(usize),
    /// Those listed. A negative number stands for none.
    List(&'i [i32]),
}

impl Index<'_> {
    /// An error unless it names `count` places, all of them below `length`.
    pub fn check(&self, count: usize, length: usize) -> Result<()> {
        let fits = match self {
            Index::From(first) => first.checked_add(count).is_some_and(|end| end <= length),
            Index::List(all) => {
                all.len() == count && all.iter().all(|&i| i < 0 || (i as usize) < length)
            }
        };
        if fits {
            Ok(())
        } else {
            Err(Error::Dimension {
                what: "subscript out of bounds".into(),
            })
        }
    }

    /// The place of number `k`, if it has one.
    pub fn at(&self, k: usize) -> Option<usize> {
        match self {
            Index::From(first) => Some(first + k),
            Index::List(all) => usize::try_from(all[k]).ok(),
        }
    }
}

pub trait Elementwise<T: Scalar>: Lapack<T> {
    /// A matrix that lives on the device alone, to be written before it is read.
    fn blank(&self, rows: usize, cols: usize) -> Result<Self::Mat<'static>>;

    /// `out <- op(A) X` for few columns X.
    fn multiply_few(
        &self,
        op: Trans,
        a: &Self::Mat<'_>,
        x: &Self::Mat<'_>,
        out: &mut Self::Mat<'_>,
    ) -> Result<()> {
        let (one, zero) = (T::from_f64(1.0), T::from_f64(0.0));
        if !op.is_yes() {
            return self.gemm(one, op, a, Trans::No, x, zero, out);
        }
        let (rows, cols) = self.shape(out);
        let mut across = self.blank(cols, rows)?;
        self.gemm(one, op, x, Trans::No, a, zero, &mut across)?;
        self.transpose(&across, out)
    }

    /// `W <- W - Q Q'W` for few columns W and the first `count` columns of the parts `q`, whose
    /// others are zero. The transpose of `Q'W` by parts.
    fn project(
        &self,
        q: &[Self::Mat<'static>],
        _count: usize,
        w: &mut Self::Mat<'static>,
    ) -> Result<Vec<Self::Mat<'static>>> {
        let (one, zero, cols) = (T::from_f64(1.0), T::from_f64(0.0), self.shape(w).1);
        let mut along = Vec::with_capacity(q.len());
        for part in q {
            let mut h = self.blank(cols, self.shape(part).1)?;
            self.gemm(one, Trans::Yes, w, Trans::No, part, zero, &mut h)?;
            along.push(h);
        }
        for (part, h) in q.iter().zip(&along) {
            self.gemm(-one, Trans::No, part, Trans::Yes, h, one, w)?;
        }
        Ok(along)
    }

    /// W becomes Q of its QR decomposition, R is the answer. None, with W as it was, if columns
    /// are nearly dependent, or this device has nothing quicker than [`Lapack::geqrf`].
    fn orthonormalize(&self, _w: &mut Self::Mat<'static>) -> Result<Option<Mat<f64>>> {
        Ok(None)
    }

    /// `out[i, j] <- f(A[i, j])`. Whether an entry that was not NaN became NaN, for functions that
    /// can make one so.
    fn map(&self, f: Map, a: &Self::Mat<'_>, out: &mut Self::Mat<'_>) -> Result<bool>;

    /// `out[i, j] <- f(A[i, j], B[i, j])`.
    fn zip(
        &self,
        f: Zip,
        a: Operand<'_, Self::Mat<'_>>,
        b: Operand<'_, Self::Mat<'_>>,
        out: &mut Self::Mat<'_>,
    ) -> Result<()>;

    /// A number for each of the lines, in an order of operations that depends on the shape alone.
    /// NaN makes NaN, unless `skip` leaves it out ([`Fold::Count`] always does).
    fn fold(&self, f: Fold, lines: Lines, skip: bool, a: &Self::Mat<'_>) -> Result<Vec<f64>>;

    /// Changes y by x, columns of one multiplied with numbers: see [`Scaling`].
    /// [`Error::Dimension`] unless both have one shape and there is a number for each column. A
    /// column of y depends on that of x and itself alone.
    fn scale_columns(
        &self,
        x: &Self::Mat<'_>,
        by: &[f64],
        how: Scaling,
        y: &mut Self::Mat<'_>,
    ) -> Result<()>;

    /// The inner product of every column of x with that of y, of one shape (else
    /// [`Error::Dimension`]), in an order of operations that depends on the number of rows alone.
    fn column_dots(&self, x: &Self::Mat<'_>, y: &Self::Mat<'_>) -> Result<Vec<f64>>;

    /// `out <- A'`.
    fn transpose(&self, a: &Self::Mat<'_>, out: &mut Self::Mat<'_>) -> Result<()>;

    /// The `min(m, n)` diagonal entries become `values`, or the one value there is.
    fn set_diagonal(&self, values: &[T], a: &mut Self::Mat<'_>) -> Result<()>;

    /// `out[i, j] <- A[rows(i), cols(j)]`, or `missing` where one of the two is no place.
    fn gather(
        &self,
        rows: Index<'_>,
        cols: Index<'_>,
        missing: T,
        a: &Self::Mat<'_>,
        out: &mut Self::Mat<'_>,
    ) -> Result<()>;

    /// `out[rows(i), cols(j)] <- B[i, j]` for an `m` x `n` B of shape `shape`, where both are
    /// places. No place is named twice.
    fn scatter(
        &self,
        rows: Index<'_>,
        cols: Index<'_>,
        shape: (usize, usize),
        b: Operand<'_, Self::Mat<'_>>,
        out: &mut Self::Mat<'_>,
    ) -> Result<()>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_outside_are_refused() {
        assert!(Index::From(2).check(3, 5).is_ok());
        assert!(Index::From(3).check(3, 5).is_err());
        assert!(Index::From(usize::MAX).check(2, 5).is_err());
        assert!(Index::List(&[0, -1, 4]).check(3, 5).is_ok());
        assert!(Index::List(&[0, 5]).check(2, 5).is_err());
        assert!(Index::List(&[0]).check(2, 5).is_err());
        assert_eq!(Index::List(&[3, -1]).at(1), None);
        assert_eq!(Index::From(3).at(1), Some(4));
    }
}
