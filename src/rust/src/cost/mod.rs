//! How long work takes and how much memory it needs, here and on a GPU.
//!
//! It imports `base` alone.
//! Start with [`plan`], which decides where and in how many parts a call computes. It asks
//! [`model`] how long that takes.

pub mod flops;
pub mod footprint;
pub mod integers;
pub mod model;
pub mod plan;
pub mod work;
