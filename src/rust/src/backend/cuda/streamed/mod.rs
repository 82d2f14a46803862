//! Factors and products from host memory to host memory, computed while blocks of columns travel.
//!
//! It imports `transfer`, `elementwise`, `gemm`, `triangular`, `cholesky`, `lu`, `qr`, `matrix` and
//! `driver`. Start with [`factors`].

pub(super) mod factors;
pub(super) mod product;
pub(super) mod update;
