//! The systems of one call: right-hand sides, matrix, preconditioner, and their solution.

use super::preconditioner::{Built, PreconditionerName};
use crate::algo::krylov::blocks::{Operator, Preconditioner};
use crate::algo::krylov::host_blocks::Host;
use crate::algo::krylov::outcome::{Solution, Stopping};
use crate::base::error::Result;
use crate::base::processor::Processor;
use crate::device::sparse::Columns;

/// `A X = B`, without A.
#[derive(Debug, Clone, Copy)]
pub struct Systems<'b> {
    /// The order of A.
    pub n: usize,
    /// Columns of B.
    pub columns: usize,
    /// B by columns.
    pub b: &'b [f64],
    /// Where X begins, by columns; zero without it.
    pub start: Option<&'b [f64]>,
    pub stop: Stopping,
    /// The arithmetic of what stays on the host.
    pub host: Host,
}

/// A in memory of the host.
#[derive(Clone, Copy)]
pub enum Matrix<'m> {
    /// All entries by columns.
    Dense(&'m [f64]),
    Sparse(Columns<'m>),
    /// A function that multiplies.
    Function(&'m dyn Operator<Host>),
}

/// The preconditioner that the user gives.
#[derive(Clone, Copy)]
pub enum Given<'m> {
    /// One that is built from A.
    Named(PreconditionerName),
    /// An incomplete factor, or a function that solves.
    OnHost(&'m dyn Preconditioner<Host>),
    /// The upper triangle of a Cholesky factor, by columns.
    Factor(&'m [f64]),
}

/// X by columns, and how it was found.
pub struct Solved {
    pub solution: Solution<Vec<f64>>,
    /// The preconditioner that was built.
    pub built: Option<Built>,
    /// The shift of an incomplete factor that was built.
    pub shift: f64,
    /// The machine that computed.
    pub processor: Processor,
}

impl Solved {
    /// The solution of one machine, whose X comes to the host by `x`.
    pub(super) fn new<B>(
        processor: Processor,
        from: Solution<B>,
        x: impl FnOnce(B) -> Result<Vec<f64>>,
    ) -> Result<Self> {
        Ok(Solved {
            solution: Solution {
                x: x(from.x)?,
                iterations: from.iterations,
                history: from.history,
                residuals: from.residuals,
                coefficients: from.coefficients,
                ends: from.ends,
            },
            built: None,
            shift: 0.0,
            processor,
        })
    }

    pub(super) fn by(self, built: Built) -> Self {
        Solved {
            built: Some(built),
            ..self
        }
    }
}
