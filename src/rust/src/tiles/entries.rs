//! What the entries of a matrix are, of which a file holds one triangle alone.

use super::{Buffer, Shape, State, TileFile};
use crate::base::error::{Error, Result};
use crate::base::scalar::Scalar;

/// What the entries below the diagonal are, of which a file that holds the upper triangle has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Below {
    Stored,
    /// Those above it.
    Mirrored,
    Zero,
}

/// Fails where the file holds neither a matrix nor its factor.
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
            "the file holds neither a matrix nor its factor, since the factorization was \
             interrupted: chol_file(resume = TRUE) goes on with it"
                .to_owned(),
        ),
        (State::NotPositiveDefinite { order }, _) => cannot(format!(
            "the file holds neither a matrix nor its factor, since the leading minor of order \
             {order} is not positive"
        )),
    }
}

/// A tile that should be there.
pub fn load<T: Scalar>(file: &TileFile<T>, index: usize, tile: &mut Buffer<T>) -> Result<()> {
    if file.has(index) {
        return file.read(index, tile);
    }
    let (i, j) = file.layout().position(index);
    Err(Error::FileFormat {
        path: file.path().display().to_string(),
        what: format!(
            "the tile in block row {} and block column {} was never written",
            i + 1,
            j + 1
        ),
    })
}
