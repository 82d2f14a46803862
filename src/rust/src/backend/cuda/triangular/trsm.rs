//! Triangular systems and row exchanges.

use super::tiles;
use super::vector;
use super::via_f64;
use crate::backend::cuda::driver::buffer::Buffer;
use crate::backend::cuda::driver::context::Context;
use crate::backend::cuda::driver::kernels::{args, Family, Kernel};
use crate::backend::cuda::gemm::gemm_syrk::multiply;
use crate::backend::cuda::gemm::update::{Bound, Update};
use crate::backend::cuda::matrix::views::{blocks_for, copy, View};
use crate::backend::cuda::triangular::kind::TriangleKind;
use crate::base::error::Result;
use crate::base::matrix::{Diag, Side, Trans, Uplo};
use crate::base::scalar::Scalar;

const SOLVE: Kernel = Kernel::new(Family::Triangular, "triangle_solve_block");
const GATHER: Kernel = Kernel::new(Family::Norms, "lines_gather_indexed");

/// Largest order that one launch solves by substitution, and the right-hand sides of one of its
/// blocks.
const LEAF: usize = 64;
const LEAF_COLUMNS: usize = 16;

/// Bytes of workspace for moves of rows or columns.
const GATHER_BYTES: usize = 64 << 20;

/// Solves `op(A) X = B` or `X op(A) = B` in place, A a triangle of order `a.rows`.
pub(crate) fn solve<T: Scalar>(
    ctx: &'static Context,
    side: Side,
    uplo: Uplo,
    trans: Trans,
    diag: Diag,
    a: View<T>,
    b: View<T>,
) -> Result<()> {
    let transposed = trans.is_yes() != (side == Side::Right);
    let a = if transposed { a.t() } else { a };
    let b = if side == Side::Right { b.t() } else { b };
    let kind = TriangleKind {
        upper: (uplo == Uplo::Upper) != transposed,
        unit: diag == Diag::Unit,
        bound: Bound::Entries,
    };
    divide(ctx, kind, a, b, 0)
}

/// `B <- L^-1 B`. `stop`: see [`Update`].
pub(crate) fn solve_lower<T: Scalar>(
    ctx: &'static Context,
    (unit, bound): (bool, Bound),
    l: View<T>,
    b: View<T>,
    stop: u64,
) -> Result<()> {
    let kind = TriangleKind {
        upper: false,
        unit,
        bound,
    };
    divide(ctx, kind, l, b, stop)
}

/// `B <- M^-1 B`, halving M: two smaller systems and a product.
pub(crate) fn divide<T: Scalar>(
    ctx: &'static Context,
    kind: TriangleKind,
    m: View<T>,
    b: View<T>,
    stop: u64,
) -> Result<()> {
    let n = m.rows;
    if n == 0
        || b.cols == 0
        || vector::solve(ctx, kind, m, b, stop)?
        || tiles::solve(ctx, kind, m, b, stop)?
        || via_f64::solve(ctx, kind, m, b, stop, divide::<f64>)?
    {
        return Ok(());
    }
    if n <= LEAF {
        return substitute(ctx, kind, m, b, stop);
    }
    let half = n.div_ceil(2).next_multiple_of(LEAF);
    let parts = [(0, half), (half, n - half)];
    let [(p, first), (q, last)] = if kind.upper {
        [parts[1], parts[0]]
    } else {
        parts
    };
    let rows = |at, count| b.sub(at, 0, count, b.cols);
    divide(ctx, kind, m.sub(p, p, first, first), rows(p, first), stop)?;
    multiply(
        ctx,
        Update {
            bound: kind.bound,
            stop,
            ..Update::subtract()
        },
        m.sub(q, p, last, first),
        rows(p, first),
        rows(q, last),
    )?;
    ctx.fence()?;
    divide(ctx, kind, m.sub(q, q, last, last), rows(q, last), stop)
}

/// `B <- M^-1 B` for an order of at most [`LEAF`].
fn substitute<T: Scalar>(
    ctx: &'static Context,
    kind: TriangleKind,
    m: View<T>,
    b: View<T>,
    stop: u64,
) -> Result<()> {
    // With both orders reversed, an upper triangle is a lower one.
    let (l, b) = if kind.upper {
        (m.reversed(), b.rows_reversed())
    } else {
        (m, b)
    };
    ctx.launch::<T>(
        SOLVE,
        b.cols.div_ceil(LEAF_COLUMNS),
        1,
        256,
        &args![
            l.rows as i32,
            b.cols,
            l.ptr,
            l.rs,
            l.cs,
            i32::from(kind.unit),
            b.ptr,
            b.rs,
            b.cs,
            stop
        ],
    )
}

/// Applies LAPACK's exchanges to the rows of B.
pub(crate) fn exchange_rows<T: Scalar>(
    ctx: &'static Context,
    trans: Trans,
    ipiv: &[usize],
    b: View<T>,
) -> Result<()> {
    let mut source: Vec<i32> = (0..b.rows as i32).collect();
    let swaps = ipiv.iter().copied().enumerate();
    match trans {
        Trans::No => swaps.for_each(|(i, p)| source.swap(i, p)),
        Trans::Yes => swaps.rev().for_each(|(i, p)| source.swap(i, p)),
    }
    if source.iter().enumerate().all(|(i, s)| i as i32 == *s) || b.is_empty() {
        return Ok(());
    }
    let index = Buffer::from_slice(ctx, &source)?;
    let step = (GATHER_BYTES / (b.rows * size_of::<T>())).clamp(1, b.cols);
    let space = Buffer::of::<T>(ctx, b.rows * step)?;
    for first in (0..b.cols).step_by(step) {
        let part = b.sub(0, first, b.rows, step.min(b.cols - first));
        gather(ctx, part, &index, true, &space)?;
    }
    Ok(())
}

/// `A[, j] <- A[, order[j]]` for the device's list `order`.
pub(crate) fn reorder_columns<T: Scalar>(
    ctx: &'static Context,
    a: View<T>,
    order: &Buffer,
) -> Result<()> {
    if a.is_empty() {
        return Ok(());
    }
    let step = (GATHER_BYTES / (a.cols * size_of::<T>())).clamp(1, a.rows);
    let space = Buffer::of::<T>(ctx, a.cols * step)?;
    for first in (0..a.rows).step_by(step) {
        let part = a.sub(first, 0, step.min(a.rows - first), a.cols);
        gather(ctx, part, order, false, &space)?;
    }
    Ok(())
}

/// Moves the rows or the columns of `a` by way of `space`.
fn gather<T: Scalar>(
    ctx: &'static Context,
    a: View<T>,
    index: &Buffer,
    rows: bool,
    space: &Buffer,
) -> Result<()> {
    let moved = View::new(space.ptr, a.rows, a.cols, a.rows);
    ctx.launch::<T>(
        GATHER,
        blocks_for(a.rows * a.cols),
        1,
        256,
        &args![
            a.rows,
            a.cols,
            a.ptr,
            a.ld(),
            index.ptr,
            i32::from(rows),
            moved.ptr,
            moved.ld()
        ],
    )?;
    copy(ctx, moved, a)?;
    ctx.fence()
}
