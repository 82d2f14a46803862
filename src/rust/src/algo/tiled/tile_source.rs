//! Matrices in tiles that are read.

use crate::base::error::{Error, Result};
use crate::base::scalar::Scalar;
use crate::tiles::plan_executor::Store;
use crate::tiles::{Buffer, Layout};

/// A matrix, or a part of one, whose tiles are read in turn.
pub trait TileSource<T: Scalar>: Store<T> {
    fn layout(&self) -> &Layout;
    /// Its rows and columns of tiles.
    fn blocks(&self) -> (usize, usize);
    /// Rows and columns of it in the tile in this block row and block column. The rest of the tile
    /// is undefined.
    fn part(&self, i: usize, j: usize) -> (usize, usize);
    /// The error to report for one that was met.
    fn told(&self, e: Error) -> Error {
        e
    }

    /// Bytes of memory for a tile.
    fn tile_bytes(&self) -> Result<u64> {
        Ok(Buffer::<T>::new(self.layout())?.bytes().len() as u64)
    }

    /// The dimensions of its parts of tiles that are not whole tiles, each once.
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
