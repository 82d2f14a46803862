//! Products with few columns, and four columns made orthogonal to others: what the iterations for
//! a few eigenvalues and singular values spend their time on.
//!
//! It imports `base`, `gemm` and the views of `matrix`. Start with `columns`; `basis` has the
//! orthogonalization, and `kernels` the loops of both.

pub(super) mod basis;
pub(super) mod columns;
mod kernels;
