//! A sparse Cholesky factor of a grid's Laplacian along geometric nested dissection.
//!
//! It imports `csc`, and `base`.
//! Start with [`factor`].

pub mod factor;
pub(crate) mod front;
mod front_solve;
pub mod nested_dissection;
mod solve;
