//! Determinants from the LU factorization.

use crate::device::lapack::Lapack;
use faer::MatRef;

use crate::base::error::Result;
use crate::base::matrix::Part;
use crate::base::scalar::Scalar;

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
