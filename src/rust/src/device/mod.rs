//! The contracts between the algorithms and the machines they run on.
//!
//! It has traits and the types in their signatures, nothing else. It imports `base`, `cost` and
//! `tiles`. Start with [`memory`], then [`blas`] and [`lapack`]. [`dense`] is their sum with
//! [`batched`], [`streamed`], [`update`] and [`covariance`]. [`async_copy`] is for tiles that
//! travel during computations. [`spectral`] has eigenvalues and singular values.

pub mod async_copy;
pub mod batched;
pub mod blas;
pub mod covariance;
pub mod dense;
pub mod dispatch;
pub mod elementwise;
pub mod functions;
pub mod lapack;
pub mod memory;
pub mod multigrid;
pub mod report;
pub mod sparse;
pub mod spectral;
pub mod stencil;
pub mod streamed;
pub mod update;
