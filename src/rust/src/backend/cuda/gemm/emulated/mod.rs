//! Double products from products of 8-bit integers, for GPUs whose tensor cores multiply bytes much
//! faster than doubles.
//!
//! Lines (rows of A, columns of B) times powers of two become integers. Their residues modulo up to
//! 16 numbers below 257 are bytes, whose products are exact. The entries of C follow from their
//! residues (Chinese remainders; Ozaki, Uchino and Imamura 2025, scheme II).
//!
//! It imports `base`, `cost`, `driver`, `matrix` and `update`. Start with [`product`]; [`lines`]
//! measures operands, [`plan`] decides what they need, [`blocks`] computes by [`planes`],
//! [`proof`] finds where doubles must, [`job`] and [`workspace`] have the data, and [`moduli`] the
//! numbers.

mod blocks;
#[cfg(test)]
mod decision_tests;
#[cfg(test)]
mod exact_tests;
#[cfg(test)]
mod grade_tests;
mod job;
mod kernel;
mod lines;
mod moduli;
mod plan;
mod planes;
pub(super) mod product;
mod proof;
#[cfg(test)]
mod proof_tests;
#[cfg(test)]
mod tests;
mod workspace;
