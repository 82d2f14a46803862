//! What blocks leave to each other when they share tiles of a product.

use std::mem::size_of;

use super::buffer::{where_there_is_room, Buffer};
use super::context::{lock, Context};
use crate::backend::cuda::gemm::shapes::Shape;
use crate::base::error::{Error, Result};

/// Memory for the sums of tiles that several blocks share, made at first use and kept.
pub(crate) struct Sums {
    partial: Buffer,
    flags: Buffer,
    /// What a block's flag is when its sum is there; another number in each launch.
    epoch: i32,
    blocks: usize,
}

impl Sums {
    fn new(ctx: &'static Context) -> Result<Sums> {
        let most = |s: Shape| s.traits().resident * ctx.properties.multiprocessors;
        let bytes = Shape::ALL.map(|s| most(s) * s.traits().rows * s.traits().cols * s.element());
        let blocks = Shape::ALL.map(most).into_iter().max().unwrap_or(0);
        Ok(Sums {
            partial: Buffer::of::<u8>(ctx, bytes.into_iter().max().unwrap_or(0))?,
            flags: Buffer::zeroed::<i32>(ctx, blocks)?,
            epoch: 0,
            blocks,
        })
    }

    /// Whether there is room for sums. Too little memory is no failure: tiles are not shared then.
    pub(crate) fn prepare(ctx: &'static Context) -> Result<bool> {
        // Memory belongs to the stream.
        match ctx.is_beside() {
            true => Ok(lock(&ctx.sums[1]).is_some()),
            false => Self::prepare_for(ctx, 0),
        }
    }

    /// As [`Sums::prepare`], for products that will be started beside the stream.
    pub(crate) fn prepare_beside(ctx: &'static Context) -> Result<bool> {
        Self::prepare_for(ctx, 1)
    }

    fn prepare_for(ctx: &'static Context, which: usize) -> Result<bool> {
        if lock(&ctx.sums[which]).is_some() {
            return Ok(true);
        }
        // Not while the lock is held: memory may have to be waited for, and an interrupt ends that.
        let Some(sums) = where_there_is_room(Sums::new(ctx))? else {
            return Ok(false);
        };
        lock(&ctx.sums[which]).get_or_insert(sums);
        Ok(true)
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
