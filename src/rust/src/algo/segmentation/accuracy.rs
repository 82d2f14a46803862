//! How accurate probabilities must be, and how accurate they are.

/// When solutions are accurate enough.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Accuracy {
    /// The estimated error of every probability.
    pub tol: f64,
    /// The most iterations for a label.
    pub maxit: usize,
}

/// How it went.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Iterated {
    pub unknowns: usize,
    /// The most there were for a label.
    pub iterations: usize,
    /// The largest estimate of an error of a probability. Infinite where an iteration ended early
    /// and the estimate does not say that the solution is accurate enough all the same.
    pub error: f64,
}
