//! Double products from products of 8-bit integers, for GPUs whose tensor cores multiply bytes much
//! faster than doubles.
//!
//! Lines (rows of A, columns of B) times powers of two become integers. Their residues modulo up to
//! 16 numbers below 257 are bytes, whose products are exact. The entries of C follow from their
//! residues (Chinese remainders; Ozaki, Uchino and Imamura 2025, scheme II).
//!
//! It imports `base`, `cost`, `driver`, `matrix` and `update`. Start with [`product`]; [`lines`]
//! measures operands, [`plan`] decides what they need, [`blocks`] computes, and [`moduli`] has the
//! numbers.

mod blocks;
#[cfg(test)]
mod exact_tests;
mod lines;
mod moduli;
mod plan;
pub(super) mod product;
#[cfg(test)]
mod tests;
