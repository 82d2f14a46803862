//! Which solver and preconditioner a system is given to.
//!
//! It imports `sparse`, `krylov` and `multigrid`.
//! Start with [`preconditioner`], the table; [`choice`] weighs a factor against iterations.

pub mod choice;
pub mod preconditioner;
pub mod resident;
