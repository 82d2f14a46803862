//! Iterative solution of linear systems: conjugate gradients, their preconditioners, multigrid.

#[path = "../common/mod.rs"]
mod common;

mod multigrid;
mod pcg;
