//! Cholesky factors that change: rank-k updates and downdates, rows and columns that come and go.
//!
//! It imports `tiled`, the contracts and the files of tiles. Start with [`factor`], for a factor on
//! a device, with `checks`, `margin` and `change`. [`host`] and [`mod@file`] pass a factor through
//! a device in panels.

mod change;
mod checks;
pub mod factor;
pub mod file;
pub mod file_task;
pub mod host;
pub(crate) mod margin;
mod panels;
pub mod rows;
mod triangle;
mod window;
