//! What `gpu_peers` is made of: the peers' libraries, data on the device, timing, the table.

pub mod blas;
pub mod cases;
pub mod data;
pub mod eigen;
pub mod eigen_batch;
pub mod factors;
pub mod library;
pub mod lu;
pub mod products;
pub mod qr;
pub mod report;
pub mod solver;
pub mod solver_x;
pub mod timing;
pub mod vectors;

pub type Outcome<T> = Result<T, Box<dyn std::error::Error>>;
