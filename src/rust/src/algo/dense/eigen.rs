//! Eigenvalues and eigenvectors, in the order and with the normalization of base R's `eigen()`.
//!
//! Golub & Van Loan, 4th ed., chapters 7 and 8; LAPACK `syevr`, `geev`.
//!
//! # Signs
//! Each real vector has norm 1, and its component of largest magnitude is positive: the first one,
//! if several are equal to half of the digits. A complex vector has norm 1, and that component is
//! real and positive. So the answer does not depend on the device or on threads, save where
//! eigenvalues agree to rounding.

use faer::{MatMut, MatRef};

use crate::algo::dense::balance::balance;
use crate::algo::dense::scaling::{descaled, raised, scaled_there, Scaled};
use crate::algo::dense::signs::{enough, first_largest, is_negative, reverse_and_turn};
use crate::base::error::Result;
use crate::base::scalar::{narrow, try_zeroed, widened, Scalar};
use crate::device::spectral::{GeneralEigen, SymmetricEigen};

/// Eigenvalues of a symmetric matrix in descending order, and their vectors in the columns of `z`.
///
/// Only the lower triangle of `x` is read. It may have more precision than the device computes in.
///
/// # Errors
/// [`Error::NonFinite`](crate::base::error::Error::NonFinite), and those of
/// [`SymmetricEigen::syev`].
pub fn symmetric<S: Scalar, T: Scalar, D: SymmetricEigen<T>>(
    dev: &D,
    x: MatRef<'_, S>,
    z: Option<MatMut<'_, T>>,
) -> Result<Vec<S>> {
    let n = x.nrows();
    if n == 0 {
        return Ok(Vec::new());
    }
    let mut w = try_zeroed::<T>(n)?;
    let exponent = match scaled_there(dev, x, true)? {
        Some((a, exponent)) => {
            decompose(dev, &a, &mut w, z)?;
            exponent
        }
        None => {
            let scaled = Scaled::<T>::lower(x)?;
            decompose(dev, &dev.load(scaled.view())?, &mut w, z)?;
            scaled.exponent()
        }
    };
    descaled(&w, exponent)
}

/// As [`symmetric`], of a scaled matrix.
fn decompose<T: Scalar, D: SymmetricEigen<T>>(
    dev: &D,
    a: &D::Mat<'_>,
    w: &mut [T],
    z: Option<MatMut<'_, T>>,
) -> Result<()> {
    let n = w.len();
    if let Some(mut z) = z {
        let mut to = dev.output(z.as_mut())?;
        dev.syev(a, w, Some(&mut to))?;
        if D::FINISHES {
            dev.turn(&mut to, 0..n, None, enough::<T>(), true)?;
        }
        dev.store(to)?;
        if !D::FINISHES {
            reverse_and_turn(z)?;
        }
    } else {
        dev.syev(a, w, None)?;
    }
    w.reverse();
    Ok(())
}

/// Eigenvalues of a general matrix, real parts and imaginary parts, by decreasing modulus. Those of
/// equal modulus stay in the order of the Schur form.
///
/// Vectors have LAPACK's layout: the columns of a pair in `v` have the real and the imaginary part
/// of the vector of its first eigenvalue, whose imaginary part is positive.
///
/// The matrix is balanced in double precision, so that its entries may differ by more than the
/// device's range of numbers.
///
/// # Errors
/// As [`symmetric`], and those of [`GeneralEigen::geev`].
pub fn general<S: Scalar, T: Scalar, D: GeneralEigen<T>>(
    dev: &D,
    x: MatRef<'_, S>,
    v: Option<MatMut<'_, T>>,
) -> Result<(Vec<S>, Vec<S>)> {
    let n = x.nrows();
    if n == 0 {
        return Ok((Vec::new(), Vec::new()));
    }
    let (mut re, mut im) = (try_zeroed::<T>(n)?, try_zeroed::<T>(n)?);
    let (mut wide, raised) = raised(x)?;
    let balance = balance(&mut wide, n)?;
    let scaled = Scaled::<T>::all(MatRef::from_column_major_slice(&wide, n, n))?;
    drop(wide);
    let mut unsorted = try_zeroed::<T>(if v.is_some() { n * n } else { 0 })?;
    {
        let a = dev.load(scaled.view())?;
        if v.is_some() {
            let home = MatMut::from_column_major_slice_mut(&mut unsorted, n, n);
            let mut to = dev.output(home)?;
            dev.geev(&a, &mut re, &mut im, Some(&mut to))?;
            dev.store(to)?;
        } else {
            dev.geev(&a, &mut re, &mut im, None)?;
        }
    }
    if v.is_some() {
        let mut vectors = widened(&unsorted)?;
        let pairs: Vec<bool> = im.iter().map(|im| *im > T::from_f64(0.0)).collect();
        balance.restore(&mut vectors, &pairs)?;
        narrow(&vectors, &mut unsorted)?;
    }
    let size = |i: usize| re[i].to_f64().hypot(im[i].to_f64());
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| size(j).total_cmp(&size(i)));
    if let Some(mut v) = v {
        for (to, &from) in order.iter().enumerate() {
            for i in 0..n {
                v[(i, to)] = unsorted[from * n + i];
            }
        }
        let zero = T::from_f64(0.0);
        for (j, &from) in order.iter().enumerate() {
            if im[from] == zero {
                turn_real(v.as_mut(), j);
            } else if im[from] > zero {
                turn_complex(v.as_mut(), j);
            }
        }
    }
    let exponent = raised + scaled.exponent();
    let pick = |from: &[T]| {
        let picked: Vec<T> = order.iter().map(|&i| from[i]).collect();
        descaled(&picked, exponent)
    };
    Ok((pick(&re)?, pick(&im)?))
}

/// Gives column j norm 1 and the sign of the rule.
fn turn_real<T: Scalar>(mut v: MatMut<'_, T>, j: usize) {
    let n = v.nrows();
    let norm = (0..n)
        .map(|i| v[(i, j)].to_f64().powi(2))
        .sum::<f64>()
        .sqrt();
    let sign = if is_negative(v.as_ref(), j) {
        -1.0
    } else {
        1.0
    };
    if norm > 0.0 {
        (0..n).for_each(|i| v[(i, j)] = T::from_f64(v[(i, j)].to_f64() / norm * sign));
    }
}

/// Gives the vector in columns j and j + 1 norm 1, and makes its largest component real and
/// positive.
fn turn_complex<T: Scalar>(mut v: MatMut<'_, T>, j: usize) {
    let n = v.nrows();
    let at = |v: &MatMut<'_, T>, i: usize| (v[(i, j)].to_f64(), v[(i, j + 1)].to_f64());
    let sizes = (0..n).map(|i| at(&v, i).0.hypot(at(&v, i).1));
    let largest = first_largest::<T>(sizes);
    let norm = (0..n)
        .map(|i| at(&v, i).0.powi(2) + at(&v, i).1.powi(2))
        .sum::<f64>()
        .sqrt();
    let (x, y) = at(&v, largest);
    let size = x.hypot(y);
    if !(size > 0.0 && norm > 0.0) {
        return;
    }
    let (cos, sin) = (x / size, -y / size);
    for i in 0..n {
        let (x, y) = at(&v, i);
        v[(i, j)] = T::from_f64((x * cos - y * sin) / norm);
        v[(i, j + 1)] = T::from_f64((x * sin + y * cos) / norm);
    }
    v[(largest, j + 1)] = T::from_f64(0.0);
}
