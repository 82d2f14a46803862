//! Matrices in host memory, and views of them.

use faer::{ContiguousFwd, MatMut, MatRef};

use crate::base::error::{Error, Result};
use crate::base::matrix::{Block, Trans};
use crate::base::scalar::Scalar;

/// Column-major views: every column is a slice.
pub(crate) type Columns<'a, T> = MatRef<'a, T, usize, usize, ContiguousFwd, isize>;
pub(crate) type ColumnsMut<'a, T> = MatMut<'a, T, usize, usize, ContiguousFwd, isize>;

/// Host memory: borrowed to read, borrowed to write, or owned by the device.
pub enum CpuMat<'a, T> {
    Read(MatRef<'a, T>),
    Home(MatMut<'a, T>),
    Own {
        data: Vec<T>,
        rows: usize,
        cols: usize,
        /// Whether it is known to be an upper factor, zero below the diagonal.
        factor: bool,
    },
}

impl<T: Scalar> CpuMat<'_, T> {
    pub(crate) fn view(&self) -> MatRef<'_, T> {
        match self {
            CpuMat::Read(a) => *a,
            CpuMat::Home(a) => a.as_ref(),
            CpuMat::Own {
                data, rows, cols, ..
            } => MatRef::from_column_major_slice(data, *rows, *cols),
        }
    }

    pub(crate) fn view_mut(&mut self) -> Result<MatMut<'_, T>> {
        match self {
            CpuMat::Read(_) => Err(Error::Internal {
                what: "an operand was loaded to be read only".into(),
            }),
            CpuMat::Home(a) => Ok(a.as_mut()),
            CpuMat::Own {
                data, rows, cols, ..
            } => Ok(MatMut::from_column_major_slice_mut(data, *rows, *cols)),
        }
    }

    pub(crate) fn columns_mut(&mut self) -> Result<ColumnsMut<'_, T>> {
        columns_mut(self.view_mut()?)
    }
}

pub(crate) fn not_column_major() -> Error {
    Error::Dimension {
        what: "the matrix is not stored by columns".into(),
    }
}

/// `a` as columns; an error when its rows are not adjacent in memory.
pub(crate) fn columns<T>(a: MatRef<'_, T>) -> Result<Columns<'_, T>> {
    a.try_as_col_major().ok_or_else(not_column_major)
}

pub(crate) fn columns_mut<T>(a: MatMut<'_, T>) -> Result<ColumnsMut<'_, T>> {
    a.try_as_col_major_mut().ok_or_else(not_column_major)
}

/// An error unless `ok`: the last guard against a caller's wrong shape.
pub(crate) fn require(ok: bool, what: &str) -> Result<()> {
    if ok {
        Ok(())
    } else {
        Err(Error::Dimension { what: what.into() })
    }
}

/// The matrix itself or its transpose.
pub(crate) fn op<T>(trans: Trans, a: MatRef<'_, T>) -> MatRef<'_, T> {
    match trans {
        Trans::No => a,
        Trans::Yes => a.transpose(),
    }
}

/// A block of a matrix, which must have it.
pub(crate) fn submatrix<T>(a: MatRef<'_, T>, b: Block) -> Result<MatRef<'_, T>> {
    require(b.is_in(a.shape()), "a block is outside the matrix")?;
    Ok(a.submatrix(b.row, b.col, b.rows, b.cols))
}
