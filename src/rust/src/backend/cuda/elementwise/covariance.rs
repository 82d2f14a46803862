//! Covariances of points.

use faer::MatRef;

use crate::backend::cuda::driver::buffer::Buffer;
use crate::backend::cuda::driver::context::Context;
use crate::backend::cuda::driver::guards::require;
use crate::backend::cuda::driver::kernels::{args, Family, Kernel};
use crate::backend::cuda::matrix::views::Matrix;
use crate::base::error::Result;
use crate::base::matrix::Block;
use crate::base::scalar::{try_zeroed, Scalar};
use crate::device::covariance::{Covariance, Points};

const EVALUATE: Kernel = Kernel::new(Family::Covariance, "covariances_evaluate_block");

/// Rows of a block of threads, and columns of each thread.
const ROWS: usize = 256;
const COLUMNS: usize = 8;
/// Blocks of a launch; each computes tiles until none is left.
const BLOCKS: usize = 1 << 16;

/// Factor by which these operations are slower than products, whose rate limits a launch.
const SLOWER: f64 = 8.0;

/// Points on the device: what
/// [`Device::covariance`](crate::device::covariance::CovarianceMatrix::covariance) reads.
pub struct DevicePoints {
    coordinates: Buffer,
    scales: Buffer,
    count: usize,
    dimensions: usize,
}

fn side_by_side(a: MatRef<'_, f64>) -> Result<Vec<f64>> {
    let mut all = try_zeroed(a.nrows().saturating_mul(a.ncols()))?;
    for (k, to) in all.chunks_exact_mut(a.nrows().max(1)).enumerate() {
        for (i, to) in to.iter_mut().enumerate() {
            *to = a[(i, k)];
        }
    }
    Ok(all)
}

pub(crate) fn points(ctx: &'static Context, x: Points<'_>) -> Result<DevicePoints> {
    x.check()?;
    ctx.bind()?;
    Ok(DevicePoints {
        coordinates: Buffer::from_slice(ctx, &side_by_side(x.coordinates)?)?,
        scales: Buffer::from_slice(ctx, x.scales)?,
        count: x.coordinates.nrows(),
        dimensions: x.coordinates.ncols(),
    })
}

pub(crate) fn evaluate<T: Scalar>(
    ctx: &'static Context,
    function: &Covariance,
    (x, y): (&DevicePoints, &DevicePoints),
    block: Block,
    out: &Matrix<'_, T>,
) -> Result<()> {
    let out = out.view();
    require(
        x.dimensions == y.dimensions
            && x.dimensions <= i32::MAX as usize
            && block.is_in((x.count, y.count))
            && block.rows <= out.rows
            && block.cols <= out.cols,
        "covariance: shapes do not fit",
    )?;
    let most = ctx.properties.launch_operations::<f64>() / SLOWER;
    let each = Covariance::operations(out.rows as f64, x.dimensions);
    let together = ((most / each.max(1.0)) as usize / COLUMNS).max(1) * COLUMNS;
    for first in (0..out.cols).step_by(together) {
        let part = out.sub(0, first, out.rows, together.min(out.cols - first));
        let tasks = part.rows.div_ceil(ROWS) * part.cols.div_ceil(COLUMNS);
        ctx.launch::<T>(
            EVALUATE,
            tasks.min(BLOCKS),
            1,
            ROWS as u32,
            &args![
                function.correlation.number(),
                x.dimensions as i32,
                x.scales.ptr,
                x.coordinates.ptr,
                x.count,
                block.row,
                block.rows,
                y.coordinates.ptr,
                y.count,
                block.col + first,
                block.cols.saturating_sub(first).min(part.cols),
                function.variance,
                function.nugget,
                part.rows,
                part.cols,
                part.ptr,
                part.ld()
            ],
        )?;
        if together < out.cols {
            ctx.fence_after(1.0)?;
        }
    }
    Ok(())
}
