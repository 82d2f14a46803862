//! Triangular systems.

use faer::linalg::triangular_solve as faer_solve;
use faer::{MatMut, MatRef};

use super::threads::{par, share};
use crate::error::Result;
use crate::interrupt;
use crate::matrix::{Diag, Side, Trans, Uplo};
use crate::scalar::Scalar;

/// Columns solved between two questions to the user.
const CHUNK: usize = 1024;
const GRAIN: f64 = 4e6;

/// Solves with the square triangle `a`; B has at least its order of rows (left) or columns (right), and only
/// that many are used.
pub(crate) fn trsm<T: Scalar>(
    side: Side,
    uplo: Uplo,
    trans: Trans,
    diag: Diag,
    a: MatRef<'_, T>,
    b: MatMut<'_, T>,
    threads: usize,
) -> Result<()> {
    let k = a.nrows();
    // X A = B is A' X' = B'.
    let (b, transposed) = match side {
        Side::Left => (b.subrows_mut(0, k), trans == Trans::Yes),
        Side::Right => (b.subcols_mut(0, k).transpose_mut(), trans == Trans::No),
    };
    let (a, lower) = if transposed {
        (a.transpose(), uplo == Uplo::Upper)
    } else {
        (a, uplo == Uplo::Lower)
    };
    solve(lower, diag, a, b, threads)
}

/// `B <- A^-1 B`.
fn solve<T: Scalar>(
    lower: bool,
    diag: Diag,
    a: MatRef<'_, T>,
    mut b: MatMut<'_, T>,
    threads: usize,
) -> Result<()> {
    let (k, n) = b.shape();
    for j in (0..n).step_by(CHUNK) {
        interrupt::poll()?;
        let nb = CHUNK.min(n - j);
        let part = b.as_mut().subcols_mut(j, nb);
        let work = k as f64 * k as f64 * nb as f64 / 2.0;
        let par = par(share(threads, work, GRAIN));
        match (lower, diag) {
            (true, Diag::NonUnit) => faer_solve::solve_lower_triangular_in_place(a, part, par),
            (true, Diag::Unit) => faer_solve::solve_unit_lower_triangular_in_place(a, part, par),
            (false, Diag::NonUnit) => faer_solve::solve_upper_triangular_in_place(a, part, par),
            (false, Diag::Unit) => faer_solve::solve_unit_upper_triangular_in_place(a, part, par),
        }
    }
    Ok(())
}
