//! What a factor and its change must be: their shapes, finite numbers, a diagonal without zeros.

use crate::base::error::{Error, Result};
use crate::base::scalar::Scalar;
use crate::device::elementwise::Elementwise;
use crate::device::functions::{Fold, Lines};
use faer::{ColRef, MatRef};

/// An error unless R, which is zero below the diagonal, is finite and has no zero on it.
pub(super) fn check_factor<T: Scalar, D: Elementwise<T>>(dev: &D, r: &D::Mat<'_>) -> Result<()> {
    check_finite(dev, r, "r")?;
    match dev.diagonal(r)?.iter().position(is_zero) {
        Some(i) => Err(Error::Singular { index: i + 1 }),
        None => Ok(()),
    }
}

/// An error unless all entries are finite.
pub(super) fn check_finite<T: Scalar, D: Elementwise<T>>(
    dev: &D,
    a: &D::Mat<'_>,
    argument: &'static str,
) -> Result<()> {
    if largest(dev, a)?.is_finite() {
        return Ok(());
    }
    Err(Error::NonFiniteIn { argument })
}

/// The largest magnitude; infinite or NaN where an entry is.
pub(super) fn largest<T: Scalar, D: Elementwise<T>>(dev: &D, a: &D::Mat<'_>) -> Result<f64> {
    let all = dev.fold(Fold::Largest, Lines::All, false, a)?;
    Ok(all.first().copied().unwrap_or(0.0))
}

pub(super) fn is_zero<T: Scalar>(x: &T) -> bool {
    Into::<f64>::into(*x) == 0.0
}

/// An error unless the factor is square, with as many rows as V.
pub(super) fn check_shapes(r: (usize, usize), v: (usize, usize)) -> Result<()> {
    if r.0 == r.1 && r.0 == v.0 {
        return Ok(());
    }
    Err(Error::Dimension {
        what: format!(
            "the factor must be square with as many rows as 'v': it is {} x {}, 'v' has {} rows",
            r.0, r.1, v.0
        ),
    })
}

/// An error unless v and the upper triangle of r are finite, without a zero on r's diagonal.
pub(super) fn check<T: Scalar>(r: MatRef<'_, T>, v: MatRef<'_, T>) -> Result<()> {
    for j in 0..r.ncols() {
        let column = r.col(j).get(..j + 1);
        check_column(column, "r")?;
        if is_zero(&column[j]) {
            return Err(Error::Singular { index: j + 1 });
        }
    }
    check_columns(v, "v")
}

pub(super) fn check_column<T: Scalar>(x: ColRef<'_, T>, argument: &'static str) -> Result<()> {
    if are_finite(x) {
        return Ok(());
    }
    Err(Error::NonFiniteIn { argument })
}

pub(super) fn check_columns<T: Scalar>(a: MatRef<'_, T>, argument: &'static str) -> Result<()> {
    (0..a.ncols()).try_for_each(|j| check_column(a.col(j), argument))
}

/// Zero times a finite number is zero; times any other it is NaN, which a sum keeps. So contiguous
/// numbers need no branch.
fn are_finite<T: Scalar>(column: ColRef<'_, T>) -> bool {
    let zero = T::from_f64(0.0);
    let Some(column) = column.try_as_col_major() else {
        return column.iter().all(|x| Into::<f64>::into(*x).is_finite());
    };
    let parts = column.as_slice().chunks_exact(SIDE_BY_SIDE);
    let rest = parts
        .remainder()
        .iter()
        .fold(zero, |sum, x| sum + *x * zero);
    let mut sums = [zero; SIDE_BY_SIDE];
    for part in parts {
        for (sum, x) in sums.iter_mut().zip(part) {
            *sum += *x * zero;
        }
    }
    sums.into_iter().all(|sum| sum == zero) && rest == zero
}

const SIDE_BY_SIDE: usize = 16;
