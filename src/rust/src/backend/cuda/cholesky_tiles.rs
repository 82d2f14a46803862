//! Cholesky factorization of a whole matrix in double precision by one launch (`kernels/cholesky_tiles.cu`).

use std::mem::size_of;

use super::buffer::Buffer;
use super::context::Context;
use super::kernels::{args, Family, Kernel};
use super::memory::View;
use crate::error::Result;
use crate::scalar::Scalar;

/// By the layout of the lower triangle: columns or rows contiguous.
const COLUMNS: Kernel = Kernel::new(Family::CholeskyTiles, "tiles_factor_lower");
const ROWS: Kernel = Kernel::new(Family::CholeskyTiles, "tiles_factor_upper");
const REPORT: Kernel = Kernel::untyped(Family::CholeskyTiles, "tiles_report_first");

/// Order of a tile, threads of a block, and its shared memory: four slabs of 16 steps of three tiles' lines, and two tiles.
const TILE: usize = 64;
const THREADS: u32 = 256;
const SHARED: usize = (4 * 16 * 3 * TILE + 2 * TILE * TILE) * size_of::<f64>();

/// Numbers in the mail for each tile of the diagonal: four panels of 64 rows of 16, each with an inverse.
const MAIL: usize = 4 * (TILE * 16 + 16 * 16);
/// Bytes at the front of the shared state: the order of the failing minor, then the ticket, and room until the mail.
const FRONT: usize = 256;

/// The largest matrix that is factored by one launch. Above it, large products outside are faster than those of its tiles.
pub(super) const LARGEST: usize = 10240;
/// Up to this order few blocks own the diagonal, above it more: measured on an H200 with 132 multiprocessors.
const FEW_LEADERS_TO: usize = 2048;
/// Leaders are at most one in so many blocks.
const LEADERS_SHARE: usize = 8;

/// How a factorization is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Grid {
    blocks: usize,
    leaders: usize,
}

impl Grid {
    /// For a matrix of so many tiles a side, where that many blocks are resident together. None where they are too few to wait for
    /// one another.
    fn of(tiles: usize, resident: usize) -> Option<Grid> {
        let wanted = if tiles <= FEW_LEADERS_TO / TILE {
            8
        } else {
            16
        };
        let leaders = wanted.min(resident / LEADERS_SHARE).clamp(1, tiles.max(1));
        // A column of tiles has two for the diagonal's owner; the others make pairs.
        let tasks: usize = (0..tiles.saturating_sub(2))
            .map(|j| (tiles - 1 - j) / 2)
            .sum();
        let blocks = resident.min(leaders + tasks);
        (blocks > leaders || tasks == 0 && blocks == leaders).then_some(Grid { blocks, leaders })
    }
}

/// Starts the factorization of the lower triangle of a view. The buffer's first i32 will be the 1-based order of the first leading
/// minor that is not positive, or negative. None where this way is not open, or the order greater than `largest`: nothing is done.
pub(super) fn start<T: Scalar>(
    ctx: &'static Context,
    a: View<T>,
    largest: usize,
) -> Result<Option<Buffer>> {
    let n = a.rows;
    let properties = &ctx.properties;
    let usable = size_of::<T>() == size_of::<f64>()
        && (1..=largest).contains(&n)
        && (n as f64).powi(3) / 3.0 <= properties.launch_operations::<T>()
        && properties.cooperative
        && properties.shared >= SHARED
        && ctx.has(Family::CholeskyTiles);
    if !usable {
        return Ok(None);
    }
    let (kernel, ld) = match (a.rs, a.cs) {
        (1, ld) => (COLUMNS, ld),
        (ld, 1) => (ROWS, ld),
        _ => return Ok(None),
    };
    let resident = ctx.resident::<T>(kernel, THREADS, SHARED)? * properties.multiprocessors;
    let tiles = n.div_ceil(TILE);
    let Some(grid) = Grid::of(tiles, resident) else {
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
        SHARED,
        &args![
            n,
            a.ptr,
            ld,
            at(FRONT),
            at(0),
            at(size_of::<i32>()),
            at(FRONT + mail),
            at(FRONT + mail + tiles * size_of::<i32>()),
            grid.leaders as i32
        ],
    )?;
    Ok(Some(state))
}

/// Sets `info`, unless it is set already, where the diagonal block from row `first` on failed; `order` is what [`start`] returned.
pub(super) fn report(
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

    /// Blocks that wait for others never fill the grid, and none is idle.
    #[test]
    fn leaders_leave_room() {
        for resident in [1, 2, 7, 14, 16, 46, 108, 132, 144] {
            for tiles in 1..=160 {
                let tasks: usize = (2..tiles).map(|i| i / 2).sum();
                match Grid::of(tiles, resident) {
                    Some(Grid { blocks, leaders }) => {
                        assert!((1..=16).contains(&leaders) && leaders <= tiles);
                        assert!(blocks <= resident && blocks <= leaders + tasks);
                        assert!(tasks == 0 || blocks > leaders, "{tiles} on {resident}");
                    }
                    None => assert!(resident == 1 && tasks > 0, "{tiles} on {resident}"),
                }
            }
        }
        let h200 = |tiles| Grid::of(tiles, 132).map(|g| (g.blocks, g.leaders));
        assert_eq!(h200(1), Some((1, 1)));
        assert_eq!(h200(2), Some((2, 2)));
        assert_eq!(h200(3), Some((4, 3)));
        assert_eq!(h200(32), Some((132, 8)));
        assert_eq!(h200(64), Some((132, 16)));
    }
}
