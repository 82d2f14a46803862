//! Columns of a matrix on the host without their centres.

use faer::{MatMut, MatRef};

use crate::base::chunks::by_columns;
use crate::base::error::Result;

/// `out` = each column of x without its value.
pub fn subtract(x: MatRef<'_, f64>, values: &[f64], out: MatMut<'_, f64>) -> Result<()> {
    by_columns(out, x.nrows() as f64, |first, mut out| {
        for j in 0..out.ncols() {
            let value = values[first + j];
            for i in 0..out.nrows() {
                out[(i, j)] = x[(i, first + j)] - value;
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use faer::Mat;

    #[test]
    fn each_column_has_its_value() {
        for (rows, columns) in [(0, 3), (1, 1), (3, 0), (20_000, 7), (5, 8001)] {
            let x = Mat::from_fn(rows, columns, |i, j| (j * rows + i) as f64);
            let values: Vec<f64> = (0..columns).map(|j| (j * rows) as f64).collect();
            let mut out = Mat::from_fn(rows, columns, |_, _| f64::NAN);
            subtract(x.as_ref(), &values, out.as_mut()).unwrap();
            assert!(
                out == Mat::from_fn(rows, columns, |i, _| i as f64),
                "{rows} {columns}"
            );
        }
    }
}
