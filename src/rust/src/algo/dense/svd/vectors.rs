//! Vectors on the host, and their products with a matrix on the device.

use faer::{MatMut, MatRef};

use crate::base::error::Result;
use crate::base::matrix::{Part, Trans};
use crate::base::probe::squares;
use crate::base::scalar::{try_zeroed, Scalar};
use crate::device::elementwise::Elementwise;

/// The product of a matrix with a vector on the host.
pub(super) fn times<T: Scalar, D: Elementwise<T>>(
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

/// A vector that no direction is special to.
pub(super) fn start<T: Scalar>(n: usize) -> Result<Vec<T>> {
    let mut start = try_zeroed::<T>(n)?;
    for (i, entry) in start.iter_mut().enumerate() {
        *entry = T::from_f64(1.0 + 0.5 * ((i * i + 1) as f64).sin());
    }
    Ok(start)
}

/// The vector divided by its norm, and the norm.
pub(super) fn unit<T: Scalar>(mut x: Vec<T>) -> (Vec<T>, f64) {
    let size = squares(&x).sqrt();
    if size > 0.0 {
        x.iter_mut()
            .for_each(|x| *x = T::from_f64(x.to_f64() / size));
    }
    (x, size)
}
