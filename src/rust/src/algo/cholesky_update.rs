//! The factor of `R'R + V V'` or `R'R - V V'` from R, without forming either where that is faster.
//!
//! A product may be subtracted where `I - P'P` is positive definite, `R'P = V`, since `R'R - V V' = R' (I - P P') R` and both have the same smallest eigenvalue. That is known before the
//! factor is touched, and how small it is says how many digits are lost (Stewart 1979, "The effects of rounding error on an algorithm for downdating a
//! Cholesky factorization").

use faer::{MatMut, MatRef};

use crate::device::Device;
use crate::error::{Error, Result};
use crate::matrix::{Block, Change, Diag, Part, Side, Trans, Uplo};
use crate::scalar::Scalar;

/// The upper factor in `out`, zero below the diagonal, which is positive; of `r` only the upper triangle is read. Gives a lower bound of the smallest eigenvalue of
/// `I - P'P` that is close to it, 1 where nothing is subtracted. Nothing of `out` is of use after an error: where there is no factor, to the precision,
/// [`Error::NotPositiveDefinite`] with the order of the first minor without one.
pub fn update<T: Scalar, D: Device<T>>(
    dev: &D,
    change: Change,
    r: MatRef<'_, T>,
    v: MatRef<'_, T>,
    out: MatMut<'_, T>,
) -> Result<f64> {
    check(r, v)?;
    let margin = match change {
        Change::Up => 1.0,
        Change::Down => {
            let r = dev.load(r)?;
            let v = dev.load(v)?;
            margin(dev, &r, &v)?
        }
    };
    let mut made = dev.load_into(r, Part::Upper, out)?;
    let mut v = dev.load_temporary(v, Part::All)?;
    change_factor(dev, change, &mut made, &mut v)?;
    dev.store_part(made, Part::Upper)?;
    Ok(margin)
}

/// As [`update`], of matrices on the device.
pub fn update_resident<T: Scalar, D: Device<T>>(
    dev: &D,
    change: Change,
    r: &D::Mat<'_>,
    v: &D::Mat<'_>,
) -> Result<(D::Mat<'static>, f64)> {
    check_shapes(dev.shape(r), dev.shape(v))?;
    let margin = match change {
        Change::Up => 1.0,
        Change::Down => margin(dev, r, v)?,
    };
    let mut made = dev.duplicate(r, Part::Upper)?;
    let mut v = dev.duplicate(v, Part::All)?;
    change_factor(dev, change, &mut made, &mut v)?;
    Ok((made, margin))
}

fn check_shapes(r: (usize, usize), v: (usize, usize)) -> Result<()> {
    if r.0 == r.1 && r.0 == v.0 {
        return Ok(());
    }
    Err(Error::Dimension {
        what: "a square factor and a matrix of as many rows are needed".into(),
    })
}

fn check<T: Scalar>(r: MatRef<'_, T>, v: MatRef<'_, T>) -> Result<()> {
    check_shapes(r.shape(), v.shape())?;
    let finite = |x: &T| Into::<f64>::into(*x).is_finite();
    let refuse = |argument: &'static str, what: &str| {
        Err(Error::Argument {
            argument,
            what: what.into(),
        })
    };
    let n = r.nrows();
    for j in 0..n {
        let column = r.col(j).get(..j + 1);
        if !column.iter().all(finite) {
            return refuse("r", "the factor has entries that are not finite");
        }
        if Into::<f64>::into(column[j]) == 0.0 {
            return refuse("r", "the factor has a zero on its diagonal");
        }
    }
    if (0..v.ncols()).all(|j| v.col(j).iter().all(finite)) {
        return Ok(());
    }
    refuse("v", "the update has entries that are not finite")
}

/// By rotations, or by another factorization where that is faster.
fn change_factor<T: Scalar, D: Device<T>>(
    dev: &D,
    change: Change,
    r: &mut D::Mat<'_>,
    v: &mut D::Mat<'_>,
) -> Result<()> {
    let (n, k) = dev.shape(v);
    if n == 0 || k == 0 {
        return Ok(());
    }
    if dev.rotates(n, k) {
        return dev.chud(change, r, v);
    }
    let mut a = dev.zeros(n, n)?;
    dev.syrk(Trans::Yes, r, &mut a)?;
    let (one, sign) = (T::from_f64(1.0), sign::<T>(change));
    dev.gemm(sign, Trans::No, v, Trans::Yes, v, one, &mut a)?;
    dev.potrf(Uplo::Upper, &mut a)?;
    let a = dev.duplicate(&a, Part::Upper)?;
    dev.copy_block(&a, Block::leading(n, n), r, (0, 0))
}

fn sign<T: Scalar>(change: Change) -> T {
    T::from_f64(match change {
        Change::Up => 1.0,
        Change::Down => -1.0,
    })
}

/// How far `R'R - V V'` is from having no factor.
fn margin<T: Scalar, D: Device<T>>(dev: &D, r: &D::Mat<'_>, v: &D::Mat<'_>) -> Result<f64> {
    let (n, k) = dev.shape(v);
    if n == 0 || k == 0 {
        return Ok(1.0);
    }
    let mut p = dev.duplicate(v, Part::All)?;
    let (left, upper, yes) = (Side::Left, Uplo::Upper, Trans::Yes);
    dev.trsm(left, upper, yes, Diag::NonUnit, n, r, &mut p)?;
    if let Some(margin) = margin_of(dev, &p)? {
        return Ok(margin);
    }
    // The first rows that are too many.
    let (mut good, mut bad) = (0, n);
    while bad - good > 1 {
        let middle = good + (bad - good) / 2;
        let mut leading = dev.zeros(middle, k)?;
        dev.copy_block(&p, Block::leading(middle, k), &mut leading, (0, 0))?;
        match margin_of(dev, &leading)? {
            Some(_) => good = middle,
            None => bad = middle,
        }
    }
    Err(Error::NotPositiveDefinite { order: bad })
}

/// A lower bound of the smallest eigenvalue of `I - P'P`; none where that is not positive, to the precision.
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
