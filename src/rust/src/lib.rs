//! Dense factorizations and products for the R package `cudafactor`.
//!
//! Each layer imports only those above it in this list:
//! - [`base`]: element types, errors, interrupts, threads, memory of the host
//! - [`progress`]: how far a long call has come
//! - [`cost`]: how long work takes, and how much memory it needs, here and on a GPU
//! - [`device`]: the contracts that every machine implements
//! - [`tiles`]: a file of tiles, for matrices that no memory holds; [`foreign`]: files of other formats; [`saved`]: files of
//!   single matrices, with checksums
//! - [`algo`]: drivers written once, generic over the contracts
//! - [`backend`]: `cpu` (faer) and, with feature `cuda`, `cuda` (our own kernels)
//! - `r` (feature `r`): the glue to R, the only module that knows extendr

pub mod algo;
pub mod backend;
pub mod base;
pub mod cost;
pub mod device;
pub mod foreign;
pub mod progress;
#[cfg(feature = "r")]
mod r;
pub mod saved;
pub mod tiles;
