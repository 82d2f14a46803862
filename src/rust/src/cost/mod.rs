//! How long work takes and how much memory it needs, here and on a GPU.
//!
//! It imports `base` alone.
//! Start with [`model`], which decides where `device = "auto"` computes.

pub mod footprint;
pub mod model;
pub mod work;
