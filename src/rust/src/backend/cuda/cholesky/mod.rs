//! Cholesky factorizations, and the kernels of factor updates.
//!
//! It imports `panel`, `precision`, `elementwise`, `gemm`, `triangular`, `matrix` and `driver`.
//! Start with [`factor`]; [`tiles`] is one launch for the whole matrix.

pub(super) mod batch;
pub(super) mod factor;
pub(super) mod tiles;
pub(super) mod update;
pub(crate) mod via_f64;
