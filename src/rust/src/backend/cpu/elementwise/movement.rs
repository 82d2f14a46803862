//! Transposes, diagonals, and parts of matrices by lists of rows and columns.

use faer::{MatMut, MatRef};

use super::entries::{each_chunk, Source, CHUNK};
use crate::backend::cpu::matrix::bands::in_bands;
use crate::backend::cpu::matrix::views::{
    columns, columns_mut, require, Columns, ColumnsMut, CpuMat,
};
use crate::base::error::Result;
use crate::base::scalar::Scalar;
use crate::base::threads::{join, share};
use crate::device::elementwise::{Index, Operand};

/// An entry costs about as much as this many multiplications.
const MOVE: f64 = 16.0;
/// The order of a square that is transposed entry by entry.
const SQUARE: usize = 32;

pub(crate) fn transpose<T: Scalar>(
    a: MatRef<'_, T>,
    out: MatMut<'_, T>,
    threads: usize,
) -> Result<()> {
    require(
        (a.ncols(), a.nrows()) == out.shape(),
        "a transpose has another shape",
    )?;
    let threads = share(threads, MOVE * a.nrows() as f64 * a.ncols() as f64);
    let (a, mut out) = (columns(a)?, columns_mut(out)?);
    let (m, n) = a.shape();
    if m >= n {
        in_bands(m, n, SQUARE, |first, count| {
            let out = out.as_mut().subcols_mut(first, count);
            turn(a.subrows(first, count), out, threads);
        })
    } else {
        in_bands(n, m, SQUARE, |first, count| {
            let out = out.as_mut().subrows_mut(first, count);
            turn(a.subcols(first, count), out, threads);
        })
    }
}

/// Halves the longer side until both the rows read and the columns written stay in the cache.
fn turn<T: Scalar>(a: Columns<'_, T>, mut out: ColumnsMut<'_, T>, threads: usize) {
    let (m, n) = a.shape();
    if m <= SQUARE && n <= SQUARE {
        for i in 0..m {
            for (j, to) in out
                .as_mut()
                .col_mut(i)
                .as_slice_mut()
                .iter_mut()
                .enumerate()
            {
                *to = a[(i, j)];
            }
        }
        return;
    }
    let ((a1, a2), (out1, out2)) = if m >= n {
        let half = (m / 2).next_multiple_of(SQUARE);
        (a.split_at_row(half), out.split_at_col_mut(half))
    } else {
        let half = (n / 2).next_multiple_of(SQUARE);
        (a.split_at_col(half), out.split_at_row_mut(half))
    };
    join(threads, |t| turn(a1, out1, t), |t| turn(a2, out2, t));
}

pub(crate) fn set_diagonal<T: Scalar>(values: &[T], mut a: MatMut<'_, T>) -> Result<()> {
    let k = a.nrows().min(a.ncols());
    require(
        values.len() == k || values.len() == 1,
        "replacement diagonal has wrong length",
    )?;
    for i in 0..k {
        a[(i, i)] = values[if values.len() == 1 { 0 } else { i }];
    }
    Ok(())
}

pub(crate) fn gather<T: Scalar>(
    rows: Index<'_>,
    cols: Index<'_>,
    missing: T,
    a: MatRef<'_, T>,
    out: MatMut<'_, T>,
    threads: usize,
) -> Result<()> {
    let a = columns(a)?;
    rows.check(out.nrows(), a.nrows())?;
    cols.check(out.ncols(), a.ncols())?;
    each_chunk(out, threads, MOVE, &|j, i, out: &mut [T]| {
        let Some(column) = cols.at(j).map(|c| a.col(c).as_slice()) else {
            return out.fill(missing);
        };
        if let Index::From(first) = rows {
            out.copy_from_slice(&column[first + i..first + i + out.len()]);
            return;
        }
        for (k, out) in out.iter_mut().enumerate() {
            *out = rows.at(i + k).map_or(missing, |r| column[r]);
        }
    })
}

pub(crate) fn scatter<T: Scalar>(
    rows: Index<'_>,
    cols: Index<'_>,
    (m, n): (usize, usize),
    b: Operand<'_, CpuMat<'_, T>>,
    out: MatMut<'_, T>,
) -> Result<()> {
    let mut out = columns_mut(out)?;
    rows.check(m, out.nrows())?;
    cols.check(n, out.ncols())?;
    let b = Source::new(b, (m, n))?;
    in_bands(n, m, 1, |first, count| {
        for j in first..first + count {
            let Some(c) = cols.at(j) else { continue };
            scatter_column(rows, &b, j, out.as_mut().col_mut(c).as_slice_mut(), m);
        }
    })
}

/// The m entries of column j of B to their rows of a column.
fn scatter_column<T: Scalar>(
    rows: Index<'_>,
    b: &Source<'_, T>,
    j: usize,
    column: &mut [T],
    m: usize,
) {
    let mut room = [T::from_f64(0.0); CHUNK];
    for i in (0..m).step_by(CHUNK) {
        let values = b.read(j, i, CHUNK.min(m - i), &mut room);
        if let Index::From(first) = rows {
            column[first + i..first + i + values.len()].copy_from_slice(values);
            continue;
        }
        for (k, x) in values.iter().enumerate() {
            if let Some(r) = rows.at(i + k) {
                column[r] = *x;
            }
        }
    }
}
