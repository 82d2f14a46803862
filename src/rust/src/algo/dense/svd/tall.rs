//! Singular value decomposition by products and eigenvectors.
//!
//! A matrix with more rows than columns is replaced by the R of its QR factorization, which
//! [`square`](super::square) decomposes.

use faer::{MatMut, MatRef};

use super::checks::{is_orthonormal, is_right};
use super::square::{bring, decompose, read, Others, SMALL};
use super::Small;
use crate::algo::dense::eigen;
use crate::base::error::{Error, Result};
use crate::base::matrix::{Block, Diag, Part, Side, Trans, Uplo};
use crate::base::scalar::{try_zeroed, Scalar};
use crate::device::elementwise::{Elementwise, Scaling};
use crate::device::spectral::SingularValues;

/// Up to this condition products take the place of reflectors, see [`condition_for_products`].
const WELL_CONDITIONED: f64 = 64.0;

/// Singular values in descending order, and vectors with free signs, of a matrix on the device with
/// at least as many rows as columns. Its largest entry should be about one.
///
/// `host`, if given, decomposes what is too small for a GPU, and `X'X` of few columns.
pub fn tall<T: Scalar, D: Elementwise<T> + SingularValues<T>, H: Small>(
    dev: &D,
    host: Option<&H>,
    x: D::Mat<'static>,
    u: Option<&mut D::Mat<'_>>,
    v: Option<&mut D::Mat<'_>>,
) -> Result<Vec<T>> {
    let routine = D::DIRECT;
    tall_with(dev, Others { host, routine }, x, u, v)
}

/// As [`tall`], with what decomposes some of the square matrices.
pub(super) fn tall_with<T: Scalar, D: Elementwise<T> + SingularValues<T>, H: Small>(
    dev: &D,
    others: Others<'_, H>,
    x: D::Mat<'static>,
    u: Option<&mut D::Mat<'_>>,
    v: Option<&mut D::Mat<'_>>,
) -> Result<Vec<T>> {
    let (m, n) = dev.shape(&x);
    let u = match u {
        Some(u) if m > n && dev.shape(u).1 == n => return with_left(dev, others, x, u, v),
        u => u,
    };
    let (square, reflectors) = triangle_if_tall(dev, x)?;
    let (d, vectors) = decompose(dev, others, square, u.is_some() || v.is_some())?;
    let Some((left, right)) = vectors else {
        return Ok(d);
    };
    match (u, reflectors) {
        (Some(u), Some((reflectors, tau))) => dev.ormqr_under(&reflectors, &tau, &left, u)?,
        (Some(u), None) => dev.copy_block(&left, Block::leading(n, n), u, (0, 0))?,
        (None, _) => {}
    }
    bring_right(dev, &right, v).map(|()| d)
}

/// As [`tall`], of more rows than columns, and with as many left vectors as columns.
///
/// If the condition is small, `U = X V D^-1` is one product. An X of few columns then needs no
/// reflectors at all. U loses orthogonality by the condition times rounding if V and D come from R,
/// and by its square if they come from `X'X`.
fn with_left<T: Scalar, D: Elementwise<T> + SingularValues<T>, H: Small>(
    dev: &D,
    others: Others<'_, H>,
    mut x: D::Mat<'static>,
    u: &mut D::Mat<'_>,
    v: Option<&mut D::Mat<'_>>,
) -> Result<Vec<T>> {
    let (m, n) = dev.shape(&x);
    let limit = condition_for_products((m, n));
    if let Some(host) = others.host.filter(|_| n <= SMALL) {
        let mut gram = dev.blank(n, n)?;
        dev.syrk(Trans::Yes, &x, &mut gram)?;
        let (squares, right) = by_squares(dev, host, &gram)?;
        if is_at_most(limit, &squares) {
            let d: Vec<T> = squares.into_iter().map(|s| T::from_f64(s.sqrt())).collect();
            divide(dev, &x, &d, &right, gram, u)?;
            check(dev, others.routine, &x, &d, (u, &right))?;
            return bring_right(dev, &right, v).map(|()| d);
        }
        // Rounding leaves squares of a larger condition in doubt, but not that it is larger.
        let may_be = is_at_most(2.0 * limit * limit, &squares);
        if let Some(r) = match may_be {
            true => triangle_by_products(dev, &x, gram, u)?,
            false => None,
        } {
            let (d, vectors) = decompose(dev, others, r, true)?;
            if let Some((left, right)) = vectors.filter(|_| is_at_most(limit, &d)) {
                divide(dev, &x, &d, &right, left, u)?;
                check(dev, others.routine, &x, &d, (u, &right))?;
                return bring_right(dev, &right, v).map(|()| d);
            }
        }
    }
    let whole = Block::leading(m, n);
    dev.copy_block(&x, whole, u, (0, 0))?;
    let tau = dev.geqrf(u)?;
    let (d, vectors) = decompose(dev, others, triangle(dev, u)?, true)?;
    let Some((left, right)) = vectors else {
        return Ok(d);
    };
    if is_at_most(limit, &d) {
        divide(dev, &x, &d, &right, left, u)?;
        check(dev, others.routine, &x, &d, (u, &right))?;
    } else {
        dev.ormqr_under(u, &tau, &left, &mut x)?;
        dev.copy_block(&x, whole, u, (0, 0))?;
        if others.routine && !is_orthonormal(dev, u)? {
            return Err(Error::NotConverged { routine: "dgesdd" });
        }
    }
    bring_right(dev, &right, v).map(|()| d)
}

/// An error if the decomposition is wrong, and another way exists.
fn check<T: Scalar, D: Elementwise<T>>(
    dev: &D,
    is_wanted: bool,
    x: &D::Mat<'_>,
    d: &[T],
    (u, v): (&D::Mat<'_>, &D::Mat<'_>),
) -> Result<()> {
    match is_wanted {
        true => is_right(dev, x, d, u, v),
        false => Ok(()),
    }
}

/// The largest condition with which U from products is as orthogonal as `m eps` allows.
fn condition_for_products((m, n): (usize, usize)) -> f64 {
    (m as f64 / n as f64).min(WELL_CONDITIONED)
}

/// Whether the largest of these numbers in descending order is at most so many times the least.
fn is_at_most<T: Scalar>(ratio: f64, d: &[T]) -> bool {
    let (most, least) = (d[0].to_f64(), d[d.len() - 1].to_f64());
    most > 0.0 && most <= ratio * least
}

/// Squares of X's singular values, and its right vectors, from the `X'X` given.
fn by_squares<T: Scalar, D: Elementwise<T>, H: Small>(
    dev: &D,
    host: &H,
    gram: &D::Mat<'_>,
) -> Result<(Vec<f64>, D::Mat<'static>)> {
    let (_, n) = dev.shape(gram);
    let gram = read(dev, gram)?;
    let mut z = try_zeroed::<f64>(n * n)?;
    let squares = eigen::symmetric(
        host,
        MatRef::from_column_major_slice(&gram, n, n),
        Some(MatMut::from_column_major_slice_mut(&mut z, n, n)),
    )?;
    Ok((squares, bring(dev, &z, n)?))
}

/// `U <- X V D^-1`. Of `work`, which has V's dimensions, nothing is read.
fn divide<T: Scalar, D: Elementwise<T>>(
    dev: &D,
    x: &D::Mat<'_>,
    d: &[T],
    right: &D::Mat<'_>,
    mut work: D::Mat<'_>,
    u: &mut D::Mat<'_>,
) -> Result<()> {
    let inverse: Vec<f64> = d.iter().map(|d| 1.0 / d.to_f64()).collect();
    dev.scale_columns(right, &inverse, Scaling::Replace, &mut work)?;
    let (one, zero) = (T::from_f64(1.0), T::from_f64(0.0));
    dev.gemm(one, Trans::No, x, Trans::No, &work, zero, u)
}

fn bring_right<T: Scalar, D: Elementwise<T>>(
    dev: &D,
    right: &D::Mat<'_>,
    v: Option<&mut D::Mat<'_>>,
) -> Result<()> {
    let n = dev.shape(right).1;
    v.map_or(Ok(()), |v| {
        dev.copy_block(right, Block::leading(n, n), v, (0, 0))
    })
}

/// R of `X = Q R` from products, in the time of two passes over X: `R = R2 R1` with `R1'R1` the
/// `X'X` given, and `R2'R2 = Q1'Q1` for `Q1 = X R1^-1`, which is left in `q`. `None` if X'X has no
/// Cholesky factor.
///
/// The error of R is the condition times rounding.
///
/// Yamamoto et al., Electron. Trans. Numer. Anal. 44 (2015).
fn triangle_by_products<T: Scalar, D: Elementwise<T>>(
    dev: &D,
    x: &D::Mat<'_>,
    gram: D::Mat<'static>,
    q: &mut D::Mat<'_>,
) -> Result<Option<D::Mat<'static>>> {
    let (_, n) = dev.shape(x);
    let (one, zero) = (T::from_f64(1.0), T::from_f64(0.0));
    let Some(first) = root(dev, gram)? else {
        return Ok(None);
    };
    let mut inverse = dev.blank(n, n)?;
    dev.set_identity(&mut inverse)?;
    let (left, upper, whole) = (Side::Left, Uplo::Upper, Diag::NonUnit);
    dev.trsm(left, upper, Trans::No, whole, n, &first, &mut inverse)?;
    dev.gemm(one, Trans::No, x, Trans::No, &inverse, zero, q)?;
    let mut gram = dev.blank(n, n)?;
    dev.syrk(Trans::Yes, q, &mut gram)?;
    let Some(second) = root(dev, gram)? else {
        return Ok(None);
    };
    let mut r = inverse;
    dev.gemm(one, Trans::No, &second, Trans::No, &first, zero, &mut r)?;
    Ok(Some(r))
}

/// The upper Cholesky factor, if there is one.
fn root<T: Scalar, D: Elementwise<T>>(
    dev: &D,
    mut gram: D::Mat<'static>,
) -> Result<Option<D::Mat<'static>>> {
    match dev.potrf(Uplo::Upper, &mut gram) {
        Ok(()) => {}
        Err(Error::NotPositiveDefinite { .. }) => return Ok(None),
        Err(e) => return Err(e),
    }
    dev.keep_part(Part::Upper, &mut gram)?;
    Ok(Some(gram))
}

/// A square matrix, and the reflectors whose product with it is the given one, with their factors.
type Square<M, T> = (M, Option<(M, Vec<T>)>);

/// R of the QR factorization of a matrix with more rows than columns; a square matrix as given.
fn triangle_if_tall<T: Scalar, D: Elementwise<T>>(
    dev: &D,
    mut x: D::Mat<'static>,
) -> Result<Square<D::Mat<'static>, T>> {
    let (m, n) = dev.shape(&x);
    if m == n {
        return Ok((x, None));
    }
    let tau = dev.geqrf(&mut x)?;
    Ok((triangle(dev, &x)?, Some((x, tau))))
}

/// R of a QR factorization.
fn triangle<T: Scalar, D: Elementwise<T>>(
    dev: &D,
    factors: &D::Mat<'_>,
) -> Result<D::Mat<'static>> {
    let (_, n) = dev.shape(factors);
    let mut r = dev.blank(n, n)?;
    dev.copy_block(factors, Block::leading(n, n), &mut r, (0, 0))?;
    dev.keep_part(Part::Upper, &mut r)?;
    Ok(r)
}
