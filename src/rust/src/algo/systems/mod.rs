//! Which solver and preconditioner a system is given to, and what carries it out.
//!
//! It imports `sparse`, `krylov`, `multigrid`, `dense` and the contracts.
//! Start with [`preconditioner`], the table, and [`solve`], which takes a [`problem`] to its
//! solution; [`choice`] weighs a factor against iterations.

pub mod choice;
pub mod dense;
pub mod host;
pub mod preconditioner;
pub mod problem;
pub mod resident;
pub mod solve;
