//! Files whose matrix the caller knows.

use crate::base::error::{Error, Result};
use crate::base::scalar::Scalar;
use crate::tiles::{Access, Layout, TileFile};

/// Opens a file that is to hold a matrix of these dimensions.
///
/// # Errors
/// [`Error::FileFormat`] of another matrix; what opening answers.
pub fn open_known<T: Scalar>(file: &str, dim: (usize, usize)) -> Result<TileFile<T>> {
    let file = TileFile::<T>::open(file, Access::Read)?;
    require_same(&file, dim)?;
    Ok(file)
}

/// An error if the file holds another matrix than the caller says.
pub fn require_same<T: Scalar>(file: &TileFile<T>, dim: (usize, usize)) -> Result<()> {
    require_dimensions(&file.path().display().to_string(), file.layout(), dim)
}

/// As [`require_same`], of the file at this path.
pub fn require_dimensions(path: &str, layout: &Layout, dim: (usize, usize)) -> Result<()> {
    if (layout.rows(), layout.cols()) == dim {
        return Ok(());
    }
    Err(Error::FileFormat {
        path: path.to_owned(),
        what: format!(
            "the file holds another matrix now, which is {} x {}: open_tile_matrix() opens it",
            layout.rows(),
            layout.cols()
        ),
    })
}
