//! Factors and products from host memory to host memory, computed while blocks of columns travel.
//!
//! It imports `transfer` and the verbs.
//! Start with [`factors`].

pub(super) mod factors;
pub(super) mod product;
pub(super) mod update;
