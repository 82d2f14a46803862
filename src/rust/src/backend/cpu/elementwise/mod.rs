//! Arithmetic by entries, reductions, norms, covariances, and parts of matrices.
//!
//! It imports `matrix` and `vector`.
//! Start with [`entries`]; `functions` has R's values.

pub(super) mod columns;
pub(super) mod covariance;
pub(super) mod entries;
pub(super) mod fold;
mod functions;
pub(super) mod movement;
pub(super) mod norms;
