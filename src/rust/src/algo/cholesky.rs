//! Cholesky factorization `A = R'R` with upper triangular R, and the inverse from it.
//!
//! Only the upper triangle of A is read, as in `base::chol`. Golub & Van Loan, Matrix
//! Computations, 4th ed., sections 4.2 and 10.5 (pivoting); LAPACK `potrf`, `pstrf`, `potri`.

use faer::{MatMut, MatRef};

use crate::device::{Device, PivotedCholesky};
use crate::error::{Error, Result};
use crate::matrix::{Diag, Part, Side, Trans, Uplo};
use crate::scalar::Scalar;

/// The upper factor in `out`, zero below the diagonal.
pub fn factor<T: Scalar, D: Device<T>>(
    dev: &D,
    x: MatRef<'_, T>,
    out: MatMut<'_, T>,
) -> Result<()> {
    let mut a = dev.load_into(x, Part::Upper, out)?;
    dev.potrf(Uplo::Upper, &mut a)?;
    dev.store(a)
}

/// The upper factor of `P'AP` in `out`, zero below the diagonal. At rank `r < n` the trailing
/// block of order `n - r` is what elimination had left of A there.
pub fn factor_pivoted<T: Scalar, D: Device<T>>(
    dev: &D,
    x: MatRef<'_, T>,
    tol: f64,
    out: MatMut<'_, T>,
) -> Result<PivotedCholesky> {
    let mut a = dev.load_into(x, Part::Upper, out)?;
    let info = dev.pstrf(tol, &mut a)?;
    dev.store(a)?;
    Ok(info)
}

/// `(R'R)^-1` in `out`, from the leading `out.nrows()` columns and rows of R.
pub fn inverse<T: Scalar, D: Device<T>>(
    dev: &D,
    r: MatRef<'_, T>,
    out: MatMut<'_, T>,
) -> Result<()> {
    let n = out.nrows();
    let zero = T::from_f64(0.0);
    if let Some(i) = (0..n).find(|&i| r[(i, i)] == zero) {
        return Err(Error::Singular { index: i + 1 });
    }
    let r = dev.load_temporary(r.get(..n, ..n), Part::Upper)?;
    let mut inv = dev.zeros(n, n)?;
    dev.set_identity(&mut inv)?;
    dev.trsm(
        Side::Left,
        Uplo::Upper,
        Trans::No,
        Diag::NonUnit,
        n,
        &r,
        &mut inv,
    )?;
    let mut c = dev.output(out)?;
    dev.syrk(Trans::No, &inv, &mut c)?;
    dev.store(c)
}
