//! A few of the largest singular values, by block Golub-Kahan-Lanczos with thick restarts.
//!
//! ```text
//! A V = U B,  A'U = V B' + P S E'      U, V, P orthonormal, E the last columns of the identity
//! expand:  append P to V;  W = A P = U (U'W) + U+ R;  B gets these columns; append U+ to U
//!          Z = A'U+ = V (V'Z) + P S
//! restart: B Y = X diag(d);  U <- U X, V <- V Y for the largest d, B <- diag(d)
//! ```
//!
//! The vectors `U x` and `V y` have the residual `||S E'x||`. Nothing is squared, so a small
//! singular value has the absolute accuracy of the largest.

use faer::{Mat, MatMut, MatRef};

use crate::algo::dense::scaling::descaled;
use crate::algo::dense::signs;
use crate::algo::dense::svd::{svd as dense_svd, Small};
use crate::algo::lanczos::basis::Basis;
use crate::algo::lanczos::consistency::error_of_products;
use crate::algo::lanczos::course::{Course, Sizes, Step};
use crate::algo::lanczos::eigen::{
    check_finite, columns, gathered, quotients, relative, residuals, tails,
};
use crate::algo::lanczos::operator::{Linear, Scaled};
use crate::algo::lanczos::transfer::{bring, fetch};
use crate::algo::lanczos::wanted::{dense_slack, Found, Wanted, Which};
use crate::base::error::Result;
use crate::base::matrix::Trans;
use crate::base::scalar::{try_zeroed, Scalar};
use crate::device::elementwise::Elementwise;

/// Singular vectors.
pub(super) struct Triplets<M> {
    pub left: M,
    pub right: M,
    /// How many times the limit a residual may be.
    pub slack: f64,
    pub restarts: usize,
}

/// The largest singular values, and orthonormal vectors with the signs of [`dense_svd`].
///
/// # Errors
/// [`Error::NonFiniteIn`](crate::base::error::Error::NonFiniteIn) of `x` if a product is not
/// finite, [`Error::NotTransposed`](crate::base::error::Error::NotTransposed) if the products with
/// the transpose are those of another matrix, and those of the matrix and of
/// [`gesvd`](crate::device::spectral::SingularValues::gesvd).
pub fn largest<T: Scalar, D: Elementwise<T>, H: Small, A: Linear<T, D>>(
    dev: &D,
    host: &H,
    a: &A,
    wanted: &Wanted,
) -> Result<Found> {
    let dim = a.shape();
    let most = wanted.is_most(dim.0.min(dim.1));
    let mut right = Basis::<T, D>::new(dev, dim.1, 0);
    let start = right.fresh(if most { 1 } else { wanted.block })?;
    let (scaled, product) = Scaled::new(dev, a, &start)?;
    let triplets = match most {
        true => all(dev, host, &scaled, wanted)?,
        false => {
            // The right vectors make left ones orthogonal, but for the rounding of products, and
            // for what restarts add up.
            let full = scaled.rounding::<T>().unit > T::EPS || wanted.is_tight::<T>();
            let left = match full {
                true => Basis::new(dev, dim.0, 1),
                false => Basis::loose(dev, dim.0, 1, wanted.loss::<T>()),
            };
            some(host, &scaled, (left, right), (start, product), wanted)?
        }
    };
    checked(dev, &scaled, triplets, wanted)
}

/// The largest values, from all of them by a dense method.
fn all<T: Scalar, D: Elementwise<T>, H: Small, A: Linear<T, D>>(
    dev: &D,
    host: &H,
    scaled: &Scaled<'_, D, A>,
    wanted: &Wanted,
) -> Result<Triplets<D::Mat<'static>>> {
    let (m, n) = scaled.shape::<T>();
    let size = m.min(n);
    let x = scaled.entries::<T>()?;
    let x = MatRef::from_column_major_slice(&x, m, n);
    let (mut u, mut v) = (try_zeroed(m * size)?, try_zeroed(n * size)?);
    let left = MatMut::from_column_major_slice_mut(&mut u, m, size);
    let right = MatMut::from_column_major_slice_mut(&mut v, n, size);
    dense_svd(host, None::<&H>, x, Some(left), Some(right))?;
    let places: Vec<usize> = (0..wanted.count).collect();
    Ok(Triplets {
        left: bring(dev, columns(&u, m, &places).as_ref(), m)?,
        right: bring(dev, columns(&v, n, &places).as_ref(), n)?,
        slack: dense_slack(m.max(n)),
        restarts: 0,
    })
}

fn some<T: Scalar, D: Elementwise<T>, H: Small, A: Linear<T, D>>(
    host: &H,
    scaled: &Scaled<'_, D, A>,
    (mut left, mut right): (Basis<'_, T, D>, Basis<'_, T, D>),
    (mut next, product): (D::Mat<'static>, D::Mat<'static>),
    wanted: &Wanted,
) -> Result<Triplets<D::Mat<'static>>> {
    let (room, block, rounding) = (wanted.room(), wanted.block, scaled.rounding::<T>());
    let n = scaled.shape::<T>().1;
    let mut b = Mat::<f64>::zeros(room, room);
    let mut rest;
    let mut product = Some(product);
    // The last block of U.
    let mut last = None;
    let mut norm = scaled.size();
    let mut errors = 0.0_f64;
    let mut course = Course::default();
    loop {
        let mut check = course.check_at(wanted);
        let (count, values, x, y, sizes) = loop {
            let from = right.count();
            right.append(&next)?;
            let w = match product.take() {
                Some(w) => w,
                None => scaled.times(Trans::No, &next)?,
            };
            let split = match &last {
                Some(last) => left.split(w, &[last], norm)?,
                None => left.split(w, &[], norm)?,
            };
            norm = norm.max(split.norm());
            for j in 0..block {
                (0..from).for_each(|i| b[(i, from + j)] = split.coefficients[(i, j)]);
                (0..block).for_each(|i| b[(from + i, from + j)] = split.rest[(i, j)]);
            }
            left.append(&split.block)?;
            let z = scaled.times(Trans::Yes, &split.block)?;
            last = Some(split.block);
            let r = split.rest;
            let split = right.split(z, &[&next], norm)?;
            // The product is `V [0; R']` but for errors, and for what left vectors share.
            let known = |i: usize, j: usize| if i < from { 0.0 } else { r[(j, i - from)] };
            let known = Mat::from_fn(from + block, block, known);
            let added = (&split.coefficients - known).norm_l2();
            if from == 0 {
                rounding.check_transpose(added, r.norm_l2().max(split.size()))?;
            }
            norm = norm.max(split.norm());
            let shared = wanted.loss::<T>() * norm * ((from * block) as f64).sqrt();
            let added = (added - shared).max(0.0);
            errors = errors.max(error_of_products(added, from + block, n));
            (rest, next) = (split.rest, split.block);
            let count = right.count();
            let is_full = count + block > room;
            if !is_full && count < check {
                continue;
            }
            check = room;
            let (mut x, mut y) = (try_zeroed(count * count)?, try_zeroed(count * count)?);
            let [to_x, to_y] =
                [&mut x, &mut y].map(|to| MatMut::from_column_major_slice_mut(to, count, count));
            let square = b.as_ref().submatrix(0, 0, count, count);
            let values = dense_svd(host, None::<&H>, square, Some(to_x), Some(to_y))?;
            let sizes = Sizes {
                norm: values[0],
                rounding,
                errors,
            };
            let is_done = Course::is_done(wanted, &values, tails(&rest, &x, count), sizes);
            if is_full || is_done {
                break (count, values, x, y, sizes);
            }
        };
        norm = sizes.norm;
        let ordered = (Which::Largest, &values[..]);
        let residual = tails(&rest, &x, count);
        errors = 0.0;
        let next_step = course.step(wanted, ordered, residual, sizes);
        let kept = match next_step {
            Step::Restart(kept) => kept,
            Step::End | Step::Renew => wanted.count,
        };
        let places: Vec<usize> = (0..kept).collect();
        let (x, y) = (columns(&x, count, &places), columns(&y, count, &places));
        if next_step == Step::End {
            return Ok(Triplets {
                left: left.times(x.as_ref())?,
                right: right.times(y.as_ref())?,
                slack: 2.0,
                restarts: course.restarts,
            });
        }
        left.rotate(x.as_ref())?;
        last = None;
        right.rotate(y.as_ref())?;
        b = Mat::zeros(room, room);
        (0..kept).for_each(|i| b[(i, i)] = values[i]);
        if next_step == Step::Renew {
            next = right.fresh(block)?;
        }
    }
}

/// Computes values and residuals by products, and undoes the scaling.
pub(super) fn checked<T: Scalar, D: Elementwise<T>, A: Linear<T, D>>(
    dev: &D,
    scaled: &Scaled<'_, D, A>,
    triplets: Triplets<D::Mat<'static>>,
    wanted: &Wanted,
) -> Result<Found> {
    let Triplets {
        left: u,
        right: v,
        slack,
        restarts,
    } = triplets;
    let (m, n) = scaled.shape::<T>();
    let (mut there, mut back) = (scaled.times(Trans::No, &v)?, scaled.times(Trans::Yes, &u)?);
    // Restarts have rounded the values again and again.
    let mut values = quotients(dev, &u, &there)?;
    let rounding = scaled.rounding::<T>();
    // A wrong transpose may have large products.
    let norms = [dev.column_norms(&there)?, dev.column_norms(&back)?].concat();
    check_finite(&norms)?;
    let size = norms.into_iter().fold(0.0, f64::max);
    for (d, e) in values.iter().zip(quotients(dev, &v, &back)?) {
        rounding.check_transpose((d - e).abs(), size)?;
    }
    values.iter_mut().for_each(|d| *d = d.max(0.0));
    let order = Which::Largest.order(&values);
    let norm = values[order[0]];
    let there = residuals(dev, &u, &values, &mut there)?;
    let back = residuals(dev, &v, &values, &mut back)?;
    // NaN stays.
    let larger = |(x, y): (f64, f64)| if x > y || x.is_nan() { x } else { y };
    let both: Vec<f64> = there.into_iter().zip(back).map(larger).collect();
    let limits: Vec<f64> = values
        .iter()
        .map(|d| wanted.limit(*d, norm, rounding))
        .collect();
    let within = |(r, limit): (&f64, &f64)| *r <= slack * limit;
    let converged: Vec<bool> = both.iter().zip(&limits).map(within).collect();
    let (left, right) = (fetch(dev, &u)?, fetch(dev, &v)?);
    let (mut left, mut right) = (gathered(&left, m, &order), gathered(&right, n, &order));
    let k = order.len();
    signs::turn(
        MatMut::from_column_major_slice_mut(&mut right, n, k),
        Some(MatMut::from_column_major_slice_mut(&mut left, m, k)),
    )?;
    let values: Vec<f64> = descaled(&values, -scaled.exponent())?;
    Ok(Found {
        values: order.iter().map(|&i| values[i]).collect(),
        right,
        left,
        residuals: relative(&both, &order, norm),
        limits: relative(&limits, &order, norm),
        converged: order.iter().map(|&i| converged[i]).collect(),
        restarts,
        products: scaled.products(),
        processor: dev.processor(),
    })
}
