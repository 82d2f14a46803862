//! Estimate of `||A^-1||_1` from solves with A and A'.
//!
//! Higham, "FORTRAN codes for estimating the one-norm of a real or complex matrix", ACM TOMS 14
//! (1988), the method of LAPACK's `lacn2`: a power method on the convex function
//! `||A^-1 x||_1` over the unit ball, started at the centre, at most five steps, and compared with
//! an alternating vector that defeats the known counterexamples. The estimate is a lower bound.

use crate::base::error::Result;

/// At most this many steps of the power method.
const STEPS: usize = 5;

fn sum_abs(x: &[f64]) -> f64 {
    x.iter().map(|v| v.abs()).sum()
}

fn signs(x: &[f64]) -> Vec<f64> {
    x.iter()
        .map(|v| if *v < 0.0 { -1.0 } else { 1.0 })
        .collect()
}

/// First index of the largest magnitude.
fn largest(x: &[f64]) -> usize {
    let mut at = 0;
    for (i, v) in x.iter().enumerate() {
        if v.abs() > x[at].abs() {
            at = i;
        }
    }
    at
}

/// The estimate for an operator of order `n >= 1`: `solve(false, x)` overwrites `x` with
/// `A^-1 x`, `solve(true, x)` with `A^-T x`.
pub fn inverse_norm1(
    n: usize,
    mut solve: impl FnMut(bool, &mut [f64]) -> Result<()>,
) -> Result<f64> {
    let mut x = vec![1.0 / n as f64; n];
    solve(false, &mut x)?;
    if n == 1 {
        return Ok(x[0].abs());
    }
    let mut estimate = sum_abs(&x);
    let mut sign = signs(&x);
    x.copy_from_slice(&sign);
    solve(true, &mut x)?;
    let mut j = largest(&x);
    for _ in 1..STEPS {
        x.fill(0.0);
        x[j] = 1.0;
        solve(false, &mut x)?;
        let old = estimate;
        estimate = sum_abs(&x);
        let new_sign = signs(&x);
        if new_sign == sign || estimate <= old {
            break;
        }
        sign = new_sign;
        x.copy_from_slice(&sign);
        solve(true, &mut x)?;
        let last = j;
        j = largest(&x);
        if x[last].abs() == x[j].abs() {
            break;
        }
    }
    for (i, v) in x.iter_mut().enumerate() {
        let magnitude = 1.0 + i as f64 / (n - 1) as f64;
        *v = if i % 2 == 0 { magnitude } else { -magnitude };
    }
    solve(false, &mut x)?;
    let alternating = 2.0 * sum_abs(&x) / (3.0 * n as f64);
    // `f64::max` would drop a NaN.
    Ok(if estimate.is_nan() {
        estimate
    } else {
        estimate.max(alternating)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For a diagonal matrix the estimate is exact: the norm sits in one column.
    #[test]
    fn diagonal_is_exact() {
        let d = [4.0, 0.5, 2.0, 1e-3, 8.0];
        let est = inverse_norm1(d.len(), |_, x| {
            for (v, di) in x.iter_mut().zip(&d) {
                *v /= di;
            }
            Ok(())
        });
        approx::assert_relative_eq!(est.unwrap(), 1e3, max_relative = 1e-14);
    }

    /// Order one has a closed form.
    #[test]
    fn order_one() {
        let est = inverse_norm1(1, |_, x| {
            x[0] /= -0.25;
            Ok(())
        });
        assert_eq!(est.unwrap(), 4.0);
    }

    /// A lower bound, and not a poor one, on a bidiagonal inverse with known columns.
    #[test]
    fn bidiagonal_is_bounded() {
        // A = I - N (ones on the superdiagonal of N): A^-1 is upper triangular of ones, norm n.
        let n = 12;
        let est = inverse_norm1(n, |trans, x| {
            if trans {
                for i in 1..n {
                    x[i] += x[i - 1];
                }
            } else {
                for i in (0..n - 1).rev() {
                    x[i] += x[i + 1];
                }
            }
            Ok(())
        })
        .unwrap();
        assert!(
            est <= n as f64 * (1.0 + 1e-14) && est >= n as f64 / 3.0,
            "{est}"
        );
    }
}
