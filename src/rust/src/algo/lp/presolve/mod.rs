//! What happens to a linear program before the iteration, and how its answer is verified after it.
//!
//! It imports `problem`, `vectors`, `normal` and `standard_form`.
//! Start with `reductions`.

pub(crate) mod dependent;
pub(crate) mod far_bounds;
pub(crate) mod reductions;
pub mod scale;
pub(crate) mod verify;
