//! Multigrid as an approximate inverse: on grids, and algebraic on sparse matrices.
//!
//! It imports the contracts and `krylov`'s blocks.
//! Start with [`geometric`].

pub mod algebraic;
pub mod geometric;
