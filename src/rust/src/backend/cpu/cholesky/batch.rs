//! Cholesky factorization of many matrices.

use super::factor::{base, potrf, BASE};
use crate::backend::cpu::matrix::views::ColumnsMut;
use crate::base::error::Result;
use crate::base::interrupt;
use crate::base::progress;
use crate::base::scalar::Scalar;
use crate::base::threads::{join, share, BRIEF};
use crate::cost::flops::cholesky_flops;

/// Bytes of matrices for each thread, so that what was copied is still in the cache when it is
/// factored.
pub(crate) const CACHED_BYTES: usize = 4 << 20;

/// In the smallest matrices an entry costs about as much as this many multiplications, whatever the
/// operation.
const ENTRY: f64 = 16.0;

/// Factors the upper triangles of square matrices side by side, and zeroes what is below.
pub(crate) fn potrf_batched<T: Scalar>(a: ColumnsMut<'_, T>, threads: usize) -> Result<()> {
    let n = a.nrows();
    let Some(count) = a.ncols().checked_div(n) else {
        return Ok(());
    };
    let order = n as f64;
    let each = order * order * (order / 6.0 + ENTRY);
    let step = ((BRIEF * threads as f64 / each) as usize).max(1);
    let mut rest = a;
    let all = progress::part(count as f64 * cholesky_flops(n));
    for first in (0..count).step_by(step) {
        interrupt::poll()?;
        all.left((count - first) as f64 * cholesky_flops(n));
        let many = step.min(count - first);
        let (part, later) = rest.split_at_col_mut(many * n);
        rest = later;
        factor(part, first, share(threads, each * many as f64))?;
    }
    Ok(())
}

/// Factors matrices that come after `before` others, some on each thread, or one on all.
fn factor<T: Scalar>(a: ColumnsMut<'_, T>, before: usize, threads: usize) -> Result<()> {
    let n = a.nrows();
    let count = a.ncols() / n;
    if threads > 1 && count > 1 {
        let half = (count * (threads / 2) / threads).max(1);
        let (left, right) = a.split_at_col_mut(half * n);
        let (left, right) = join(
            threads,
            |t| factor(left, before, t),
            |t| factor(right, before + half, t),
        );
        return left.and(right);
    }
    let mut buffer = [0.0; BASE * BASE];
    let mut rest = a;
    for i in 0..count {
        let (mut one, later) = rest.split_at_col_mut(n);
        rest = later;
        let lower = one.as_mut().as_dyn_stride_mut().transpose_mut();
        let done = if n <= BASE {
            base(lower, 0, &mut buffer)
        } else {
            potrf(lower, threads)
        };
        done.map_err(|e| e.in_batch(before + i))?;
        for j in 0..n {
            one.as_mut().col_mut(j).as_slice_mut()[j + 1..].fill(T::from_f64(0.0));
        }
    }
    Ok(())
}
