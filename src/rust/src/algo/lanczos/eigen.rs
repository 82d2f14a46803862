//! A few eigenvalues of a symmetric matrix, by block Lanczos with thick restarts.
//!
//! ```text
//! A Q = Q T + P S E'      Q, P orthonormal, T = Q'AQ, E the last columns of the identity
//! expand:  append P to Q;  W = A P;  T, S, P from W = Q (Q'W) + P S
//! restart: T Y = Y diag(values);  Q <- Q Y for the most wanted columns of Y, T <- diag(values)
//! ```
//!
//! The residual of the vector `Q y` is `||S E'y||`. At the end a product with all vectors gives the
//! residuals that are returned.

use faer::{Mat, MatMut, MatRef};

use crate::algo::dense::eigen::symmetric as dense_symmetric;
use crate::algo::dense::scaling::descaled;
use crate::algo::dense::signs;
use crate::algo::lanczos::basis::Basis;
use crate::algo::lanczos::consistency::{asymmetry, difference, error_of_products};
use crate::algo::lanczos::course::{Course, Sizes, Step};
use crate::algo::lanczos::operator::{Linear, Scaled};
use crate::algo::lanczos::transfer::{bring, fetch};
use crate::algo::lanczos::wanted::{dense_slack, Found, Wanted, Which};
use crate::base::error::{Error, Result};
use crate::base::matrix::Trans;
use crate::base::scalar::{try_zeroed, Scalar};
use crate::device::elementwise::{Elementwise, Scaling};
use crate::device::spectral::SymmetricEigen;

/// Eigenvectors of a matrix of this norm.
pub(super) struct Pairs<M> {
    pub vectors: M,
    pub norm: f64,
    /// How many times the limit a residual may be.
    pub slack: f64,
    pub restarts: usize,
}

/// The most wanted eigenvalues of a symmetric matrix, and orthonormal eigenvectors with the signs
/// of [`signs`]. Matrices of the order of the basis are decomposed by `host`.
///
/// # Errors
/// [`Error::NonFiniteIn`] of `x` if a product is not finite, [`Error::Asymmetric`] if the first
/// products are not those of a symmetric matrix, and those of the matrix and of
/// [`SymmetricEigen::syev`].
pub fn symmetric<T: Scalar, D: Elementwise<T>, H: SymmetricEigen<f64>, A: Linear<T, D>>(
    dev: &D,
    host: &H,
    a: &A,
    which: Which,
    wanted: &Wanted,
) -> Result<Found> {
    let n = a.shape().0;
    let most = wanted.is_most(n);
    let mut basis = Basis::<T, D>::new(dev, n, 0);
    let start = basis.fresh(if most { 1 } else { wanted.block })?;
    let (scaled, product) = Scaled::new(dev, a, &start)?;
    let pairs = match most {
        true => all(dev, host, &scaled, n, which, wanted)?,
        false => some(host, &scaled, basis, (start, product), which, wanted)?,
    };
    checked(dev, &scaled, pairs, n, wanted)
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |most, v| v.abs().max(most))
}

/// Columns of a square matrix that is stored by columns.
pub(super) fn columns(y: &[f64], rows: usize, places: &[usize]) -> Mat<f64> {
    Mat::from_fn(rows, places.len(), |i, j| y[places[j] * rows + i])
}

/// Wanted pairs, from all of them by a dense method.
fn all<T: Scalar, D: Elementwise<T>, H: SymmetricEigen<f64>, A: Linear<T, D>>(
    dev: &D,
    host: &H,
    scaled: &Scaled<'_, D, A>,
    n: usize,
    which: Which,
    wanted: &Wanted,
) -> Result<Pairs<D::Mat<'static>>> {
    let x = scaled.entries::<T>()?;
    let mut z = try_zeroed(n * n)?;
    let x = MatRef::from_column_major_slice(&x, n, n);
    let to = MatMut::from_column_major_slice_mut(&mut z, n, n);
    let size = x.norm_l2();
    if size > 0.0 {
        scaled
            .rounding::<T>()
            .check_symmetry(difference(x) / size)?;
    }
    let values = dense_symmetric(host, x, Some(to))?;
    let places = &which.order(&values)[..wanted.count];
    Ok(Pairs {
        vectors: bring(dev, columns(&z, n, places).as_ref(), n)?,
        norm: largest(&values),
        slack: dense_slack(n),
        restarts: 0,
    })
}

/// Norms of the columns of `S E'y`, where y has as many of the last rows as S has columns.
pub(super) fn tails<'a>(
    rest: &'a Mat<f64>,
    y: &'a [f64],
    rows: usize,
) -> impl Fn(usize) -> f64 + use<'a> {
    let cols = rest.ncols();
    move |place| {
        let last = &y[(place + 1) * rows - cols..(place + 1) * rows];
        let entry = |i: usize| -> f64 { (0..cols).map(|j| rest[(i, j)] * last[j]).sum() };
        (0..rest.nrows())
            .map(|i| entry(i).powi(2))
            .sum::<f64>()
            .sqrt()
    }
}

fn some<T: Scalar, D: Elementwise<T>, H: SymmetricEigen<f64>, A: Linear<T, D>>(
    host: &H,
    scaled: &Scaled<'_, D, A>,
    mut basis: Basis<'_, T, D>,
    (mut next, product): (D::Mat<'static>, D::Mat<'static>),
    which: Which,
    wanted: &Wanted,
) -> Result<Pairs<D::Mat<'static>>> {
    let (n, room, block) = (scaled.shape::<T>().0, wanted.room(), wanted.block);
    let mut t = Mat::<f64>::zeros(room, room);
    let mut rest;
    let mut product = Some(product);
    // The block before `next`.
    let mut last = None;
    let rounding = scaled.rounding::<T>();
    let mut norm = scaled.size();
    // `Q'A P` as it follows from earlier products.
    let mut expected: Option<Mat<f64>> = None;
    let mut errors = 0.0_f64;
    let mut course = Course::default();
    loop {
        let mut check = course.check_at(wanted);
        let (count, ordered, places, y, sizes) = loop {
            let from = basis.count();
            basis.append(&next)?;
            let w = match product.take() {
                Some(w) => w,
                None => scaled.times(Trans::No, &next)?,
            };
            let split = match &last {
                Some(last) => basis.split(w, &[last, &next], norm)?,
                None => basis.split(w, &[], norm)?,
            };
            norm = norm.max(split.norm());
            if from == 0 {
                let first = split.coefficients.as_ref();
                rounding.check_symmetry(asymmetry(first, split.size(), n))?;
            }
            if let Some(expected) = expected {
                let added = split.coefficients.as_ref().subrows(0, from) - expected;
                errors = errors.max(error_of_products(added.norm_l2(), from, n));
            }
            for j in 0..block {
                for i in 0..=from + j {
                    let entry = split.coefficients[(i, j)];
                    (t[(i, from + j)], t[(from + j, i)]) = (entry, entry);
                }
            }
            rest = split.rest;
            let known = |i: usize, j: usize| if i < from { 0.0 } else { rest[(j, i - from)] };
            expected = Some(Mat::from_fn(from + block, block, known));
            last = Some(std::mem::replace(&mut next, split.block));
            let count = basis.count();
            let is_full = count + block > room;
            if !is_full && count < check {
                continue;
            }
            check = room;
            let mut y = try_zeroed(count * count)?;
            let to = MatMut::from_column_major_slice_mut(&mut y, count, count);
            let values = dense_symmetric(host, t.as_ref().submatrix(0, 0, count, count), Some(to))?;
            let places = which.order(&values);
            let ordered: Vec<f64> = places.iter().map(|&p| values[p]).collect();
            let sizes = Sizes {
                norm: largest(&values),
                rounding,
                errors,
            };
            let residual = tails(&rest, &y, count);
            let is_done = Course::is_done(wanted, &ordered, |i| residual(places[i]), sizes);
            drop(residual);
            if is_full || is_done {
                break (count, ordered, places, y, sizes);
            }
        };
        norm = sizes.norm;
        let residual = tails(&rest, &y, count);
        let residual = |i: usize| residual(places[i]);
        errors = 0.0;
        let next_step = course.step(wanted, (which, &ordered), residual, sizes);
        let kept = match next_step {
            Step::Restart(kept) => kept,
            Step::End | Step::Renew => wanted.count,
        };
        let kept = columns(&y, count, &places[..kept]);
        if next_step == Step::End {
            return Ok(Pairs {
                vectors: basis.times(kept.as_ref())?,
                norm,
                slack: 2.0,
                restarts: course.restarts,
            });
        }
        basis.rotate(kept.as_ref())?;
        last = None;
        t = Mat::zeros(room, room);
        for (i, value) in ordered.iter().enumerate().take(kept.ncols()) {
            t[(i, i)] = *value;
        }
        let tails = &rest * kept.as_ref().subrows(count - block, block);
        expected = Some(tails.transpose().to_owned());
        if next_step == Step::Renew {
            expected = None;
            next = basis.fresh(block)?;
        }
    }
}

/// Computes values and residuals by a product, and undoes the scaling.
pub(super) fn checked<T: Scalar, D: Elementwise<T>, A: Linear<T, D>>(
    dev: &D,
    scaled: &Scaled<'_, D, A>,
    pairs: Pairs<D::Mat<'static>>,
    n: usize,
    wanted: &Wanted,
) -> Result<Found> {
    let Pairs {
        vectors,
        norm,
        slack,
        restarts,
    } = pairs;
    let mut product = scaled.times(Trans::No, &vectors)?;
    check_finite(&dev.column_norms(&product)?)?;
    // Restarts have rounded the values again and again.
    let values = quotients(dev, &vectors, &product)?;
    let order = Which::Largest.order(&values);
    let residuals = residuals(dev, &vectors, &values, &mut product)?;
    let rounding = scaled.rounding::<T>();
    let limits: Vec<f64> = values
        .iter()
        .map(|v| wanted.limit(*v, norm, rounding))
        .collect();
    let within = |&i: &usize| residuals[i] <= slack * limits[i];
    let converged = order.iter().map(within).collect();
    let mut right = gathered(&fetch(dev, &vectors)?, n, &order);
    let to = MatMut::from_column_major_slice_mut(&mut right, n, order.len());
    signs::turn(to, None)?;
    let values: Vec<f64> = descaled(&values, -scaled.exponent())?;
    Ok(Found {
        values: order.iter().map(|&i| values[i]).collect(),
        right,
        left: Vec::new(),
        residuals: relative(&residuals, &order, norm),
        limits: relative(&limits, &order, norm),
        converged,
        restarts,
        products: scaled.products(),
        processor: dev.processor(),
    })
}

/// An error unless the norms of the columns of a product are finite.
pub(super) fn check_finite(norms: &[f64]) -> Result<()> {
    match norms.iter().all(|norm| norm.is_finite()) {
        true => Ok(()),
        false => Err(Error::NonFiniteIn { argument: "x" }),
    }
}

/// `x_i'y_i / x_i'x_i` for each column.
pub(super) fn quotients<T: Scalar, D: Elementwise<T>>(
    dev: &D,
    x: &D::Mat<'static>,
    y: &D::Mat<'static>,
) -> Result<Vec<f64>> {
    let (both, squares) = (dev.column_dots(x, y)?, dev.column_dots(x, x)?);
    Ok(both.iter().zip(squares).map(|(b, s)| b / s).collect())
}

/// Norms of the columns of `product - x diag(values)`.
pub(super) fn residuals<T: Scalar, D: Elementwise<T>>(
    dev: &D,
    x: &D::Mat<'static>,
    values: &[f64],
    product: &mut D::Mat<'static>,
) -> Result<Vec<f64>> {
    let minus: Vec<f64> = values.iter().map(|v| -v).collect();
    dev.scale_columns(x, &minus, Scaling::Add, product)?;
    dev.column_norms(product)
}

/// Columns of a matrix with so many rows, in this order.
pub(super) fn gathered(x: &[f64], rows: usize, order: &[usize]) -> Vec<f64> {
    let column = |&j: &usize| &x[j * rows..(j + 1) * rows];
    order.iter().flat_map(column).copied().collect()
}

/// Residuals in this order, divided by the norm unless that is zero.
pub(super) fn relative(residuals: &[f64], order: &[usize], norm: f64) -> Vec<f64> {
    let unit = if norm > 0.0 { norm } else { 1.0 };
    order.iter().map(|&i| residuals[i] / unit).collect()
}
