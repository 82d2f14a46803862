//! Eigenvalues and eigenvectors of symmetric matrices: small ones become tridiagonal in one stage,
//! `A = Q T Q'`, larger ones in two, `A = Q1 B Q1'` with a band matrix B and `B = Q2 T Q2'`.
//!
//! It imports `elementwise`, `qr`, `gemm`, `matrix` and `driver`. Start with [`symmetric`].
//! [`one_stage`] is for small matrices. [`band`] is the first of two stages, with narrow panels by
//! [`band_panel`], and [`chase`] the second, whose Q2 [`back`] applies. [`tridiagonal`] finds the
//! eigenvectors of T: `divide` joins halves; `split`, `tables` and `base::deflate` are its
//! arithmetic on the host. `probe` checks what comes out. [`batch`] is for many small matrices.

mod back;
mod band;
mod band_panel;
pub(super) mod batch;
#[cfg(test)]
mod cases;
mod chase;
mod divide;
mod one_stage;
mod probe;
mod split;
pub(super) mod symmetric;
mod tables;
mod tridiagonal;

#[cfg(test)]
mod tests;
