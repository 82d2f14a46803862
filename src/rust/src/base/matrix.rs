//! Flags of BLAS and LAPACK (triangle, transpose, side, unit diagonal), and [`Block`], a part of a
//! matrix.

/// Which triangle of a square matrix is meant. The other is neither read nor written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Uplo {
    Upper,
    Lower,
}

/// The matrix itself or its transpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trans {
    No,
    Yes,
}

/// On which side of the unknown a triangular matrix stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Left,
    Right,
}

/// Whether a triangular matrix has ones on its diagonal, which are then not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Diag {
    Unit,
    NonUnit,
}

/// Whether a product is added to a matrix that has been factored, or subtracted from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    Up,
    Down,
}

/// The part of a matrix that is copied to a device; the rest is zero there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    All,
    Upper,
    Lower,
}

/// A block of `rows` rows and `cols` columns of a matrix, from row `row` and column `col` on,
/// counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    pub row: usize,
    pub col: usize,
    pub rows: usize,
    pub cols: usize,
}

impl Block {
    /// The first rows and columns.
    pub fn leading(rows: usize, cols: usize) -> Self {
        Block {
            row: 0,
            col: 0,
            rows,
            cols,
        }
    }

    /// Whether a matrix of this shape has the block.
    pub fn is_in(self, (rows, cols): (usize, usize)) -> bool {
        self.row.saturating_add(self.rows) <= rows && self.col.saturating_add(self.cols) <= cols
    }
}

impl Trans {
    pub fn is_yes(self) -> bool {
        self == Trans::Yes
    }

    /// The shape of `op(A)` for an `A` of `(rows, cols)`.
    pub fn shape(self, (rows, cols): (usize, usize)) -> (usize, usize) {
        match self {
            Trans::No => (rows, cols),
            Trans::Yes => (cols, rows),
        }
    }
}
