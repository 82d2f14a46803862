//! Triangular systems and row exchanges.
//!
//! It imports `precision`, `gemm`, `matrix` and `driver`.
//! Start with [`trsm`].

mod tiles;
pub(super) mod trsm;
mod vector;
