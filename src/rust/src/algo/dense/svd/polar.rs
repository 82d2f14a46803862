//! Orthogonal factor of the polar decomposition `X = U H`, with `U'U = I` and H positive
//! semidefinite.
//!
//! Dynamically weighted Halley iterations: Nakatsukasa, Bai & Gygi, "Optimizing Halley's iteration
//! for computing the matrix polar decomposition", SIAM J. Matrix Anal. Appl. 31 (2010);
//! Nakatsukasa & Higham, SIAM J. Sci. Comput. 35 (2013). A step maps every singular value s of X to
//! `s (a + b s^2) / (1 + c s^2)`, with weights that bring those above a known bound closest to one:
//!
//! ```text
//! X <- b/c X + (a - b/c) X (I + c X'X)^-1
//! ```
//!
//! The inverse is taken by Cholesky, whose error grows with c. The papers use QR where c is large,
//! and at most six steps. Here c stays below 180, and a matrix of condition 1e5 takes six steps, a
//! singular one thirteen. A step by Cholesky takes 3.3 n^3 operations, one by QR 8.7 n^3. Also, QR
//! without pivots spoils some singular matrices, such as Hilbert's, and this does not.

use faer::MatRef;

use super::vectors::start;
use crate::algo::dense::lu;
use crate::base::error::{Error, Result};
use crate::base::interrupt;
use crate::base::matrix::{Block, Diag, Part, Side, Trans, Uplo};
use crate::base::scalar::Scalar;
use crate::device::elementwise::{Elementwise, Operand, Scaling};
use crate::device::functions::Zip;

/// A step brings singular values in `[LOW, 1]` closest to one, or those in a smaller interval; then
/// c is at most 176. It multiplies smaller ones with up to 25.
const LOW: f64 = 0.031;

/// Steps, at most: more than thirteen mean a bound that was too high.
const STEPS: usize = 30;

/// Steps of the power method for the largest singular value.
const POWERS: usize = 6;

/// The weights of a step.
struct Weights {
    a: f64,
    b: f64,
    c: f64,
}

impl Weights {
    /// The best weights for singular values in `[low, 1]`.
    fn best(low: f64) -> Self {
        let square = low * low;
        let d = (4.0 * (1.0 - square) / square / square).cbrt();
        let root = (1.0 + d).sqrt();
        let a = root + 0.5 * (8.0 - 4.0 * d + 8.0 * (2.0 - square) / (square * root)).sqrt();
        let b = (a - 1.0).powi(2) / 4.0;
        Weights {
            a,
            b,
            c: a + b - 1.0,
        }
    }

    /// What a step makes of a singular value.
    fn image(&self, s: f64) -> f64 {
        s * (self.a + self.b * s * s) / (1.0 + self.c * s * s)
    }
}

/// U of the polar decomposition of a square matrix. A singular `x` gives a U that is not
/// orthogonal, but `U'x` is the H of the decomposition also then.
///
/// # Errors
/// [`Error::NotConverged`], and those of the device.
pub(crate) fn orthogonal_factor<T: Scalar, D: Elementwise<T>>(
    dev: &D,
    x: &D::Mat<'_>,
) -> Result<D::Mat<'static>> {
    let (n, _) = dev.shape(x);
    let size = norm2(dev, x)?;
    if size == 0.0 {
        return dev.duplicate(x, Part::All);
    }
    let (mut now, mut next) = (dev.blank(n, n)?, dev.blank(n, n)?);
    dev.scale_columns(x, &vec![1.0 / size; n], Scaling::Replace, &mut now)?;
    // Smaller singular values count as rounding. They need not come to one.
    let least = T::EPS * n as f64;
    let estimate = smallest(dev, &now)?;
    let has_smaller = estimate < least;
    let mut low = estimate.clamp(least, 1.0);
    let small = (5.0 * T::EPS).cbrt();
    for _ in 0..STEPS {
        interrupt::poll()?;
        let weights = Weights::best(low.max(LOW));
        // next = X (I + c X'X)^-1
        let mut sum = inverse_product(dev, &now, weights.c, &mut next)?;
        let ratio = weights.b / weights.c;
        dev.scale_columns(&now, &vec![ratio; n], Scaling::Replace, &mut sum)?;
        dev.scale_columns(&next, &vec![weights.a - ratio; n], Scaling::Add, &mut sum)?;
        let (of, from) = (Operand::Matrix(&sum), Operand::Matrix(&now));
        dev.zip(Zip::Subtract, of, from, &mut next)?;
        let change = norm(&dev.column_norms(&next)?);
        now = sum;
        low = weights.image(low).min(1.0);
        if change.is_nan() {
            break;
        }
        if (change <= small || has_smaller) && 1.0 - low <= 10.0 * T::EPS {
            return Ok(now);
        }
    }
    Err(Error::NotConverged { routine: "dgesdd" })
}

/// `out <- X (I + c X'X)^-1`; returns a matrix of X's dimensions without meaning.
fn inverse_product<T: Scalar, D: Elementwise<T>>(
    dev: &D,
    x: &D::Mat<'_>,
    c: f64,
    out: &mut D::Mat<'static>,
) -> Result<D::Mat<'static>> {
    let (n, _) = dev.shape(x);
    let mut gram = dev.blank(n, n)?;
    dev.scale_columns(x, &vec![c.sqrt(); n], Scaling::Replace, out)?;
    dev.syrk(Trans::Yes, out, &mut gram)?;
    let mut diagonal = dev.diagonal(&gram)?;
    let one = T::from_f64(1.0);
    diagonal.iter_mut().for_each(|d| *d += one);
    dev.set_diagonal(&diagonal, &mut gram)?;
    dev.potrf(Uplo::Upper, &mut gram)?;
    dev.copy_block(x, Block::leading(n, n), out, (0, 0))?;
    for trans in [Trans::No, Trans::Yes] {
        dev.trsm(
            Side::Right,
            Uplo::Upper,
            trans,
            Diag::NonUnit,
            n,
            &gram,
            out,
        )?;
    }
    Ok(gram)
}

fn norm(columns: &[f64]) -> f64 {
    columns.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// An estimate of the largest singular value, from above but for a few percent.
fn norm2<T: Scalar, D: Elementwise<T>>(dev: &D, x: &D::Mat<'_>) -> Result<f64> {
    let (n, _) = dev.shape(x);
    let frobenius = norm(&dev.column_norms(x)?);
    let start = start::<T>(n)?;
    let mut v = dev.load_temporary(MatRef::from_column_major_slice(&start, n, 1), Part::All)?;
    let mut u = dev.blank(n, 1)?;
    let (one, zero) = (T::from_f64(1.0), T::from_f64(0.0));
    let mut largest = 0.0_f64;
    for _ in 0..POWERS {
        let size = norm(&dev.column_norms(&v)?);
        if size <= 0.0 {
            break;
        }
        let mut unit = dev.blank(n, 1)?;
        dev.scale_columns(&v, &[1.0 / size], Scaling::Replace, &mut unit)?;
        dev.gemm(one, Trans::No, x, Trans::No, &unit, zero, &mut u)?;
        largest = largest.max(norm(&dev.column_norms(&u)?));
        dev.gemm(one, Trans::Yes, x, Trans::No, &u, zero, &mut v)?;
    }
    let least = frobenius / (n as f64).sqrt();
    Ok((1.2 * largest).max(least).min(frobenius))
}

/// An estimate of the smallest singular value, from below but for a small factor; 0 for a matrix
/// that is exactly singular.
fn smallest<T: Scalar, D: Elementwise<T>>(dev: &D, x: &D::Mat<'_>) -> Result<f64> {
    let (n, _) = dev.shape(x);
    let norm = dev.norm1(x)?;
    let mut factors = dev.duplicate(x, Part::All)?;
    let info = dev.getrf(&mut factors)?;
    match info.zero {
        Some(_) => Ok(0.0),
        None => Ok(0.5 * norm * lu::rcond(dev, &factors, n, norm)?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_comes_to_one() {
        for (least, allowed) in [(1.0_f64, 1), (0.9, 3), (1e-2, 4), (1e-5, 6), (1e-15, 13)] {
            let (mut low, mut steps) = (least, 0);
            let mut others: Vec<f64> = (0..50).map(|k| least.powf(f64::from(k) / 49.0)).collect();
            while 1.0 - low > 1e-15 {
                let weights = Weights::best(low.max(LOW));
                assert!(weights.c < 180.0, "{least}: {}", weights.c);
                low = weights.image(low).min(1.0);
                others.iter_mut().for_each(|s| *s = weights.image(*s));
                steps += 1;
            }
            assert!(steps <= allowed, "{least}: {steps}");
            assert!(others.iter().all(|s| (s - 1.0).abs() < 1e-14), "{least}");
        }
    }
}
