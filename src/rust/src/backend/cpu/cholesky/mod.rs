//! Cholesky factorizations: one matrix, many, with pivots, and the inverse from a factor.
//!
//! It imports `matrix`, `gemm`, `triangular` and `vector`.
//! Start with [`factor`].

pub(super) mod batch;
pub(super) mod factor;
pub(super) mod inverse;
pub(super) mod pivoted;
