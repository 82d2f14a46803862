//! Symmetric eigenvalues and eigenvectors: the stages one after the other.
//!
//! Device memory for order n: the matrix's copy, the reflectors of the second stage, and for
//! vectors the workspace of divide and conquer; each has `n n` numbers.

use super::back::BAND;
use super::band;
use super::chase;
use super::one_stage::OneStage;
use super::probe::Probe;
use super::tridiagonal;
use crate::backend::cuda::driver::context::Context;
use crate::backend::cuda::driver::kernels::Family;
use crate::backend::cuda::gemm::gemm_syrk::mirror;
use crate::backend::cuda::matrix::views::{copy, Matrix, View};
use crate::base::error::{Error, Result};
use crate::base::scalar::Scalar;

/// An error if the GPU has no kernels for the second stage.
fn check<T: Scalar>(ctx: &'static Context) -> Result<()> {
    let properties = &ctx.properties;
    let fits = chase::shared::<T>() <= properties.shared;
    if properties.cooperative && ctx.has(Family::Chase) && fits {
        return Ok(());
    }
    Err(Error::DeviceUnavailable {
        reason: "eigenvalues need a GPU of compute capability 7.0 or newer".to_string(),
    })
}

/// Eigenvalues of the symmetric `a` in ascending order in `w`, and eigenvectors in the columns of
/// `z`. Only the lower triangle of `a` is read; its largest entry should be about one. `ended` is
/// told the name of each stage when all of it is queued.
///
/// # Errors
/// [`Error::NotConverged`] if the answer fails its check, and those of the GPU.
pub(crate) fn decompose<T: Scalar>(
    ctx: &'static Context,
    a: View<T>,
    w: &mut [T],
    z: Option<View<T>>,
    mut ended: impl FnMut(&'static str) -> Result<()>,
) -> Result<()> {
    let n = w.len();
    check::<T>(ctx)?;
    let whole = Matrix::new(ctx, n, n)?;
    copy(ctx, a, whole.view())?;
    mirror(ctx, whole.view())?;
    let probe = Probe::new(ctx, whole.view())?;
    let whole = whole.view();
    let values = match OneStage::of::<T>(ctx, n) {
        Some(plan) => {
            let reduced = plan.reduce(ctx, whole)?;
            ended("dense to tridiagonal")?;
            match z {
                None => tridiagonal::values(ctx, &reduced.diagonal, &reduced.below)?,
                Some(z) => {
                    let values = tridiagonal::vectors(ctx, &reduced.diagonal, &reduced.below, z)?;
                    ended("tridiagonal")?;
                    reduced.back(ctx, whole, z)?;
                    values
                }
            }
        }
        None => in_two_stages(ctx, whole, z, &mut ended)?,
    };
    ended("the rest")?;
    probe.check(ctx, &values, z)?;
    w.copy_from_slice(&values);
    Ok(())
}

/// Eigenvalues of `a`, both triangles of which are given, and eigenvectors in the columns of `z`.
fn in_two_stages<T: Scalar>(
    ctx: &'static Context,
    a: View<T>,
    z: Option<View<T>>,
    ended: &mut impl FnMut(&'static str) -> Result<()>,
) -> Result<Vec<T>> {
    let taus = band::reduce(ctx, a, BAND)?;
    ended("dense to band")?;
    let chased = chase::chase(ctx, a)?;
    ended("band to tridiagonal")?;
    let below = &chased.below[..a.rows - 1];
    let Some(z) = z else {
        return tridiagonal::values(ctx, &chased.diagonal, below);
    };
    let values = tridiagonal::vectors(ctx, &chased.diagonal, below, z)?;
    ended("tridiagonal")?;
    chased.back(ctx, z)?;
    ended("back to the band")?;
    band::back(ctx, a, BAND, &taus, z)?;
    Ok(values)
}
