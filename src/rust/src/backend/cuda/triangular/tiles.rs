//! Triangular systems in double precision on the tensor cores
//! (`kernels/triangular/triangular_tiles.cu`).

use std::mem::size_of;

use crate::backend::cuda::driver::buffer::{where_there_is_room, Buffer};
use crate::backend::cuda::driver::context::Context;
use crate::backend::cuda::driver::kernels::{args, Family, Kernel};
use crate::backend::cuda::matrix::views::View;
use crate::backend::cuda::triangular::kind::TriangleKind;
use crate::base::error::Result;
use crate::base::progress;
use crate::base::scalar::Scalar;

const PREPARE: Kernel = Kernel::new(Family::TriangularTiles, "triangle_prepare_tiles");
/// Lower and upper; right-hand sides side by side, or the entries of each.
const SOLVE: [[Kernel; 2]; 2] = [
    [
        Kernel::new(Family::TriangularTiles, "triangle_solve_lower_lines"),
        Kernel::new(Family::TriangularTiles, "triangle_solve_lower_depth"),
    ],
    [
        Kernel::new(Family::TriangularTiles, "triangle_solve_upper_lines"),
        Kernel::new(Family::TriangularTiles, "triangle_solve_upper_depth"),
    ],
];

/// Order of a tile, and right-hand sides of a task, as the kernels have them.
const TILE: usize = 64;
const LINES: usize = 64;
const PREPARING: u32 = 256;
const THREADS: u32 = 128;
/// Numbers of a prepared diagonal tile: itself, and the inverses of its four diagonal blocks.
const PREPARED: usize = TILE * TILE + 4 * 16 * 16;
/// Bytes of shared memory of the solver: a prepared tile, and four slabs of 16 steps of the
/// operands of a product.
const SHARED: usize = size_of::<f64>() * (PREPARED + 4 * 16 * (LINES + TILE));

/// Systems of a higher order are halved, since a product is faster on its own than as a part of a
/// task. The halves must still have enough tasks for the GPU, so the order depends on the number of
/// right-hand sides.
fn largest(lines: usize) -> usize {
    const TASKS: usize = 2048;
    (TASKS * TILE * LINES / lines).clamp(1024, 8192)
}

/// Number of right-hand sides from which even a single tile is solved faster here than by
/// substitution.
const MANY_LINES: usize = 8192;

/// `B <- M^-1 B`. False, with nothing done, if the tensor cores cannot be used or are not faster.
pub(crate) fn solve<T: Scalar>(
    ctx: &'static Context,
    kind: TriangleKind,
    m: View<T>,
    b: View<T>,
    stop: u64,
) -> Result<bool> {
    let single = m.rows <= TILE && b.cols < MANY_LINES;
    let usable = size_of::<T>() == size_of::<f64>()
        && SHARED <= ctx.properties.shared
        && (b.rs == 1 || b.cs == 1)
        && !(b.is_empty() || single || m.rows > largest(b.cols))
        && ctx.has(Family::TriangularTiles);
    if !usable {
        return Ok(false);
    }
    let n = m.rows as f64;
    let longest = ctx.properties.launch_operations::<f64>();
    let lines = (longest / (n * n)) as usize / LINES * LINES;
    let lines = lines.max(LINES).min(b.cols);
    // If memory is too small for this system, it may suffice for smaller ones.
    let Some(work) = where_there_is_room(TileWorkspace::new(ctx, m, lines))? else {
        return Ok(false);
    };
    for first in (0..b.cols).step_by(lines) {
        let part = b.sub(0, first, b.rows, lines.min(b.cols - first));
        work.solve(kind, part, stop)?;
        let operations = n * n * part.cols as f64;
        progress::advance(operations);
        ctx.fence_after(operations / longest)?;
    }
    Ok(true)
}

/// Workspace of a system, in one buffer.
struct TileWorkspace<T> {
    ctx: &'static Context,
    m: View<T>,
    /// M or its copy, with contiguous rows that are aligned for copies of tiles.
    rows: View<T>,
    buffer: Buffer,
    state: u64,
}

impl<T: Scalar> TileWorkspace<T> {
    fn new(ctx: &'static Context, m: View<T>, lines: usize) -> Result<Self> {
        let n = m.rows;
        let aligned = m.ptr & 15 == 0 && m.rs & 1 == 0;
        let ld = if m.cs == 1 && aligned {
            0
        } else {
            n.next_multiple_of(16)
        };
        let prepared = n.div_ceil(TILE) * PREPARED;
        let state = (1 + lines.div_ceil(LINES)).div_ceil(2);
        let buffer = Buffer::of::<T>(ctx, prepared + n * ld + state)?;
        let at = |count: usize| buffer.ptr + (count * size_of::<T>()) as u64;
        Ok(TileWorkspace {
            ctx,
            m,
            rows: if ld == 0 {
                m
            } else {
                View::new(at(prepared), n, n, ld).t()
            },
            state: at(prepared + n * ld),
            buffer,
        })
    }

    /// Tiles of M are prepared again for each part, which takes little time compared with the
    /// solution.
    fn solve(&self, kind: TriangleKind, b: View<T>, stop: u64) -> Result<()> {
        let TileWorkspace {
            ctx,
            m,
            rows,
            state,
            ..
        } = *self;
        let tiles = m.rows.div_ceil(TILE);
        let blocks = b.cols.div_ceil(LINES);
        let copied = rows.ptr != m.ptr;
        ctx.launch::<T>(
            PREPARE,
            tiles,
            if copied { tiles } else { 1 },
            PREPARING,
            &args![
                m.rows,
                m.ptr,
                m.rs,
                m.cs,
                i32::from(kind.upper),
                i32::from(kind.unit),
                self.buffer.ptr,
                rows.ptr,
                rows.rs,
                state,
                1 + blocks,
                stop
            ],
        )?;
        let depth = b.rs == 1;
        let solver = SOLVE[usize::from(kind.upper)][usize::from(depth)];
        let resident = ctx.resident::<T>(solver, THREADS, SHARED)?;
        let at_once = ctx.properties.multiprocessors * resident.max(1);
        ctx.launch_shared::<T>(
            solver,
            (at_once.min(tiles * blocks), 1),
            THREADS,
            SHARED,
            &args![
                m.rows,
                b.cols,
                b.ptr,
                if depth { b.cs } else { b.rs },
                rows.ptr,
                rows.rs,
                self.buffer.ptr,
                state,
                stop
            ],
        )
    }
}
