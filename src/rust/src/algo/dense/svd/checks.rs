//! Checks of a singular value decomposition by products with a vector of random signs.

use super::vectors::times;
use super::Parts;
use crate::base::error::{Error, Result};
use crate::base::matrix::Trans;
use crate::base::probe::{distance, scaled, signs, squares};
use crate::base::scalar::Scalar;
use crate::device::elementwise::Elementwise;

/// What rounding may add to a product of a matrix with n rows and a vector of signs, relative to
/// the matrix's norm.
fn allowed<T: Scalar>(n: usize) -> f64 {
    16.0 * (n as f64).max(8.0) * T::EPS
}

/// Whether `Q'Q x = x` for a vector of signs.
pub(super) fn is_orthonormal<T: Scalar, D: Elementwise<T>>(
    dev: &D,
    q: &D::Mat<'_>,
) -> Result<bool> {
    let x = signs::<T>(dev.shape(q).1)?;
    let there = times(dev, Trans::No, q, &x)?;
    let back = times(dev, Trans::Yes, q, &there)?;
    Ok(distance(&back, &x) <= allowed::<T>(dev.shape(q).0))
}

/// An error unless `A (V x) = U (D x)` for a vector of signs, and U and V are orthonormal.
pub(super) fn is_right<T: Scalar, D: Elementwise<T>>(
    dev: &D,
    a: &D::Mat<'_>,
    d: &[T],
    left: &D::Mat<'_>,
    right: &D::Mat<'_>,
) -> Result<()> {
    let x = signs::<T>(d.len())?;
    let given = times(dev, Trans::No, a, &times(dev, Trans::No, right, &x)?)?;
    let found = times(dev, Trans::No, left, &scaled(&x, d, d.len())?)?;
    let near = distance(&given, &found) <= allowed::<T>(dev.shape(a).0) * d[0].to_f64();
    if near && is_orthonormal(dev, left)? && is_orthonormal(dev, right)? {
        return Ok(());
    }
    Err(Error::NotConverged { routine: "dgesdd" })
}

/// An error unless the squares of the values have the sum of those of A's entries.
pub(super) fn is_right_sum<T: Scalar, D: Elementwise<T>>(
    dev: &D,
    a: &D::Mat<'_>,
    d: &[T],
) -> Result<()> {
    let norm = dev.column_norms(a)?.iter().map(|x| x * x).sum::<f64>();
    match (norm - squares(d)).abs() <= allowed::<T>(d.len()) * norm {
        true => Ok(()),
        false => Err(Error::NotConverged { routine: "dgesdd" }),
    }
}

/// Whether a decomposition of `x` passes [`is_right`] or, without vectors, [`is_right_sum`].
pub(super) fn passes<T: Scalar, D: Elementwise<T>>(
    dev: &D,
    x: &D::Mat<'_>,
    (d, vectors): &Parts<D::Mat<'static>, T>,
) -> Result<bool> {
    let checked = match vectors {
        Some((left, right)) => is_right(dev, x, d, left, right),
        None => is_right_sum(dev, x, d),
    };
    match checked {
        Ok(()) => Ok(true),
        Err(Error::NotConverged { .. }) => Ok(false),
        Err(e) => Err(e),
    }
}
