//! Symmetric eigenvalues and eigenvectors of many matrices, each on one thread.

use faer::{MatMut, MatRef};

use super::symmetric::syev;
use crate::base::error::Result;
use crate::base::interrupt;
use crate::base::progress;
use crate::base::scalar::Scalar;
use crate::base::threads::{join, share, BRIEF};
use crate::cost::flops::eigen_flops;
use crate::device::spectral::Arrange;

/// Multiplications that take as long as a matrix of order n: those of large ones, and a part in
/// proportion to the entries.
fn cost(n: usize, vectors: bool) -> f64 {
    let order = n as f64;
    let each = if vectors { 10.0 } else { 3.0 };
    order * order * (each * order + 200.0)
}

/// As [`EigenBatch::syev_batched`](crate::device::spectral::EigenBatch::syev_batched), of matrices
/// of which each is for one thread. The number of threads does not change a bit of the answers.
pub(crate) fn syev_batched<T: Scalar>(
    a: MatRef<'_, T>,
    w: &mut [T],
    z: Option<MatMut<'_, T>>,
    arrange: &Arrange<'_, T>,
    threads: usize,
) -> Result<()> {
    let n = a.nrows();
    let Some(count) = a.ncols().checked_div(n) else {
        return Ok(());
    };
    let each = cost(n, z.is_some());
    let step = ((BRIEF * threads as f64 / each) as usize).max(1);
    let flops = eigen_flops(n, z.is_some());
    let all = progress::part(count as f64 * flops);
    let mut rest = (w, z);
    for first in (0..count).step_by(step) {
        interrupt::poll()?;
        all.left((count - first) as f64 * flops);
        let many = step.min(count - first);
        let (part, later) = split(rest, many * n);
        rest = later;
        let a = a.subcols(first * n, many * n);
        solve(a, part, arrange, share(threads, each * many as f64))?;
    }
    Ok(())
}

/// Values and vectors of some matrices.
type Answers<'a, T> = (&'a mut [T], Option<MatMut<'a, T>>);

fn split<T>((w, z): Answers<'_, T>, at: usize) -> (Answers<'_, T>, Answers<'_, T>) {
    let (w, later) = w.split_at_mut(at);
    match z.map(|z| z.split_at_col_mut(at)) {
        Some((z, others)) => ((w, Some(z)), (later, Some(others))),
        None => ((w, None), (later, None)),
    }
}

/// Some of the matrices on each thread.
fn solve<T: Scalar>(
    a: MatRef<'_, T>,
    answers: Answers<'_, T>,
    arrange: &Arrange<'_, T>,
    threads: usize,
) -> Result<()> {
    let n = a.nrows();
    let count = a.ncols() / n;
    if threads > 1 && count > 1 {
        let half = (count * (threads / 2) / threads).max(1) * n;
        let (left, right) = split(answers, half);
        let (a, b) = a.split_at_col(half);
        let (left, right) = join(
            threads,
            |t| solve(a, left, arrange, t),
            |t| solve(b, right, arrange, t),
        );
        return left.and(right);
    }
    let mut rest = answers;
    for i in 0..count {
        let ((w, mut z), later) = split(rest, n);
        rest = later;
        syev(a.subcols(i * n, n), w, z.as_mut().map(|z| z.as_mut()), 1)?;
        w.reverse();
        if let Some(z) = z {
            arrange(z)?;
        }
    }
    Ok(())
}
