//! Drivers written once, generic over [`Device`](crate::device::dense::Device).
//!
//! Each takes host views and leaves its result in a host view; what happens in between is the
//! device's. Those whose names end in `_resident` take and give matrices on the device. None names
//! a backend.

pub mod dense;
pub mod krylov;
pub mod lanczos;
pub mod lp;
pub mod multigrid;
pub mod segmentation;
pub mod sparse;
pub mod systems;
pub mod tiled;
pub mod update;
