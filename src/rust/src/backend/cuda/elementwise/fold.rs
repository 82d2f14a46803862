//! Reductions, in one launch or two.

use crate::backend::cuda::driver::buffer::Buffer;
use crate::backend::cuda::driver::context::Context;
use crate::backend::cuda::driver::kernels::{args, Family, Kernel};
use crate::backend::cuda::matrix::views::{Matrix, View};
use crate::base::error::Result;
use crate::base::scalar::{try_zeroed, Scalar};
use crate::device::functions::{Fold, Lines};

const COLUMNS: Kernel = Kernel::new(Family::Fold, "columns_fold_sliced");
const ROWS: Kernel = Kernel::new(Family::Fold, "rows_fold_sliced");

/// Entries of a column, and columns of a row, below which another slice is not worth its launch.
const DEEP: usize = 8192;
const WIDE: usize = 256;
/// Blocks that keep any device busy. Not the number of the device, because sums must not depend on
/// it.
const BUSY: usize = 2048;

pub(crate) fn fold<T: Scalar>(
    ctx: &'static Context,
    f: Fold,
    lines: Lines,
    skip: bool,
    a: &Matrix<'_, T>,
) -> Result<Vec<f64>> {
    let a = a.view();
    let count = match lines {
        Lines::All => 1,
        Lines::Rows => a.rows,
        Lines::Columns => a.cols,
    };
    let mut out = try_zeroed::<f64>(count)?;
    if a.is_empty() {
        out.fill(f.of_nothing());
        return Ok(out);
    }
    let sums = match lines {
        Lines::All => columns(ctx, f, skip, one_column(a))?,
        Lines::Rows => rows(ctx, f, skip, a)?,
        Lines::Columns => columns(ctx, f, skip, a)?,
    };
    sums.to_slice(&mut out)?;
    Ok(out)
}

/// The largest magnitude of a part of a matrix, which must not be empty; infinite or NaN where an
/// entry is.
pub(crate) fn largest<T: Scalar>(ctx: &'static Context, a: View<T>) -> Result<f64> {
    let mut largest = [0.0];
    largest_there(ctx, a)?.to_slice(&mut largest)?;
    Ok(largest[0])
}

/// The same, on the device.
pub(crate) fn largest_there<T: Scalar>(ctx: &'static Context, a: View<T>) -> Result<Buffer> {
    let f = Fold::Largest;
    if a.ld() == a.rows as i64 {
        return columns(ctx, f, false, one_column(a));
    }
    let each = columns(ctx, f, false, a)?;
    let of_all = View::<f64>::new(each.ptr, a.cols, 1, a.cols);
    columns(ctx, f.of_parts(), false, of_all)
}

/// All entries of a contiguous matrix.
fn one_column<T: Scalar>(a: View<T>) -> View<T> {
    View::new(a.ptr, a.rows * a.cols, 1, a.rows * a.cols)
}

/// The number of parts of `length`, each of at least `least`, if `others` run at the same time.
fn slices(length: usize, least: usize, others: usize) -> usize {
    length.div_ceil(least).min(BUSY / others.max(1)).max(1)
}

fn columns<T: Scalar>(ctx: &'static Context, f: Fold, skip: bool, a: View<T>) -> Result<Buffer> {
    let cut = slices(a.rows, DEEP, a.cols);
    let parts = columns_once(ctx, f, skip, a, cut)?;
    if cut == 1 {
        return Ok(parts);
    }
    columns_once(
        ctx,
        f.of_parts(),
        false,
        View::<f64>::new(parts.ptr, cut, a.cols, cut),
        1,
    )
}

/// The outcomes of `cut` slices of each column, side by side.
fn columns_once<T: Scalar>(
    ctx: &'static Context,
    f: Fold,
    skip: bool,
    a: View<T>,
    cut: usize,
) -> Result<Buffer> {
    let out = Buffer::of::<f64>(ctx, cut * a.cols)?;
    let depth = a.rows.div_ceil(cut);
    // Short columns need few threads.
    let threads = depth.next_multiple_of(32).clamp(32, 256) as u32;
    ctx.launch::<T>(
        COLUMNS,
        a.cols,
        cut,
        threads,
        &args![
            f.number(),
            i32::from(skip),
            a.rows,
            a.ptr,
            a.ld(),
            depth,
            out.ptr
        ],
    )?;
    Ok(out)
}

fn rows<T: Scalar>(ctx: &'static Context, f: Fold, skip: bool, a: View<T>) -> Result<Buffer> {
    let cut = slices(a.cols, WIDE, a.rows.div_ceil(32));
    let parts = rows_once(ctx, f, skip, a, cut)?;
    if cut == 1 {
        return Ok(parts);
    }
    rows_once(
        ctx,
        f.of_parts(),
        false,
        View::<f64>::new(parts.ptr, a.rows, cut, a.rows),
        1,
    )
}

/// The outcomes of `cut` slices of each row, one column for each slice.
fn rows_once<T: Scalar>(
    ctx: &'static Context,
    f: Fold,
    skip: bool,
    a: View<T>,
    cut: usize,
) -> Result<Buffer> {
    let out = Buffer::of::<f64>(ctx, cut * a.rows)?;
    let depth = a.cols.div_ceil(cut);
    ctx.launch::<T>(
        ROWS,
        a.rows.div_ceil(32),
        cut,
        256,
        &args![
            f.number(),
            i32::from(skip),
            a.rows,
            a.cols,
            a.ptr,
            a.ld(),
            depth,
            out.ptr
        ],
    )?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_suit_the_shape() {
        assert_eq!(slices(100, DEEP, 1), 1);
        assert_eq!(slices(8193, DEEP, 1), 2);
        assert_eq!(slices(1 << 30, DEEP, 1), BUSY);
        assert_eq!(slices(1 << 30, DEEP, 3), BUSY / 3);
        assert_eq!(slices(1 << 30, DEEP, 1 << 20), 1);
        assert_eq!(slices(0, WIDE, 0), 1);
    }
}
