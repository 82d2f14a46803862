//! A file of tiles: a matrix larger than any memory, cut into square tiles, each of which is read
//! and written as a whole.
//!
//! - [`layout`]: which tiles there are, and how they are numbered; [`strips`]: parts of them that
//!   travel by themselves
//! - [`file`](mod@file): [`TileFile`], what the rest of the crate uses; `open`: how it comes to be;
//!   `commit`: how what was written becomes durable
//! - [`header`], [`table`]: the two kinds of record beside the tiles; `slots`: which places of the
//!   file may be written
//! - [`direct`]: the file as the system gives it, past its cache of pages; [`buffer`]: memory fit
//!   for that; [`behind`]: tiles written by a thread of its own
//! - [`plain`]: files of other formats, through the cache; [`entries`]: what the entries are that a
//!   file does not hold
//!
//! - [`schedule`]: the steps of a factorization by tiles; [`plan`]: which tile lies in memory when;
//!   [`plan_executor`]: a plan carried out by several threads;
//!   [`async_copy`](crate::device::async_copy): what a device must do for it; [`memory`]: the
//!   host's, for tiles; [`meter`]: how long what went on
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
mod slots;
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
