//! Matrices larger than a device: Cholesky, systems, products and inverses by tiles, in host memory
//! or in a file.
//!
//! It imports `dense`, the contracts and the files of tiles. Start with [`cholesky`], the
//! algorithm, and [`engine`], which carries its plan out on several devices.

pub mod cholesky;
pub mod cholesky_file;
pub mod cholesky_host;
pub mod covariance;
pub mod engine;
pub mod factor;
pub mod factor_file;
pub mod file_task;
pub mod host_budget;
pub mod inverse;
pub mod known_file;
pub mod memory;
pub mod product;
pub mod solve;
pub mod solve_definite;
mod stream;
pub mod tasks;
pub mod tile_source;
