//! The processor as a device: what the contracts of `device/` ask for, one file a contract.
//!
//! It imports `elementwise` and `matrix`.
//! Start with [`elementwise`].

mod elementwise;
mod tiles;
pub(super) mod usage;
mod memory;
mod blas;
mod lapack;
mod batched;
mod streamed;
mod update;
mod covariance;
