//! Factorizations and products from host memory to host memory, with copies and computation at the
//! same time.
//!
//! It imports `transfer`, `elementwise`, `gemm`, `triangular`, `cholesky`, `lu`, `qr`, `matrix` and
//! `driver`. Start with [`factors`].

pub(super) mod factors;
pub(super) mod product;
pub(super) mod update;
