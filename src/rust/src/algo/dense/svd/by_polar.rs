//! Singular value decomposition by polar and eigenvalue decompositions, for devices without a
//! routine of their own.
//!
//! `X = U_p H` and `H = V D V'` give `X = (U_p V) D V'`: matrix products do most of the work, in
//! contrast to a reduction to bidiagonal form. A matrix with more rows than columns is replaced by
//! the R of its QR factorization.
//!
//! Nakatsukasa & Higham, SIAM J. Sci. Comput. 35 (2013).

use faer::{MatMut, MatRef};

use super::polar::{orthogonal_factor, times};
use super::{svd, Small};
use crate::base::error::{Error, Result};
use crate::base::matrix::{Block, Part, Trans};
use crate::base::probe::{distance, scaled, signs, squares};
use crate::base::scalar::{narrow, try_zeroed, widened, Scalar};
use crate::device::elementwise::{Elementwise, Index, Scaling};
use crate::device::memory::Memory;
use crate::device::spectral::SymmetricEigen;

/// Up to this order the host decomposes a triangle while a device would wait for itself: the steps
/// of the polar decomposition are some hundred launches.
const SMALL: usize = 128;

/// Singular values in descending order, and vectors with free signs, of a matrix on the device with
/// at least as many rows as columns. Its largest entry should be about one.
///
/// `host`, if given, decomposes matrices of few columns, after QR.
pub fn tall<T: Scalar, D: Elementwise<T> + SymmetricEigen<T>, H: Small>(
    dev: &D,
    host: Option<&H>,
    x: D::Mat<'static>,
    u: Option<&mut D::Mat<'_>>,
    v: Option<&mut D::Mat<'_>>,
) -> Result<Vec<T>> {
    let (_, n) = dev.shape(&x);
    let (square, reflectors) = triangle_if_tall(dev, x)?;
    let vectors = u.is_some() || v.is_some();
    let (d, vectors) = match host.filter(|_| n <= SMALL) {
        Some(host) => on_host(dev, host, &square, vectors)?,
        None => of_square(dev, &square, vectors)?,
    };
    let Some((left, right)) = vectors else {
        return Ok(d);
    };
    let whole = Block::leading(n, n);
    if let Some(v) = v {
        dev.copy_block(&right, whole, v, (0, 0))?;
    }
    match (u, reflectors) {
        (Some(u), Some((reflectors, tau))) => dev.ormqr_under(&reflectors, &tau, &left, u)?,
        (Some(u), None) => dev.copy_block(&left, whole, u, (0, 0))?,
        (None, _) => {}
    }
    Ok(d)
}

/// Singular values, and the left and right vectors if they are wanted.
type Parts<M, T> = (Vec<T>, Option<(M, M)>);

/// Decomposes a small matrix on the host, in double precision.
fn on_host<T: Scalar, D: Memory<T>, H: Small>(
    dev: &D,
    host: &H,
    square: &D::Mat<'_>,
    vectors: bool,
) -> Result<Parts<D::Mat<'static>, T>> {
    let (n, _) = dev.shape(square);
    let mut read = try_zeroed::<T>(n * n)?;
    dev.read(square, MatMut::from_column_major_slice_mut(&mut read, n, n))?;
    let read = widened(&read)?;
    let x = MatRef::from_column_major_slice(&read, n, n);
    let size = if vectors { n * n } else { 0 };
    let (mut u, mut v) = (try_zeroed::<f64>(size)?, try_zeroed::<f64>(size)?);
    let [left, right] =
        [&mut u, &mut v].map(|to| vectors.then(|| MatMut::from_column_major_slice_mut(to, n, n)));
    let d = svd(host, None::<&H>, x, left, right)?;
    let bring = |from: &[f64]| {
        let mut narrowed = try_zeroed::<T>(n * n)?;
        narrow(from, &mut narrowed)?;
        dev.load_temporary(MatRef::from_column_major_slice(&narrowed, n, n), Part::All)
    };
    let vectors = match vectors {
        true => Some((bring(&u)?, bring(&v)?)),
        false => None,
    };
    Ok((d.into_iter().map(T::from_f64).collect(), vectors))
}

/// As [`tall`], of a square matrix.
fn of_square<T: Scalar, D: Elementwise<T> + SymmetricEigen<T>>(
    dev: &D,
    square: &D::Mat<'static>,
    vectors: bool,
) -> Result<Parts<D::Mat<'static>, T>> {
    let (_, n) = dev.shape(square);
    let polar = orthogonal_factor(dev, square)?;
    let zero = T::from_f64(0.0);
    let h = symmetric_factor(dev, &polar, square)?;
    let mut w = try_zeroed(n)?;
    if !vectors {
        dev.syev(&h, &mut w, None)?;
        drop(h);
        let mut d: Vec<T> = w.into_iter().map(magnitude).collect();
        d.sort_by(|x, y| y.to_f64().total_cmp(&x.to_f64()));
        return is_right_sum(dev, square, &d).map(|()| (d, None));
    }
    let mut vectors = dev.blank(n, n)?;
    dev.syev(&h, &mut w, Some(&mut vectors))?;
    let mut right = h;
    let mut order: Vec<i32> = (0..n as i32).collect();
    let size = |i: i32| w[i as usize].to_f64().abs();
    order.sort_by(|&i, &j| size(j).total_cmp(&size(i)));
    dev.gather(
        Index::From(0),
        Index::List(&order),
        zero,
        &vectors,
        &mut right,
    )?;
    drop(vectors);
    let mut d: Vec<T> = order.iter().map(|&i| magnitude(w[i as usize])).collect();
    // Rounding makes values negative that are nearly zero: the sign goes to the left vector.
    let signs: Vec<f64> = order
        .iter()
        .map(|&i| if w[i as usize] < zero { -1.0 } else { 1.0 })
        .collect();
    let mut left = dev.blank(n, n)?;
    let mut product = dev.blank(n, n)?;
    let one = T::from_f64(1.0);
    dev.gemm(
        one,
        Trans::No,
        &polar,
        Trans::No,
        &right,
        zero,
        &mut product,
    )?;
    drop(polar);
    dev.scale_columns(&product, &signs, Scaling::Replace, &mut left)?;
    if !is_orthonormal(dev, &left)? {
        (left, d) = left_by_qr(dev, square, &right, product)?;
    }
    is_right(dev, square, &d, &left, &right)?;
    Ok((d, Some((left, right))))
}

/// `(U'X + X'U) / 2`: the errors of U leave half as much in it as in `U'X`.
fn symmetric_factor<T: Scalar, D: Elementwise<T>>(
    dev: &D,
    polar: &D::Mat<'_>,
    x: &D::Mat<'_>,
) -> Result<D::Mat<'static>> {
    let (_, n) = dev.shape(x);
    let (one, zero) = (T::from_f64(1.0), T::from_f64(0.0));
    let mut product = dev.blank(n, n)?;
    dev.gemm(one, Trans::Yes, polar, Trans::No, x, zero, &mut product)?;
    let mut h = dev.blank(n, n)?;
    dev.scale_columns(&product, &vec![0.5; n], Scaling::Replace, &mut h)?;
    dev.transpose(&h, &mut product)?;
    dev.scale_columns(&product, &vec![1.0; n], Scaling::Add, &mut h)?;
    Ok(h)
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
    let mut r = dev.blank(n, n)?;
    dev.copy_block(&x, Block::leading(n, n), &mut r, (0, 0))?;
    dev.keep_part(Part::Upper, &mut r)?;
    Ok((r, Some((x, tau))))
}

/// Left vectors and values of a singular matrix: `A V = Q R`, where R is diagonal to rounding
/// because the columns of `A V` are orthogonal and their norms descend.
fn left_by_qr<T: Scalar, D: Elementwise<T>>(
    dev: &D,
    a: &D::Mat<'_>,
    right: &D::Mat<'_>,
    mut product: D::Mat<'static>,
) -> Result<(D::Mat<'static>, Vec<T>)> {
    let (n, _) = dev.shape(a);
    let (one, zero) = (T::from_f64(1.0), T::from_f64(0.0));
    dev.gemm(one, Trans::No, a, Trans::No, right, zero, &mut product)?;
    let tau = dev.geqrf(&mut product)?;
    let mut q = dev.blank(n, n)?;
    dev.orgqr(&product, &tau, &mut q)?;
    let mut diagonal = dev.diagonal(&product)?;
    let negative = |r: &T| if *r < zero { -1.0 } else { 1.0 };
    let signs: Vec<f64> = diagonal.iter().map(negative).collect();
    dev.scale_columns(&q, &signs, Scaling::Replace, &mut product)?;
    // Their order is exact but for rounding.
    let mut least = T::from_f64(f64::INFINITY);
    for d in &mut diagonal {
        let size = magnitude(*d);
        least = if size < least { size } else { least };
        *d = least;
    }
    Ok((product, diagonal))
}

fn magnitude<T: Scalar>(x: T) -> T {
    if x < T::from_f64(0.0) {
        -x
    } else {
        x
    }
}

/// What rounding may add to a product with a vector of n signs, relative to the matrix's norm.
fn allowed<T: Scalar>(n: usize) -> f64 {
    16.0 * (n as f64).max(8.0) * T::EPS
}

/// Whether `Q'Q x = x` for a vector of signs.
fn is_orthonormal<T: Scalar, D: Elementwise<T>>(dev: &D, q: &D::Mat<'_>) -> Result<bool> {
    let x = signs::<T>(dev.shape(q).1)?;
    let there = times(dev, Trans::No, q, &x)?;
    let back = times(dev, Trans::Yes, q, &there)?;
    Ok(distance(&back, &x) <= allowed::<T>(x.len()))
}

/// An error unless `A (V x) = U (D x)` for a vector of signs, and U and V are orthonormal.
fn is_right<T: Scalar, D: Elementwise<T>>(
    dev: &D,
    a: &D::Mat<'_>,
    d: &[T],
    left: &D::Mat<'_>,
    right: &D::Mat<'_>,
) -> Result<()> {
    let x = signs::<T>(d.len())?;
    let given = times(dev, Trans::No, a, &times(dev, Trans::No, right, &x)?)?;
    let found = times(dev, Trans::No, left, &scaled(&x, d, d.len())?)?;
    let near = distance(&given, &found) <= allowed::<T>(d.len()) * d[0].to_f64();
    if near && is_orthonormal(dev, left)? && is_orthonormal(dev, right)? {
        return Ok(());
    }
    Err(Error::NotConverged { routine: "dgesdd" })
}

/// An error unless the squares of the values have the sum of those of A's entries.
fn is_right_sum<T: Scalar, D: Elementwise<T>>(dev: &D, a: &D::Mat<'_>, d: &[T]) -> Result<()> {
    let norm = dev.column_norms(a)?.iter().map(|x| x * x).sum::<f64>();
    match (norm - squares(d)).abs() <= allowed::<T>(d.len()) * norm {
        true => Ok(()),
        false => Err(Error::NotConverged { routine: "dgesdd" }),
    }
}
