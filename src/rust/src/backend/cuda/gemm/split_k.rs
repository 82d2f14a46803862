//! Allocates the workspace of products whose tiles several blocks share, in the size that the tile
//! shapes need.

use super::shapes::TileShape;
use crate::backend::cuda::driver::context::Context;
use crate::backend::cuda::driver::split_k::SplitKWorkspace;
use crate::base::error::Result;

/// Whether there is a workspace for products on this thread's stream.
pub(crate) fn prepare(ctx: &'static Context) -> Result<bool> {
    // Memory belongs to the stream.
    match ctx.is_beside() {
        true => Ok(SplitKWorkspace::is_ready(ctx, 1)),
        false => prepare_for(ctx, 0),
    }
}

/// Like [`prepare`], for products that will run in the second stream.
pub(crate) fn prepare_beside(ctx: &'static Context) -> Result<bool> {
    prepare_for(ctx, 1)
}

fn prepare_for(ctx: &'static Context, which: usize) -> Result<bool> {
    let most = |s: TileShape| s.traits().resident * ctx.properties.multiprocessors;
    let bytes = TileShape::ALL.map(|s| most(s) * s.traits().rows * s.traits().cols * s.element());
    let blocks = TileShape::ALL.map(most).into_iter().max().unwrap_or(0);
    SplitKWorkspace::prepare(ctx, which, bytes.into_iter().max().unwrap_or(0), blocks)
}
