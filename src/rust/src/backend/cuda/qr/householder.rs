//! Householder reflectors on the GPU, in blocks that change columns as `I - V T V'`: column by
//! column in a panel, and Q applied and formed. What a factorization makes of them is in
//! `qr/factor.rs`.
//!
//! A panel is made of matrix products (`qr/cholesky_qr.rs`) where its columns are independent
//! enough, and otherwise in parts of [`PANEL`] columns, column by column. Which way it went is not
//! to be seen in the result but for rounding.

use std::mem::size_of;

use super::reflectors::{width, BlockReflector, LD};
use crate::backend::cuda::driver::buffer::Buffer;
use crate::backend::cuda::driver::context::Context;
use crate::backend::cuda::driver::kernels::{args, Family, Kernel};
use crate::backend::cuda::elementwise::columns;
use crate::backend::cuda::gemm::gemm_syrk::multiply;
use crate::backend::cuda::gemm::update::Update;
use crate::backend::cuda::lu::work::chunk_rows;
use crate::backend::cuda::matrix::views::{set_identity, View};
use crate::backend::cuda::qr::apply::{apply_in_turns, Part};
use crate::base::error::Result;
use crate::base::matrix::Trans;
use crate::base::scalar::{try_zeroed, Scalar};
use crate::cost::flops::{form_flops, reflect_flops};

const REFLECT: Kernel = Kernel::new(Family::Qr, "panel_reflect_column");

const SCALE: Kernel = Kernel::new(Family::Qr, "trapezoids_scale_plain");

/// Columns of a panel, as in `kernels/qr/qr.cu`.
pub(crate) const PANEL: usize = 32;
const THREADS: u32 = 256;

/// Panels of a block, if it has more than one.
pub(super) const PANELS: usize = 4;

/// `A[i,j] <- below[j] A[i,j]` under the diagonal, `rows[i] A[i,j]` on and above it; The factor is
/// 1 beyond the end of a list.
pub(crate) fn scale_trapezoids<T: Scalar>(
    ctx: &'static Context,
    below: &[T],
    rows: &[T],
    a: View<T>,
) -> Result<()> {
    if a.is_empty() {
        return Ok(());
    }
    let padded = |list: &[T], len: usize| -> Result<Buffer> {
        let mut all = try_zeroed::<T>(len)?;
        all.fill(T::from_f64(1.0));
        all.iter_mut().zip(list).for_each(|(to, from)| *to = *from);
        Buffer::from_slice(ctx, &all)
    };
    let (below, rows) = (padded(below, a.rows.min(a.cols))?, padded(rows, a.rows)?);
    ctx.launch::<T>(
        SCALE,
        a.cols.min(1 << 16),
        1,
        THREADS,
        &args![a.rows, a.cols, below.ptr, rows.ptr, a.ptr, a.ld()],
    )
}

/// One launch per column, and one before them; see `kernels/qr/qr.cu`.
pub(super) fn factor_panel<T: Scalar>(
    ctx: &'static Context,
    a: View<T>,
    tau: u64,
    space: &Buffer,
) -> Result<()> {
    let chunk = chunk_rows(a.rows);
    for j in 0..=a.cols {
        ctx.launch::<T>(
            REFLECT,
            a.rows.div_ceil(chunk),
            1,
            THREADS,
            &args![
                a.rows,
                a.cols as i32,
                j as i32 - 1,
                chunk,
                a.ptr,
                a.ld(),
                space.ptr,
                tau
            ],
        )?;
    }
    Ok(())
}

/// `C <- Q' C` or `Q C` for the reflectors in the lower trapezoid of A.
pub(crate) fn apply<T: Scalar>(
    ctx: &'static Context,
    trans: Trans,
    a: View<T>,
    tau: &[T],
    c: View<T>,
) -> Result<()> {
    let flops = reflect_flops((a.rows, tau.len()), c.cols);
    apply_in_blocks(ctx, trans, a, tau, c, |_| 0, flops)
}

/// `C <- Q [B; 0]`, if the reflectors make one block, and whether they do. B has as many rows as
/// there are reflectors, and C as many columns as B.
///
/// `Q [B; 0] = [B; 0] - V (T V1' B)` for the first rows V1 of V, so that C is written once.
pub(crate) fn apply_under<T: Scalar>(
    ctx: &'static Context,
    a: View<T>,
    tau: &[T],
    b: View<T>,
    c: View<T>,
) -> Result<bool> {
    let (k, cols) = (tau.len(), b.cols);
    if k == 0 || k > width::<T>(ctx) || b.rows != k || c.cols != cols {
        return Ok(false);
    }
    let tau = Buffer::from_slice(ctx, tau)?;
    let block = BlockReflector::new::<T>(ctx, k, a.rows, cols)?;
    let small = [
        Buffer::of::<T>(ctx, k * cols)?,
        Buffer::of::<T>(ctx, k * cols)?,
    ];
    let [x, y] = [0, 1].map(|i| View::new(small[i].ptr, k, cols, k));
    let negative = Update {
        alpha: T::from_f64(-1.0),
        ..Update::assign()
    };
    let queued = || {
        let h = block.load(0, a.sub(0, 0, a.rows, k), tau.ptr)?;
        multiply(ctx, Update::assign(), h.v.sub(0, 0, k, k).t(), b, x)?;
        multiply(ctx, Update::assign(), h.t, x, y)?;
        multiply(ctx, negative, h.v, y, c)?;
        columns::add(ctx, b, c.sub(0, 0, k, cols))
    };
    // After an error no work may be left in the stream, because its memory is freed.
    ctx.or_drain(queued()).map(|()| true)
}

/// C <- the first columns of Q, no fewer than there are reflectors.
pub(crate) fn form<T: Scalar>(
    ctx: &'static Context,
    a: View<T>,
    tau: &[T],
    c: View<T>,
) -> Result<()> {
    set_identity(ctx, c)?;
    // The last block comes first: the columns before it are still those of the identity, zero where
    // it reflects.
    let flops = form_flops((a.rows, tau.len()), c.cols);
    apply_in_blocks(ctx, Trans::No, a, tau, c, |first| first, flops)
}

/// Like [`apply`], the block of reflectors from `first` on to the columns from `from(first)` on;
/// `flops` operations in all.
fn apply_in_blocks<T: Scalar>(
    ctx: &'static Context,
    trans: Trans,
    a: View<T>,
    tau: &[T],
    c: View<T>,
    from: impl Fn(usize) -> usize,
    flops: f64,
) -> Result<()> {
    let k = tau.len();
    if k == 0 || c.is_empty() {
        return Ok(());
    }
    let device_tau = Buffer::from_slice(ctx, tau)?;
    // Wide blocks take fewer launches and passes over C, but V'V is more work. So they are for a C
    // that is wide compared with them.
    let width = match width::<T>(ctx) {
        LD if k.min(c.cols).div_ceil(LD) >= 8 => PANELS * LD,
        panel => panel.min(k),
    };
    let mut starts: Vec<usize> = (0..k).step_by(width).collect();
    if trans == Trans::No {
        starts.reverse();
    }
    let part = |&first: &usize| {
        let (width, rows, column) = (width.min(k - first), a.rows - first, from(first));
        Part {
            a: a.sub(first, first, rows, width),
            tau: device_tau.ptr + (first * size_of::<T>()) as u64,
            c: c.sub(first, column, rows, c.cols - column),
        }
    };
    let parts: Vec<_> = starts.iter().map(part).collect();
    let blocks = BlockReflector::pair::<T>(ctx, width, a.rows, c.cols, parts.len() > 1)?;
    // After an error no work may be left in the second stream, because its memory is freed.
    ctx.or_drain(apply_in_turns(ctx, &blocks, trans, &parts, flops))
}

#[cfg(test)]
#[path = "householder_tests.rs"]
mod tests;
