//! The GPU as a device: what the contracts of `device/` ask for, one file a contract.
//!
//! It imports `cholesky`, `elementwise`, `transfer`, `matrix` and `driver`.
//! Start with [`elementwise`]; [`peers`] and [`tiles`] serve several GPUs.

mod batched;
mod blas;
mod covariance;
pub(super) mod elementwise;
mod interop;
mod lapack;
mod memory;
mod peers;
mod streamed;
mod tiles;
mod update;
pub(super) mod usage;
