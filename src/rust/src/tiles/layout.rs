//! Which tiles a matrix is cut into, and how they are numbered.

use crate::base::error::{Error, Result};
use crate::tiles::bytes::PAGE;

/// What of a matrix is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// The tiles of a square matrix that hold its upper triangle.
    Triangle,
    /// All tiles.
    Full,
}

/// A `rows` x `cols` matrix in tiles of order `tile`. Those in the last block row and column may
/// hold less.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    rows: usize,
    cols: usize,
    tile: usize,
    shape: Shape,
}

impl Layout {
    /// Fails where the numbers make no layout, or tiles or entries of a tile cannot be counted.
    pub fn new(rows: usize, cols: usize, tile: usize, shape: Shape) -> Result<Self> {
        let error = |what: String| Err(Error::Dimension { what });
        if tile == 0 {
            return error("a tile has at least one row".to_owned());
        }
        if shape == Shape::Triangle && rows != cols {
            return error(format!(
                "a matrix stored by its upper triangle is square, not {rows} x {cols}"
            ));
        }
        let tiles = rows
            .div_ceil(tile)
            .checked_add(1)
            .and_then(|rows| rows.checked_mul(cols.div_ceil(tile)));
        // The memory of a tile, of numbers of up to eight bytes, is addressed by a signed number.
        let entries = tile
            .checked_mul(tile)
            .filter(|&n| n <= isize::MAX as usize / 16);
        if tiles.is_none() || entries.is_none() {
            return error(format!(
                "a {rows} x {cols} matrix in tiles of order {tile} is larger than can be addressed"
            ));
        }
        Ok(Layout {
            rows,
            cols,
            tile,
            shape,
        })
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    pub fn cols(&self) -> usize {
        self.cols
    }

    /// The order of a tile, and the distance between its columns.
    pub fn tile(&self) -> usize {
        self.tile
    }

    pub fn shape(&self) -> Shape {
        self.shape
    }

    pub fn block_rows(&self) -> usize {
        self.rows.div_ceil(self.tile)
    }

    pub fn block_cols(&self) -> usize {
        self.cols.div_ceil(self.tile)
    }

    /// How many tiles are stored.
    pub fn tiles(&self) -> usize {
        let (rows, cols) = (self.block_rows(), self.block_cols());
        match self.shape {
            Shape::Triangle => cols * (cols + 1) / 2,
            Shape::Full => rows * cols,
        }
    }

    /// The number of the tile in block row `i` and block column `j`, counted from zero; none where
    /// no such tile is stored.
    pub fn index(&self, i: usize, j: usize) -> Option<usize> {
        if i >= self.block_rows() || j >= self.block_cols() {
            return None;
        }
        match self.shape {
            Shape::Triangle if i > j => None,
            Shape::Triangle => Some(j * (j + 1) / 2 + i),
            Shape::Full => Some(j * self.block_rows() + i),
        }
    }

    /// The block row and block column of a stored tile.
    pub fn position(&self, index: usize) -> (usize, usize) {
        match self.shape {
            Shape::Triangle => {
                // The largest j with j (j + 1) / 2 <= index, from the root of the quadratic, which
                // is rounded.
                let mut j = (((8.0 * index as f64 + 1.0).sqrt() - 1.0) / 2.0) as usize;
                while j * (j + 1) / 2 > index {
                    j -= 1;
                }
                while (j + 1) * (j + 2) / 2 <= index {
                    j += 1;
                }
                (index - j * (j + 1) / 2, j)
            }
            Shape::Full => {
                let rows = self.block_rows().max(1);
                (index % rows, index / rows)
            }
        }
    }

    /// How many rows and columns the tile in block row `i` and block column `j` has; none outside
    /// of the matrix.
    pub fn dimensions(&self, i: usize, j: usize) -> (usize, usize) {
        let along = |n: usize, block: usize| {
            n.saturating_sub(block.saturating_mul(self.tile))
                .min(self.tile)
        };
        (along(self.rows, i), along(self.cols, j))
    }
}

/// The bytes that a tile takes in the file: whole pages.
pub(super) fn slot_bytes(layout: &Layout, element: usize) -> usize {
    // A layout has tiles of which no more than the eighth part of an address is needed for this.
    (layout.tile() * layout.tile() * element).next_multiple_of(PAGE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_positions_are_inverse() {
        for shape in [Shape::Triangle, Shape::Full] {
            for n in [0, 1, 7, 8, 9, 40, 65] {
                let layout = Layout::new(n, n, 8, shape).unwrap();
                let mut seen = 0;
                let mut entries = 0;
                for j in 0..layout.block_cols() {
                    for i in 0..layout.block_rows() {
                        if let Some(index) = layout.index(i, j) {
                            assert_eq!(index, seen);
                            assert_eq!(layout.position(index), (i, j));
                            seen += 1;
                        } else {
                            assert!(shape == Shape::Triangle && i > j);
                        }
                        let (rows, cols) = layout.dimensions(i, j);
                        assert!(rows * cols > 0);
                        entries += rows * cols;
                    }
                }
                assert_eq!((seen, entries), (layout.tiles(), n * n));
                assert_eq!(layout.index(0, layout.block_cols()), None);
                assert_eq!(layout.dimensions(layout.block_rows(), 0).0, 0);
            }
        }
    }

    #[test]
    fn a_full_matrix_need_not_be_square() {
        let layout = Layout::new(10, 3, 4, Shape::Full).unwrap();
        assert_eq!((layout.block_rows(), layout.block_cols()), (3, 1));
        assert_eq!(layout.position(2), (2, 0));
        assert_eq!(layout.dimensions(2, 0), (2, 3));
        assert_eq!(Layout::new(0, 3, 4, Shape::Full).unwrap().tiles(), 0);
    }

    #[test]
    fn far_positions_are_exact() {
        let layout = Layout::new(1 << 31, 1 << 31, 1, Shape::Triangle).unwrap();
        for j in [94_906_265, (1 << 31) - 1] {
            for i in [0, j] {
                let index = layout.index(i, j).unwrap();
                assert_eq!(layout.position(index), (i, j));
            }
        }
    }

    #[test]
    fn what_makes_no_layout_is_an_error() {
        for (rows, cols, tile, shape) in [
            (3, 3, 0, Shape::Full),
            (3, 4, 2, Shape::Triangle),
            (usize::MAX, usize::MAX, 1, Shape::Full),
            (1, 1, usize::MAX, Shape::Full),
            (1, 1, 1 << 31, Shape::Full),
        ] {
            let layout = Layout::new(rows, cols, tile, shape);
            assert!(matches!(layout, Err(Error::Dimension { .. })), "{layout:?}");
        }
    }
}
