//! The GPU as a device: what the contracts of `device/` ask for, one file a contract.
//!
//! It imports `cholesky`, `elementwise`, `transfer`, `matrix` and `driver`.
//! Start with [`elementwise`]; [`peers`] and [`tiles`] serve several GPUs.

pub(super) mod elementwise;
mod interop;
mod peers;
mod tiles;
pub(super) mod usage;
mod memory;
mod blas;
mod lapack;
mod batched;
mod streamed;
mod update;
mod covariance;
