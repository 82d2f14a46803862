//! Linear programs by a homogeneous interior-point method.
//!
//! It imports `sparse` and the contracts.
//! Start with [`solve`]: presolve, [`interior_point`], and the verified answer. [`choice`] takes a
//! problem to the device and the kind of matrix for it.

pub mod choice;
mod interior_point;
pub mod ipm;
pub mod normal;
pub mod presolve;
pub mod problem;
mod simplex;
pub mod solution;
pub mod solve;
pub mod standard_form;
pub mod vectors;
