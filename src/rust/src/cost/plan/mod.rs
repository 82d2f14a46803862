//! The plan of a call: on which device it computes, and in how many parts its matrices go there.
//!
//! It imports `footprint`, `model` and `work`.
//! A plan is made in two steps. [`device`] chooses the CPU or a GPU before any driver is opened;
//! [`size`] says, for an open device, whether matrices go there whole, streamed or by tiles. Every
//! threshold of both stands there, with its meaning. The drivers in `algo` and `backend` carry the
//! plan out. [`call`] is the plan as a value, which option `cudafactor.verbose` shows.

pub mod call;
pub mod device;
pub mod size;
