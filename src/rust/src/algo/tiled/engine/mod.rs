//! Plans tile tasks and carries the plan out: which device does which, which tile is in which slot,
//! and what is asked of the host's memory.
//!
//! It imports the contracts and `tiles`.
//! Start with [`factor_plan`], then `device`, which carries one device's part out.

pub(crate) mod device;
pub(crate) mod device_slot;
pub mod factor_plan;
pub(crate) mod host_tiles;
mod merge;
pub(crate) mod orders;
mod pace;
pub(crate) mod peers;
pub(crate) mod queue;
mod share;
pub mod slot_budget;
pub(crate) mod slots;
pub(crate) mod task;
pub mod tiles;
