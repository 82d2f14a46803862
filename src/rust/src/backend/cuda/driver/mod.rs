//! One GPU of this process: its context, streams, memory, kernels, and how they are launched.
//!
//! It imports `base` alone. Start with [`context`]; [`kernels`] lists the families, [`launch`]
//! starts them, [`probe`] says whether there is a GPU.

#[cfg(any(test, feature = "testing"))]
pub(super) mod belief;
pub(super) mod buffer;
pub(super) mod chunks;
pub(super) mod code;
pub(super) mod context;
pub(super) mod guards;
pub(super) mod kernels;
mod launch;
pub(super) mod modules;
mod pool;
pub mod probe;
pub(super) mod properties;
#[cfg(test)]
mod shortage;
#[cfg(any(test, feature = "testing"))]
pub(super) mod slowed;
pub mod speed;
pub(super) mod split_k;
pub(super) mod staging;
pub(super) mod streams;
pub(crate) mod traffic;
mod version;
