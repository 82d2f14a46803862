//! The GPU as a device: what the contracts of `device/` ask for, one file a contract.
//!
//! It imports every other folder of this backend, save `multigrid`.
//! Start with `memory`, `blas` and `lapack`; `peers` and `tiles` serve several GPUs.

mod batched;
mod blas;
mod covariance;
pub(super) mod elementwise;
#[cfg(feature = "testing")]
mod interop;
mod lapack;
mod memory;
mod peers;
mod spectral;
mod streamed;
mod tiles;
mod update;
pub(super) mod usage;
