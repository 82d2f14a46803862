//! Matrix products: general, symmetric, and with a vector.
//!
//! It imports `driver` and `matrix`. Start with [`gemm_syrk`]; [`plan`] cuts a product into tiles,
//! [`shapes`] says how large they are, and [`emulated`] computes in integers of 8 bits.

mod emulated;
pub(super) mod gemm_syrk;
mod plan;
pub(super) mod shapes;
pub(super) mod split_k;
mod tiled;
pub(super) mod update;
mod vector;
