//! Changes of Cholesky factors: updates, downdates, rows and columns taken out and put in.

#[path = "../common/mod.rs"]
mod common;

mod cholesky_rows;
mod cholesky_update;
