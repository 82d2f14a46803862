//! Eigenvalues and eigenvectors of symmetric tridiagonal matrices.
//!
//! It imports `gemm`, `matrix` and `driver`. Start with [`tridiagonal`]; `divide` joins the halves
//! of one level; `split`, `deflate` and `tables` are its arithmetic on the host.

#[cfg(test)]
mod cases;
mod deflate;
mod divide;
mod split;
mod tables;
pub(super) mod tridiagonal;
