//! A simplex method in twice the working precision for small linear programs that the iteration
//! leaves undecided.
//!
//! It imports `problem`, `normal`, `presolve`, `ipm` and `solution`.
//! Start with `undecided`.

pub(crate) mod primal;
mod tableau;
pub(crate) mod undecided;
