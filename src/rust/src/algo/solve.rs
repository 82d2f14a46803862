//! Linear systems `a x = b` by LU, refused when a is singular to working precision.

use faer::{MatMut, MatRef};

use crate::algo::lu::{self, Rhs};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::matrix::Part;
use crate::scalar::Scalar;

/// `out = a^-1 b`. [`Error::Singular`] when U has an exact zero, [`Error::IllConditioned`] when the reciprocal
/// condition number is below `tol` or cannot be told (NaN); `tol <= 0` asks for neither the number nor the check.
pub fn solve<T: Scalar, D: Device<T>>(
    dev: &D,
    a: MatRef<'_, T>,
    b: Rhs<'_, T>,
    tol: f64,
    out: MatMut<'_, T>,
) -> Result<()> {
    let n = a.ncols();
    let mut f = dev.load_temporary(a, Part::All)?;
    let norm = if tol > 0.0 { dev.norm1(&f)? } else { 0.0 };
    let info = dev.getrf(&mut f)?;
    lu::check_regular(&info)?;
    if tol > 0.0 {
        let rcond = lu::rcond(dev, &f, n, norm)?;
        if rcond.is_nan() || rcond < tol {
            return Err(Error::IllConditioned { rcond });
        }
    }
    lu::solve_factored(dev, &f, &info.ipiv, b, out)
}
