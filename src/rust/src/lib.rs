//! Dense factorizations and products for the R package `cudafactor`.
//!
//! A layer imports only those above it in this list; `tools/imports.py` checks it.
//!
//! - [`base`]: element types, errors, interrupts, progress, threads, memory of the host
//! - [`cost`]: how long work takes, and how much memory it needs, here and on a GPU
//! - [`tiles`]: a file of tiles, for matrices that no memory holds
//! - [`device`]: the contracts that every machine implements
//! - [`foreign`]: files of other formats; [`saved`]: files of single matrices, with checksums
//! - [`algo`]: drivers written once, generic over the contracts
//! - [`backend`]: `cpu` (faer) and, with feature `cuda`, `cuda` (our own kernels)
//! - `r` (feature `r`): the glue to R, the only module that knows extendr

pub mod algo;
pub mod backend;
pub mod base;
pub mod cost;
pub mod device;
pub mod foreign;
#[cfg(feature = "r")]
mod r;
pub mod saved;
pub mod tiles;
