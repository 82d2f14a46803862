//! What the diagonal says of a matrix that is to be positive definite.

use crate::error::{Error, Result};

/// An error unless all entries are positive and finite.
pub(super) fn check(diagonal: &[f64]) -> Result<()> {
    if diagonal.iter().any(|d| d.is_nan() || *d == f64::INFINITY) {
        return Err(Error::NonFiniteIn { argument: "A" });
    }
    match diagonal.iter().position(|d| *d <= 0.0) {
        Some(i) => Err(Error::NotPositiveDefinite { order: i + 1 }),
        None => Ok(()),
    }
}
