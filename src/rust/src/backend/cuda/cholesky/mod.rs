//! Cholesky factorizations, and factor updates.
//!
//! It imports `panel`, `precision`, `elementwise`, `gemm`, `triangular`, `matrix` and `driver`.
//! Start with [`factor`]; [`tiles`] is one launch for the whole matrix.

pub(super) mod batch;
pub(super) mod factor;
pub(super) mod tiles;
pub(super) mod update;
pub(super) mod update_on_host;
pub(crate) mod via_f64;
