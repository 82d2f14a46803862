//! Dense factorizations and products for the R package `cudafactor`.
//!
//! - [`error`], [`matrix`], [`scalar`], [`interrupt`], [`progress`], [`work`]: words shared by every layer
//! - [`cost`]: how long work takes, here and on a GPU
//! - [`device`]: the trait every machine implements
//! - [`backend`]: `cpu` (faer) and, with feature `cuda`, `cuda` (our own kernels)
//! - [`algo`]: drivers written once, generic over the trait
//! - `r` (feature `r`): the glue to R, the only module that knows extendr

pub mod algo;
pub mod backend;
pub mod cost;
pub mod device;
pub mod error;
pub mod interrupt;
pub mod matrix;
pub mod progress;
#[cfg(feature = "r")]
mod r;
pub mod scalar;
pub mod work;
