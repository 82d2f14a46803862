//! Columns times numbers, their inner products and their signs (`kernels/elementwise/columns.cu`).

use faer::MatMut;

use crate::backend::cuda::driver::buffer::Buffer;
use crate::backend::cuda::driver::context::Context;
use crate::backend::cuda::driver::guards::require;
use crate::backend::cuda::driver::kernels::{args, Family, Kernel};
use crate::backend::cuda::matrix::views::{blocks_for, Matrix, View};
use crate::backend::cuda::transfer::matrix::download;
use crate::base::error::Result;
use crate::base::matrix::Part;
use crate::base::scalar::{try_zeroed, Scalar};
use crate::device::elementwise::Scaling;

const SCALE: Kernel = Kernel::new(Family::Columns, "columns_scale_plain");
const DOT: Kernel = Kernel::new(Family::Columns, "columns_dot_sliced");
const TURN: Kernel = Kernel::new(Family::Columns, "columns_turn_plain");

/// Columns of a launch.
const TOGETHER: usize = 8;

/// Entries of a thread for each round of its loop: as in the kernel.
const ENTRIES: usize = 4;

/// Rows below which another slice of a column is not worth it, and the most slices. They depend on
/// the rows alone, so that a sum does not depend on other columns.
const DEEP: usize = 2048;
const SLICES: usize = 512;

pub(crate) fn scale<T: Scalar>(
    ctx: &'static Context,
    x: &Matrix<'_, T>,
    by: &[f64],
    how: Scaling,
    y: &Matrix<'_, T>,
) -> Result<()> {
    let fits = x.shape() == y.shape() && by.len() == x.shape().1;
    require(fits, "non-conformable arrays")?;
    let (x, y) = (x.view(), y.view());
    let alike = by.windows(2).all(|pair| pair[0] == pair[1]);
    match by.first() {
        Some(by) if alike && is_whole(x) && is_whole(y) => {
            scale_views(ctx, as_column(x), &[*by], how, as_column(y))
        }
        _ => scale_views(ctx, x, by, how, y),
    }
}

/// Whether the columns are in memory one after the other, so that they can count as one.
fn is_whole<T: Scalar>(a: View<T>) -> bool {
    a.rs == 1 && a.ld() == a.rows as i64
}

/// The one column of a view whose columns are next to each other.
fn as_column<T: Scalar>(a: View<T>) -> View<T> {
    View::new(a.ptr, a.rows * a.cols, 1, a.rows * a.cols)
}

/// As [`scale`]. The views may be the same.
fn scale_views<T: Scalar>(
    ctx: &'static Context,
    x: View<T>,
    by: &[f64],
    how: Scaling,
    y: View<T>,
) -> Result<()> {
    // To start more blocks for a column takes longer than their work.
    let blocks = blocks_for(x.rows.div_ceil(ENTRIES)).min(8 * ctx.properties.multiprocessors);
    for first in (0..x.cols).step_by(TOGETHER) {
        let count = TOGETHER.min(x.cols - first);
        let f = |c: usize| by.get(first + c).copied().unwrap_or(0.0);
        ctx.launch::<T>(
            SCALE,
            blocks,
            count,
            256,
            &args![
                x.rows,
                x.address(0, first),
                x.ld(),
                f(0),
                f(1),
                f(2),
                f(3),
                f(4),
                f(5),
                f(6),
                f(7),
                how as i32,
                y.address(0, first),
                y.ld()
            ],
        )?;
    }
    Ok(())
}

/// `Y <- Y + X`, of one shape.
pub(crate) fn add<T: Scalar>(ctx: &'static Context, x: View<T>, y: View<T>) -> Result<()> {
    scale_views(ctx, x, &vec![1.0; x.cols], Scaling::Add, y)
}

/// `A <- by A`.
pub(crate) fn scale_by<T: Scalar>(ctx: &'static Context, by: f64, a: View<T>) -> Result<()> {
    let whole = as_column(a);
    require(is_whole(a), "scale: the columns are not next to each other")?;
    scale_views(ctx, whole, &[by], Scaling::Replace, whole)
}

/// Gives columns of `q` their signs, and those of `follow` the same ones. Without `follow`, the
/// order of the columns is reversed if `reversed`.
pub(crate) fn turn<T: Scalar>(
    ctx: &'static Context,
    q: View<T>,
    follow: Option<View<T>>,
    enough: f64,
    reversed: bool,
) -> Result<()> {
    if q.is_empty() {
        return Ok(());
    }
    let fits = follow.is_none_or(|f| f.cols == q.cols && !reversed);
    require(fits, "turn: there are other columns to follow")?;
    let blocks = if reversed { q.cols.div_ceil(2) } else { q.cols };
    let (rows, ptr, ld) = follow.map_or((0, 0, 0), |f| (f.rows, f.ptr, f.ld()));
    let reversed = i32::from(reversed);
    ctx.launch::<T>(
        TURN,
        blocks,
        1,
        256,
        &args![
            q.rows,
            q.cols,
            q.ptr,
            q.ld(),
            rows,
            ptr,
            ld,
            enough,
            reversed
        ],
    )
}

pub(crate) fn dots<T: Scalar>(
    ctx: &'static Context,
    x: &Matrix<'_, T>,
    y: &Matrix<'_, T>,
) -> Result<Vec<f64>> {
    require(x.shape() == y.shape(), "non-conformable arrays")?;
    let (x, y) = (x.view(), y.view());
    if x.is_empty() {
        return try_zeroed(x.cols);
    }
    let cut = x.rows.div_ceil(DEEP).min(SLICES);
    let depth = x.rows.div_ceil(cut);
    // Short columns need few threads.
    let threads = depth.next_multiple_of(32).clamp(32, 256) as u32;
    let there = Buffer::of::<f64>(ctx, cut * x.cols)?;
    ctx.launch::<T>(
        DOT,
        x.cols,
        cut,
        threads,
        &args![x.rows, x.ptr, x.ld(), y.ptr, y.ld(), depth, there.ptr],
    )?;
    // So few numbers are added faster here than by another launch.
    let mut parts = try_zeroed::<f64>(cut * x.cols)?;
    let home = MatMut::from_column_major_slice_mut(&mut parts, cut * x.cols, 1);
    download(ctx, there.ptr, Part::All, home)?;
    Ok(parts.chunks_exact(cut).map(|c| c.iter().sum()).collect())
}
