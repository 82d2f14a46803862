//! LU factorization with partial pivoting, `PA = LU`, and what follows from it.
//!
//! Golub & Van Loan, 4th ed., section 3.4; LAPACK `getrf`, `getrs`, `gecon`.

use crate::algo::dense::host_to_host;
use crate::device::blas::Blas;
use crate::device::lapack::Lapack;
use crate::device::streamed::Streamed;
use faer::{MatMut, MatRef};

use crate::algo::dense::condition;
use crate::base::error::{Error, Result};
use crate::base::matrix::{Diag, Part, Side, Trans, Uplo};
use crate::base::scalar::{try_zeroed, Scalar};
use crate::device::lapack::LuInfo;

/// The factors in `out`: L with its unit diagonal left out below, U on and above the diagonal.
pub fn factor<T: Scalar, D: Streamed<T>>(
    dev: &D,
    x: MatRef<'_, T>,
    out: MatMut<'_, T>,
) -> Result<LuInfo> {
    Ok(factor_and_norm(dev, x, out)?.0)
}

/// As [`factor`], and `||x||_1`.
pub fn factor_and_norm<T: Scalar, D: Streamed<T>>(
    dev: &D,
    x: MatRef<'_, T>,
    out: MatMut<'_, T>,
) -> Result<(LuInfo, f64)> {
    let mut a = dev.output(out)?;
    let answer = host_to_host::getrf(dev, x, &mut a)?;
    dev.store(a)?;
    Ok(answer)
}

/// The permutation that exchanges of `m` rows, in order, amount to: row i of PA is row `perm[i]` of
/// A.
pub fn permutation(ipiv: &[usize], m: usize) -> Vec<usize> {
    let mut perm: Vec<usize> = (0..m).collect();
    for (i, &j) in ipiv.iter().enumerate() {
        perm.swap(i, j);
    }
    perm
}

/// As [`factor`], of a matrix on the device.
pub fn factor_resident<T: Scalar, D: Lapack<T>>(
    dev: &D,
    x: &D::Mat<'_>,
) -> Result<(D::Mat<'static>, LuInfo)> {
    let mut a = dev.duplicate(x, Part::All)?;
    let info = dev.getrf(&mut a)?;
    Ok((a, info))
}

/// A right-hand side: given, or the identity.
pub enum Rhs<'a, T> {
    Given(MatRef<'a, T>),
    Identity,
}

impl<T> Rhs<'_, T> {
    /// The same once more.
    pub fn again(&self) -> Rhs<'_, T> {
        match self {
            Rhs::Given(b) => Rhs::Given(*b),
            Rhs::Identity => Rhs::Identity,
        }
    }
}

/// `out = A^-1 b` from the factors on the device.
pub fn solve_factored<T: Scalar, D: Streamed<T>>(
    dev: &D,
    lu: &D::Mat<'_>,
    ipiv: &[usize],
    b: Rhs<'_, T>,
    out: MatMut<'_, T>,
) -> Result<()> {
    let b = match b {
        Rhs::Given(b) => Some(b),
        Rhs::Identity => None,
    };
    host_to_host::getrs(dev, lu, ipiv, b, out)
}

/// As [`solve_factored`], of a right-hand side on the device; `None` is the identity.
pub fn solve_resident<T: Scalar, D: Lapack<T>>(
    dev: &D,
    lu: &D::Mat<'_>,
    ipiv: &[usize],
    b: Option<&D::Mat<'_>>,
) -> Result<D::Mat<'static>> {
    let mut x = match b {
        Some(b) => dev.duplicate(b, Part::All)?,
        None => {
            let mut x = dev.zeros(ipiv.len(), ipiv.len())?;
            dev.set_identity(&mut x)?;
            x
        }
    };
    dev.getrs(lu, ipiv, &mut x)?;
    Ok(x)
}

/// `out = A^-1 b` from factors that [`factor`] left on the host.
pub fn solve<T: Scalar, D: Streamed<T>>(
    dev: &D,
    lu: MatRef<'_, T>,
    ipiv: &[usize],
    b: Rhs<'_, T>,
    out: MatMut<'_, T>,
) -> Result<()> {
    solve_factored(dev, &dev.load(lu)?, ipiv, b, out)
}

/// The reciprocal condition number `1 / (||A||_1 ||A^-1||_1)`, `norm` being `||A||_1`.
/// 0 when the factor is singular or the estimate is not finite; NaN when `norm` is.
pub fn rcond<T: Scalar, D: Blas<T>>(dev: &D, lu: &D::Mat<'_>, n: usize, norm: f64) -> Result<f64> {
    if n == 0 {
        return Ok(1.0);
    }
    if norm.is_nan() {
        return Ok(f64::NAN);
    }
    if norm == 0.0 || !norm.is_finite() {
        return Ok(0.0);
    }
    let mut host = try_zeroed::<T>(n)?;
    // The row exchanges permute the columns of A^-1, which leaves its 1-norm alone.
    let inverse_norm = condition::inverse_norm1(n, |transposed, x| {
        for (to, from) in host.iter_mut().zip(x.iter()) {
            *to = T::from_f64(*from);
        }
        let view = MatRef::from_column_major_slice(&host, n, 1);
        let mut v = dev.load_temporary(view, Part::All)?;
        let (left, lower, upper) = (Side::Left, Uplo::Lower, Uplo::Upper);
        if transposed {
            dev.trsm(left, upper, Trans::Yes, Diag::NonUnit, n, lu, &mut v)?;
            dev.trsm(left, lower, Trans::Yes, Diag::Unit, n, lu, &mut v)?;
        } else {
            dev.trsm(left, lower, Trans::No, Diag::Unit, n, lu, &mut v)?;
            dev.trsm(left, upper, Trans::No, Diag::NonUnit, n, lu, &mut v)?;
        }
        dev.read(&v, MatMut::from_column_major_slice_mut(&mut host, n, 1))?;
        for (to, from) in x.iter_mut().zip(&host) {
            *to = (*from).into();
        }
        Ok(())
    })?;
    let rcond = (1.0 / inverse_norm) / norm;
    Ok(if rcond.is_finite() { rcond } else { 0.0 })
}

/// [`rcond`] of factors that [`factor`] left on the host.
pub fn rcond_of_host<T: Scalar, D: Blas<T>>(dev: &D, lu: MatRef<'_, T>, norm: f64) -> Result<f64> {
    let n = lu.ncols();
    if (0..n).any(|i| lu[(i, i)] == T::from_f64(0.0)) {
        return Ok(0.0);
    }
    rcond(dev, &dev.load(lu)?, n, norm)
}

/// `Err(Singular)` for a factor with an exact zero on U's diagonal.
pub fn check_regular(info: &LuInfo) -> Result<()> {
    match info.zero {
        Some(i) => Err(Error::Singular { index: i + 1 }),
        None => Ok(()),
    }
}

/// `log |det(x)|` and the sign of `det(x)`; `(-Inf, 1)` when x is exactly singular, `(0, 1)` at
/// order 0.
pub fn log_determinant<T: Scalar, D: Lapack<T>>(dev: &D, x: MatRef<'_, T>) -> Result<(f64, i32)> {
    let mut a = dev.load_temporary(x, Part::All)?;
    let info = dev.getrf(&mut a)?;
    if info.zero.is_some() {
        return Ok((f64::NEG_INFINITY, 1));
    }
    let swaps = info
        .ipiv
        .iter()
        .enumerate()
        .filter(|(i, p)| i != *p)
        .count();
    let mut sign = if swaps % 2 == 0 { 1 } else { -1 };
    let mut modulus = 0.0;
    for d in dev.diagonal(&a)? {
        let d: f64 = d.into();
        modulus += d.abs().ln();
        if d < 0.0 {
            sign = -sign;
        }
    }
    Ok((modulus, sign))
}
