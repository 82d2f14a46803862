//! Columns times numbers, and their inner products (`kernels/elementwise/columns.cu`).

use faer::MatMut;

use crate::backend::cuda::driver::buffer::Buffer;
use crate::backend::cuda::driver::context::Context;
use crate::backend::cuda::driver::guards::require;
use crate::backend::cuda::driver::kernels::{args, Family, Kernel};
use crate::backend::cuda::matrix::views::{blocks_for, Matrix};
use crate::backend::cuda::transfer::matrix::download;
use crate::base::error::Result;
use crate::base::matrix::Part;
use crate::base::scalar::{try_zeroed, Scalar};
use crate::device::elementwise::Scaling;

const SCALE: Kernel = Kernel::new(Family::Columns, "columns_scale_plain");
const DOT: Kernel = Kernel::new(Family::Columns, "columns_dot_sliced");

/// Columns of a launch.
const TOGETHER: usize = 8;

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
    for first in (0..x.cols).step_by(TOGETHER) {
        let count = TOGETHER.min(x.cols - first);
        let f = |c: usize| by.get(first + c).copied().unwrap_or(0.0);
        ctx.launch::<T>(
            SCALE,
            blocks_for(x.rows),
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
