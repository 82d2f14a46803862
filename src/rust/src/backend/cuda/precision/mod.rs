//! Single precision by way of double.
//!
//! It imports `matrix` and `driver`, and the double-precision verbs.
//! Start with [`via_f64`].

pub(super) mod via_f64;
