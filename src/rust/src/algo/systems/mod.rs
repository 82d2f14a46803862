//! Which solver and preconditioner a system is given to.
//!
//! It imports `sparse`, `krylov` and `multigrid`.
//! Start with [`choice`].

pub mod choice;
pub mod resident;
