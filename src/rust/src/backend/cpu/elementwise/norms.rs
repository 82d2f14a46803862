//! Norms, diagonals and other facts about a matrix that drivers ask for.

use faer::MatRef;

use crate::backend::cpu::matrix::bands::in_bands;
use crate::backend::cpu::matrix::views::{columns, Columns};
use crate::backend::cpu::vector::{norm2, sum_of_magnitudes};
use crate::base::error::Result;
use crate::base::scalar::{try_zeroed, Scalar};
use crate::base::threads::{join, share};

/// An entry read from memory costs about as much as this many multiplications.
const READ: f64 = 8.0;

/// The largest sum of absolute values in a column; NaN when a column's sum is.
pub(crate) fn norm1<T: Scalar>(a: MatRef<'_, T>, threads: usize) -> Result<f64> {
    let sums = each_column(columns(a)?, threads, &|x| sum_of_magnitudes(x))?;
    Ok(sums
        .into_iter()
        .fold(0.0, |m, s| if s > m || s.is_nan() { s } else { m }))
}

pub(crate) fn column_norms<T: Scalar>(a: MatRef<'_, T>, threads: usize) -> Result<Vec<f64>> {
    each_column(columns(a)?, threads, &|x| norm2(x))
}

fn each_column<T: Scalar>(
    a: Columns<'_, T>,
    threads: usize,
    f: &(impl Fn(&[T]) -> f64 + Sync),
) -> Result<Vec<f64>> {
    let work = READ * a.nrows() as f64 * a.ncols() as f64;
    of_columns(a, share(threads, work), &|x, _| f(x))
}

/// Calls `f` with each column and the number of threads for it.
pub(crate) fn of_columns<T: Scalar>(
    a: Columns<'_, T>,
    threads: usize,
    f: &(impl Fn(&[T], usize) -> f64 + Sync),
) -> Result<Vec<f64>> {
    let mut out = try_zeroed(a.ncols())?;
    in_bands(a.ncols(), a.nrows(), threads, |first, count| {
        let band = &mut out[first..first + count];
        fill(a.subcols(first, count), threads, f, band);
    })?;
    Ok(out)
}

fn fill<T: Scalar>(
    a: Columns<'_, T>,
    threads: usize,
    f: &(impl Fn(&[T], usize) -> f64 + Sync),
    out: &mut [f64],
) {
    if threads < 2 || out.len() < 2 {
        for (j, out) in out.iter_mut().enumerate() {
            *out = f(a.col(j).as_slice(), threads);
        }
        return;
    }
    let at = out.len() * (threads / 2) / threads;
    let (a1, a2) = a.split_at_col(at);
    let (out1, out2) = out.split_at_mut(at);
    join(threads, |t| fill(a1, t, f, out1), |t| fill(a2, t, f, out2));
}

pub(crate) fn diagonal<T: Scalar>(a: MatRef<'_, T>) -> Vec<T> {
    (0..a.nrows().min(a.ncols())).map(|i| a[(i, i)]).collect()
}
