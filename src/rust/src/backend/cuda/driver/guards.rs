//! What stands between a caller and a driver: shapes that fit, and another way where memory is
//! short.

use super::buffer::where_there_is_room;
use crate::base::error::{Error, Result};
use crate::base::progress;

pub(crate) fn require(ok: bool, what: &str) -> Result<()> {
    if ok {
        Ok(())
    } else {
        Err(Error::Dimension {
            what: what.to_string(),
        })
    }
}

/// Row and column numbers travel to the kernels as 32-bit integers.
pub(crate) fn require_indexable((m, n): (usize, usize)) -> Result<()> {
    require(
        m < i32::MAX as usize && n < i32::MAX as usize,
        "a matrix has too many rows or columns",
    )
}

/// Blocks on their way take some memory beside the matrix: where that is not there, one step goes
/// after the other.
pub(crate) fn in_blocks<R>(f: impl FnOnce() -> Result<Option<R>>) -> Result<Option<R>> {
    let before = progress::queued();
    let done = where_there_is_room(f())?.flatten();
    if done.is_none() {
        // What was done is done again.
        progress::extend(progress::queued() - before);
    }
    Ok(done)
}
