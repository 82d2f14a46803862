//! Arithmetic by entries, reductions, norms, covariances, and parts of matrices.
//!
//! It imports `driver`, `transfer` and `matrix`.
//! Start with [`fold`].

pub(super) mod columns;
pub(super) mod covariance;
pub(super) mod fold;
pub(super) mod movement;
pub(super) mod norms;
pub(crate) mod operand;
pub(super) mod vectors;
