//! Matrices in host memory: views, copies, passes in bands.
//!
//! It imports the foundation alone.
//! Start with [`views`].

pub(super) mod bands;
pub(super) mod copy;
pub(super) mod transposed_rows;
pub(super) mod views;
