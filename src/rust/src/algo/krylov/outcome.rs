//! When an iteration stops, and how it ended.

use crate::algo::krylov::spectrum::Coefficients;
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
    /// `p'Ap <= 0` for a direction p: A is not positive definite, or is singular to the precision.
    /// The cosine of the angle between p and Ap tells which.
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

/// What [`pcg`](super::pcg::pcg) found, column by column.
pub struct Solution<B> {
    /// n x k. A column that has not converged is the last iterate.
    pub x: B,
    /// How many iterations each column took.
    pub iterations: Vec<usize>,
    /// `||r_i|| / ||b||` for i = 0, ..., iterations: of the recurrence's residuals, and of the
    /// residual itself where that was computed. Of b = 0 one 0.
    pub history: Vec<Vec<f64>>,
    /// `||b - A x|| / ||b||` computed at the end; 0 of b = 0. NaN where that came to nothing.
    pub residuals: Vec<f64>,
    /// Of the recurrence, for each direction; what they tell of the matrix is in
    /// [`spectrum`](super::spectrum).
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
