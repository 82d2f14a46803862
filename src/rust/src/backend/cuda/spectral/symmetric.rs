//! Symmetric eigenvalues and eigenvectors: the stages one after the other.
//!
//! Device memory for order n: the matrix's copy, the reflectors of the second stage, and for
//! vectors the workspace of divide and conquer; each has `n n` numbers.

use std::mem::size_of;

use super::band;
use super::chase::{chase, Bandwidth, NARROW, WIDE};
use super::one_stage::OneStage;
use super::probe::Probe;
use super::tridiagonal;
use crate::backend::cuda::driver::context::Context;
use crate::backend::cuda::driver::kernels::Family;
use crate::backend::cuda::gemm::gemm_syrk::mirror;
use crate::backend::cuda::matrix::views::{copy, Matrix, View};
use crate::base::error::{Error, Result};
use crate::base::scalar::Scalar;

/// From these orders on a wide band is faster, for values alone and with vectors: products with its
/// columns have a higher rate, and the chase takes longer.
const WIDE_FROM: [usize; 2] = [24576, 12288];

/// The band that suits the order and the GPU: in single precision there is the narrow one alone.
///
/// # Errors
/// [`Error::DeviceUnavailable`] if the GPU has no kernels for the second stage.
fn bandwidth<T: Scalar>(ctx: &'static Context, n: usize, vectors: bool) -> Result<Bandwidth> {
    let fits = |by: &Bandwidth| by.shared::<T>() <= ctx.properties.shared;
    let has = ctx.has(Family::Chase) && ctx.has(Family::ChaseSweeps);
    if !ctx.properties.cooperative || !has || !fits(&NARROW) {
        return Err(Error::DeviceUnavailable {
            reason: "eigenvalues need a GPU of compute capability 7.0 or newer".to_string(),
        });
    }
    let double = size_of::<T>() == size_of::<f64>();
    Ok(
        if double && n >= WIDE_FROM[usize::from(vectors)] && fits(&WIDE) {
            WIDE
        } else {
            NARROW
        },
    )
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
    // For the error of a GPU that can do neither.
    bandwidth::<T>(ctx, n, z.is_some())?;
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
    let by = bandwidth::<T>(ctx, a.rows, z.is_some())?;
    let taus = band::reduce(ctx, a, by.columns)?;
    ended("dense to band")?;
    let chased = chase(ctx, a, by)?;
    ended("band to tridiagonal")?;
    let below = &chased.below[..a.rows - 1];
    let Some(z) = z else {
        return tridiagonal::values(ctx, &chased.diagonal, below);
    };
    let values = tridiagonal::vectors(ctx, &chased.diagonal, below, z)?;
    ended("tridiagonal")?;
    chased.back(ctx, z)?;
    ended("back to the band")?;
    band::back(ctx, a, by.columns, &taus, z)?;
    Ok(values)
}
