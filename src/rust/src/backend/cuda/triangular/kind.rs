//! How the solvers read a triangle: upper or lower, with or without a unit diagonal; and the bound
//! of their errors.

use crate::backend::cuda::gemm::update::Bound;

/// Which triangle of a matrix, and its diagonal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TriangleKind {
    pub upper: bool,
    /// The diagonal is 1 and not read.
    pub unit: bool,
    pub bound: Bound,
}
