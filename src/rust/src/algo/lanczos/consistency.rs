//! How exact products are, and whether they are those of one matrix: symmetric, or with its
//! transpose.

use faer::MatRef;

use crate::base::error::{Error, Result};

/// Products that differ by more than this share are those of another matrix. An inexact function
/// may differ by less: it finds what its errors allow.
const OTHER: f64 = 1e-4;

/// As many times the rounding of a product may be the difference.
const ROUNDING: f64 = 64.0;

/// The rounding of products with a matrix.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Rounding {
    /// Of one operation.
    pub unit: f64,
    /// The larger dimension.
    pub length: usize,
}

impl Rounding {
    /// The residual that cannot be made smaller for sure, of a matrix with this norm.
    pub fn residual(self, norm: f64) -> f64 {
        4.0 * self.unit * (self.length as f64).sqrt().max(8.0) * norm
    }

    /// The share above which a difference is none of rounding.
    fn share(self) -> f64 {
        OTHER.max(ROUNDING * self.unit * (self.length as f64).sqrt())
    }

    /// # Errors
    /// [`Error::Asymmetric`] if this relative asymmetry is more than rounding.
    pub fn check_symmetry(self, relative: f64) -> Result<()> {
        match relative > self.share() {
            true => Err(Error::Asymmetric { relative }),
            false => Ok(()),
        }
    }

    /// # Errors
    /// [`Error::NotTransposed`] if `u'(A v)` and `(A'u)'v` differ by more than rounding, for blocks
    /// u and v. The products are not larger than `size`.
    pub fn check_transpose(self, difference: f64, size: f64) -> Result<()> {
        match difference > self.share() * size {
            true => Err(Error::NotTransposed {
                relative: difference / size,
            }),
            false => Ok(()),
        }
    }
}

/// An estimate of `||A - A'|| / ||A||` in Frobenius' norm, from `Q'AQ` for random orthonormal
/// columns Q of length `n`, and the norm of `AQ`.
///
/// The mean square of an entry of `Q'(A - A')Q` outside the diagonal is `||A - A'||^2 / n^2`, and
/// that of the norm of a column of `AQ` is `||A||^2 / n`.
pub(super) fn asymmetry(projected: MatRef<'_, f64>, norm: f64, n: usize) -> f64 {
    let count = projected.ncols() as f64;
    if norm == 0.0 || count < 2.0 {
        return 0.0;
    }
    let entry = difference(projected) / (count * (count - 1.0)).sqrt();
    (n as f64).sqrt() * entry / (norm / count.sqrt())
}

/// `||A - A'||` in Frobenius' norm.
pub(super) fn difference(a: MatRef<'_, f64>) -> f64 {
    let n = a.ncols();
    let square = |i: usize, j: usize| (a[(i, j)] - a[(j, i)]).powi(2);
    let below = |j: usize| (j + 1..n).map(|i| square(i, j)).sum::<f64>();
    (2.0 * (0..n).map(below).sum::<f64>()).sqrt()
}

/// The size of errors of products, from the norm of what they add to the coefficients of a block in
/// a basis of `count` columns of length `n`: errors in all directions are larger.
pub(super) fn error_of_products(added: f64, count: usize, n: usize) -> f64 {
    added * (n as f64 / count.max(1) as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use faer::Mat;

    #[test]
    fn asymmetry_is_that_of_the_matrix() {
        // All columns of the identity are no random ones, and those of a whole basis need not be.
        let a = Mat::from_fn(40, 40, |i, j| {
            ((i * 7 + j * 3) % 11) as f64 - 5.0 + if i < j { 0.5 } else { 0.0 }
        });
        let all = difference(a.as_ref()) / a.norm_l2();
        let estimate = asymmetry(a.as_ref(), a.norm_l2(), 40);
        assert!(
            estimate >= 0.9 * all && estimate <= 1.1 * all,
            "{estimate} {all}"
        );
        let same = Mat::from_fn(40, 40, |i, j| a[(i.max(j), i.min(j))]);
        assert_eq!(asymmetry(same.as_ref(), same.norm_l2(), 40), 0.0);
        assert_eq!(asymmetry(Mat::zeros(4, 4).as_ref(), 0.0, 9), 0.0);
    }

    #[test]
    fn rounding_passes_and_another_matrix_does_not() {
        let rounding = Rounding {
            unit: f64::EPSILON,
            length: 1_000_000,
        };
        assert!(rounding.check_symmetry(1e-6).is_ok());
        let wrong = Error::Asymmetric { relative: 1e-3 };
        assert_eq!(rounding.check_symmetry(1e-3), Err(wrong));
        assert!(rounding.check_transpose(0.0, 0.0).is_ok());
        let wrong = Error::NotTransposed { relative: 2.0 };
        assert_eq!(rounding.check_transpose(6.0, 3.0), Err(wrong));
        let single = Rounding {
            unit: f64::from(f32::EPSILON),
            ..rounding
        };
        assert!(single.check_symmetry(1e-3).is_ok());
    }
}
