//! Matrices in device memory.
//!
//! It imports `transfer` and `driver`.
//! Start with [`views`].

pub(super) mod operand;
pub(super) mod views;
