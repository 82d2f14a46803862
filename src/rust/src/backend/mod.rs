//! The machines.
//!
//! A build without the feature `cuda` has `absent` in place of the GPU backend. So code that
//! dispatches to a machine is the same in every build.
//! Start with [`cpu`]; `dispatch` goes from the name of a machine to the machine.

pub mod cpu;
#[cfg(feature = "cuda")]
pub mod cuda;
#[cfg(not(feature = "cuda"))]
#[path = "absent.rs"]
pub mod cuda;
#[cfg(feature = "r")]
pub(crate) mod dispatch;
