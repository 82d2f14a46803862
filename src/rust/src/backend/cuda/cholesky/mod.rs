//! Cholesky factorizations, and the kernels of factor updates.
//!
//! It imports `gemm`, `triangular` and what is below them.
//! Start with [`factor`]; [`tiles`] is one launch for the whole matrix.

pub(super) mod batch;
pub(super) mod factor;
pub(super) mod tiles;
pub(super) mod update;
