//! How the solvers read a triangle: upper or lower, with or without a unit diagonal.

/// How a triangle is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kind {
    pub upper: bool,
    /// Ones stand on the diagonal, which is not read.
    pub unit: bool,
}
