//! A few eigenvalues or singular values of a matrix that multiplies blocks of vectors.
//!
//! Block Lanczos for symmetric matrices ([`eigen`]) and block Golub-Kahan-Lanczos for others
//! ([`svd`]), both with thick restarts and full reorthogonalization, except for left singular
//! vectors where that of the right ones is enough. Stewart, "A Krylov-Schur algorithm for large
//! eigenproblems", SIAM J. Matrix Anal. Appl. 23 (2002); Wu & Simon, "Thick-restart Lanczos method
//! for large symmetric eigenvalue problems", ibid. 22 (2000); Simon & Zha, "Low-rank matrix
//! approximation using the Lanczos bidiagonalization process", SIAM J. Sci. Comput. 21 (2000);
//! Baglama & Reichel, ibid. 27 (2005).
//!
//! It imports `krylov`, `sparse`, `dense` and the contracts.
//! Start with [`solve`], which chooses the device; [`wanted`] says what is asked for and found.

mod basis;
mod consistency;
mod course;
pub mod direct;
pub mod eigen;
pub mod host;
pub mod operator;
mod small;
pub mod solve;
mod stack;
pub mod svd;
mod transfer;
pub mod wanted;
