//! Singular value decomposition, `X = U D V'`.
//!
//! Golub & Van Loan, 4th ed., section 8.6; LAPACK `gesdd`. [`by_polar`] is for devices that have
//! no [`SingularValues::gesvd`].
//!
//! # Signs
//! The component of largest magnitude in each column of V is positive: the first one, if several
//! are equal to half of the digits. The same column of U follows. Without V, the rule holds for U,
//! and it holds for columns of either that have no singular value.

pub mod by_polar;
mod polar;

use faer::{MatMut, MatRef};

use crate::algo::dense::scaling::{descaled, Scaled};
use crate::algo::dense::signs;
use crate::base::error::Result;
use crate::base::matrix::Part;
use crate::base::scalar::{try_zeroed, Scalar};
use crate::device::elementwise::Elementwise;
use crate::device::spectral::SingularValues;

/// Singular values in descending order, and vectors in the columns of `u` and `v`.
///
/// The matrix may have more precision than the device computes in.
///
/// For an m by n matrix `u` has `min(m, n)` columns or m, and `v` `min(m, n)` or n.
///
/// # Errors
/// [`Error::NonFinite`](crate::base::error::Error::NonFinite), and those of
/// [`SingularValues::gesvd`].
pub fn svd<S: Scalar, T: Scalar, D: Elementwise<T> + SingularValues<T>>(
    dev: &D,
    x: MatRef<'_, S>,
    u: Option<MatMut<'_, T>>,
    v: Option<MatMut<'_, T>>,
) -> Result<Vec<S>> {
    svd_by(dev, D::DIRECT, x, u, v)
}

/// As [`svd`], by the device's routine if `direct`, and else by polar decomposition.
pub fn svd_by<S: Scalar, T: Scalar, D: Elementwise<T> + SingularValues<T>>(
    dev: &D,
    direct: bool,
    x: MatRef<'_, S>,
    mut u: Option<MatMut<'_, T>>,
    mut v: Option<MatMut<'_, T>>,
) -> Result<Vec<S>> {
    let size = x.nrows().min(x.ncols());
    if size == 0 {
        return Ok(Vec::new());
    }
    let mut d = try_zeroed::<T>(size)?;
    // Polar decomposition is for matrices with at least as many rows as columns.
    let turned = !direct && x.nrows() < x.ncols();
    let scaled = Scaled::<T>::all(if turned { x.transpose() } else { x })?;
    {
        let mut left = u.as_mut().map(|u| dev.output(u.as_mut())).transpose()?;
        let mut right = v.as_mut().map(|v| dev.output(v.as_mut())).transpose()?;
        if direct {
            let a = dev.load(scaled.view())?;
            dev.gesvd(&a, &mut d, left.as_mut(), right.as_mut())?;
        } else {
            let a = dev.load_temporary(scaled.view(), Part::All)?;
            d = match turned {
                true => by_polar::tall(dev, a, right.as_mut(), left.as_mut())?,
                false => by_polar::tall(dev, a, left.as_mut(), right.as_mut())?,
            };
        }
        for side in [left, right].into_iter().flatten() {
            dev.store(side)?;
        }
    }
    turn(size, u, v)?;
    descaled(&d, scaled.exponent())
}

/// Applies the rule of signs.
fn turn<'a, T: Scalar>(
    size: usize,
    u: Option<MatMut<'a, T>>,
    v: Option<MatMut<'a, T>>,
) -> Result<()> {
    let (lead, follow) = match (u, v) {
        (u, Some(v)) => (v, u),
        (Some(u), None) => (u, None),
        (None, None) => return Ok(()),
    };
    let (lead, alone) = lead.split_at_col_mut(size);
    signs::turn(alone, None)?;
    let (follow, alone) = follow.map(|f| f.split_at_col_mut(size)).unzip();
    signs::turn(lead, follow)?;
    alone.map_or(Ok(()), |alone| signs::turn(alone, None))
}
