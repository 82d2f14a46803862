//! Copies of matrices and of their triangles.

use std::ops::Range;

use faer::{MatMut, MatRef};

use super::bands::in_bands;
use crate::base::error::Result;
use crate::base::matrix::Part;
use crate::base::scalar::Scalar;
use crate::base::threads::{join, share};

/// A copied entry costs about as much as this many multiplications, mostly for the first write of
/// fresh memory.
const COPY: f64 = 16.0;

/// Copies `which` part of `from` to `to`, of the same shape, and zeroes the rest.
pub(crate) fn part<T: Scalar>(
    from: MatRef<'_, T>,
    which: Part,
    mut to: MatMut<'_, T>,
    threads: usize,
) -> Result<()> {
    let work = COPY * from.nrows() as f64 * from.ncols() as f64;
    let threads = share(threads, work);
    in_bands(from.ncols(), from.nrows(), threads, |first, count| {
        let to = to.as_mut().subcols_mut(first, count);
        columns(from.subcols(first, count), which, to, first, threads);
    })
}

/// Columns that begin with column `first` of the whole matrix, some for each thread.
fn columns<T: Scalar>(
    from: MatRef<'_, T>,
    which: Part,
    to: MatMut<'_, T>,
    first: usize,
    threads: usize,
) {
    let (rows, cols) = from.shape();
    if threads > 1 && cols > 1 {
        let at = cols * (threads / 2) / threads;
        let (from1, from2) = from.split_at_col(at);
        let (to1, to2) = to.split_at_col_mut(at);
        join(
            threads,
            |t| columns(from1, which, to1, first, t),
            |t| columns(from2, which, to2, first + at, t),
        );
        return;
    }
    let mut to = to;
    for j in 0..cols {
        let kept = match which {
            Part::All => 0..rows,
            Part::Upper => 0..rows.min(first + j + 1),
            Part::Lower => rows.min(first + j)..rows,
        };
        column(from.subcols(j, 1), to.as_mut().subcols_mut(j, 1), kept);
    }
}

fn column<T: Scalar>(from: MatRef<'_, T>, mut to: MatMut<'_, T>, kept: Range<usize>) {
    let zero = T::from_f64(0.0);
    let adjacent = to.as_mut().col_mut(0).try_as_col_major_mut();
    if let (Some(from), Some(to)) = (from.col(0).try_as_col_major(), adjacent) {
        let (from, to) = (from.as_slice(), to.as_slice_mut());
        to[..kept.start].fill(zero);
        to[kept.clone()].copy_from_slice(&from[kept.clone()]);
        to[kept.end..].fill(zero);
        return;
    }
    for i in 0..from.nrows() {
        to[(i, 0)] = if kept.contains(&i) {
            from[(i, 0)]
        } else {
            zero
        };
    }
}
