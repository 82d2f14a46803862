//! Systems with a symmetric positive definite matrix by preconditioned conjugate gradients, many
//! right-hand sides at once.
//!
//! Hestenes & Stiefel (1952), Methods of conjugate gradients for solving linear systems, J. Res.
//! Nat. Bur. Standards 49:409; with a preconditioner as in Meijerink & van der Vorst (1977), Math.
//! Comp. 31:148. Each column has a separate recurrence, and the same as if it were alone;
//! products, solutions and inner products are those of blocks, so that matrix and factor are read
//! once for all. A column that has ended leaves the block.

use super::blocks::{Blocks, Operator, Preconditioner};
use super::iteration::Running;
use crate::algo::krylov::outcome::{End, Solution, Stopping};
use crate::base::error::{Error, Result};

/// Solves `A X = B` for a block B of n x k from X = `x0`, or 0.
///
/// A column ends as soon as its residual is within the tolerance. The recurrence's residual drifts
/// from the true one, which is computed when the recurrence says so; where it is too large the
/// recurrence is begun anew from there, for as long as that halves it. A zero column of B has the
/// solution zero whatever `x0`, and one beside which that of `x0` is too large for the range of
/// numbers is begun from zero.
///
/// Errors: [`Error::Dimension`] of shapes that do not fit, [`Error::Argument`] of a tolerance that
/// is negative or NaN, [`Error::NonFiniteIn`] of B or `x0`, and what A, M and the blocks answer.
/// What ends a single column is in [`Solution::ends`].
pub fn pcg<S: Blocks>(
    blocks: &S,
    a: &(impl Operator<S> + ?Sized),
    m: &(impl Preconditioner<S> + ?Sized),
    b: &S::Block,
    x0: Option<&S::Block>,
    stop: Stopping,
) -> Result<Solution<S::Block>> {
    let (n, k) = blocks.shape(b);
    if a.order(blocks) != n || x0.is_some_and(|x| blocks.shape(x) != (n, k)) {
        return Err(Error::Dimension {
            what: "the matrix, the right-hand sides and the start do not fit together".into(),
        });
    }
    if stop.tol.is_nan() || stop.tol < 0.0 {
        return Err(Error::Argument {
            argument: "tol",
            what: "the tolerance is negative or not a number".into(),
        });
    }
    let norms = blocks.norms(b)?;
    if !norms.iter().all(|x| x.is_finite()) {
        return Err(Error::NonFiniteIn { argument: "b" });
    }
    if let Some(x) = x0 {
        if !blocks.norms(x)?.iter().all(|x| x.is_finite()) {
            return Err(Error::NonFiniteIn { argument: "x0" });
        }
    }
    let mut done = Solution {
        x: blocks.zeros(n, k)?,
        iterations: vec![0; k],
        history: vec![vec![0.0]; k],
        residuals: vec![0.0; k],
        coefficients: vec![Vec::new(); k],
        ends: vec![End::Converged; k],
    };
    let mut running = Running::new(blocks, (a, m), b, x0, norms, stop, &mut done)?;
    while running.is_on() {
        crate::base::interrupt::poll()?;
        running.step(&mut done)?;
    }
    Ok(done)
}
