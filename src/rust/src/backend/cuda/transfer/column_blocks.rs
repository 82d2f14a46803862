//! Streams a matrix through the GPU in blocks of columns: later blocks are uploaded and finished
//! ones downloaded while one is computed.

use super::copy_engine::CopyEngine;
use super::matrix::stage;
use crate::backend::cuda::driver::chunks::{cut, HostDevicePair};
use crate::backend::cuda::driver::context::Context;
use crate::backend::cuda::driver::traffic::count;
use crate::backend::cuda::transfer::host_copy::pages_of;
use crate::base::error::Result;
use crate::base::matrix::Part;
use crate::base::scalar::Scalar;
use crate::cost::plan::call::{take_way, Way};
use crate::cost::plan::size::ColumnBlocks;

/// The columns of each block.
pub(crate) fn parts<T: Scalar>(
    pair: HostDevicePair<T>,
    blocks: &ColumnBlocks,
) -> Vec<HostDevicePair<T>> {
    let part = |&(first, width): &(usize, usize)| pair.columns(first, width);
    blocks.iter().map(part).collect()
}

/// The interface by which the computation waits for blocks and releases them.
pub(crate) struct BlockPipeline<'f> {
    ctx: &'static Context,
    flow: &'f CopyEngine,
    ends: &'f [usize],
}

impl BlockPipeline<'_> {
    /// Makes everything queued from now on wait for the upload of block `i`.
    pub(crate) fn arrive(&self, i: usize) -> Result<()> {
        self.flow.await_stage(i)?;
        self.ctx.join_up()
    }

    /// Releases blocks up to number `i` for download, once everything queued now is done.
    pub(crate) fn leave(&self, i: usize) -> Result<()> {
        self.flow.release(self.ends[i])
    }
}

/// Uploads `part` of each block of `up` and downloads `part` of each block of `down`, while `work`
/// runs on this thread. On success all copies are done, if `work` released all blocks. `None`, with
/// nothing done, if there is no staging memory.
///
/// # Safety
/// The memory of all blocks exists until this returns, on both sides; the host's of `down` is
/// written by nobody else.
pub(crate) unsafe fn pass<T: Scalar, R>(
    ctx: &'static Context,
    part: Part,
    up: &[HostDevicePair<T>],
    down: &[HostDevicePair<T>],
    work: impl FnOnce(&BlockPipeline<'_>) -> Result<R>,
) -> Result<Option<R>> {
    let bytes = |blocks: &[HostDevicePair<T>]| blocks.iter().map(|b| b.bytes(part)).sum::<usize>();
    let (sent, fetched) = (bytes(up), bytes(down));
    let Some((mut staging, workers, slot)) = stage(ctx, sent.max(fetched))? else {
        return Ok(None);
    };
    count(sent, fetched);
    let blocks = if up.is_empty() { down } else { up };
    take_way(|| Way::Streamed {
        blocks: blocks.len(),
        columns: blocks.first().map_or(0, |b| b.cols),
    });
    let (send, senders) = cut(sent, workers, slot);
    let (fetch, fetchers) = cut(fetched, workers, slot);
    let up: Vec<_> = up.iter().map(|b| b.pieces(part, send)).collect();
    let mut home = Vec::new();
    let mut ends = Vec::with_capacity(down.len());
    for block in down {
        home.extend(block.pieces(part, fetch));
        ends.push(home.len());
    }
    // The pages are touched early only if the blocks are adjacent.
    let pages = match down.first() {
        Some(first) if first.pitch == first.rows => {
            let cols: usize = down.iter().map(|b| b.cols).sum();
            // SAFETY: the caller's.
            unsafe { pages_of(first.host.cast(), first.rows * cols * size_of::<T>()) }
        }
        _ => None,
    };
    ctx.order_up()?;
    let flow = CopyEngine::new(ctx, up, home, senders.max(fetchers), pages);
    let mut result = None;
    let drive = |flow: &CopyEngine| {
        let ends = &ends;
        result = Some(work(&BlockPipeline { ctx, flow, ends })?);
        Ok(())
    };
    // SAFETY: the caller's.
    unsafe { flow.run(&mut staging, drive) }?;
    ctx.or_drain(ctx.join_up())?;
    Ok(result)
}
