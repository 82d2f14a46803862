//! Rank-k updates and downdates of Cholesky factors by reflections of rows.
//!
//! It imports `matrix`.
//! Start with [`factor`], then `reflections`; `kernels` has the inner loops.

pub(super) mod factor;
mod kernels;
mod panels;
mod reflections;
mod registers;
