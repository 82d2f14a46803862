//! Whether files can be factored, and whether an interrupted factorization can be resumed.

use crate::algo::tiled::cholesky_file::files::{place, Files};
use crate::base::error::{Error, Result};
use crate::base::scalar::Scalar;
use crate::tiles::{Layout, Shape, State, TileFile};

/// Whether the factor is complete. An error if the files hold nothing to factor or to resume, or
/// were begun from another matrix.
pub(super) fn is_complete<T: Scalar>(files: &Files<'_, T>, resume: bool) -> Result<bool> {
    let to = files.to;
    let layout = to.layout();
    if let Some(from) = files.from {
        begun_from(from, to)?;
    }
    let dimension = |what| Err(Error::Dimension { what });
    if layout.shape() != Shape::Triangle {
        let what = "the file must store the upper triangle of a square matrix, but it stores all \
                    tiles";
        return dimension(format!("{}: {what}", to.path().display()));
    }
    let same = |other: &Layout| {
        let dimensions = |l: &Layout| (l.rows(), l.cols(), l.tile());
        dimensions(other) == dimensions(layout)
    };
    if !files.from.is_none_or(|from| same(from.layout())) {
        let what = format!(
            "the file must be for a matrix of the same order in tiles of the same order, but it is \
             for order {} in tiles of order {}",
            layout.rows(),
            layout.tile()
        );
        return dimension(format!("{}: {what}", to.path().display()));
    }
    let matrix = files.from.unwrap_or(to);
    let has = |tile| to.has(tile);
    match to.state() {
        State::Factor if resume => Ok(true),
        State::Factor => refused("x", to, FACTOR),
        State::NotPositiveDefinite { order } => Err(Error::NotPositiveDefinite {
            order: order as usize,
        }),
        State::Factoring if !resume => refused(
            "resume",
            to,
            "the file holds an interrupted factorization: use resume = TRUE to continue it",
        ),
        State::Factoring if files.from.is_none() && !(0..layout.tiles()).all(has) => refused(
            "x",
            to,
            "the file holds an interrupted factorization of the matrix in another file: use \
             chol_file(x, file = , resume = TRUE) with that matrix as 'x' to continue it",
        ),
        State::Matrix | State::Factoring => {
            let there = |tile| place(layout, matrix.layout(), tile).is_ok_and(|t| matrix.has(t));
            let missing = |tile: &usize| !(there(*tile) || has(*tile));
            match (0..layout.tiles()).find(missing) {
                Some(tile) => {
                    let (i, j) = layout.position(tile);
                    let (i, j) = (i + 1, j + 1);
                    let what = format!(
                        "all tiles must be written, but that in block row {i} and block \
                                 column {j} never was"
                    );
                    refused("x", matrix, &what)
                }
                None => Ok(false),
            }
        }
    }
}

const FACTOR: &str = "the file holds a Cholesky factor already";

fn refused<T: Scalar, R>(argument: &'static str, file: &TileFile<T>, what: &str) -> Result<R> {
    Err(Error::Argument {
        argument,
        what: format!("{}: {what}", file.path().display()),
    })
}

/// An error unless the file holds a matrix, whose factor can go to a second file.
pub fn has_matrix<T: Scalar>(from: &TileFile<T>) -> Result<()> {
    match from.state() {
        State::Matrix => Ok(()),
        State::Factor => refused("x", from, FACTOR),
        State::Factoring => refused(
            "x",
            from,
            "the file holds an interrupted factorization: use chol_file(resume = TRUE) without a \
             second file to continue it in place",
        ),
        State::NotPositiveDefinite { order } => Err(Error::NotPositiveDefinite {
            order: order as usize,
        }),
    }
}

/// The same, and an error unless the second file was begun from that matrix.
fn begun_from<T: Scalar>(from: &TileFile<T>, to: &TileFile<T>) -> Result<()> {
    has_matrix(from)?;
    if to.origin() == Some(from.fingerprint()) {
        return Ok(());
    }
    if to.origin().is_none() {
        return refused(
            "file",
            to,
            "the file must hold a factorization that was begun from 'x', but it holds another \
             matrix or that matrix's factor: choose another file",
        );
    }
    Err(Error::FileFormat {
        path: to.path().display().to_string(),
        what: format!(
            "the file must be begun from the matrix in {}, but it was begun from another matrix: \
             choose another file, or unlink() this one first",
            from.path().display()
        ),
    })
}
