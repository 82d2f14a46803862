//! Eigenvalues of symmetric matrices in two stages: `A = Q1 B Q1'` with a band matrix B, and
//! `B = Q2 T Q2'` with a tridiagonal T.
//!
//! Start with [`band`]; [`chase`] makes the band tridiagonal.

pub(crate) mod band;
pub(crate) mod chase;

#[cfg(test)]
mod tests;
