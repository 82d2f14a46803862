//! Numbers of the host in a device's memory, and back.

use faer::{MatMut, MatRef};

use crate::base::error::Result;
use crate::base::matrix::Part;
use crate::base::scalar::{try_zeroed, Scalar};
use crate::device::elementwise::Elementwise;

/// The numbers of a matrix of the device, by columns.
pub(super) fn fetch<T: Scalar, D: Elementwise<T>>(dev: &D, x: &D::Mat<'_>) -> Result<Vec<f64>> {
    let (rows, cols) = dev.shape(x);
    let mut out = try_zeroed::<f64>(rows.saturating_mul(cols))?;
    T::fill_host(&mut out, |to| {
        dev.read(x, MatMut::from_column_major_slice_mut(to, rows, cols))
    })?;
    Ok(out)
}

/// A small matrix of the host as one of the device, with rows of zeros below it.
pub(super) fn bring<T: Scalar, D: Elementwise<T>>(
    dev: &D,
    x: MatRef<'_, f64>,
    rows: usize,
) -> Result<D::Mat<'static>> {
    let mut values = try_zeroed::<T>(rows * x.ncols())?;
    for j in 0..x.ncols() {
        (0..x.nrows()).for_each(|i| values[j * rows + i] = T::from_f64(x[(i, j)]));
    }
    let values = MatRef::from_column_major_slice(&values, rows, x.ncols());
    dev.load_temporary(values, Part::All)
}
