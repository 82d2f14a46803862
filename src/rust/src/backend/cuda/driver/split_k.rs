//! Workspace for products whose blocks share tiles (split-K): partial sums and flags.

use std::mem::size_of;

use super::buffer::{where_there_is_room, Buffer};
use super::context::{lock, Context};
use crate::base::error::{Error, Result};

/// Memory for the sums of tiles that several blocks share, made at first use and kept.
pub(crate) struct SplitKWorkspace {
    partial: Buffer,
    flags: Buffer,
    /// The value of a block's flag when its sum is complete; a new number in each launch.
    epoch: i32,
    blocks: usize,
}

impl SplitKWorkspace {
    fn new(ctx: &'static Context, bytes: usize, blocks: usize) -> Result<SplitKWorkspace> {
        Ok(SplitKWorkspace {
            partial: Buffer::of::<u8>(ctx, bytes)?,
            flags: Buffer::zeroed::<i32>(ctx, blocks)?,
            epoch: 0,
            blocks,
        })
    }

    /// Whether the first or second workspace of the device exists. If not, one of this size is
    /// allocated.
    ///
    /// Too little memory is no error: tiles are not shared then.
    pub(crate) fn prepare(
        ctx: &'static Context,
        which: usize,
        bytes: usize,
        blocks: usize,
    ) -> Result<bool> {
        if Self::is_ready(ctx, which) {
            return Ok(true);
        }
        // Not while the lock is held: memory may have to be waited for, and an interrupt ends that.
        let Some(sums) = where_there_is_room(SplitKWorkspace::new(ctx, bytes, blocks))? else {
            return Ok(false);
        };
        lock(&ctx.sums[which]).get_or_insert(sums);
        Ok(true)
    }

    pub(crate) fn is_ready(ctx: &'static Context, which: usize) -> bool {
        lock(&ctx.sums[which]).is_some()
    }

    /// For one launch: the address of the sums, that of the flags, and the epoch.
    pub(crate) fn claim(ctx: &'static Context) -> Result<(u64, u64, i32)> {
        let mut sums = lock(&ctx.sums[usize::from(ctx.is_beside())]);
        let Some(sums) = sums.as_mut() else {
            return Err(Error::Internal {
                what: "there is no room for the sums of shared tiles".to_string(),
            });
        };
        if sums.epoch == i32::MAX {
            sums.flags.clear(sums.blocks * size_of::<i32>())?;
            sums.epoch = 0;
        }
        sums.epoch += 1;
        Ok((sums.partial.ptr, sums.flags.ptr, sums.epoch))
    }
}
