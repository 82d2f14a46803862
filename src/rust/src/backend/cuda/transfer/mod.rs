//! Copies matrices to the GPU and back, in chunks through pinned memory.
//!
//! It imports `driver`. Start with [`matrix`]; `copy_engine` has the threads, `column_blocks`
//! streams a matrix in blocks.

pub(super) mod column_blocks;
pub(super) mod copy_engine;
pub(super) mod host_copy;
pub(super) mod matrix;
#[cfg(test)]
mod matrix_tests;
pub(super) mod stage;
