//! Matrices in device memory.
//!
//! It imports `driver`.
//! Start with [`views`].

pub(super) mod operand;
pub(super) mod views;
