//! Singular value decomposition, `X = U D V'`.
//!
//! Golub & Van Loan, 4th ed., section 8.6; LAPACK `gesdd`. [`tall`] is for large matrices, and for
//! devices that have no [`SingularValues::gesvd`].
//!
//! # Signs
//! The component of largest magnitude in each column of V is positive: the first one, if several
//! are equal to half of the digits. The same column of U follows. Without V, the rule holds for U,
//! and it holds for columns of either that have no singular value.

mod by_gram;
mod by_polar;
mod by_qr;
mod checks;
mod leading;
mod polar;
mod square;
pub mod tall;
mod vectors;

use faer::{MatMut, MatRef};

use self::square::Others;
use self::tall::tall_with;
use crate::algo::dense::scaling::{descaled, scaled_there, Scaled};
use crate::algo::dense::signs;
use crate::base::error::{Error, Result};
use crate::base::matrix::Part;
use crate::base::scalar::{try_zeroed, Scalar};
use crate::device::elementwise::Elementwise;
use crate::device::spectral::SingularValues;

/// Singular values, and the left and right vectors if they are wanted.
type Parts<M, T> = (Vec<T>, Option<(M, M)>);

/// A device that decomposes small matrices for another one: the CPU.
pub trait Small: Elementwise<f64> + SingularValues<f64> {}

impl<H: Elementwise<f64> + SingularValues<f64>> Small for H {}

/// Up to this smaller dimension the CPU's routine takes least time.
const DIRECTLY: usize = 32;

/// A way to singular values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// The device's routine.
    Routine,
    /// Products and eigenvectors, and the routine for matrices that these do not suit.
    Levels,
    /// Products and eigenvectors, with a polar decomposition in place of the routine.
    Products,
}

impl Method {
    /// The best one for a matrix of these dimensions.
    fn best(is_direct: bool, (m, n): (usize, usize), vectors: bool) -> Self {
        let (long, short) = (m.max(n), m.min(n));
        // The QR factorization of faer's routine loses digits of small rows where others are 1e14
        // times larger.
        let suits = short > DIRECTLY || long > 2 * DIRECTLY.max(short);
        match is_direct {
            false => Method::Products,
            true if vectors && suits => Method::Levels,
            true => Method::Routine,
        }
    }
}

/// Singular values in descending order, and vectors in the columns of `u` and `v`.
///
/// The matrix may have more precision than the device computes in. The `host`, if given, decomposes
/// what is too small for a GPU, and `X'X` of tall matrices with few columns.
///
/// For an m by n matrix `u` has `min(m, n)` columns or m, and `v` `min(m, n)` or n.
///
/// # Errors
/// [`Error::NonFinite`], and those of [`SingularValues::gesvd`].
pub fn svd<S: Scalar, T: Scalar, D: Elementwise<T> + SingularValues<T>, H: Small>(
    dev: &D,
    host: Option<&H>,
    x: MatRef<'_, S>,
    u: Option<MatMut<'_, T>>,
    v: Option<MatMut<'_, T>>,
) -> Result<Vec<S>> {
    let method = Method::best(D::DIRECT, x.shape(), u.is_some() || v.is_some());
    svd_by(dev, method, host, x, u, v)
}

/// As [`svd`], by this method.
pub fn svd_by<S: Scalar, T: Scalar, D: Elementwise<T> + SingularValues<T>, H: Small>(
    dev: &D,
    method: Method,
    host: Option<&H>,
    x: MatRef<'_, S>,
    mut u: Option<MatMut<'_, T>>,
    mut v: Option<MatMut<'_, T>>,
) -> Result<Vec<S>> {
    let size = x.nrows().min(x.ncols());
    if size == 0 {
        return Ok(Vec::new());
    }
    let mut d = try_zeroed::<T>(size)?;
    // Products are for matrices with at least as many rows as columns.
    let turned = method != Method::Routine && x.nrows() < x.ncols();
    let exponent;
    {
        let mut left = u.as_mut().map(|u| dev.output(u.as_mut())).transpose()?;
        let mut right = v.as_mut().map(|v| dev.output(v.as_mut())).transpose()?;
        let routine = method == Method::Levels;
        let others = Others { host, routine };
        let found = match method {
            Method::Routine => None,
            _ => {
                let (a, exponent) = loaded(dev, x, turned)?;
                let found = match turned {
                    true => tall_with(dev, others, a, right.as_mut(), left.as_mut()),
                    false => tall_with(dev, others, a, left.as_mut(), right.as_mut()),
                };
                match found {
                    Err(Error::NotConverged { .. }) if routine => None,
                    found => Some((found?, exponent)),
                }
            }
        };
        if let Some(found) = found {
            (d, exponent) = found;
        } else {
            let scaled = Scaled::<T>::all(x)?;
            let a = dev.load(scaled.view())?;
            dev.gesvd(&a, &mut d, left.as_mut(), right.as_mut())?;
            exponent = scaled.exponent();
        }
        if D::FINISHES {
            turn_there(dev, size, left.as_mut(), right.as_mut())?;
        }
        for side in [left, right].into_iter().flatten() {
            dev.store(side)?;
        }
    }
    if !D::FINISHES {
        turn(size, u, v)?;
    }
    descaled(&d, exponent)
}

/// A copy on the device, transposed if `turned` and scaled, and the exponent.
fn loaded<S: Scalar, T: Scalar, D: Elementwise<T> + SingularValues<T>>(
    dev: &D,
    x: MatRef<'_, S>,
    turned: bool,
) -> Result<(D::Mat<'static>, i32)> {
    let Some((a, exponent)) = scaled_there(dev, x, false)? else {
        let scaled = Scaled::<T>::all(if turned { x.transpose() } else { x })?;
        let a = dev.load_temporary(scaled.view(), Part::All)?;
        return Ok((a, scaled.exponent()));
    };
    if !turned {
        return Ok((a, exponent));
    }
    let mut transpose = dev.blank(x.ncols(), x.nrows())?;
    dev.transpose(&a, &mut transpose)?;
    Ok((transpose, exponent))
}

/// Applies the rule of signs on the device.
fn turn_there<'m, T: Scalar, D: SingularValues<T>>(
    dev: &D,
    size: usize,
    u: Option<&mut D::Mat<'m>>,
    v: Option<&mut D::Mat<'m>>,
) -> Result<()> {
    let (lead, mut follow) = match (u, v) {
        (u, Some(v)) => (v, u),
        (Some(u), None) => (u, None),
        (None, None) => return Ok(()),
    };
    let enough = signs::enough::<T>();
    dev.turn(lead, 0..size, follow.as_deref_mut(), enough, false)?;
    for side in [Some(lead), follow].into_iter().flatten() {
        let cols = dev.shape(side).1;
        dev.turn(side, size..cols, None, enough, false)?;
    }
    Ok(())
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
