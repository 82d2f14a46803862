//! The steps of multigrid, on grids and on sparse matrices.
//!
//! It imports `elementwise`, `transfer`, `matrix` and `driver`.
//! Start with [`stencil`] and [`sparse`].

pub(super) mod csr;
pub(super) mod sparse;
pub(super) mod sparse_aggregates;
mod sparse_coarse;
mod sparse_load;
mod stencil;
