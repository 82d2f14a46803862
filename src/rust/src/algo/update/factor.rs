//! The factor of `R'R + V V'` or `R'R - V V'` from R, without forming either where that is faster.
//!
//! With `R'P = V`, `R'R - V V' = R' (I - P P') R`. A product can be subtracted where `I - P'P` is
//! positive definite; it has the smallest eigenvalue of `I - P P'`. This margin is known before the
//! factor is touched, and says how many digits are lost (Stewart 1979, "The effects of rounding
//! error on an algorithm for downdating a Cholesky factorization").

use faer::{MatMut, MatRef};

use super::triangle;
use crate::algo::update::change::{change_factor, largest_square};
use crate::algo::update::checks::{
    check, check_columns, check_factor, check_finite, check_shapes, is_zero, largest,
};
use crate::algo::update::margin::margin;
use crate::base::error::{Error, Result};
use crate::base::interrupt;
use crate::base::matrix::{Change, Part, Uplo};
use crate::base::scalar::Scalar;
use crate::device::elementwise::Elementwise;
use crate::device::update::FactorUpdate;

/// The changed upper factor in `out`, zero below the diagonal, which is positive. Reads the upper
/// triangle of `r` alone.
///
/// Answers the margin: a lower bound of the smallest eigenvalue of `I - P'P`, 1 for an update.
///
/// # Errors
/// [`Error::NotPositiveDefinite`] with the order of the first minor that has no factor, to the
/// precision. After an error the contents of `out` are unspecified.
pub fn update<T: Scalar, D: Elementwise<T> + FactorUpdate<T>>(
    dev: &D,
    change: Change,
    r: MatRef<'_, T>,
    v: MatRef<'_, T>,
    mut out: MatMut<'_, T>,
) -> Result<f64> {
    check_shapes(r.shape(), v.shape())?;
    let (n, k) = v.shape();
    if n * k > 0 && dev.update_pays(n, k) {
        if let Some(margin) = update_streamed(dev, change, r, v, out.as_mut())? {
            return Ok(margin);
        }
    }
    if D::BORROWS {
        check(r, v)?;
    }
    let mut made = dev.load_into(r, Part::Upper, out)?;
    let mut v = dev.load_temporary(v, Part::All)?;
    let margin = if D::BORROWS {
        change_sound(dev, change, &mut made, &mut v)?
    } else {
        change_checked(dev, change, &mut made, &mut v)?
    };
    dev.store_part(made, Part::Upper)?;
    Ok(margin)
}

/// The same in one pass over the host's memory, which checks R; `None` where the device has no such
/// pass.
fn update_streamed<T: Scalar, D: Elementwise<T> + FactorUpdate<T>>(
    dev: &D,
    change: Change,
    r: MatRef<'_, T>,
    v: MatRef<'_, T>,
    out: MatMut<'_, T>,
) -> Result<Option<f64>> {
    let mut there = dev.load_temporary(v, Part::All)?;
    let sound = match D::BORROWS {
        true => check_columns(v, "v"),
        false => check_finite(dev, &there, "v"),
    };
    if sound.is_err() {
        // R comes first.
        check(r, v)?;
    }
    let mut least = 1.0;
    let taken = match change {
        Change::Up => None,
        Change::Down => Some(dev.duplicate(&there, Part::All)?),
    };
    let mut look = |r: &D::Mat<'static>| {
        if let Some(v) = &taken {
            least = margin(dev, r, v)?;
        }
        Ok(())
    };
    let done = dev.update_streamed(change, r, &mut there, out, &mut look)?;
    Ok(done.map(|()| least))
}

/// As [`update`], with the lower factor of `L L'`. Reads the lower triangle of `l` alone; `out` is
/// zero above the diagonal.
pub fn update_lower<T: Scalar, D: Elementwise<T> + FactorUpdate<T>>(
    dev: &D,
    change: Change,
    l: MatRef<'_, T>,
    v: MatRef<'_, T>,
    out: MatMut<'_, T>,
) -> Result<f64> {
    check_shapes(l.shape(), v.shape())?;
    let mut made = triangle::load(dev, Uplo::Lower, l)?;
    let mut v = dev.load_temporary(v, Part::All)?;
    let margin = change_checked(dev, change, &mut made, &mut v)?;
    triangle::store(dev, Uplo::Lower, made, out)?;
    Ok(margin)
}

/// As [`update`], with matrices on the device.
pub fn update_resident<T: Scalar, D: Elementwise<T> + FactorUpdate<T>>(
    dev: &D,
    change: Change,
    r: &D::Mat<'_>,
    v: &D::Mat<'_>,
) -> Result<(D::Mat<'static>, f64)> {
    check_shapes(dev.shape(r), dev.shape(v))?;
    let mut made = dev.duplicate(r, Part::Upper)?;
    let mut v = dev.duplicate(v, Part::All)?;
    let margin = change_checked(dev, change, &mut made, &mut v)?;
    Ok((made, margin))
}

/// As [`update_lower`], with matrices on the device.
pub fn update_lower_resident<T: Scalar, D: Elementwise<T> + FactorUpdate<T>>(
    dev: &D,
    change: Change,
    l: &D::Mat<'_>,
    v: &D::Mat<'_>,
) -> Result<(D::Mat<'static>, f64)> {
    check_shapes(dev.shape(l), dev.shape(v))?;
    let mut made = triangle::copy(dev, Uplo::Lower, l)?;
    let mut v = dev.duplicate(v, Part::All)?;
    let margin = change_checked(dev, change, &mut made, &mut v)?;
    Ok((triangle::give(dev, Uplo::Lower, made)?, margin))
}

/// The changed factor takes the place of `r`, which an error leaves unchanged.
///
/// A short update of an upper factor, far from the ends of the range, cannot fail: it changes the
/// matrix in place. All else makes a second matrix.
pub fn update_in_place<T: Scalar, D: Elementwise<T> + FactorUpdate<T>>(
    dev: &D,
    uplo: Uplo,
    change: Change,
    r: &mut D::Mat<'static>,
    v: &D::Mat<'_>,
) -> Result<f64> {
    check_shapes(dev.shape(r), dev.shape(v))?;
    let (n, k) = dev.shape(v);
    if uplo == Uplo::Upper && dev.update_pays(n, k) {
        let short = change == Change::Up && n * k > 0 && dev.is_short_update(n, k);
        let ordinary = has_ordinary(dev, r)?;
        if short && ordinary {
            let known = dev.is_factor(r);
            dev.set_factor(r, false);
            let done = interrupt::later(|| dev.update_guarded(largest_square::<T>(), r, v));
            // Without room, the update has not begun.
            if matches!(done, Err(Error::DeviceMemory { .. })) {
                dev.set_factor(r, known);
            }
            if done? {
                if !known {
                    dev.keep_part(Part::Upper, r)?;
                }
                dev.set_factor(r, true);
                return Ok(1.0);
            }
            dev.set_factor(r, known);
        // A downdate finds what it cannot subtract, and its factor is not larger than R.
        } else if ordinary && (change == Change::Down || largest(dev, v)? <= largest_square::<T>())
        {
            let mut taken = dev.duplicate(v, Part::All)?;
            let mut made = dev.duplicate(r, Part::Upper)?;
            let margin = change_sound(dev, change, &mut made, &mut taken);
            if margin.is_err() {
                check_finite(dev, v, "v")?;
            }
            let margin = margin?;
            dev.set_factor(&mut made, true);
            *r = made;
            return Ok(margin);
        }
    }
    let (made, margin) = match uplo {
        Uplo::Upper => update_resident(dev, change, r, v)?,
        Uplo::Lower => update_lower_resident(dev, change, r, v)?,
    };
    *r = made;
    Ok(margin)
}

/// Whether r is an upper factor of numbers far from the end of the range. Unless that is recorded,
/// a large number below the diagonal counts.
fn has_ordinary<T: Scalar, D: Elementwise<T> + FactorUpdate<T>>(
    dev: &D,
    r: &D::Mat<'_>,
) -> Result<bool> {
    Ok(dev.is_factor(r)
        || (largest(dev, r)? <= largest_square::<T>() && !dev.diagonal(r)?.iter().any(is_zero)))
}

/// Checks and changes an upper factor that is zero below the diagonal; V is lost. After an error
/// the contents of R are unspecified.
fn change_checked<T: Scalar, D: Elementwise<T> + FactorUpdate<T>>(
    dev: &D,
    change: Change,
    r: &mut D::Mat<'_>,
    v: &mut D::Mat<'_>,
) -> Result<f64> {
    check_factor(dev, r)?;
    check_finite(dev, v, "v")?;
    change_sound(dev, change, r, v)
}

/// As [`change_checked`], for numbers that are already checked.
fn change_sound<T: Scalar, D: Elementwise<T> + FactorUpdate<T>>(
    dev: &D,
    change: Change,
    r: &mut D::Mat<'_>,
    v: &mut D::Mat<'_>,
) -> Result<f64> {
    let margin = match change {
        Change::Up => 1.0,
        Change::Down => margin(dev, r, v)?,
    };
    change_factor(dev, change, r, v)?;
    Ok(margin)
}
