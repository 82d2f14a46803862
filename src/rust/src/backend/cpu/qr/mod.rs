//! Householder QR: plain, with LINPACK's and LAPACK's column exchanges, and of many problems.
//!
//! It imports `elementwise`, `matrix`, `gemm`, `triangular` and `vector`.
//! Start with [`factor`].

pub(super) mod batch;
pub(super) mod factor;
mod householder;
pub(super) mod limited;
pub(super) mod pivoted;
