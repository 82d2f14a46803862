//! Eigenvalues and eigenvectors of symmetric matrices in two stages: `A = Q1 B Q1'` with a band
//! matrix B, and `B = Q2 T Q2'` with a tridiagonal T.
//!
//! It imports `qr`, `gemm`, `matrix` and `driver`. Start with [`band`]; [`chase`] makes the band
//! tridiagonal. [`tridiagonal`] finds the eigenvectors of T: `divide` joins the halves of one
//! level; `split`, `deflate` and `tables` are its arithmetic on the host.

pub(crate) mod band;
#[cfg(test)]
mod cases;
pub(crate) mod chase;
mod deflate;
mod divide;
mod split;
mod tables;
pub(super) mod tridiagonal;

#[cfg(test)]
mod tests;
