//! Verbs on a matrix that a device has room for, or of which it takes parts: products, factors,
//! systems, least squares.
//!
//! It imports `sparse`, the contracts and `cost`. Start with [`cholesky`]; [`matmult`] and
//! [`matmult_blocks`] show how a product goes part by part.

mod balance;
pub mod centre;
pub mod cholesky;
pub mod condition;
pub mod eigen;
pub mod eigen_batch;
pub mod host_to_host;
pub mod least_squares;
pub mod lu;
pub mod matmult;
pub mod matmult_blocks;
pub mod qr;
pub mod qr_apply;
pub(crate) mod scaling;
pub(crate) mod signs;
pub mod solve;
pub mod svd;
pub mod symmetry;
pub mod triangular;
