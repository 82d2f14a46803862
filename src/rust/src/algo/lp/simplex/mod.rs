//! A simplex method in twice the working precision for small linear programs that the iteration leaves undecided.
//!
//! It imports `ipm`, `normal`, `presolve`, `solution` and `standard_form`.
//! Start with `undecided`.

pub(crate) mod primal;
mod tableau;
pub(crate) mod undecided;
