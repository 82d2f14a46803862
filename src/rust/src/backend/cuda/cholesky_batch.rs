//! Cholesky factorization of many matrices.

use super::cholesky;
use super::context::Context;
use super::memory::{keep_triangle, View};
use crate::error::Result;
use crate::matrix::Uplo;
use crate::scalar::Scalar;

/// Matrices of so many bytes in all are brought to the GPU at once, without asking how much memory is free.
const FEW_BYTES: usize = 64 << 20;
/// The most bytes of matrices to bring to the GPU at once.
const MOST_BYTES: u64 = 2 << 30;

/// How many of these bytes of matrices to bring to the GPU at once.
pub(super) fn room(ctx: &'static Context, all: usize) -> Result<usize> {
    if all <= FEW_BYTES {
        return Ok(all);
    }
    let (free, _) = ctx.memory()?;
    Ok(all.min((free / 4).min(MOST_BYTES) as usize))
}

/// Factors the upper triangles of square matrices side by side, and zeroes what is below.
pub(super) fn factor<T: Scalar>(ctx: &'static Context, a: View<T>) -> Result<()> {
    let n = a.rows;
    let count = a.cols.checked_div(n).unwrap_or(0);
    for i in 0..count {
        let one = a.sub(0, i * n, n, n);
        cholesky::factor(ctx, Uplo::Upper, one).map_err(|e| e.in_batch(i))?;
        keep_triangle(ctx, one, false)?;
    }
    Ok(())
}
