//! Matrices larger than a device's memory, by tiles; files of other formats; reports of progress.

#[path = "../common/mod.rs"]
mod common;

mod cholesky_file;
mod cholesky_host;
mod factor_file;
mod foreign;
mod progress;
mod solve_definite;
mod tile_solve;
