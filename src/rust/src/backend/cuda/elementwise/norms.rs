//! Norms, diagonals and other facts about a matrix that drivers ask for.

use crate::backend::cuda::driver::buffer::Buffer;
use crate::backend::cuda::driver::context::Context;
use crate::backend::cuda::driver::kernels::{args, Family, Kernel};
use crate::backend::cuda::matrix::views::View;
use crate::base::error::Result;
use crate::base::scalar::{try_zeroed, Scalar};

const SUMS: Kernel = Kernel::new(Family::Norms, "columns_sum_magnitudes");
const NORMS: Kernel = Kernel::new(Family::Norms, "columns_norm_scaled");
const DIAGONAL: Kernel = Kernel::new(Family::Norms, "diagonal_copy_plain");

/// One number for every column, in double precision, on the device.
fn per_column<T: Scalar>(ctx: &'static Context, kernel: Kernel, a: View<T>) -> Result<Buffer> {
    let device = Buffer::of::<f64>(ctx, a.cols)?;
    ctx.launch::<T>(
        kernel,
        a.cols,
        1,
        256,
        &args![a.rows, a.ptr, a.ld(), device.ptr],
    )?;
    Ok(device)
}

fn read<T: Scalar>(device: &Buffer, count: usize) -> Result<Vec<T>> {
    let mut values = try_zeroed::<T>(count)?;
    device.to_slice(&mut values)?;
    Ok(values)
}

/// The Euclidean norm of every column, on the device.
pub(crate) fn norms_on_device<T: Scalar>(ctx: &'static Context, a: View<T>) -> Result<Buffer> {
    per_column(ctx, NORMS, a)
}

/// The largest column sum of magnitudes; NaN if there is one.
pub(crate) fn one_norm<T: Scalar>(ctx: &'static Context, a: View<T>) -> Result<f64> {
    let sums: Vec<f64> = read(&per_column(ctx, SUMS, a)?, a.cols)?;
    Ok(sums.into_iter().fold(0.0, |most: f64, s| {
        if s.is_nan() || most.is_nan() {
            f64::NAN
        } else {
            most.max(s)
        }
    }))
}

pub(crate) fn column_norms<T: Scalar>(ctx: &'static Context, a: View<T>) -> Result<Vec<f64>> {
    read(&norms_on_device(ctx, a)?, a.cols)
}

pub(crate) fn diagonal<T: Scalar>(ctx: &'static Context, a: View<T>) -> Result<Vec<T>> {
    let k = a.rows.min(a.cols);
    let device = Buffer::of::<T>(ctx, k)?;
    ctx.launch::<T>(
        DIAGONAL,
        k.div_ceil(256),
        1,
        256,
        &args![k, a.ptr, a.ld(), device.ptr],
    )?;
    read(&device, k)
}
