//! Eigenvalues and eigenvectors of symmetric matrices in two stages: `A = Q1 B Q1'` with a band
//! matrix B, and `B = Q2 T Q2'` with a tridiagonal T.
//!
//! It imports `elementwise`, `qr`, `gemm`, `matrix` and `driver`. Start with [`symmetric`].
//! [`band`] is the first stage, [`chase`] the second, whose Q2 [`back`] applies. [`tridiagonal`]
//! finds the eigenvectors of T: `divide` joins the halves of one level; `split`, `deflate` and
//! `tables` are its arithmetic on the host. `probe` checks what comes out.

mod back;
mod band;
#[cfg(test)]
mod cases;
mod chase;
mod deflate;
mod divide;
mod probe;
mod split;
pub(super) mod symmetric;
mod tables;
mod tridiagonal;

#[cfg(test)]
mod tests;
