//! The columns of a matrix as vectors for kernels, a few of them in each launch.

use crate::backend::cuda::driver::guards::require;
use crate::backend::cuda::matrix::views::Matrix;
use crate::base::error::Result;

pub(crate) type Mat = Matrix<'static, f64>;

/// Threads of a block.
pub(crate) const THREADS: u32 = 256;

/// The most vectors of a launch, as in the kernels.
const TOGETHER: usize = 4;

/// The address of a matrix of `rows` rows with adjacent columns, and their number.
pub(crate) fn columns(x: &Mat, rows: usize) -> Result<(u64, usize)> {
    let view = x.view();
    require(
        view.rows == rows && (view.cols < 2 || view.cs == rows as i64) && view.rs == 1,
        "vectors and matrix do not fit",
    )?;
    Ok((view.ptr, view.cols))
}

/// Calls `f` for groups of columns of one launch, with the first column and their number.
pub(crate) fn each(count: usize, mut f: impl FnMut(usize, i32) -> Result<()>) -> Result<()> {
    for first in (0..count).step_by(TOGETHER) {
        f(first, TOGETHER.min(count - first) as i32)?;
    }
    Ok(())
}

/// The address of column `first`, for columns of `rows` entries.
pub(crate) fn at(ptr: u64, first: usize, rows: usize) -> u64 {
    ptr + (first * rows * size_of::<f64>()) as u64
}
