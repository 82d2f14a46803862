//! Singular value decomposition by polar and eigenvalue decompositions, for devices without a
//! routine of their own.
//!
//! `X = U_p H` and `H = V D V'` give `X = (U_p V) D V'`: matrix products do most of the work, in
//! contrast to a reduction to bidiagonal form.
//!
//! Nakatsukasa & Higham, SIAM J. Sci. Comput. 35 (2013).

use super::by_qr::{by_qr, descending, magnitude};
use super::checks::{is_orthonormal, is_right, is_right_sum};
use super::polar::orthogonal_factor;
use super::Parts;
use crate::base::error::Result;
use crate::base::matrix::Trans;
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
        // The columns of X V are orthogonal even if X is singular.
        dev.gemm(
            one,
            Trans::No,
            square,
            Trans::No,
            &right,
            zero,
            &mut product,
        )?;
        let columns = by_qr(dev, product, n, true)?;
        d = descending(columns.d);
        left = columns.left.unwrap_or(left);
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
