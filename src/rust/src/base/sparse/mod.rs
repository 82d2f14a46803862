//! Sparse matrices of the host, of every layer: one compressed format.
//!
//! A matrix compressed by columns is its transpose compressed by rows, so one type serves both.
//! Start with [`csc`]; [`symmetric`] keeps both triangles for products.

pub mod csc;
mod rows;
pub mod symmetric;
pub mod view;
