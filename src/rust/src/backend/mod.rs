//! The machines.

pub mod cpu;
#[cfg(feature = "cuda")]
pub mod cuda;
