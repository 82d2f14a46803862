//! The interior-point iteration.
//!
//! It imports `vectors`, `normal` and `presolve`.
//! Start with [`iterate`].

pub mod iterate;
pub mod newton;
pub mod point;
mod start;
pub mod stop;
