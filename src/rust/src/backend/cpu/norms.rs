//! What a driver asks about a matrix.

use faer::MatRef;

use super::vector::norm2;
use super::{columns, Columns};
use crate::error::Result;
use crate::scalar::Scalar;

/// The largest sum of absolute values in a column; NaN when a column's sum is.
pub(crate) fn norm1<T: Scalar>(a: MatRef<'_, T>) -> f64 {
    let mut largest = 0.0f64;
    for j in 0..a.ncols() {
        let mut sum = 0.0f64;
        for i in 0..a.nrows() {
            sum += Into::<f64>::into(a[(i, j)]).abs();
        }
        if sum.is_nan() {
            return sum;
        }
        largest = largest.max(sum);
    }
    largest
}

pub(crate) fn column_norms<T: Scalar>(a: MatRef<'_, T>) -> Result<Vec<f64>> {
    let a: Columns<'_, T> = columns(a)?;
    Ok((0..a.ncols()).map(|j| norm2(a.col(j).as_slice())).collect())
}

pub(crate) fn diagonal<T: Scalar>(a: MatRef<'_, T>) -> Vec<T> {
    (0..a.nrows().min(a.ncols())).map(|i| a[(i, i)]).collect()
}
