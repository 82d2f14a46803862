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
//! The inverse is taken by Cholesky where c is small, and else by QR of `(sqrt(c) X; I)`, whose
//! error does not grow with c. At most six steps suffice in double precision.

use faer::{MatMut, MatRef};

use crate::algo::dense::lu;
use crate::base::error::{Error, Result};
use crate::base::interrupt;
use crate::base::matrix::{Block, Diag, Part, Side, Trans, Uplo};
use crate::base::scalar::{try_zeroed, Scalar};
use crate::device::elementwise::{Elementwise, Operand, Scaling};
use crate::device::functions::Zip;

/// Cholesky's error grows with the weight c; above this QR replaces it.
const LARGEST_FOR_CHOLESKY: f64 = 100.0;

/// Steps, at most: more than six mean a bound that was too high.
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

/// What the iteration starts from.
#[derive(Clone, Copy)]
pub(crate) struct Bounds {
    /// The largest singular value, from above but for a few percent.
    size: f64,
    /// The smallest singular value relative to the largest, from below but for a small factor; 0
    /// for a matrix that is exactly singular.
    low: f64,
}

impl Bounds {
    pub(crate) fn of<T: Scalar, D: Elementwise<T>>(dev: &D, x: &D::Mat<'_>) -> Result<Self> {
        let size = norm2(dev, x)?;
        let low = if size > 0.0 {
            smallest(dev, x)? / size
        } else {
            0.0
        };
        Ok(Bounds { size, low })
    }

    /// Whether errors of unpivoted QR may matter, which grow with the condition of leading columns.
    pub(crate) fn is_ill_conditioned<T: Scalar>(&self) -> bool {
        self.low < T::EPS.sqrt()
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
    bounds: Bounds,
) -> Result<D::Mat<'static>> {
    let (n, _) = dev.shape(x);
    let mut now = dev.duplicate(x, Part::All)?;
    let mut next = dev.blank(n, n)?;
    if bounds.size == 0.0 {
        return Ok(now);
    }
    dev.scale_columns(x, &vec![1.0 / bounds.size; n], Scaling::Replace, &mut now)?;
    // Smaller singular values count as rounding. They need not come to one.
    let least = T::EPS * n as f64;
    let has_smaller = bounds.low < least;
    let mut low = bounds.low.clamp(least, 1.0);
    let small = (5.0 * T::EPS).cbrt();
    for _ in 0..STEPS {
        interrupt::poll()?;
        let weights = Weights::best(low);
        // next = X (I + c X'X)^-1
        let scratch = if weights.c > LARGEST_FOR_CHOLESKY {
            by_qr(dev, &now, weights.c, &mut next)?
        } else {
            by_cholesky(dev, &now, weights.c, &mut next)?
        };
        let mut sum = scratch;
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
fn by_cholesky<T: Scalar, D: Elementwise<T>>(
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

/// As [`by_cholesky`], from `(sqrt(c) X; I) = (Q1; Q2) R`: the product is `Q1 Q2' / sqrt(c)`.
fn by_qr<T: Scalar, D: Elementwise<T>>(
    dev: &D,
    x: &D::Mat<'_>,
    c: f64,
    out: &mut D::Mat<'static>,
) -> Result<D::Mat<'static>> {
    let (n, _) = dev.shape(x);
    let (whole, root) = (Block::leading(n, n), c.sqrt());
    let zero = T::from_f64(0.0);
    let mut part = dev.blank(n, n)?;
    let mut stacked = dev.blank(2 * n, n)?;
    dev.scale_columns(x, &vec![root; n], Scaling::Replace, &mut part)?;
    dev.copy_block(&part, whole, &mut stacked, (0, 0))?;
    dev.set_identity(&mut part)?;
    dev.copy_block(&part, whole, &mut stacked, (n, 0))?;
    let tau = dev.geqrf(&mut stacked)?;
    let mut q = dev.blank(2 * n, n)?;
    dev.orgqr(&stacked, &tau, &mut q)?;
    drop(stacked);
    dev.copy_block(&q, whole, &mut part, (0, 0))?;
    let mut second = dev.blank(n, n)?;
    dev.copy_block(&q, Block { row: n, ..whole }, &mut second, (0, 0))?;
    drop(q);
    let alpha = T::from_f64(1.0 / root);
    dev.gemm(alpha, Trans::No, &part, Trans::Yes, &second, zero, out)?;
    Ok(part)
}

fn norm(columns: &[f64]) -> f64 {
    columns.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// An estimate of the largest singular value, as of [`Bounds`].
fn norm2<T: Scalar, D: Elementwise<T>>(dev: &D, x: &D::Mat<'_>) -> Result<f64> {
    let (n, _) = dev.shape(x);
    let frobenius = norm(&dev.column_norms(x)?);
    let mut start = try_zeroed::<T>(n)?;
    // No direction is special.
    for (i, entry) in start.iter_mut().enumerate() {
        *entry = T::from_f64(1.0 + 0.5 * ((i * i + 1) as f64).sin());
    }
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

/// An estimate of the smallest singular value, as of [`Bounds`].
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

/// The product of a matrix with a vector on the host.
pub(crate) fn times<T: Scalar, D: Elementwise<T>>(
    dev: &D,
    trans: Trans,
    a: &D::Mat<'_>,
    x: &[T],
) -> Result<Vec<T>> {
    let (m, n) = dev.shape(a);
    let rows = if trans.is_yes() { n } else { m };
    let there = dev.load_temporary(MatRef::from_column_major_slice(x, x.len(), 1), Part::All)?;
    let mut out = dev.blank(rows, 1)?;
    let (one, zero) = (T::from_f64(1.0), T::from_f64(0.0));
    dev.gemm(one, trans, a, Trans::No, &there, zero, &mut out)?;
    let mut host = try_zeroed(rows)?;
    dev.read(
        &out,
        MatMut::from_column_major_slice_mut(&mut host, rows, 1),
    )?;
    Ok(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_steps_bring_every_value_to_one() {
        for least in [1.0_f64, 0.9, 0.1, 1e-3, 1e-8, 1e-16] {
            let (mut low, mut steps) = (least, 0);
            let mut others: Vec<f64> = (0..50).map(|k| least.powf(f64::from(k) / 49.0)).collect();
            while 1.0 - low > 1e-15 {
                let weights = Weights::best(low);
                low = weights.image(low).min(1.0);
                others.iter_mut().for_each(|s| *s = weights.image(*s));
                steps += 1;
            }
            assert!(steps <= 6, "{least}: {steps}");
            assert!(others.iter().all(|s| (s - 1.0).abs() < 1e-14), "{least}");
        }
    }
}
