//! Single precision by way of double.
//!
//! It imports `driver`, `matrix` and `gemm`.
//! Start with [`via_f64`].

pub(super) mod via_f64;
