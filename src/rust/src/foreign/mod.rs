//! Matrices in files of other formats: read into files of tiles, and written from them. Memory
//! holds only some tiles at a time.
//!
//! - [`number`]: how a number lies in a file; [`npy`]: the header of NumPy's format
//! - [`source`]: where a file has the entries of a matrix, as lines of numbers that lie side by
//!   side: columns or rows
//! - [`mps`]: linear programs in MPS files
//! - [`import`](mod@import), [`export`](mod@export): to tiles, and from them

pub mod export;
pub mod import;
pub mod mps;
pub mod npy;
pub mod number;
pub mod source;

pub use export::{export, ExportFormat};
pub use import::import;
pub use number::Number;
pub use source::{Source, StorageOrder};
