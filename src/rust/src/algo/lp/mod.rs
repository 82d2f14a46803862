//! Linear programs by a homogeneous interior-point method.
//!
//! It imports `sparse` and the contracts.
//! Start with [`solve`]: presolve, [`interior_point`], and the verified answer.

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
