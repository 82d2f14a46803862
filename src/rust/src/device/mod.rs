//! The contracts between the algorithms and the machines they run on.
//!
//! Traits and the types in their signatures, nothing else; it imports `base` and `progress`.
//! Start with [`dense`]: BLAS's and LAPACK's verbs. [`async_copy`] lets tiles travel while others are computed with.

pub mod async_copy;
pub mod covariance;
pub mod dense;
pub mod elementwise;
pub mod sparse;
pub mod stencil;
