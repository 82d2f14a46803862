//! Streams a matrix through the GPU in blocks of columns: later blocks are uploaded and finished
//! ones downloaded while one is computed.

use super::copy_engine::CopyEngine;
use super::matrix::stage;
use crate::backend::cuda::driver::chunks::{cut, HostDevicePair};
use crate::backend::cuda::driver::context::Context;
use crate::backend::cuda::driver::staging::SLOT;
use crate::backend::cuda::driver::traffic::count;
use crate::backend::cuda::transfer::host_copy::pages_of;
use crate::base::error::Result;
use crate::base::matrix::Part;
use crate::base::scalar::Scalar;

/// Smaller matrices are copied as one block: small blocks cost more than the overlap saves.
const LEAST: usize = 64 << 20;

/// For each block its first column and its number of columns.
pub(crate) type Blocks = Vec<(usize, usize)>;

/// All columns as `count` blocks, in whole tiles.
pub(crate) fn blocks(cols: usize, count: usize) -> Blocks {
    let width = cols.div_ceil(count.max(1)).max(1).next_multiple_of(128);
    (0..cols)
        .step_by(width)
        .map(|first| (first, width.min(cols - first)))
        .collect()
}

/// The columns of each block.
pub(crate) fn parts<T: Scalar>(pair: HostDevicePair<T>, blocks: &Blocks) -> Vec<HostDevicePair<T>> {
    let part = |&(first, width): &(usize, usize)| pair.columns(first, width);
    blocks.iter().map(part).collect()
}

/// Like [`blocks`], or none if a matrix of this shape is too small.
pub(crate) fn worthwhile<T>((rows, cols): (usize, usize), count: usize) -> Option<Blocks> {
    let bytes = rows.saturating_mul(cols).saturating_mul(size_of::<T>());
    Some(blocks(cols, count)).filter(|b| bytes >= LEAST && b.len() > 1)
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
    let Some((mut staging, workers)) = stage(ctx)? else {
        return Ok(None);
    };
    let bytes = |blocks: &[HostDevicePair<T>]| blocks.iter().map(|b| b.bytes(part)).sum::<usize>();
    let (sent, fetched) = (bytes(up), bytes(down));
    count(sent, fetched);
    let (send, senders) = cut(sent, workers, SLOT);
    let (fetch, fetchers) = cut(fetched, workers, SLOT);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_all_columns_once() {
        for cols in [1, 127, 128, 129, 1000, 4096] {
            for count in [0, 1, 2, 3, 4, 100] {
                let mut next = 0;
                for (first, width) in blocks(cols, count) {
                    assert_eq!(first, next);
                    assert!(width > 0);
                    next += width;
                }
                assert_eq!(next, cols);
            }
        }
        assert!(blocks(0, 4).is_empty());
        assert!(worthwhile::<f64>((100, 100), 4).is_none());
        assert!(worthwhile::<f64>((1 << 20, 1), 4).is_none());
        assert_eq!(worthwhile::<f64>((1 << 14, 1 << 14), 4).unwrap().len(), 4);
    }
}
