//! Random-walker segmentation of images.
//!
//! It imports `dense`, `sparse`, `krylov`, `multigrid` and the contracts.
//! Start with [`random_walker`]; [`choice`] decides between a factor and iterations.

pub mod accuracy;
pub mod algebraic;
pub mod choice;
pub mod graph;
mod grid;
pub mod image;
pub mod iterative;
mod labels;
pub mod multigrid;
pub mod probe;
pub mod random_walker;
pub mod seeds;
pub mod system;
