//! Dense factorizations and products for the R package `cudafactor`.
//!
//! - [`error`], [`matrix`], [`scalar`], [`interrupt`], [`progress`], [`work`]: words shared by every layer
//! - `threads`: how many threads a step may use; [`cost`]: how long work takes, here and on a GPU
//! - [`held`]: what matrices that outlive a call hold, and relief where memory is short; [`footprint`]: what a call needs
//! - [`reserve`]: memory set aside, so that a failed allocation ends a call and not the process; `packing`: memory of products;
//!   `spawn`: threads that there is memory for
//! - [`device`]: the trait every machine implements; [`elementwise`]: arithmetic by entries, reductions, movement
//! - [`stencil`]: operators on grids, and the steps of multigrid with them
//! - [`sparse`]: sparse matrices, and the steps of algebraic multigrid with them
//! - [`covariance`]: functions that make covariances of points
//! - [`backend`]: `cpu` (faer) and, with feature `cuda`, `cuda` (our own kernels)
//! - [`tiles`]: a file of tiles, for matrices that no memory holds
//! - [`foreign`]: files of other formats, read into files of tiles and written from them
//! - [`saved`]: files of single matrices, with checksums; [`identity`]: what tells a state of a matrix from all others
//! - [`algo`]: drivers written once, generic over the trait
//! - `r` (feature `r`): the glue to R, the only module that knows extendr

pub mod algo;
pub mod backend;
pub mod cost;
pub mod covariance;
pub mod device;
pub mod elementwise;
pub mod error;
pub mod footprint;
pub mod foreign;
pub mod held;
mod host_memory;
pub mod identity;
pub mod interrupt;
pub mod matrix;
mod packing;
mod parts;
pub mod progress;
#[cfg(feature = "r")]
mod r;
pub mod reserve;
pub mod saved;
pub mod scalar;
pub mod sparse;
mod spawn;
pub mod stencil;
pub mod threads;
pub mod tiles;
pub mod work;
