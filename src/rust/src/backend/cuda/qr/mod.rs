//! Householder QR, with and without column exchanges, and of many problems.
//!
//! It imports `panel`, `gemm`, `triangular` and what is below them.
//! Start with [`factor`], the order of work; `pipeline` and `cholesky_qr` are two ways to factor a panel.

pub(super) mod batch;
mod cholesky_qr;
pub(super) mod factor;
pub(super) mod householder;
pub(super) mod pipeline;
pub(super) mod pivoted;
mod reflectors;
