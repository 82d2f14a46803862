//! Single precision by way of double.
//!
//! It imports `matrix`, `driver`, `gemm`, `cholesky` and `triangular`; the last two import it.
//! Start with [`via_f64`].

pub(super) mod via_f64;
