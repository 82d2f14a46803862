//! Sparse matrices of the host: storage by rows and by columns, complete and incomplete Cholesky
//! factors.
//!
//! It imports `krylov`'s blocks of vectors and `base`.
//! Start with [`cholesky`]; [`incomplete_cholesky`] makes the preconditioner.

pub mod cholesky;
pub mod csc;
pub mod csr;
mod fronts;
pub mod incomplete_cholesky;
pub mod incomplete_cholesky_columns;
pub mod levels;
pub mod multifrontal;
