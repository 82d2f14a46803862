//! A largest singular value far above the others, split off by two reflections.
//!
//! A matrix of positive entries has one. The power method finds its vectors u and v in a few steps.
//! Reflections that map them to the first axis leave
//!
//! ```text
//! H_u X H_v = [ s  0 ]
//!             [ 0  Y ]
//! ```
//!
//! whose first row and column are zero to rounding.

use faer::{MatMut, MatRef};

use super::vectors::{start, times, unit};
use super::Parts;
use crate::base::error::Result;
use crate::base::matrix::{Block, Part, Trans};
use crate::base::probe::{distance, squares};
use crate::base::scalar::{try_zeroed, Scalar};
use crate::device::elementwise::{Elementwise, Index};
use crate::device::memory::Memory;

/// Steps of the power method.
const STEPS: usize = 8;

/// The error has to fall by so much in a step: to rounding in [`STEPS`].
const FALL: f64 = 0.02;

/// What splits off one singular value.
pub(super) struct Leading<M, T> {
    /// The corner: the singular value, or its negative.
    corner: T,
    /// Vectors y of the reflections `I - y y'` on the left and on the right.
    left: M,
    right: M,
}

/// What splits off a singular value, and Y, of one row and one column less.
pub(super) type Split<M, T> = (Leading<M, T>, M);

/// Splits a square matrix of norm about one, if its largest singular value is far above the others.
pub(super) fn split<T: Scalar, D: Elementwise<T>>(
    dev: &D,
    x: &D::Mat<'_>,
) -> Result<Option<Split<D::Mat<'static>, T>>> {
    let (_, n) = dev.shape(x);
    let Some(v) = dominant(dev, x)? else {
        return Ok(None);
    };
    let (u, _) = unit(times(dev, Trans::No, x, &v)?);
    let (left, right) = (reflection(dev, u)?, reflection(dev, v)?);
    let mut turned = dev.duplicate(x, Part::All)?;
    reflect(dev, &left, &mut turned)?;
    let one = T::from_f64(1.0);
    let mut product = dev.blank(n, 1)?;
    dev.gemm(
        one,
        Trans::No,
        &turned,
        Trans::No,
        &right,
        T::from_f64(0.0),
        &mut product,
    )?;
    dev.gemm(
        -one,
        Trans::No,
        &product,
        Trans::Yes,
        &right,
        one,
        &mut turned,
    )?;
    let mut row = try_zeroed::<T>(n)?;
    let first = Block::leading(1, n);
    dev.read_block(
        &turned,
        first,
        MatMut::from_column_major_slice_mut(&mut row, 1, n),
    )?;
    let (corner, beside) = (row[0], squares(&row[1..]).sqrt());
    let is_split = beside <= (n as f64).sqrt() * T::EPS * corner.to_f64().abs();
    if !is_split {
        return Ok(None);
    }
    let mut rest = dev.blank(n - 1, n - 1)?;
    let block = Block {
        row: 1,
        col: 1,
        rows: n - 1,
        cols: n - 1,
    };
    dev.copy_block(&turned, block, &mut rest, (0, 0))?;
    let leading = Leading {
        corner,
        left,
        right,
    };
    Ok(Some((leading, rest)))
}

impl<M, T: Scalar> Leading<M, T> {
    /// The decomposition of X from that of Y.
    pub fn join<D>(self, dev: &D, (mut d, vectors): Parts<M, T>) -> Result<Parts<M, T>>
    where
        D: Elementwise<T> + Memory<T, Mat<'static> = M>,
    {
        let zero = T::from_f64(0.0);
        let (size, sign) = match self.corner < zero {
            true => (-self.corner, T::from_f64(-1.0)),
            false => (self.corner, T::from_f64(1.0)),
        };
        // The power method may have missed a larger value, and rounding may have made one.
        let place = d.partition_point(|d| *d > size);
        d.insert(place, size);
        let Some((u, v)) = vectors else {
            return Ok((d, None));
        };
        let order: Vec<i32> = (1..=place as i32)
            .chain([0])
            .chain(place as i32 + 1..d.len() as i32)
            .collect();
        let whole = |y: &M, sign: T, part: &M| -> Result<M> {
            let (k, _) = dev.shape(part);
            let mut whole = dev.blank(k + 1, k + 1)?;
            dev.set_identity(&mut whole)?;
            let corner = MatRef::from_column_major_slice(std::slice::from_ref(&sign), 1, 1);
            let corner = dev.load_temporary(corner, Part::All)?;
            dev.copy_block(&corner, Block::leading(1, 1), &mut whole, (0, 0))?;
            dev.copy_block(part, Block::leading(k, k), &mut whole, (1, 1))?;
            reflect(dev, y, &mut whole)?;
            if place == 0 {
                return Ok(whole);
            }
            let mut ordered = dev.blank(k + 1, k + 1)?;
            let (rows, columns) = (Index::From(0), Index::List(&order));
            dev.gather(rows, columns, zero, &whole, &mut ordered)?;
            Ok(ordered)
        };
        let left = whole(&self.left, sign, &u)?;
        let right = whole(&self.right, T::from_f64(1.0), &v)?;
        Ok((d, Some((left, right))))
    }
}

/// The first right singular vector, if few steps of the power method find it to rounding.
fn dominant<T: Scalar, D: Elementwise<T>>(dev: &D, x: &D::Mat<'_>) -> Result<Option<Vec<T>>> {
    let (_, n) = dev.shape(x);
    if n < 2 {
        return Ok(None);
    }
    let mut v = unit(start(n)?).0;
    let mut before = f64::NAN;
    for step in 0..STEPS {
        let there = times(dev, Trans::No, x, &v)?;
        let (next, size) = unit(times(dev, Trans::Yes, x, &there)?);
        if size == 0.0 {
            return Ok(None);
        }
        let change = distance(&next, &v);
        v = next;
        // All vectors are singular, as those of the identity.
        if step == 0 && change < 0.1 {
            return Ok(None);
        }
        // The first two changes are from the start.
        let fall = if step < 2 { FALL } else { change / before };
        if step >= 1 && change * fall <= T::EPS {
            return Ok(Some(v));
        }
        let falls = fall <= FALL;
        if !falls {
            return Ok(None);
        }
        before = change;
    }
    Ok(None)
}

/// y, of norm `sqrt(2)`, such that `I - y y'` maps the unit vector to the first axis.
fn reflection<T: Scalar, D: Memory<T>>(dev: &D, x: Vec<T>) -> Result<D::Mat<'static>> {
    let mut y: Vec<f64> = x.iter().map(|x| x.to_f64()).collect();
    y[0] += if y[0] < 0.0 { -1.0 } else { 1.0 };
    // The squares of a rounded vector do not add up to one.
    let size = (y.iter().map(|y| y * y).sum::<f64>() / 2.0).sqrt();
    let y: Vec<T> = y.into_iter().map(|y| T::from_f64(y / size)).collect();
    dev.load_temporary(MatRef::from_column_major_slice(&y, y.len(), 1), Part::All)
}

/// `A <- (I - y y') A`.
fn reflect<T: Scalar, D: Elementwise<T>>(
    dev: &D,
    y: &D::Mat<'static>,
    a: &mut D::Mat<'static>,
) -> Result<()> {
    let (_, cols) = dev.shape(a);
    let (one, zero) = (T::from_f64(1.0), T::from_f64(0.0));
    let mut along = dev.blank(1, cols)?;
    dev.gemm(one, Trans::Yes, y, Trans::No, a, zero, &mut along)?;
    dev.gemm(-one, Trans::No, y, Trans::No, &along, one, a)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::cpu::CpuDevice;
    use faer::Mat;

    fn splits(x: &Mat<f64>) -> Option<f64> {
        let dev = CpuDevice::new(1);
        let x = dev.load_temporary(x.as_ref(), Part::All).unwrap();
        let found = split::<f64, _>(&dev, &x).unwrap();
        found.map(|(leading, _)| leading.corner.abs())
    }

    #[test]
    fn only_a_value_far_above_the_others_is_split_off() {
        let n = 150;
        let positive = Mat::from_fn(n, n, |i, j| 1.0 + 0.1 * ((i * i + 3 * j) as f64).sin());
        let size = splits(&positive).unwrap();
        assert!((size - n as f64).abs() < 0.1 * n as f64, "{size}");
        let mixed = Mat::from_fn(n, n, |i, j| ((i * i * 7 + j * j * 3 + i * j) as f64).sin());
        assert!(splits(&mixed).is_none());
        assert!(splits(&Mat::identity(n, n)).is_none());
        assert!(splits(&Mat::zeros(n, n)).is_none());
    }
}
