//! Dense matrices: products, factorizations and triangular systems, on every device there is.

#[path = "../common/mod.rs"]
mod common;

mod blocks;
mod cholesky;
mod cholesky_batch;
mod cholesky_inverse;
mod contract;
mod gemm;
mod lu;
mod matmult_parts;
mod norms;
mod qr;
mod qr_apply;
mod qr_batch;
mod resident;
mod triangular;
