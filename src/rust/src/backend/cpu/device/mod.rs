//! The processor as a device: what the contracts of `device/` ask for, one file a contract.
//!
//! It imports every other folder of this backend, save `multigrid`.
//! Start with `memory`, `blas` and `lapack`.

mod batched;
mod blas;
mod covariance;
mod elementwise;
mod lapack;
mod memory;
mod spectral;
mod streamed;
mod tiles;
mod update;
pub(super) mod usage;
