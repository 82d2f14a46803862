//! QR factorization by Householder reflectors, blocked: panels of [`PANEL`] columns, column by column,
//! in blocks of [`BLOCK`] columns that change the rest as `I - V T V'`.

use super::buffer::Buffer;
use super::context::Context;
use super::gemm::{multiply, Update};
use super::kernels::{args, Family, Kernel};
use super::lu::{chunk_rows, most_chunks};
use super::memory::{blocks_for, View};
use crate::error::Result;
use crate::matrix::Trans;
use crate::scalar::{try_zeroed, Scalar};

const REFLECT: Kernel = Kernel::new(Family::Qr, "panel_reflect_column");
const UNPACK: Kernel = Kernel::new(Family::Qr, "reflectors_unpack_plain");
const TRIANGLE: Kernel = Kernel::new(Family::Qr, "reflectors_triangle_warp");

/// Columns of a panel, as in `kernels/qr.cu`.
const PANEL: usize = 32;
/// Columns whose reflectors are applied together to the matrix behind them: long sums for the products.
const BLOCK: usize = 4 * PANEL;
const THREADS: u32 = 256;

/// Factors in place; returns the reflectors' factors.
pub(super) fn factor<T: Scalar>(ctx: &'static Context, a: View<T>) -> Result<Vec<T>> {
    let k = a.rows.min(a.cols);
    if k == 0 {
        return Ok(Vec::new());
    }
    let tau = Buffer::zeroed::<T>(ctx, k)?;
    let chunks = most_chunks(a.rows);
    let space = Buffer::of::<T>(ctx, 2 * (chunks * (PANEL + 1) + PANEL))?;
    let inner = BlockReflector::new::<T>(ctx, PANEL, a.rows, BLOCK)?;
    // Without columns behind the first block there is nothing for the outer one to do.
    let width = BLOCK.min(k);
    let rows = if a.cols > width { a.rows } else { 0 };
    let outer = BlockReflector::new::<T>(ctx, width, rows, a.cols - width)?;
    for first in (0..k).step_by(BLOCK) {
        let end = (first + BLOCK).min(k);
        for panel in (first..end).step_by(PANEL) {
            let next = (panel + PANEL).min(end);
            let part = a.sub(panel, panel, a.rows - panel, next - panel);
            let part_tau = tau.ptr + (panel * size_of::<T>()) as u64;
            factor_panel(ctx, part, part_tau, &space)?;
            if next < end {
                let reflector = inner.load(part, part_tau)?;
                inner.apply(
                    Trans::Yes,
                    reflector,
                    a.sub(panel, next, part.rows, end - next),
                )?;
            }
        }
        if end < a.cols {
            let part = a.sub(first, first, a.rows - first, end - first);
            let reflector = outer.load(part, tau.ptr + (first * size_of::<T>()) as u64)?;
            outer.apply(
                Trans::Yes,
                reflector,
                a.sub(first, end, part.rows, a.cols - end),
            )?;
        }
        ctx.fence()?;
    }
    let mut out = try_zeroed::<T>(k)?;
    tau.to_slice(&mut out)?;
    Ok(out)
}

/// One launch per column, and one before them; see `kernels/qr.cu`.
fn factor_panel<T: Scalar>(
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
pub(super) fn apply<T: Scalar>(
    ctx: &'static Context,
    trans: Trans,
    a: View<T>,
    tau: &[T],
    c: View<T>,
) -> Result<()> {
    let k = tau.len();
    if k == 0 || c.is_empty() {
        return Ok(());
    }
    let device_tau = Buffer::from_slice(ctx, tau)?;
    let blocks = BlockReflector::new::<T>(ctx, BLOCK.min(k), a.rows, c.cols)?;
    let mut starts: Vec<usize> = (0..k).step_by(BLOCK).collect();
    if trans == Trans::No {
        starts.reverse();
    }
    for first in starts {
        let (width, rows) = (BLOCK.min(k - first), a.rows - first);
        let part_tau = device_tau.ptr + (first * size_of::<T>()) as u64;
        let reflector = blocks.load(a.sub(first, first, rows, width), part_tau)?;
        blocks.apply(trans, reflector, c.sub(first, 0, rows, c.cols))?;
        ctx.fence()?;
    }
    Ok(())
}

/// `I - V T V'`, the product of a block's reflectors, in the workspace that made it.
#[derive(Clone, Copy)]
struct Reflector<T> {
    v: View<T>,
    t: View<T>,
}

/// Workspace for products of reflectors.
struct BlockReflector {
    ctx: &'static Context,
    width: usize,
    v: Buffer,
    gram: Buffer,
    triangle: Buffer,
    corner: Buffer,
    inner: Buffer,
    scaled: Buffer,
}

impl BlockReflector {
    /// For up to `width` reflectors of up to `rows` rows, applied to up to `cols` columns.
    fn new<T: Scalar>(
        ctx: &'static Context,
        width: usize,
        rows: usize,
        cols: usize,
    ) -> Result<Self> {
        Ok(BlockReflector {
            ctx,
            width,
            v: Buffer::of::<T>(ctx, rows.saturating_mul(width))?,
            gram: Buffer::of::<T>(ctx, width * width)?,
            triangle: Buffer::zeroed::<T>(ctx, width * width)?,
            corner: Buffer::of::<T>(ctx, width * PANEL)?,
            inner: Buffer::of::<T>(ctx, cols.saturating_mul(width))?,
            scaled: Buffer::of::<T>(ctx, cols.saturating_mul(width))?,
        })
    }

    /// Forms V and T from a factored block. T's diagonal blocks, a panel each, come from V'V alone; what stands
    /// above one of them is `-T (V'v) T_p` with the T of the columns before it.
    fn load<T: Scalar>(&self, a: View<T>, tau: u64) -> Result<Reflector<T>> {
        let (m, width) = (a.rows, a.cols);
        self.ctx.launch::<T>(
            UNPACK,
            blocks_for(m * width),
            1,
            256,
            &args![m, width as i32, a.ptr, a.ld(), self.v.ptr],
        )?;
        let v = View::new(self.v.ptr, m, width, m);
        let gram = View::new(self.gram.ptr, width, width, self.width);
        let t = View::new(self.triangle.ptr, width, width, self.width);
        multiply(self.ctx, Update::assign(), v.t(), v, gram)?;
        self.ctx.launch::<T>(
            TRIANGLE,
            width.div_ceil(PANEL),
            1,
            32,
            &args![width as i32, gram.ptr, tau, t.ptr, self.width],
        )?;
        for p in (PANEL..width).step_by(PANEL) {
            let w = PANEL.min(width - p);
            let above = View::<T>::new(self.corner.ptr, p, w, self.width);
            multiply(
                self.ctx,
                Update::assign(),
                t.sub(0, 0, p, p),
                gram.sub(0, p, p, w),
                above,
            )?;
            let update = Update {
                alpha: T::from_f64(-1.0),
                ..Update::assign()
            };
            multiply(
                self.ctx,
                update,
                above,
                t.sub(p, p, w, w),
                t.sub(0, p, p, w),
            )?;
        }
        Ok(Reflector { v, t })
    }

    /// `C <- H' C` or `H C`.
    fn apply<T: Scalar>(&self, trans: Trans, h: Reflector<T>, c: View<T>) -> Result<()> {
        let width = h.v.cols;
        let t = if trans.is_yes() { h.t.t() } else { h.t };
        let inner = View::new(self.inner.ptr, width, c.cols, width);
        let scaled = View::new(self.scaled.ptr, width, c.cols, width);
        multiply(self.ctx, Update::assign(), h.v.t(), c, inner)?;
        multiply(self.ctx, Update::assign(), t, inner, scaled)?;
        multiply(self.ctx, Update::subtract(), h.v, scaled, c)
    }
}
