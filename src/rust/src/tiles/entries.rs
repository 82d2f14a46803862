//! The entries that a file does not store.

use super::{Buffer, Shape, State, TileFile};
use crate::base::error::{Error, Result};
use crate::base::scalar::Scalar;

/// The entries below the diagonal. A file of the upper triangle does not store them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Below {
    Stored,
    /// Equal to those above the diagonal.
    Mirrored,
    Zero,
}

/// The entries below the diagonal of the matrix or factor in a file. An error if it holds neither.
pub fn below<T: Scalar>(file: &TileFile<T>) -> Result<Below> {
    let cannot = |what: String| {
        Err(Error::Argument {
            argument: "x",
            what: format!("{}: {what}", file.path().display()),
        })
    };
    match (file.state(), file.layout().shape()) {
        (State::Matrix, Shape::Full) | (State::Factor, Shape::Full) => Ok(Below::Stored),
        (State::Matrix, Shape::Triangle) => Ok(Below::Mirrored),
        (State::Factor, Shape::Triangle) => Ok(Below::Zero),
        (State::Factoring, _) => cannot(
            "the file must hold a matrix or a Cholesky factor, but it holds an interrupted \
             factorization: use chol_file(resume = TRUE) to continue it"
                .to_owned(),
        ),
        (State::NotPositiveDefinite { order }, _) => cannot(format!(
            "the file must hold a matrix or a Cholesky factor, but its factorization has failed: \
             the leading minor of order {order} is not positive"
        )),
    }
}

/// Reads a tile. One that was never written is [`Error::FileFormat`].
pub fn load<T: Scalar>(file: &TileFile<T>, index: usize, tile: &mut Buffer<T>) -> Result<()> {
    if file.has(index) {
        return file.read(index, tile);
    }
    let (i, j) = file.layout().position(index);
    Err(Error::FileFormat {
        path: file.path().display().to_string(),
        what: format!(
            "all tiles must be written, but that in block row {} and block column {} never was",
            i + 1,
            j + 1
        ),
    })
}
