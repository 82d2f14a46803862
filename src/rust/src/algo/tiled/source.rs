//! What a matrix is of which tiles pass by to be looked at.

use crate::base::error::{Error, Result};
use crate::base::scalar::Scalar;
use crate::tiles::plan_executor::Store;
use crate::tiles::{Buffer, Layout};

/// A matrix of which tiles are looked at.
pub trait Passing<T: Scalar>: Store<T> {
    fn layout(&self) -> &Layout;
    /// Rows and columns of tiles that are of it.
    fn blocks(&self) -> (usize, usize);
    /// How many rows and columns of the tile in this block row and block column are of it: what
    /// fills the tile up may be anything.
    fn part(&self, i: usize, j: usize) -> (usize, usize);
    /// What a failure is told as.
    fn told(&self, e: Error) -> Error {
        e
    }

    /// Bytes of memory for a tile.
    fn tile_bytes(&self) -> Result<u64> {
        Ok(Buffer::<T>::new(self.layout())?.bytes().len() as u64)
    }

    /// Parts of tiles that are not whole ones, each once.
    fn edges(&self) -> Vec<(usize, usize)> {
        let (rows, cols) = self.blocks();
        let (i, j) = (rows.saturating_sub(1), cols.saturating_sub(1));
        let n = self.layout().tile();
        let mut parts = Vec::new();
        for (i, j) in [(i, 0), (0, j), (i, j)] {
            let part = self.part(i, j);
            let stored = self.layout().index(i, j).is_some();
            if stored && part != (n, n) && !parts.contains(&part) {
                parts.push(part);
            }
        }
        parts
    }
}
