//! Triangular systems and row exchanges.
//!
//! It imports `precision`, `gemm`, `matrix` and `driver`.
//! Start with [`trsm`].

pub(super) mod kind;
mod tiles;
pub(super) mod trsm;
mod vector;
pub(crate) mod via_f64;
