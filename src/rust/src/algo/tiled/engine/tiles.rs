//! A matrix whose tiles an engine loads and stores.

use std::ops::Range;

use crate::base::error::Result;
use crate::tiles::{Buffer, Layout, Strips};

/// A matrix whose tiles are loaded and stored, and the progress of each tile.
pub trait Tiles<T>: Sync {
    fn layout(&self) -> Layout;
    /// The number of steps of the factorization that are done on the tile.
    fn step(&self, tile: usize) -> u32;
    /// The parts of tiles that are loaded and stored one by one if devices have copies of tiles.
    fn strips(&self) -> Strips {
        Strips::whole(self.layout())
    }
    /// Loads these columns of a tile, of one strip or all.
    fn load(&self, tile: usize, columns: Range<usize>, into: &mut Buffer<T>) -> Result<()>;
    fn store(&self, tile: usize, columns: Range<usize>, from: &Buffer<T>, step: u32) -> Result<()>;
    /// Whether loading and storing are fast, so that the order of steps matters less.
    fn is_in_memory(&self) -> bool {
        false
    }
    /// The number of threads for work in the background.
    fn background_threads(&self) -> usize {
        0
    }
    /// A thread's share of that work. It may end when it is told not to go on.
    fn background(&self, _go_on: &dyn Fn() -> bool) {}
}
