//! Dense factorizations and products for the R package `cudafactor`.
//!
//! A layer imports those above it in this list. The exceptions are few: `base` counts `progress`, `device` names the pages of
//! `tiles`, `saved` reads on the CPU backend, and two files of `algo` use that backend's vectors.
//!
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
#[cfg(feature = "r")]
mod r;
pub mod saved;
pub mod tiles;
