//! Systems with a symmetric positive definite matrix by preconditioned conjugate gradients, many right-hand sides at once.
//!
//! Hestenes & Stiefel (1952), Methods of conjugate gradients for solving linear systems, J. Res. Nat. Bur. Standards 49:409; with a preconditioner as in Meijerink &
//! van der Vorst (1977), Math. Comp. 31:148. Each column has a recurrence of its own, and the same as if it were alone; products, solutions and inner products are
//! those of blocks, so that matrix and factor are read once for all. A column that has ended leaves the block.

use super::blocks::{Blocks, Operator, Preconditioner};
use super::iteration::Running;
use super::spectrum::Coefficients;
use crate::base::error::{Error, Result};

/// When to stop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stopping {
    /// A column has converged at `||b - A x|| <= tol ||b||`, in Euclidean norms. From 0 on.
    pub tol: f64,
    /// The most iterations of a column.
    pub maxit: usize,
}

/// Why the iteration of a column ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum End {
    /// The residual, computed from A, b and x, is within the tolerance.
    Converged,
    /// There were as many iterations as allowed.
    Iterations,
    /// Rounding keeps the residual above the tolerance.
    Stagnated,
    /// `p'Ap <= 0` for a direction p: A is not positive definite, or is singular to the precision. The cosine of the angle between p and Ap tells which.
    Indefinite { cosine: f64 },
    /// `r'M^-1 r <= 0` for a residual r: M is not positive definite; cosine as above.
    IndefinitePreconditioner { cosine: f64 },
    /// NaN or infinity came out of A or M, or of overflow.
    NonFinite,
    /// The solution is beyond the range of numbers.
    Overflow,
}

impl End {
    /// The error of a column (counted from 0) that could not have converged.
    pub fn error(self, column: usize, iteration: usize) -> Option<Error> {
        let indefinite = |argument, cosine| Error::Indefinite {
            argument,
            column: column + 1,
            iteration,
            cosine,
        };
        match self {
            End::Converged | End::Iterations | End::Stagnated => None,
            End::Indefinite { cosine } => Some(indefinite("A", cosine)),
            End::IndefinitePreconditioner { cosine } => Some(indefinite("M", cosine)),
            End::NonFinite => Some(Error::NonFinite),
            End::Overflow => Some(Error::NonFiniteIn {
                argument: "solution",
            }),
        }
    }
}

/// What [`pcg`] found, column by column.
pub struct Solution<B> {
    /// n x k. A column that has not converged is the last iterate.
    pub x: B,
    /// How many iterations each column took.
    pub iterations: Vec<usize>,
    /// `||r_i|| / ||b||` for i = 0, ..., iterations: of the recurrence's residuals, and of the residual itself where that was computed. Of b = 0 one 0.
    pub history: Vec<Vec<f64>>,
    /// `||b - A x|| / ||b||` computed at the end; 0 of b = 0. NaN where that came to nothing.
    pub residuals: Vec<f64>,
    /// Of the recurrence, for each direction; what they tell of the matrix is in [`spectrum`](super::spectrum).
    pub coefficients: Vec<Vec<Coefficients>>,
    pub ends: Vec<End>,
}

impl<B> Solution<B> {
    pub fn converged(&self) -> Vec<bool> {
        self.ends.iter().map(|e| *e == End::Converged).collect()
    }

    /// The first error of [`End::error`], if there is one.
    pub fn verdict(&self) -> Result<()> {
        let columns = self.ends.iter().zip(&self.iterations).enumerate();
        match columns.filter_map(|(c, (e, i))| e.error(c, *i)).next() {
            Some(e) => Err(e),
            None => Ok(()),
        }
    }
}

/// Solves `A X = B` for a block B of n x k from X = `x0`, or 0.
///
/// A column ends as soon as its residual is within the tolerance. The recurrence's residual drifts from the true one, which is computed when the recurrence says so;
/// where it is too large the recurrence is begun anew from there, for as long as that halves it. A zero column of B has the solution zero whatever `x0`,
/// and one beside which that of `x0` is too large for the range of numbers is begun from zero.
///
/// Errors: [`Error::Dimension`] of shapes that do not fit, [`Error::Argument`] of a tolerance that is negative or NaN, [`Error::NonFiniteIn`] of B or `x0`, and what A,
/// M and the blocks answer. What ends a single column is in [`Solution::ends`].
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
