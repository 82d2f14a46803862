//! Pipelines of columns: one launch factors as many columns as its blocks hold.
//!
//! It imports `driver` and `matrix`.
//! Start with [`column_pipeline`].

pub(super) mod column_pipeline;
