//! Products of Householder reflectors: `I - V T V'`.

use std::mem::size_of;

use super::buffer::Buffer;
use super::context::Context;
use super::gemm::{multiply, Update};
use super::kernels::{args, Family, Kernel};
use super::memory::{blocks_for, View};
use crate::error::{Error, Result};
use crate::matrix::Trans;
use crate::scalar::Scalar;

const UNPACK: Kernel = Kernel::new(Family::Qr, "reflectors_unpack_plain");
const TRIANGLE: Kernel = Kernel::new(Family::QrPanel, "reflectors_triangle_block");

/// Leading dimension of small matrices, and the most reflectors of a block, as in `kernels/qr_panel.cu`.
pub(super) const LD: usize = 128;
/// Columns that a block of threads divides at a time, and its threads.
pub(super) const SIDE: usize = 16;
pub(super) const DIVIDING: u32 = 128;
/// Rows that it divides at once: one to every four threads where rows are few, four where they are many.
pub(super) const FEW_ROWS: usize = 32;
pub(super) const MANY_ROWS: usize = 128;

/// Bytes of shared memory for dividing so many rows at once by a triangle of order `n`: the triangle in blocks, whose rows are spread
/// by two numbers, and what is solved of the rows.
pub(super) fn dividing<T>(n: usize, rows: usize) -> usize {
    let blocks = n.div_ceil(SIDE);
    let triangle = blocks * (blocks + 1) / 2 * SIDE * (SIDE + 2);
    (triangle + blocks.saturating_sub(1) * SIDE * rows) * size_of::<T>()
}

/// Bytes of shared memory for eliminating a matrix of order `n`.
pub(super) fn eliminating<T>(n: usize) -> usize {
    let size = n.next_multiple_of(SIDE);
    size * (size + 1) * size_of::<T>()
}

/// Reflectors of a block: as many as there is shared memory for.
pub(super) fn width<T: Scalar>(ctx: &Context) -> usize {
    let fits = |w: &usize| {
        dividing::<T>(*w, MANY_ROWS).max(eliminating::<T>(*w)) <= ctx.properties.shared
    };
    [LD, 64].into_iter().find(fits).unwrap_or(32)
}

/// `I - V T V'`, the product of a block's reflectors, in the workspace that made it.
#[derive(Clone, Copy)]
pub(super) struct Reflector<T> {
    pub v: View<T>,
    pub t: View<T>,
}

/// Workspace for products of reflectors.
pub(super) struct BlockReflector {
    ctx: &'static Context,
    ld: usize,
    v: Buffer,
    gram: Buffer,
    triangle: Buffer,
    inner: Buffer,
    scaled: Buffer,
}

impl BlockReflector {
    /// For up to `width` reflectors of up to `rows` rows, applied to up to `cols` columns.
    pub(super) fn new<T: Scalar>(
        ctx: &'static Context,
        width: usize,
        rows: usize,
        cols: usize,
    ) -> Result<Self> {
        // Columns of V that begin aligned.
        let ld = rows.next_multiple_of(SIDE);
        Ok(BlockReflector {
            ctx,
            ld,
            v: Buffer::of::<T>(ctx, ld.saturating_mul(width))?,
            gram: Buffer::of::<T>(ctx, LD * width)?,
            triangle: Buffer::of::<T>(ctx, LD * width)?,
            inner: Buffer::of::<T>(ctx, cols.saturating_mul(width))?,
            scaled: Buffer::of::<T>(ctx, cols.saturating_mul(width))?,
        })
    }

    /// Room for V of `rows` reflected rows and `width` reflectors.
    pub(super) fn v<T: Scalar>(&self, rows: usize, width: usize) -> View<T> {
        View::new(self.v.ptr, rows, width, self.ld)
    }

    /// Room for the Gram matrix of `width` columns.
    pub(super) fn gram<T: Scalar>(&self, width: usize) -> View<T> {
        View::new(self.gram.ptr, width, width, LD)
    }

    /// Room for T.
    pub(super) fn triangle<T: Scalar>(&self, width: usize) -> View<T> {
        View::new(self.triangle.ptr, width, width, LD)
    }

    /// Forms V and T from a factored block and the factors at `tau`.
    pub(super) fn load<T: Scalar>(&self, a: View<T>, tau: u64) -> Result<Reflector<T>> {
        let (m, width) = (a.rows, a.cols);
        let h = Reflector {
            v: self.v(m, width),
            t: self.triangle(width),
        };
        self.ctx.launch::<T>(
            UNPACK,
            blocks_for(m * width),
            1,
            256,
            &args![m, width as i32, a.ptr, a.ld(), h.v.ptr, h.v.ld()],
        )?;
        let gram = self.gram(width);
        multiply(self.ctx, Update::assign(), h.v.t(), h.v, gram)?;
        self.ctx.launch_shared::<T>(
            TRIANGLE,
            (width.div_ceil(FEW_ROWS), 1),
            DIVIDING,
            dividing::<T>(width, FEW_ROWS),
            &args![width as i32, gram.ptr, tau, h.t.ptr],
        )?;
        Ok(h)
    }

    /// `C <- H' C` or `H C`. `stop`: see [`Update`].
    pub(super) fn apply<T: Scalar>(
        &self,
        trans: Trans,
        h: Reflector<T>,
        c: View<T>,
        stop: u64,
    ) -> Result<()> {
        let width = h.v.cols;
        if width > LD {
            return Err(Error::Internal {
                what: format!("a block of {width} reflectors"),
            });
        }
        let t = if trans.is_yes() { h.t.t() } else { h.t };
        let inner = View::new(self.inner.ptr, width, c.cols, width);
        let scaled = View::new(self.scaled.ptr, width, c.cols, width);
        let assign = Update {
            stop,
            ..Update::assign()
        };
        multiply(self.ctx, assign, h.v.t(), c, inner)?;
        multiply(self.ctx, assign, t, inner, scaled)?;
        let subtract = Update {
            stop,
            ..Update::subtract()
        };
        multiply(self.ctx, subtract, h.v, scaled, c)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A block of 128 reflectors fits in the shared memory of GPUs from sm_90 on, one of 32 in what every GPU has.
    #[test]
    fn blocks_fit_in_shared_memory() {
        let most = |w| dividing::<f64>(w, MANY_ROWS).max(eliminating::<f64>(w));
        assert!(most(LD) <= 227 << 10);
        assert!(most(64) <= 99 << 10);
        assert!(most(32) <= 48 << 10);
        for n in 1..LD {
            assert!(dividing::<f32>(n, FEW_ROWS) <= dividing::<f32>(n + 1, FEW_ROWS));
            assert!(eliminating::<f32>(n) <= eliminating::<f32>(n + 1));
        }
    }
}
