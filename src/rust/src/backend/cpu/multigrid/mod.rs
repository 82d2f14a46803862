//! The steps of multigrid, on grids and on sparse matrices.
//!
//! It imports `matrix`.
//! Start with [`stencil`] and [`sparse`].

pub(super) mod csr;
mod slices;
pub(super) mod sparse;
mod sparse_coarse;
mod stencil;
mod stencil_coarse;
mod stencil_transfer;
