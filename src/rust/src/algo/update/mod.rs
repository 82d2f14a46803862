//! Cholesky factors that change: rank-k updates and downdates, rows and columns that come and go.
//!
//! It imports `tiled`, the contracts and the files of tiles. Start with [`factor`], of a factor on
//! a device; [`host`] and [`mod@file`] pass a factor through it in panels.

pub mod factor;
pub mod file;
pub mod host;
mod panels;
pub mod rows;
mod triangle;
mod window;
