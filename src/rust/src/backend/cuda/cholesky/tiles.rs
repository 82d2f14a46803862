//! Cholesky factorization of a whole matrix in double precision by one launch
//! (`kernels/cholesky/cholesky_tiles.cu`).

use std::mem::size_of;

use crate::backend::cuda::driver::buffer::Buffer;
use crate::backend::cuda::driver::context::Context;
use crate::backend::cuda::driver::kernels::{args, Family, Kernel};
use crate::backend::cuda::matrix::views::View;
use crate::base::error::Result;
use crate::base::progress;
use crate::base::scalar::Scalar;
use crate::cost::flops::cholesky_flops;

/// Kernels by the layout of the lower triangle: columns or rows contiguous.
const COLUMNS: Kernel = Kernel::new(Family::CholeskyTiles, "tiles_factor_lower");
const ROWS: Kernel = Kernel::new(Family::CholeskyTiles, "tiles_factor_upper");
const REPORT: Kernel = Kernel::untyped(Family::CholeskyTiles, "tiles_report_first");

/// Order of a tile, and threads of a block.
const TILE: usize = 64;
const THREADS: u32 = 256;
/// Bytes of shared memory of a block: slabs of 16 steps of two tiles' lines and a diagonal tile
/// with inverses, for each half. From sm_90 on there are four slabs; earlier GPUs, with less
/// memory, have two.
fn shared_bytes(capability: (i32, i32)) -> usize {
    let slabs = if capability >= (9, 0) { 4 } else { 2 };
    2 * (slabs * 16 * 2 * TILE + LETTERS) * size_of::<f64>()
}

/// Numbers of a diagonal tile in the mailbox: four panels of 64 rows of 16, each with an inverse.
const LETTERS: usize = 4 * (TILE * 16 + 16 * 16);
/// Numbers in the mailbox for each row of tiles: the diagonal tile and its neighbour below.
const MAIL: usize = LETTERS + TILE * TILE;
/// Bytes at the front of the shared state: the order of the failing minor, then the ticket counter,
/// and padding up to the mailbox.
const FRONT: usize = 256;

/// The largest order that is factored by one launch. Above it, large products are faster than
/// products of tiles.
pub(crate) const LARGEST: usize = 5120;
/// Blocks that own rows at the diagonal, in turn: a row takes them less than so many steps along
/// the diagonal.
const OWNERS: usize = 8;
/// At most one of this many blocks is such a block.
const OWNERS_SHARE: usize = 8;
/// Columns by which the last three tiles of a row are prepared by others before its owner takes
/// them over.
const AHEAD: usize = 8;

/// The launch of a factorization.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct TileGrid {
    blocks: usize,
    owners: usize,
}

impl TileGrid {
    /// For a matrix of `tiles` tiles a side, if `resident` blocks are resident together. None if
    /// they are too few to wait for one another.
    fn of(tiles: usize, resident: usize) -> Option<TileGrid> {
        let owners = OWNERS.min((resident / OWNERS_SHARE).max(1)).min(tiles);
        // A column of tiles has three for owners; half a block makes each of the others.
        let tasks: usize = (0..tiles.saturating_sub(3))
            .map(|j| tiles - 3 - j + if j > 0 && j + AHEAD < tiles { 3 } else { 0 })
            .sum();
        let others = tasks.div_ceil(2);
        let blocks = resident.min(owners + others);
        (blocks >= owners + usize::from(others > 0)).then_some(TileGrid { blocks, owners })
    }
}

/// Whether the GPU can factor a small matrix of this type by one launch.
pub(crate) fn are_supported<T: Scalar>(ctx: &Context) -> bool {
    let properties = &ctx.properties;
    size_of::<T>() == size_of::<f64>()
        && properties.cooperative
        && properties.shared >= shared_bytes(properties.capability)
        && ctx.has(Family::CholeskyTiles)
}

/// Starts the factorization of the lower triangle of a view. The buffer's first i32 will be the
/// 1-based order of the first leading minor that is not positive, or negative. None, with nothing
/// done, if the GPU does not support this, or the order is greater than `largest`.
pub(crate) fn start<T: Scalar>(
    ctx: &'static Context,
    a: View<T>,
    largest: usize,
) -> Result<Option<Buffer>> {
    let n = a.rows;
    let properties = &ctx.properties;
    let shared = shared_bytes(properties.capability);
    let usable = (1..=largest).contains(&n)
        && (n as f64).powi(3) / 3.0 <= properties.launch_operations::<T>()
        && are_supported::<T>(ctx);
    if !usable {
        return Ok(None);
    }
    let (kernel, ld) = match (a.rs, a.cs) {
        (1, ld) => (COLUMNS, ld),
        (ld, 1) => (ROWS, ld),
        _ => return Ok(None),
    };
    let resident = ctx.resident::<T>(kernel, THREADS, shared)? * properties.multiprocessors;
    let tiles = n.div_ceil(TILE);
    let Some(grid) = TileGrid::of(tiles, resident) else {
        return Ok(None);
    };
    let mail = tiles * MAIL * size_of::<f64>();
    let flags = (tiles + tiles * tiles) * size_of::<i32>();
    let state = Buffer::new(ctx, FRONT + mail + flags)?;
    state.fill(0xff, FRONT + mail + flags)?;
    let at = |offset: usize| state.ptr + offset as u64;
    ctx.launch_together::<T>(
        kernel,
        grid.blocks,
        THREADS,
        shared,
        &args![
            n,
            a.ptr,
            ld,
            at(FRONT),
            at(0),
            at(size_of::<i32>()),
            at(FRONT + mail),
            at(FRONT + mail + tiles * size_of::<i32>()),
            grid.owners as i32
        ],
    )?;
    progress::advance(cholesky_flops(n));
    Ok(Some(state))
}

/// Sets `info`, unless it is set already, if the diagonal block from row `first` on failed; `order`
/// is what [`start`] returned.
pub(crate) fn report(
    ctx: &'static Context,
    order: &Buffer,
    first: usize,
    info: &Buffer,
) -> Result<()> {
    ctx.launch::<f64>(REPORT, 1, 1, 1, &args![order.ptr, first, info.ptr])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// There is a block for the diagonal, and one for the other tiles if there are any; no block is
    /// idle.
    #[test]
    fn blocks_that_wait_leave_room() {
        for resident in [1, 2, 3, 7, 14, 46, 108, 132, 144] {
            for tiles in 1..=160 {
                match TileGrid::of(tiles, resident) {
                    Some(TileGrid { blocks, owners }) => {
                        assert!((1..=OWNERS.min(tiles)).contains(&owners) && blocks <= resident);
                        assert_eq!(blocks > owners, tiles > 3, "{tiles} on {resident}");
                    }
                    None => assert!(resident == 1 && tiles > 3, "{tiles} on {resident}"),
                }
            }
        }
        let h200 = |tiles| TileGrid::of(tiles, 132).map(|g| (g.blocks, g.owners));
        assert_eq!(h200(1), Some((1, 1)));
        assert_eq!(h200(3), Some((3, 3)));
        assert_eq!(h200(5), Some((7, 5)));
        assert_eq!(h200(64), Some((132, 8)));
    }

    /// The shared memory of a block suffices for each of its tasks, and GPUs with tensor cores have
    /// it.
    #[test]
    fn shared_memory_is_what_there_is() {
        assert_eq!(shared_bytes((9, 0)), 208 << 10);
        assert!(shared_bytes((9, 0)) <= 227 << 10 && shared_bytes((8, 0)) <= 163 << 10);
        for capability in [(8, 0), (9, 0)] {
            let slabs = if capability >= (9, 0) { 4 } else { 2 };
            let owner = (slabs * 16 * 5 * TILE + LETTERS) * size_of::<f64>();
            assert!(shared_bytes(capability) >= owner);
        }
    }
}
