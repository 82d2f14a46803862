//! Checks of shapes before a kernel is launched, and a second try in one step if memory for blocks
//! is missing.

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

/// Checks the dimensions: kernels take row and column numbers as 32-bit integers.
pub(crate) fn require_indexable((m, n): (usize, usize)) -> Result<()> {
    require(
        m < i32::MAX as usize && n < i32::MAX as usize,
        "a matrix has too many rows or columns",
    )
}

/// Runs `f`, which works in blocks and needs buffers in addition to the matrix. None if there is
/// too little memory for them: the caller then works without blocks.
pub(crate) fn in_blocks<R>(f: impl FnOnce() -> Result<Option<R>>) -> Result<Option<R>> {
    let before = progress::queued();
    let done = where_there_is_room(f())?.flatten();
    if done.is_none() {
        // The operations that were counted are done again.
        progress::extend(progress::queued() - before);
    }
    Ok(done)
}
