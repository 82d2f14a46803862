//! Preconditioned conjugate gradients for many right-hand sides at once.
//!
//! It imports the contracts.
//! Start with [`pcg`]; [`blocks`] says what it asks of vectors, matrices and preconditioners.

pub mod blocks;
mod convergence;
pub mod dense;
pub mod device_blocks;
pub mod host_blocks;
mod iteration;
pub mod outcome;
pub mod pcg;
pub mod spectrum;
