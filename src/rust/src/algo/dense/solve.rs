//! Linear systems `a x = b` by LU, refused when a is singular to working precision.

use crate::algo::dense::host_to_host;
use crate::device::blas::Blas;
use crate::device::lapack::Lapack;
use crate::device::streamed::Streamed;
use faer::{MatMut, MatRef};

use crate::algo::dense::lu::{self, Rhs};
use crate::base::error::{Error, Result};
use crate::base::matrix::Part;
use crate::base::scalar::Scalar;
use crate::device::lapack::LuInfo;

/// `out = a^-1 b`. [`Error::Singular`] when U has an exact zero, [`Error::IllConditioned`] when the
/// reciprocal condition number is below `tol` or cannot be told (NaN); `tol <= 0` asks for neither
/// the number nor the check.
pub fn solve<T: Scalar, D: Streamed<T>>(
    dev: &D,
    a: MatRef<'_, T>,
    b: Rhs<'_, T>,
    tol: f64,
    out: MatMut<'_, T>,
) -> Result<()> {
    let mut f = dev.zeros(a.nrows(), a.ncols())?;
    let (info, norm) = host_to_host::getrf(dev, a, &mut f)?;
    refuse(dev, &f, &info, norm, tol)?;
    lu::solve_factored(dev, &f, &info.ipiv, b, out)
}

/// As [`solve`], of matrices on the device; without `b` the inverse.
pub fn solve_resident<T: Scalar, D: Lapack<T>>(
    dev: &D,
    a: &D::Mat<'_>,
    b: Option<&D::Mat<'_>>,
    tol: f64,
) -> Result<D::Mat<'static>> {
    let mut f = dev.duplicate(a, Part::All)?;
    let norm = if tol > 0.0 { dev.norm1(&f)? } else { 0.0 };
    let info = dev.getrf(&mut f)?;
    refuse(dev, &f, &info, norm, tol)?;
    lu::solve_resident(dev, &f, &info.ipiv, b)
}

/// An error where the factors are those of a matrix that is singular to the tolerance; `norm` is
/// its 1-norm.
fn refuse<T: Scalar, D: Blas<T>>(
    dev: &D,
    f: &D::Mat<'_>,
    info: &LuInfo,
    norm: f64,
    tol: f64,
) -> Result<()> {
    lu::check_regular(info)?;
    if tol > 0.0 {
        let rcond = lu::rcond(dev, f, dev.shape(f).1, norm)?;
        if rcond.is_nan() || rcond < tol {
            return Err(Error::IllConditioned { rcond });
        }
    }
    Ok(())
}
