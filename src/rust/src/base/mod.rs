//! What every layer uses: element types, errors, interrupts, progress, threads, memory and sparse
//! matrices of the host.
//!
//! It imports nothing else of the crate. Start with [`error`], [`scalar`] and [`matrix`];
//! [`reserve`] keeps R alive where memory is short.

pub mod accounting;
pub(crate) mod caches;
pub(crate) mod chunks;
pub(crate) mod columns;
pub(crate) mod deflate;
pub mod emulation;
pub mod error;
mod error_text;
pub(crate) mod host_memory;
pub mod identity;
pub mod interrupt;
pub mod matrix;
pub(crate) mod packing;
pub(crate) mod probe;
pub mod processor;
pub mod progress;
pub mod reserve;
pub mod scalar;
pub(crate) mod simd;
pub mod sparse;
pub(crate) mod spawn;
pub mod threads;
