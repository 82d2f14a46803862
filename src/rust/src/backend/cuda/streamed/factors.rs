//! Cholesky, LU and QR factorizations and solutions from host to host, in blocks of columns: later
//! blocks are uploaded and finished ones downloaded while one is computed.

use faer::{MatMut, MatRef};

use crate::backend::cuda::cholesky;
use crate::backend::cuda::driver::context::Context;
use crate::backend::cuda::elementwise::norms;
use crate::backend::cuda::gemm;
use crate::backend::cuda::gemm::update::{Bound, Update, UpdatedPart};
use crate::backend::cuda::lu;
use crate::backend::cuda::matrix::views::{keep_triangle, set_identity, Matrix, View};
use crate::backend::cuda::qr;
use crate::backend::cuda::transfer::column_blocks::{parts, pass, BlockPipeline};
use crate::backend::cuda::transfer::matrix::{sink, source};
use crate::backend::cuda::triangular::trsm::{exchange_rows, solve, solve_lower};
use crate::base::error::{Error, Result};
use crate::base::matrix::{Diag, Part, Side, Trans, Uplo};
use crate::base::scalar::Scalar;
use crate::cost::plan::size::ColumnBlocks;
use crate::device::lapack::LuInfo;
use crate::device::streamed::QrBlock;

/// The upper factor of `x` in `out`, zero below the diagonal: for each block of columns, solves for
/// the part above its diagonal block, then factors that block. None if the operands do not suit
/// this path.
pub(crate) fn cholesky<T: Scalar>(
    ctx: &'static Context,
    x: MatRef<'_, T>,
    mut out: MatMut<'_, T>,
    blocks: &ColumnBlocks,
) -> Result<Option<()>> {
    let n = x.nrows();
    let matrix = Matrix::<T>::zeros(ctx, n, n)?;
    let a = matrix.view();
    let (Some(from), Some(to)) = (source(x, a.ptr), sink(&mut out, a.ptr)) else {
        return Ok(None);
    };
    let work = |way: &BlockPipeline<'_>| {
        for (i, &(first, width)) in blocks.iter().enumerate() {
            way.arrive(i)?;
            let (above, diagonal) = (
                a.sub(0, first, first, width),
                a.sub(first, first, width, width),
            );
            keep_triangle(ctx, a.sub(first, first, n - first, width), false)?;
            let before = a.sub(0, 0, first, first);
            let (left, upper) = (Side::Left, Uplo::Upper);
            solve(ctx, left, upper, Trans::Yes, Diag::NonUnit, before, above)?;
            let update = Update {
                triangle: UpdatedPart::Upper,
                ..Update::subtract().by_norms()
            };
            gemm::gemm_syrk::multiply(ctx, update, above.t(), above, diagonal)?;
            cholesky::factor::factor(ctx, Uplo::Upper, diagonal).map_err(|e| match e {
                Error::NotPositiveDefinite { order } => Error::NotPositiveDefinite {
                    order: first + order,
                },
                e => e,
            })?;
            way.leave(i)?;
        }
        Ok(())
    };
    // SAFETY: `x` and `out` are borrowed, and the device's matrix lives until the end of this
    // function.
    unsafe {
        pass(
            ctx,
            Part::Upper,
            &parts(from, blocks),
            &parts(to, blocks),
            work,
        )
    }
}

/// Computes the LU factors of `x` in `a`: the left block is factored while the right one is
/// uploaded. Also returns `||x||_1`.
pub(crate) fn lu<T: Scalar>(
    ctx: &'static Context,
    x: MatRef<'_, T>,
    a: View<T>,
    blocks: &ColumnBlocks,
) -> Result<Option<(LuInfo, f64)>> {
    let (m, n) = (x.nrows(), x.ncols());
    let (Some(from), &[(0, k), (_, width)]) = (source(x, a.ptr), blocks.as_slice()) else {
        return Ok(None);
    };
    if m <= k {
        return Ok(None);
    }
    let work = |way: &BlockPipeline<'_>| {
        let (left, right) = (a.sub(0, 0, m, k), a.sub(0, k, m, width));
        way.arrive(0)?;
        let norm = norms::one_norm(ctx, left)?;
        let mut info = lu::factor::factor(ctx, left)?;
        way.arrive(1)?;
        let other = norms::one_norm(ctx, right)?;
        let norm = if other > norm || other.is_nan() {
            other
        } else {
            norm
        };
        exchange_rows(ctx, Trans::No, &info.ipiv, right)?;
        let (top, rest) = (right.sub(0, 0, k, width), a.sub(k, k, m - k, n - k));
        solve_lower(ctx, (true, Bound::Entries), a.sub(0, 0, k, k), top, 0)?;
        let below = a.sub(k, 0, m - k, k);
        gemm::gemm_syrk::multiply(ctx, Update::subtract(), below, top, rest)?;
        let later = lu::factor::factor(ctx, rest)?;
        exchange_rows(ctx, Trans::No, &later.ipiv, below)?;
        info.ipiv.extend(later.ipiv.iter().map(|p| p + k));
        info.zero = info.zero.or(later.zero.map(|i| i + k));
        Ok((info, norm))
    };
    // SAFETY: `x` is borrowed, and the caller's `a` is in use until this returns.
    unsafe { pass(ctx, Part::All, &parts(from, blocks), &[], work) }
}

/// `out = A^-1 b`, for a right-hand side or the identity, from LU factors on the device.
pub(crate) fn solve_factored<T: Scalar>(
    ctx: &'static Context,
    lu: View<T>,
    ipiv: &[usize],
    b: Option<MatRef<'_, T>>,
    mut out: MatMut<'_, T>,
    blocks: &ColumnBlocks,
) -> Result<Option<()>> {
    let n = out.nrows();
    let matrix = Matrix::<T>::new(ctx, n, out.ncols())?;
    let x = matrix.view();
    let Some(to) = sink(&mut out, x.ptr) else {
        return Ok(None);
    };
    let up = match b {
        None => {
            set_identity(ctx, x)?;
            Vec::new()
        }
        Some(b) => match source(b, x.ptr) {
            Some(from) => parts(from, blocks),
            None => return Ok(None),
        },
    };
    let given = !up.is_empty();
    let work = |way: &BlockPipeline<'_>| {
        for (i, &(first, width)) in blocks.iter().enumerate() {
            if given {
                way.arrive(i)?;
            }
            let part = x.sub(0, first, n, width);
            let (left, no) = (Side::Left, Trans::No);
            exchange_rows(ctx, no, ipiv, part)?;
            solve(ctx, left, Uplo::Lower, no, Diag::Unit, lu, part)?;
            solve(ctx, left, Uplo::Upper, no, Diag::NonUnit, lu, part)?;
            way.leave(i)?;
        }
        Ok(())
    };
    // SAFETY: `b` and `out` are borrowed, and the device's matrix lives until the end of this
    // function.
    unsafe { pass(ctx, Part::All, &up, &parts(to, blocks), work) }
}

/// LAPACK's QR factors of `x`, which has at least as many rows as columns, in `out`. `finish` gets
/// the facts about each factored block, and returns the factors by which its trapezoids are scaled
/// before the download. If it returns None, the factorization is abandoned, and this function
/// returns None.
pub(crate) fn qr<T: Scalar>(
    ctx: &'static Context,
    x: MatRef<'_, T>,
    mut out: MatMut<'_, T>,
    blocks: &ColumnBlocks,
    finish: &mut QrBlock<'_, T>,
) -> Result<Option<Vec<T>>> {
    let (m, n) = (x.nrows(), x.ncols());
    let matrix = Matrix::<T>::new(ctx, m, n)?;
    let a = matrix.view();
    let (Some(from), Some(to), &[(0, k), (_, width)]) =
        (source(x, a.ptr), sink(&mut out, a.ptr), blocks.as_slice())
    else {
        return Ok(None);
    };
    if m < n {
        return Ok(None);
    }
    let mut in_vain = false;
    let mut leave = |first: usize, block: View<T>, tau: &[T], norms: &[f64]| {
        let diagonal = norms::diagonal(ctx, block)?;
        match finish(first, &diagonal, norms, tau) {
            Some(below) => qr::householder::scale_trapezoids(ctx, &below, &[], block),
            None => {
                in_vain = true;
                // Ends the transfer; the error is not reported.
                Err(Error::Interrupted)
            }
        }
    };
    let work = |way: &BlockPipeline<'_>| {
        let (left, right) = (a.sub(0, 0, m, k), a.sub(0, k, m, width));
        way.arrive(0)?;
        let of_left = norms::column_norms(ctx, left)?;
        let mut tau = qr::factor::factor(ctx, left)?;
        way.arrive(1)?;
        let of_right = norms::column_norms(ctx, right)?;
        qr::householder::apply(ctx, Trans::Yes, left, &tau, right)?;
        leave(0, left, &tau, &of_left)?;
        way.leave(0)?;
        let rest = a.sub(k, k, m - k, width);
        let later = qr::factor::factor(ctx, rest)?;
        leave(k, rest, &later, &of_right)?;
        way.leave(1)?;
        tau.extend(later);
        Ok(tau)
    };
    // SAFETY: `x` and `out` are borrowed, and the device's matrix lives until the end of this
    // function.
    let done = unsafe {
        pass(
            ctx,
            Part::All,
            &parts(from, blocks),
            &parts(to, blocks),
            work,
        )
    };
    match done {
        Err(Error::Interrupted) if in_vain => Ok(None),
        done => done,
    }
}

/// `out = x'x`, exactly symmetric: each block of columns times those before it, the rest by
/// symmetry.
pub(crate) fn crossprod<T: Scalar>(
    ctx: &'static Context,
    x: MatRef<'_, T>,
    mut out: MatMut<'_, T>,
    blocks: &ColumnBlocks,
) -> Result<Option<()>> {
    let (m, n) = (x.nrows(), x.ncols());
    let (operand, result) = (Matrix::<T>::new(ctx, m, n)?, Matrix::<T>::new(ctx, n, n)?);
    let (a, c) = (operand.view(), result.view());
    let (Some(from), Some(to)) = (source(x, a.ptr), sink(&mut out, c.ptr)) else {
        return Ok(None);
    };
    let work = |way: &BlockPipeline<'_>| {
        for (i, &(first, width)) in blocks.iter().enumerate() {
            way.arrive(i)?;
            let (before, block) = (a.sub(0, 0, m, first), a.sub(0, first, m, width));
            let beside = c.sub(first, 0, width, first);
            gemm::gemm_syrk::multiply(ctx, Update::assign(), block.t(), before, beside)?;
            gemm::gemm_syrk::square(
                ctx,
                Bound::Entries,
                block.t(),
                c.sub(first, first, width, width),
            )?;
        }
        gemm::gemm_syrk::mirror(ctx, c)?;
        way.leave(0)
    };
    // SAFETY: `x` and `out` are borrowed, and the device's matrices live until the end of this
    // function.
    unsafe { pass(ctx, Part::All, &parts(from, blocks), &[to], work) }
}

#[cfg(test)]
#[path = "factors_tests.rs"]
mod tests;
