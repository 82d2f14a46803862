//! Singular value decomposition by polar and eigenvalue decompositions, for devices without a
//! routine of their own.
//!
//! `X = U_p H` and `H = V D V'` give `X = (U_p V) D V'`: matrix products do most of the work, in
//! contrast to a reduction to bidiagonal form.
//!
//! Nakatsukasa & Higham, SIAM J. Sci. Comput. 35 (2013).

use super::polar::{orthogonal_factor, times};
use super::Parts;
use crate::base::error::{Error, Result};
use crate::base::matrix::Trans;
use crate::base::probe::{distance, scaled, signs, squares};
use crate::base::scalar::{try_zeroed, Scalar};
use crate::device::elementwise::{Elementwise, Index, Scaling};
use crate::device::spectral::SymmetricEigen;

/// Singular values of a square matrix, and the left and right vectors if they are wanted.
pub(super) fn of_square<T: Scalar, D: Elementwise<T> + SymmetricEigen<T>>(
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
