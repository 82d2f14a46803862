//! The normal equations of each iteration, dense and sparse, and the augmented system around them.
//!
//! It imports `problem`, `vectors`, `sparse` and the contracts.
//! Start with [`equations`].

pub mod dense;
pub mod dense_constraints;
pub mod density;
pub mod equations;
mod free_columns;
pub mod layout;
pub mod mixed_precision;
mod pivots;
mod rank;
pub mod sparse;
mod sparse_product;
