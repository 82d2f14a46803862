//! Drivers written once, generic over [`Device`](crate::device::Device).
//!
//! Each takes host views and leaves its result in a host view; what happens in between is the
//! device's. Those whose names end in `_resident` take and give matrices on the device. None names a backend.

pub mod cholesky;
pub mod cholesky_file;
pub mod cholesky_host;
mod cholesky_panels;
pub mod cholesky_rows;
pub mod cholesky_tiled;
mod cholesky_triangle;
pub mod cholesky_update;
pub mod cholesky_update_file;
pub mod cholesky_update_host;
pub mod condition;
pub mod covariance;
pub mod determinant;
mod host_tiles;
pub mod least_squares;
pub mod lu;
pub mod matmult;
pub mod matmult_parts;
mod panel_window;
pub mod qr;
pub mod qr_apply;
pub mod solve;
pub mod solve_definite;
mod tiled_device;
pub mod tiled_factor;
pub mod tiled_inverse;
pub mod tiled_memory;
mod tiled_merge;
pub mod tiled_passing;
mod tiled_peers;
mod tiled_place;
pub mod tiled_product;
mod tiled_queue;
mod tiled_slots;
pub mod tiled_solve;
mod tiled_stream;
mod tiled_ways;
pub mod tiled_work;
pub mod triangular;
