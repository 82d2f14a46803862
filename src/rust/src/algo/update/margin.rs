//! How far a downdated matrix is from singular.

use crate::base::error::{Error, Result};
use crate::base::matrix::{Block, Diag, Part, Side, Trans, Uplo};
use crate::base::scalar::Scalar;
use crate::device::lapack::Lapack;

/// A lower bound of the smallest eigenvalue of `I - P'P`, `R'P = V`, for a downdate of R by V; see
/// [`factor`](super::factor).
///
/// # Errors
/// [`Error::NotPositiveDefinite`] with the order of the first minor that has no factor.
pub(crate) fn margin<T: Scalar, D: Lapack<T>>(
    dev: &D,
    r: &D::Mat<'_>,
    v: &D::Mat<'_>,
) -> Result<f64> {
    let (n, k) = dev.shape(v);
    if n == 0 || k == 0 {
        return Ok(1.0);
    }
    let mut p = dev.duplicate(v, Part::All)?;
    let (left, upper, yes) = (Side::Left, Uplo::Upper, Trans::Yes);
    dev.trsm(left, upper, yes, Diag::NonUnit, n, r, &mut p)?;
    margin_by(dev, &p)
}

/// As [`margin`], from P.
pub(super) fn margin_by<T: Scalar, D: Lapack<T>>(dev: &D, p: &D::Mat<'_>) -> Result<f64> {
    let (n, k) = dev.shape(p);
    if let Some(margin) = margin_of(dev, p)? {
        return Ok(margin);
    }
    // Bisection: the first `bad` rows have no factor, the first `good` have one.
    let (mut good, mut bad) = (0, n);
    while bad - good > 1 {
        let middle = good + (bad - good) / 2;
        let mut leading = dev.zeros(middle, k)?;
        dev.copy_block(p, Block::leading(middle, k), &mut leading, (0, 0))?;
        match margin_of(dev, &leading)? {
            Some(_) => good = middle,
            None => bad = middle,
        }
    }
    Err(Error::NotPositiveDefinite { order: bad })
}

/// A lower bound of the smallest eigenvalue of `I - P'P`; `None` where that is not positive, to the
/// precision.
fn margin_of<T: Scalar, D: Lapack<T>>(dev: &D, p: &D::Mat<'_>) -> Result<Option<f64>> {
    let (n, k) = dev.shape(p);
    // `I - P P'` has the same smallest eigenvalue, and may be the smaller matrix.
    let (size, first, second) = if k <= n {
        (k, Trans::Yes, Trans::No)
    } else {
        (n, Trans::No, Trans::Yes)
    };
    let mut s = dev.zeros(size, size)?;
    dev.set_identity(&mut s)?;
    let (one, minus) = (T::from_f64(1.0), T::from_f64(-1.0));
    dev.gemm(minus, first, p, second, p, one, &mut s)?;
    match dev.potrf(Uplo::Upper, &mut s) {
        Ok(()) => {}
        Err(Error::NotPositiveDefinite { .. }) => return Ok(None),
        Err(e) => return Err(e),
    }
    let mut inverse = dev.zeros(size, size)?;
    dev.potri(&s, &mut inverse)?;
    let margin = 1.0 / dev.norm1(&inverse)?;
    let least = LEAST * (n + k) as f64 * T::EPS;
    Ok((margin > least).then_some(margin))
}

/// A margin of so many units of rounding, times `n + k`, counts as zero.
const LEAST: f64 = 4.0;
