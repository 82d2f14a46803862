//! A file of tiles: a matrix that may be larger than memory, cut into square tiles, each of which
//! is read and written as a whole.
//!
//! - [`layout`]: the numbers and positions of tiles; [`strips`]: their parts that are copied one by
//!   one
//! - [`file`](mod@file): [`TileFile`], the file for the rest of the crate; `open` creates and opens
//!   it; `commit` makes written tiles durable
//! - [`header`], [`table`]: the records of the file that are not tiles; `slot_uses`: which slots of
//!   the file may be written
//! - [`direct`]: files without the system's cache of pages; [`buffer`]: memory for that;
//!   [`behind`]: a thread that writes tiles
//! - [`plain`]: files of other formats, through the cache; [`entries`]: the entries that a file
//!   does not store
//!
//! - [`schedule`]: the steps of a factorization by tiles; [`plan`]: which tile is in which slot of
//!   memory when; [`plan_executor`]: threads that carry a plan out;
//!   [`async_copy`](crate::device::async_copy): what a device does for that; [`memory`]: slots in
//!   host memory; [`meter`]: times of loading, storing and copying
//!
//! A file is whole at every moment. A tile is written to a place that no durable table names, and a
//! commit writes the other one of two tables once the tiles are durable. Whatever stops the process
//! or the machine, the newest table that is whole names tiles that are.

pub mod behind;
pub mod buffer;
mod commit;
pub mod direct;
pub mod entries;
pub mod file;
pub mod header;
pub mod layout;
pub mod list_schedule;
pub mod memory;
pub mod meter;
mod open;
pub mod plain;
pub mod plan;
pub mod plan_executor;
pub mod schedule;
mod slot_uses;
pub mod strips;
pub mod table;

pub use buffer::Buffer;
pub use direct::{check_regular, Access};
pub use entries::Below;
pub use file::TileFile;
pub use header::{Element, Header};
pub use layout::{Layout, Shape};
pub use open::{kind, names};
pub use plain::PlainFile;
pub use strips::Strips;
pub use table::State;
pub mod bytes;
