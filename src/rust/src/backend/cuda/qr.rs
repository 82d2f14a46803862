//! QR factorization by Householder reflectors, blocked: `I - V T V'` for each panel of [`PANEL`] columns.

use super::context::Context;
use super::gemm::{multiply, Update};
use super::kernels::{args, Family, Kernel};
use super::lu::chunk_rows;
use super::memory::{blocks_for, Buffer, View};
use crate::error::Result;
use crate::matrix::Trans;
use crate::scalar::{try_zeroed, Scalar};

const REFLECT: Kernel = Kernel::new(Family::Qr, "panel_reflect_column");
const UNPACK: Kernel = Kernel::new(Family::Qr, "reflectors_unpack_plain");
const TRIANGLE: Kernel = Kernel::new(Family::Qr, "reflectors_triangle_warp");

/// Columns of a panel, as in `kernels/qr.cu`.
const PANEL: usize = 32;
const THREADS: u32 = 256;

/// Factors in place; returns the reflectors' factors.
pub(super) fn factor<T: Scalar>(ctx: &'static Context, a: View<T>) -> Result<Vec<T>> {
    let k = a.rows.min(a.cols);
    if k == 0 {
        return Ok(Vec::new());
    }
    let tau = Buffer::zeroed::<T>(ctx, k)?;
    let chunks = a.rows.div_ceil(chunk_rows(a.rows));
    let space = Buffer::of::<T>(ctx, 2 * (chunks * (PANEL + 1) + PANEL))?;
    let blocks = BlockReflector::new(ctx, a.rows, a.cols - PANEL.min(k))?;
    for first in (0..k).step_by(PANEL) {
        let width = PANEL.min(k - first);
        let panel = a.sub(first, first, a.rows - first, width);
        let chunk = chunk_rows(panel.rows);
        let panel_tau = tau.ptr + (first * size_of::<T>()) as u64;
        for j in 0..=width {
            ctx.launch::<T>(
                REFLECT,
                panel.rows.div_ceil(chunk),
                1,
                THREADS,
                &args![
                    panel.rows,
                    width as i32,
                    j as i32 - 1,
                    chunk,
                    panel.ptr,
                    panel.ld(),
                    space.ptr,
                    panel_tau
                ],
            )?;
        }
        let next = first + width;
        if next < a.cols {
            let behind = a.sub(first, next, panel.rows, a.cols - next);
            blocks.load(panel, panel_tau)?;
            blocks.apply(Trans::Yes, behind)?;
        }
        ctx.fence()?;
    }
    let mut out = try_zeroed::<T>(k)?;
    tau.to_slice(&mut out)?;
    Ok(out)
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
    let blocks = BlockReflector::new(ctx, a.rows, c.cols)?;
    let mut starts: Vec<usize> = (0..k).step_by(PANEL).collect();
    if trans == Trans::No {
        starts.reverse();
    }
    for first in starts {
        let width = PANEL.min(k - first);
        let rows = a.rows - first;
        let panel_tau = device_tau.ptr + (first * size_of::<T>()) as u64;
        blocks.load(a.sub(first, first, rows, width), panel_tau)?;
        blocks.apply(trans, c.sub(first, 0, rows, c.cols))?;
        ctx.fence()?;
    }
    Ok(())
}

/// Workspace for `H = I - V T V'`, the product of a panel's reflectors.
struct BlockReflector<T> {
    ctx: &'static Context,
    v: Buffer,
    gram: Buffer,
    triangle: Buffer,
    inner: Buffer,
    scaled: Buffer,
    current: std::cell::Cell<Option<View<T>>>,
}

impl<T: Scalar> BlockReflector<T> {
    /// For panels of up to `rows` rows, applied to up to `cols` columns.
    fn new(ctx: &'static Context, rows: usize, cols: usize) -> Result<Self> {
        Ok(BlockReflector {
            ctx,
            v: Buffer::of::<T>(ctx, rows.saturating_mul(PANEL))?,
            gram: Buffer::of::<T>(ctx, PANEL * PANEL)?,
            triangle: Buffer::of::<T>(ctx, PANEL * PANEL)?,
            inner: Buffer::of::<T>(ctx, cols.saturating_mul(PANEL))?,
            scaled: Buffer::of::<T>(ctx, cols.saturating_mul(PANEL))?,
            current: std::cell::Cell::new(None),
        })
    }

    /// Takes up the reflectors of a factored panel.
    fn load(&self, panel: View<T>, tau: u64) -> Result<()> {
        let (m, width) = (panel.rows, panel.cols);
        self.ctx.launch::<T>(
            UNPACK,
            blocks_for(m * width),
            1,
            256,
            &args![m, width as i32, panel.ptr, panel.ld(), self.v.ptr],
        )?;
        let v = View::new(self.v.ptr, m, width, m);
        let gram = View::new(self.gram.ptr, width, width, PANEL);
        multiply(self.ctx, Update::assign(), v.t(), v, gram)?;
        self.ctx.launch::<T>(
            TRIANGLE,
            1,
            1,
            32,
            &args![width as i32, self.gram.ptr, tau, self.triangle.ptr],
        )?;
        self.current.set(Some(v));
        Ok(())
    }

    /// `C <- H' C` or `H C`.
    fn apply(&self, trans: Trans, c: View<T>) -> Result<()> {
        let Some(v) = self.current.get() else {
            return Ok(());
        };
        let width = v.cols;
        let triangle = View::new(self.triangle.ptr, width, width, PANEL);
        let triangle = if trans.is_yes() {
            triangle.t()
        } else {
            triangle
        };
        let inner = View::new(self.inner.ptr, width, c.cols, width);
        let scaled = View::new(self.scaled.ptr, width, c.cols, width);
        multiply(self.ctx, Update::assign(), v.t(), c, inner)?;
        multiply(self.ctx, Update::assign(), triangle, inner, scaled)?;
        multiply(self.ctx, Update::subtract(), v, scaled, c)
    }
}
