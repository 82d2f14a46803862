//! Changes a factor in place: by reflections, or by another factorization.

use crate::algo::update::checks::largest;
use crate::base::error::{Error, Result};
use crate::base::matrix::{Block, Change, Part, Trans, Uplo};
use crate::base::scalar::Scalar;
use crate::device::elementwise::{Elementwise, Operand};
use crate::device::functions::Zip;
use crate::device::lapack::Lapack;
use crate::device::update::FactorUpdate;

/// Changes R, which is zero below the diagonal, the faster way; V is lost.
pub(super) fn change_factor<T: Scalar, D: Elementwise<T> + FactorUpdate<T>>(
    dev: &D,
    change: Change,
    r: &mut D::Mat<'_>,
    v: &mut D::Mat<'_>,
) -> Result<()> {
    let (n, k) = dev.shape(v);
    if n == 0 || k == 0 {
        return Ok(());
    }
    if dev.update_pays(n, k) {
        return dev.update_factor(change, r, v);
    }
    let most = largest(dev, r)?.max(largest(dev, v)?);
    let end = largest_square::<T>();
    let made = if most <= end && most >= 1.0 / end {
        factor_again(dev, change, r, v)
    } else {
        factor_scaled(dev, change, r, v, most)
    };
    match made {
        Ok(made) => dev.copy_block(&made, Block::leading(n, n), r, (0, 0)),
        // Rounding of the matrix, which reflections do not have, exceeded the margin.
        Err(Error::NotPositiveDefinite { .. }) => dev.update_factor(change, r, v),
        Err(e) => Err(e),
    }
}

/// As [`factor_again`], where squares would leave the range: both are scaled by a power of two, and
/// the factor is scaled back.
fn factor_scaled<T: Scalar, D: Elementwise<T>>(
    dev: &D,
    change: Change,
    r: &D::Mat<'_>,
    v: &D::Mat<'_>,
    most: f64,
) -> Result<D::Mat<'static>> {
    let exponent = if T::EPS < 1e-10 { 1000.0 } else { 120.0 };
    let scale = (-most.log2().floor()).clamp(-exponent, exponent).exp2();
    let times = |a: &D::Mat<'_>, by: f64| {
        let (rows, cols) = dev.shape(a);
        let mut out = dev.blank(rows, cols)?;
        let number = Operand::Number(by);
        dev.zip(Zip::Multiply, Operand::Matrix(a), number, &mut out)?;
        Ok::<_, Error>(out)
    };
    let made = factor_again(dev, change, &times(r, scale)?, &times(v, scale)?)?;
    times(&made, 1.0 / scale)
}

/// Forms `R'R + V V'` or `R'R - V V'`, and factors it.
fn factor_again<T: Scalar, D: Lapack<T>>(
    dev: &D,
    change: Change,
    r: &D::Mat<'_>,
    v: &D::Mat<'_>,
) -> Result<D::Mat<'static>> {
    let n = dev.shape(r).0;
    let mut a = dev.zeros(n, n)?;
    dev.syrk(Trans::Yes, r, &mut a)?;
    let (one, sign) = (T::from_f64(1.0), sign::<T>(change));
    dev.gemm(sign, Trans::No, v, Trans::Yes, v, one, &mut a)?;
    dev.potrf(Uplo::Upper, &mut a)?;
    dev.duplicate(&a, Part::Upper)
}

fn sign<T: Scalar>(change: Change) -> T {
    T::from_f64(match change {
        Change::Up => 1.0,
        Change::Down => -1.0,
    })
}

/// Numbers up to which sums of squares do not leave the range.
pub(super) fn largest_square<T: Scalar>() -> f64 {
    if T::EPS < 1e-10 {
        1e150
    } else {
        1e15
    }
}
