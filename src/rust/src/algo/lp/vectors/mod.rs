//! Vectors of the interior-point method, on the host or on a device.
//!
//! It imports the contracts.
//! Start with [`space`].

pub(crate) mod device;
mod device_folds;
pub(crate) mod host;
pub mod space;
