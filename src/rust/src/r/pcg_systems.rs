//! The systems of one call of `pcg()`, and their solution.

use crate::algo::krylov::host_blocks::Host;
use crate::algo::krylov::outcome::{Solution, Stopping};
use crate::algo::systems::preconditioner::Built;
use crate::base::error::Result;

/// The systems to be solved.
pub struct Systems<'r> {
    pub n: usize,
    pub columns: usize,
    /// By columns, as the start.
    pub b: &'r [f64],
    pub start: Option<&'r [f64]>,
    pub stop: Stopping,
    pub host: Host,
}

/// A solution by columns, the preconditioner that was used, and the shift of an incomplete factor
/// that was made.
pub struct Solved {
    pub solution: Solution<Vec<f64>>,
    pub kind: Option<Built>,
    pub shift: f64,
}

impl Solved {
    pub fn new<B>(from: Solution<B>, x: impl FnOnce(B) -> Result<Vec<f64>>) -> Result<Self> {
        Ok(Solved {
            solution: Solution {
                x: x(from.x)?,
                iterations: from.iterations,
                history: from.history,
                residuals: from.residuals,
                coefficients: from.coefficients,
                ends: from.ends,
            },
            kind: None,
            shift: 0.0,
        })
    }

    pub fn by(self, kind: Built) -> Self {
        Solved {
            kind: Some(kind),
            ..self
        }
    }
}
