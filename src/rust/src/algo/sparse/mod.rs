//! Sparse matrices of the host: products with blocks, complete and incomplete Cholesky factors.
//!
//! It imports `krylov`'s blocks of vectors and `base`.
//! Start with [`cholesky`]; [`incomplete_cholesky`] makes the preconditioner.

pub mod cholesky;
mod fronts;
pub mod incomplete_cholesky;
pub mod incomplete_cholesky_columns;
pub mod levels;
pub mod multifrontal;
mod products;
