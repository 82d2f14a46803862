//! Carries a plan of tile tasks out: who does which, what lies where, and what the host's memory is
//! asked for.
//!
//! It imports the contracts and `tiles`.
//! Start with [`work`], the plan, then `device`, which carries one device's part out.

pub(crate) mod device;
pub(crate) mod device_slot;
pub(crate) mod host_tiles;
mod merge;
pub(crate) mod orders;
pub(crate) mod peers;
pub(crate) mod queue;
pub mod room;
pub(crate) mod slots;
pub(crate) mod task;
pub mod work;
