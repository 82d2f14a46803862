//! Scaling of a matrix by a power of two, so that its largest entry has magnitude in `[1, 2)`.
//!
//! Eigenvalue routines square entries, and mix them with numbers of order one. The scaling rounds
//! nothing but entries that are below the smallest normal number after it. A matrix of doubles is
//! rounded to single precision after its scaling, so that its entries may be of any size.

use std::any::TypeId;
use std::ops::Range;

use faer::{ColRef, MatMut, MatRef};

use super::symmetry::larger;
use crate::base::chunks::{by_columns, chained, in_parts_of};
use crate::base::error::{Error, Result};
use crate::base::matrix::Part;
use crate::base::scalar::{room, try_zeroed, Scalar};
use crate::base::threads::wanted;
use crate::device::elementwise::{Elementwise, Scaling};
use crate::device::spectral::SymmetricEigen;

/// A scaled copy of a matrix, perhaps in another precision.
pub(crate) struct Scaled<T> {
    data: Vec<T>,
    shape: (usize, usize),
    exponent: i32,
}

/// The exponent of the largest magnitude; 0 for a matrix of zeros.
fn exponent_of(largest: f64) -> i32 {
    if largest <= 0.0 {
        return 0;
    }
    let exponent = largest.log2().floor() as i32;
    // The logarithm of a number just below a power of two is rounded up.
    let [one, two] = halves::<f64>(-exponent);
    match largest * one * two < 1.0 {
        true => exponent - 1,
        false => exponent,
    }
}

/// The factors whose product is `2^exponent`: neither overflows, nor is subnormal.
fn halves<T: Scalar>(exponent: i32) -> [T; 2] {
    let half = exponent / 2;
    [half, exponent - half].map(|e| T::from_f64(f64::from(e).exp2()))
}

/// The time to look at an entry, in that of a multiplication: it has to come from memory.
const LOOKED: f64 = 4.0;

/// The largest magnitude, NaN if an entry is not finite. Entries above the diagonal do not count if
/// only the `lower` triangle is read.
fn largest<T: Scalar>(x: MatRef<'_, T>, lower: bool) -> Result<f64> {
    let of = |columns: Range<usize>| {
        let larger_of = |largest, j: usize| {
            let first = if lower { j.min(x.nrows()) } else { 0 };
            larger(
                largest,
                largest_of(x.col(j).subrows(first, x.nrows() - first)),
            )
        };
        Ok(columns.fold(0.0, larger_of))
    };
    let cost = LOOKED * x.nrows() as f64;
    in_parts_of(1, wanted(), 0..x.ncols(), cost, of, |a, b| Ok(larger(a, b)))
}

/// The largest magnitude of a column, NaN if an entry is not finite.
fn largest_of<T: Scalar>(x: ColRef<'_, T>) -> f64 {
    const LANES: usize = 8;
    let (mut largest, mut invalid) = ([0.0_f64; LANES], [0.0_f64; LANES]);
    let mut see = |lane: usize, x: f64| {
        let size = x.abs();
        largest[lane] = if size > largest[lane] {
            size
        } else {
            largest[lane]
        };
        // Zero, and NaN if x is not finite.
        invalid[lane] += x * 0.0;
    };
    match x.try_as_col_major() {
        Some(x) => {
            let eights = x.as_slice().chunks_exact(LANES);
            let rest = eights.remainder();
            for eight in eights {
                (0..LANES).for_each(|lane| see(lane, eight[lane].to_f64()));
            }
            rest.iter().for_each(|x| see(0, x.to_f64()));
        }
        None => x.iter().for_each(|x| see(0, x.to_f64())),
    }
    let largest = largest.into_iter().fold(0.0, f64::max);
    largest + invalid.into_iter().sum::<f64>()
}

/// The exponent of the [`largest`] magnitude, or [`Error::NonFinite`].
fn exponent<T: Scalar>(x: MatRef<'_, T>, lower: bool) -> Result<i32> {
    let largest = largest(x, lower)?;
    match largest.is_nan() {
        true => Err(Error::NonFinite),
        false => Ok(exponent_of(largest)),
    }
}

/// `out <- x factors[0] factors[1]`, where [`largest`] looks.
fn copy<S: Scalar, T: Scalar>(
    x: MatRef<'_, S>,
    factors: [S; 2],
    lower: bool,
    out: MatMut<'_, T>,
) -> Result<()> {
    by_columns(out, x.nrows() as f64, |first, mut out| {
        for j in 0..out.ncols() {
            for i in if lower { first + j } else { 0 }..x.nrows() {
                let scaled = x[(i, first + j)] * factors[0] * factors[1];
                out[(i, j)] = T::from_f64(scaled.to_f64());
            }
        }
    })
}

/// Writes the scaled matrix where [`largest`] looks, and answers the exponent.
fn scale<S: Scalar, T: Scalar>(x: MatRef<'_, S>, lower: bool, out: MatMut<'_, T>) -> Result<i32> {
    let exponent = exponent(x, lower)?;
    copy(x, halves::<S>(-exponent), lower, out)?;
    Ok(exponent)
}

/// As [`Scaled::lower`] of each of the square matrices side by side, in `out`. Nothing is written
/// above the diagonals. Answers the exponents.
pub(crate) fn scale_each<S: Scalar, T: Scalar>(
    x: MatRef<'_, S>,
    out: MatMut<'_, T>,
) -> Result<Vec<i32>> {
    let n = x.nrows();
    let each = |(columns, mut out): (Range<usize>, MatMut<'_, T>)| {
        let mut exponents = room(columns.len() / n.max(1))?;
        for first in (0..columns.len()).step_by(n.max(1)) {
            let one = x.subcols(columns.start + first, n);
            exponents.push(scale(one, true, out.as_mut().subcols_mut(first, n))?);
        }
        Ok(exponents)
    };
    in_parts_of(
        n.max(1),
        wanted(),
        (0..x.ncols(), out),
        n as f64,
        each,
        chained,
    )
}

impl<T: Scalar> Scaled<T> {
    /// # Errors
    /// [`Error::NonFinite`], or too little memory.
    pub fn all<S: Scalar>(x: MatRef<'_, S>) -> Result<Self> {
        Scaled::new(x, false)
    }

    /// As [`Scaled::all`], of the lower triangle: others are neither read nor checked, and the copy
    /// has zeros there.
    pub fn lower<S: Scalar>(x: MatRef<'_, S>) -> Result<Self> {
        Scaled::new(x, true)
    }

    fn new<S: Scalar>(x: MatRef<'_, S>, lower: bool) -> Result<Self> {
        let (m, n) = x.shape();
        let mut data = try_zeroed(m * n)?;
        let out = MatMut::from_column_major_slice_mut(&mut data, m, n);
        Ok(Scaled {
            exponent: scale(x, lower, out)?,
            data,
            shape: (m, n),
        })
    }

    pub fn view(&self) -> MatRef<'_, T> {
        MatRef::from_column_major_slice(&self.data, self.shape.0, self.shape.1)
    }

    pub fn exponent(&self) -> i32 {
        self.exponent
    }
}

/// A copy on the device, scaled there, and the exponent, as from [`Scaled`]. `None` if that is for
/// the host: the device does not scale, or the matrix has to be rounded.
///
/// # Errors
/// [`Error::NonFinite`], and those of the device.
pub(crate) fn scaled_there<S: Scalar, T: Scalar, D: SymmetricEigen<T>>(
    dev: &D,
    x: MatRef<'_, S>,
    lower: bool,
) -> Result<Option<(D::Mat<'static>, i32)>> {
    let Some(x) = same::<S, T>(x).filter(|_| D::FINISHES) else {
        return Ok(None);
    };
    let exponent = exponent(x, lower)?;
    let mut a = dev.load_temporary(x, Part::All)?;
    let [one, two] = halves::<f64>(-exponent);
    // Nearly always the power itself is a normal number.
    let steps = match (one * two).is_normal() {
        true => [one * two, 1.0],
        false => [one, two],
    };
    for by in steps.into_iter().filter(|by| *by != 1.0) {
        dev.scale(by, &mut a)?;
    }
    Ok(Some((a, exponent)))
}

/// The largest norm of a column of a matrix without NaN.
pub(crate) fn largest_column<T: Scalar, D: Elementwise<T>>(dev: &D, a: &D::Mat<'_>) -> Result<f64> {
    Ok(dev.column_norms(a)?.into_iter().fold(0.0, f64::max))
}

/// `2^-exponent A`, whose longest column has a norm in `[1, 2)`, and the exponent, between -1000
/// and 1000. The norm of finite numbers may be infinite.
pub(crate) fn columns_to_one<T: Scalar, D: Elementwise<T>>(
    dev: &D,
    a: &D::Mat<'_>,
) -> Result<(D::Mat<'static>, i32)> {
    let (m, n) = dev.shape(a);
    let size = largest_column(dev, a)?.min(1000_f64.exp2());
    let exponent = exponent_of(size).max(-1000);
    let by = vec![f64::from(-exponent).exp2(); n];
    let mut scaled = dev.blank(m, n)?;
    dev.scale_columns(a, &by, Scaling::Replace, &mut scaled)?;
    Ok((scaled, exponent))
}

/// The matrix, if S is T.
fn same<'x, S: Scalar, T: Scalar>(x: MatRef<'x, S>) -> Option<MatRef<'x, T>> {
    if TypeId::of::<S>() != TypeId::of::<T>() {
        return None;
    }
    let ((m, n), (rs, cs)) = (x.shape(), (x.row_stride(), x.col_stride()));
    // SAFETY: the types are the same, and so are the lifetimes.
    Some(unsafe { MatRef::from_raw_parts(x.as_ptr().cast::<T>(), m, n, rs, cs) })
}

/// `values 2^exponent`, in the precision of the matrix before its scaling.
pub(crate) fn descaled<T: Scalar, S: Scalar>(values: &[T], exponent: i32) -> Result<Vec<S>> {
    let [one, two] = halves::<S>(exponent);
    let mut out = try_zeroed(values.len())?;
    for (out, v) in out.iter_mut().zip(values) {
        *out = S::from_f64(v.to_f64()) * one * two;
    }
    Ok(out)
}

/// The matrix as doubles by columns, times `2^-exponent`, and this exponent, which is not positive:
/// a matrix of small entries is scaled, so that nothing is rounded.
///
/// # Errors
/// As [`Scaled::all`].
pub(crate) fn raised<S: Scalar>(x: MatRef<'_, S>) -> Result<(Vec<f64>, i32)> {
    let (m, n) = x.shape();
    let exponent = exponent(x, false)?.min(0);
    let [one, two] = halves::<f64>(-exponent);
    let mut wide = try_zeroed(m * n)?;
    for (j, column) in wide.chunks_exact_mut(m.max(1)).enumerate() {
        for (i, to) in column.iter_mut().enumerate() {
            *to = x[(i, j)].to_f64() * one * two;
        }
    }
    Ok((wide, exponent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_to_order_one_and_values_back() {
        for largest in [
            5e-324,
            1e-310,
            1e-300,
            0.7,
            1.0 - f64::EPSILON / 2.0,
            1.0,
            3.0,
            f64::MAX,
        ] {
            let data = [largest / 2.0, -largest];
            let x = MatRef::from_column_major_slice(&data, 2, 1);
            let scaled = Scaled::<f64>::all(x).unwrap();
            let size = -scaled.view()[(1, 0)];
            assert!((1.0..2.0).contains(&size), "{largest}: {size}");
            let back: Vec<f64> = descaled(&[-size], scaled.exponent()).unwrap();
            assert_eq!(back, [-largest]);
            let rounded = Scaled::<f32>::all(x).unwrap();
            assert_eq!(rounded.view()[(1, 0)], -size as f32);
            let (wide, exponent) = raised(x).unwrap();
            assert_eq!(descaled::<f64, f64>(&wide, exponent).unwrap(), data);
            assert!(wide[1] <= -1.0 && exponent <= 0, "{largest}");
        }
        let single = [f32::MIN_POSITIVE, -f32::MAX];
        let x = MatRef::from_column_major_slice(&single, 2, 1);
        assert!((1.0..2.0).contains(&-Scaled::<f32>::all(x).unwrap().view()[(1, 0)]));
    }

    #[test]
    fn threads_see_every_entry() {
        let n = 3000;
        let entry = |i: usize, j: usize| if i < j { f64::NAN } else { (i + j) as f64 };
        let x = faer::Mat::from_fn(n, n, entry);
        assert!(largest(x.as_ref(), false).unwrap().is_nan());
        assert_eq!(largest(x.as_ref(), true).unwrap(), 2.0 * (n - 1) as f64);
        let mut out = faer::Mat::<f64>::zeros(n, n);
        copy(x.as_ref(), [0.5, 0.5], true, out.as_mut()).unwrap();
        let half = |i: usize, j: usize| if i < j { 0.0 } else { (i + j) as f64 / 4.0 };
        assert!(out == faer::Mat::from_fn(n, n, half));
    }

    #[test]
    fn each_matrix_has_its_own_exponent() {
        let n = 3;
        let sizes = [1e-300, 0.0, 5.0, 1e300];
        let x = faer::Mat::from_fn(n, n * sizes.len(), |i, j| match i < j % n {
            true => f64::NAN,
            false => sizes[j / n],
        });
        let mut out = faer::Mat::<f32>::zeros(n, n * sizes.len());
        let exponents = scale_each(x.as_ref(), out.as_mut()).unwrap();
        for (k, size) in sizes.into_iter().enumerate() {
            let one = Scaled::<f32>::lower(x.as_ref().subcols(k * n, n)).unwrap();
            assert_eq!(exponents[k], one.exponent(), "{size}");
            assert!(out.as_ref().subcols(k * n, n) == one.view());
        }
        let none = faer::Mat::<f64>::zeros(0, 0);
        assert_eq!(
            scale_each(none.as_ref(), faer::Mat::<f64>::zeros(0, 0).as_mut()),
            Ok(vec![])
        );
    }

    #[test]
    fn only_what_is_read_must_be_finite() {
        let data = [1.0, 2.0, f64::NAN, 4.0];
        let x = MatRef::from_column_major_slice(&data, 2, 2);
        assert!(matches!(Scaled::<f64>::all(x), Err(Error::NonFinite)));
        let lower = Scaled::<f64>::lower(x).unwrap();
        assert_eq!(lower.view()[(0, 1)], 0.0);
        assert_eq!(lower.view()[(1, 1)], 1.0);
    }
}
