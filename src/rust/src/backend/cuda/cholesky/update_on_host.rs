//! Changes of a factor by the processor, for GPUs whose compute capability has no kernels for
//! reflections. Forming the matrix instead would lose digits that reflections keep, and takes
//! longer on GPUs that are slow in double precision.

use faer::{MatMut, MatRef};

use crate::backend::cpu::{CpuDevice, CpuMat};
use crate::backend::cuda::driver::context::Context;
use crate::backend::cuda::matrix::views::Matrix;
use crate::base::error::Result;
use crate::base::matrix::{Change, Part};
use crate::base::scalar::{try_zeroed, Scalar};
use crate::base::threads::wanted;
use crate::device::update::FactorUpdate;

pub(crate) fn processor() -> CpuDevice {
    CpuDevice::new(wanted())
}

/// A copy of a matrix in host memory.
fn copied<T: Scalar>(ctx: &'static Context, a: &Matrix<'_, T>) -> Result<CpuMat<'static, T>> {
    let (rows, cols) = a.shape();
    let mut data = try_zeroed(rows.saturating_mul(cols))?;
    a.read(
        ctx,
        MatMut::from_column_major_slice_mut(&mut data, rows, cols),
    )?;
    Ok(CpuMat::Own {
        data,
        rows,
        cols,
        factor: false,
    })
}

/// The upper factor of `R'R + V V'` or `R'R - V V'` in place of R.
///
/// # Errors
/// [`crate::base::error::Error::NotPositiveDefinite`] with the order of the minor; R is then
/// unchanged.
pub(crate) fn change<T: Scalar>(
    ctx: &'static Context,
    change: Change,
    r: &Matrix<'_, T>,
    v: &Matrix<'_, T>,
) -> Result<()> {
    let (mut made, mut v) = (copied(ctx, r)?, copied(ctx, v)?);
    processor().update_factor(change, &mut made, &mut v)?;
    r.refill(ctx, made.view(), Part::All)
}

/// As [`change`] of an update; `false`, with R unchanged, where a magnitude in V is above `most` or
/// NaN.
pub(crate) fn change_guarded<T: Scalar>(
    ctx: &'static Context,
    most: f64,
    r: &Matrix<'_, T>,
    v: &Matrix<'_, T>,
) -> Result<bool> {
    let (mut made, v) = (copied(ctx, r)?, copied(ctx, v)?);
    if !processor().update_guarded(most, &mut made, &v)? {
        return Ok(false);
    }
    r.refill(ctx, made.view(), Part::All)?;
    Ok(true)
}

/// An update from host memory to host memory: the upper triangle of `from` to `out`, which becomes
/// zero below the diagonal. `None` where `from` is not stored by columns.
pub(crate) fn update_from<T: Scalar>(
    ctx: &'static Context,
    from: MatRef<'_, T>,
    v: &Matrix<'_, T>,
    out: MatMut<'_, T>,
) -> Result<Option<()>> {
    let mut v = copied(ctx, v)?;
    processor().update_streamed(Change::Up, from, &mut v, out, &mut |_| Ok(()))
}
