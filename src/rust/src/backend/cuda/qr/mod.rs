//! Householder QR, with and without column exchanges, and of many problems.
//!
//! It imports `panel`, `lu`, `elementwise`, `gemm`, `triangular`, `matrix` and `driver`. Start with
//! [`factor`], the order of work; `pipeline` and `cholesky_qr` are two ways to factor a panel.

mod apply;
pub(super) mod batch;
pub(super) mod cholesky_qr;
pub(super) mod factor;
pub(super) mod householder;
pub(super) mod pipeline;
pub(super) mod pivoted;
pub(super) mod reflectors;
