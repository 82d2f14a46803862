//! The factor of `R'R + V V'` or `R'R - V V'` from R, without forming either where that is faster.
//!
//! A product may be subtracted where `I - P'P` is positive definite, `R'P = V`, since
//! `R'R - V V' = R' (I - P P') R` and both have the same smallest eigenvalue. That is known before
//! the factor is touched, and how small it is says how many digits are lost (Stewart 1979, "The
//! effects of rounding error on an algorithm for downdating a Cholesky factorization").

use faer::{ColRef, MatMut, MatRef};

use super::triangle;
use crate::base::error::{Error, Result};
use crate::base::interrupt;
use crate::base::matrix::{Block, Change, Diag, Part, Side, Trans, Uplo};
use crate::base::scalar::Scalar;
use crate::device::dense::Device;
use crate::device::elementwise::{Elementwise, Operand};
use crate::device::functions::{Fold, Lines, Zip};

/// The upper factor in `out`, zero below the diagonal, which is positive; of `r` only the upper
/// triangle is read. Gives a lower bound of the smallest eigenvalue of `I - P'P` that is close to
/// it, 1 where nothing is subtracted. Nothing of `out` is of use after an error: where there is no
/// factor, to the precision, [`Error::NotPositiveDefinite`] with the order of the first minor
/// without one.
pub fn update<T: Scalar, D: Elementwise<T>>(
    dev: &D,
    change: Change,
    r: MatRef<'_, T>,
    v: MatRef<'_, T>,
    mut out: MatMut<'_, T>,
) -> Result<f64> {
    check_shapes(r.shape(), v.shape())?;
    let (n, k) = v.shape();
    if n * k > 0 && dev.update_pays(n, k) {
        if let Some(margin) = update_on_the_way(dev, change, r, v, out.as_mut())? {
            return Ok(margin);
        }
    }
    if D::HOST {
        check(r, v)?;
    }
    let mut made = dev.load_into(r, Part::Upper, out)?;
    let mut v = dev.load_temporary(v, Part::All)?;
    let margin = if D::HOST {
        change_sound(dev, change, &mut made, &mut v)?
    } else {
        change_checked(dev, change, &mut made, &mut v)?
    };
    dev.store_part(made, Part::Upper)?;
    Ok(margin)
}

/// In one pass over the host's memory, if the device has that; R is looked at on the way.
fn update_on_the_way<T: Scalar, D: Elementwise<T>>(
    dev: &D,
    change: Change,
    r: MatRef<'_, T>,
    v: MatRef<'_, T>,
    out: MatMut<'_, T>,
) -> Result<Option<f64>> {
    let mut there = dev.load_temporary(v, Part::All)?;
    let sound = match D::HOST {
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

/// As [`update`], of a lower factor `L L'`: of `l` only the lower triangle is read, and `out` is
/// zero above the diagonal.
pub fn update_lower<T: Scalar, D: Elementwise<T>>(
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

/// As [`update`], of matrices on the device.
pub fn update_resident<T: Scalar, D: Elementwise<T>>(
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

/// As [`update_lower`], of matrices on the device.
pub fn update_lower_resident<T: Scalar, D: Elementwise<T>>(
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

/// The changed factor takes the place of `r`, which is as it was after any error.
///
/// An upper factor to which a product of ordinary numbers is added is changed where it is, if that
/// is over in a moment: nothing can be in the way. Else a second matrix is made.
pub fn update_in_place<T: Scalar, D: Elementwise<T>>(
    dev: &D,
    uplo: Uplo,
    change: Change,
    r: &mut D::Mat<'static>,
    v: &D::Mat<'_>,
) -> Result<f64> {
    check_shapes(dev.shape(r), dev.shape(v))?;
    let (n, k) = dev.shape(v);
    if uplo == Uplo::Upper && dev.update_pays(n, k) {
        let steady = change == Change::Up && n * k > 0 && dev.is_short_update(n, k);
        let ordinary = has_ordinary(dev, r)?;
        if steady && ordinary {
            let known = dev.is_factor(r);
            dev.set_factor(r, false);
            let done = interrupt::later(|| dev.update_guarded(largest_square::<T>(), r, v));
            // Where there was no room nothing was begun.
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
        // What cannot be taken away is found in any case, and what is left is not larger than R.
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

/// Whether r is an upper factor of numbers far from the end of the range. What is below the
/// diagonal is looked at, too: then that is not known.
fn has_ordinary<T: Scalar, D: Elementwise<T>>(dev: &D, r: &D::Mat<'_>) -> Result<bool> {
    Ok(dev.is_factor(r)
        || (largest(dev, r)? <= largest_square::<T>() && !dev.diagonal(r)?.iter().any(is_zero)))
}

/// Numbers up to which sums of squares do not leave the range.
fn largest_square<T: Scalar>() -> f64 {
    if T::EPS < 1e-10 {
        1e150
    } else {
        1e15
    }
}

/// Changes an upper factor that is zero below the diagonal, where it can be; V is lost. After an
/// error nothing of R is of use.
fn change_checked<T: Scalar, D: Elementwise<T>>(
    dev: &D,
    change: Change,
    r: &mut D::Mat<'_>,
    v: &mut D::Mat<'_>,
) -> Result<f64> {
    check_there(dev, r)?;
    check_finite(dev, v, "v")?;
    change_sound(dev, change, r, v)
}

/// The same of numbers that have been looked at.
fn change_sound<T: Scalar, D: Elementwise<T>>(
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

/// An error unless this upper factor on the device, which is zero below the diagonal, is one.
pub(super) fn check_there<T: Scalar, D: Elementwise<T>>(dev: &D, r: &D::Mat<'_>) -> Result<()> {
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
fn largest<T: Scalar, D: Elementwise<T>>(dev: &D, a: &D::Mat<'_>) -> Result<f64> {
    let all = dev.fold(Fold::Largest, Lines::All, false, a)?;
    Ok(all.first().copied().unwrap_or(0.0))
}

fn is_zero<T: Scalar>(x: &T) -> bool {
    Into::<f64>::into(*x) == 0.0
}

pub(super) fn check_shapes(r: (usize, usize), v: (usize, usize)) -> Result<()> {
    if r.0 == r.1 && r.0 == v.0 {
        return Ok(());
    }
    Err(Error::Dimension {
        what: "a square factor and a matrix of as many rows are needed".into(),
    })
}

/// An error unless r has an upper factor and v numbers.
fn check<T: Scalar>(r: MatRef<'_, T>, v: MatRef<'_, T>) -> Result<()> {
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

/// Zero times a number is zero, and of all else it is NaN, which a sum keeps: nothing to branch on
/// where numbers lie side by side.
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

/// By reflections, or by another factorization where that is faster. R is zero below the diagonal.
pub(super) fn change_factor<T: Scalar, D: Elementwise<T>>(
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
        // Rounding of the matrix, which its factor does not have, took what was left.
        Err(Error::NotPositiveDefinite { .. }) if dev.has_update() => {
            dev.update_factor(change, r, v)
        }
        Err(e) => Err(e),
    }
}

/// Where squares would leave the range: a power of two takes both back into it, and their factor
/// with them.
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

/// By way of the matrix.
fn factor_again<T: Scalar, D: Device<T>>(
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

/// How far `R'R - V V'` is from having no factor.
pub(crate) fn margin<T: Scalar, D: Device<T>>(
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

/// The same by P.
pub(super) fn margin_by<T: Scalar, D: Device<T>>(dev: &D, p: &D::Mat<'_>) -> Result<f64> {
    let (n, k) = dev.shape(p);
    if let Some(margin) = margin_of(dev, p)? {
        return Ok(margin);
    }
    // The first rows that are too many.
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

/// A lower bound of the smallest eigenvalue of `I - P'P`; none where that is not positive, to the
/// precision.
fn margin_of<T: Scalar, D: Device<T>>(dev: &D, p: &D::Mat<'_>) -> Result<Option<f64>> {
    let (n, k) = dev.shape(p);
    // `I - P P'` has the same one, where it is the smaller matrix.
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

/// Units of rounding below which nothing is left.
const LEAST: f64 = 4.0;
