//! Products of Householder reflectors: `I - V T V'`.

use std::mem::size_of;

use crate::backend::cuda::driver::buffer::{where_there_is_room, Buffer};
use crate::backend::cuda::driver::context::Context;
use crate::backend::cuda::driver::kernels::{args, Family, Kernel};
use crate::backend::cuda::gemm::gemm_syrk::{multiply, square};
use crate::backend::cuda::gemm::update::{Bound, Update};
use crate::backend::cuda::matrix::views::{blocks_for, View};
use crate::base::error::{Error, Result};
use crate::base::matrix::Trans;
use crate::base::scalar::Scalar;

const UNPACK: Kernel = Kernel::new(Family::Qr, "reflectors_unpack_plain");
const TRIANGLE: Kernel = Kernel::new(Family::QrPanel, "reflectors_triangle_block");

/// Leading dimension of a panel's small matrices, and the most reflectors of a panel, as in
/// `kernels/qr/gram_root.cuh`.
pub(super) const LD: usize = 128;
/// Columns that a block of threads divides at a time, and its threads.
pub(crate) const SIDE: usize = 16;
pub(super) const DIVIDING: u32 = 128;
/// Rows that it divides at once: one to every four threads where rows are few, four where they are
/// many.
pub(super) const FEW_ROWS: usize = 32;
pub(super) const MANY_ROWS: usize = 128;

/// Bytes of shared memory for dividing so many rows at once by a triangle of order `n`: the
/// triangle in blocks, whose rows are spread by two numbers, and what is solved of the rows.
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

/// Reflectors of a panel: as many as there is shared memory for.
pub(crate) fn width<T: Scalar>(ctx: &Context) -> usize {
    let fits =
        |w: &usize| dividing::<T>(*w, MANY_ROWS).max(eliminating::<T>(*w)) <= ctx.properties.shared;
    [LD, 64].into_iter().find(fits).unwrap_or(32)
}

/// `I - V T V'`, a product of reflectors, in the workspace that holds it.
#[derive(Clone, Copy)]
pub(crate) struct Reflector<T> {
    pub v: View<T>,
    pub t: View<T>,
}

/// Workspace for products of reflectors, for a block of panels. In V, a panel's columns are zero
/// above its first row.
pub(crate) struct BlockReflector {
    ctx: &'static Context,
    width: usize,
    ld: usize,
    v: Buffer,
    gram: Buffer,
    triangle: Buffer,
    inner: Buffer,
    scaled: Buffer,
}

impl BlockReflector {
    /// For up to `width` reflectors of up to `rows` rows, applied to up to `cols` columns.
    pub(crate) fn new<T: Scalar>(
        ctx: &'static Context,
        width: usize,
        rows: usize,
        cols: usize,
    ) -> Result<Self> {
        // Columns of V that begin aligned.
        let ld = rows.next_multiple_of(SIDE);
        let count = ld.saturating_mul(width);
        let v = match width > self::width::<T>(ctx) {
            true => Buffer::zeroed::<T>(ctx, count)?,
            false => Buffer::of::<T>(ctx, count)?,
        };
        let products = cols.max(width).saturating_mul(width);
        Ok(BlockReflector {
            ctx,
            width,
            ld,
            v,
            gram: Buffer::of::<T>(ctx, width * width)?,
            triangle: Buffer::zeroed::<T>(ctx, width * width)?,
            inner: Buffer::of::<T>(ctx, products)?,
            scaled: Buffer::of::<T>(ctx, products)?,
        })
    }

    /// Two that alternate, so that one is made during the products of the other. The second has
    /// width 0 if it is not wanted, if memory is too small, or if double precision is slow: what
    /// makes a block needs all multiprocessors then, and products from integers, which the first
    /// stream alone has.
    pub(crate) fn pair<T: Scalar>(
        ctx: &'static Context,
        width: usize,
        rows: usize,
        cols: usize,
        two: bool,
    ) -> Result<[Self; 2]> {
        let first = Self::new::<T>(ctx, width, rows, cols)?;
        let second = match two && ctx.properties.is_fast_in::<T>() {
            true => where_there_is_room(Self::new::<T>(ctx, width, rows, cols))?,
            false => None,
        };
        match second {
            Some(second) => Ok([first, second]),
            None => Ok([first, Self::new::<T>(ctx, 0, 0, 0)?]),
        }
    }

    /// Whether its width is not 0.
    pub(crate) fn is_there(&self) -> bool {
        self.width > 0
    }

    /// Memory for the reflectors from number `at` of the block on: for V of `rows` reflected rows
    /// and `width` reflectors, and T.
    pub(crate) fn room<T: Scalar>(&self, at: usize, rows: usize, width: usize) -> Reflector<T> {
        let v = View::new(self.v.ptr, at + rows, at + width, self.ld);
        Reflector {
            v: v.sub(at, at, rows, width),
            t: self.small(&self.triangle, at, width),
        }
    }

    /// The diagonal block of order `width` from number `at` on of a matrix as large as the block.
    fn small<T: Scalar>(&self, of: &Buffer, at: usize, width: usize) -> View<T> {
        View::new(of.ptr, at + width, at + width, self.width).sub(at, at, width, width)
    }

    /// Forms V and T from factored columns and the factors at `tau`, for the reflectors from number
    /// `at` of the block on.
    pub(crate) fn load<T: Scalar>(&self, at: usize, a: View<T>, tau: u64) -> Result<Reflector<T>> {
        let (m, width) = (a.rows, a.cols);
        self.require(at + width)?;
        let h = self.room(at, m, width);
        self.ctx.launch::<T>(
            UNPACK,
            blocks_for(m * width),
            1,
            256,
            &args![m, width as i32, a.ptr, a.ld(), h.v.ptr, h.v.ld()],
        )?;
        let gram = self.small(&self.gram, at, width);
        square(self.ctx, Bound::Norms, h.v.t(), gram)?;
        let panel = self::width::<T>(self.ctx);
        // A launch makes T of each LD reflectors, if these fit.
        let at_once = if panel == LD { width } else { panel };
        for first in (0..width).step_by(at_once.max(1)) {
            let count = at_once.min(width - first);
            let gram = gram.sub(first, first, count, count);
            let t = h.t.sub(first, first, count, count);
            let tau = tau + (first * size_of::<T>()) as u64;
            self.ctx.launch_shared::<T>(
                TRIANGLE,
                (count.min(LD).div_ceil(FEW_ROWS), count.div_ceil(LD)),
                DIVIDING,
                dividing::<T>(count.min(LD), FEW_ROWS),
                &args![count as i32, gram.ptr, gram.ld(), tau, t.ptr, t.ld()],
            )?;
        }
        for first in (panel..width).step_by(panel) {
            self.join::<T>(at, at + first, panel.min(width - first), 0)?;
        }
        Ok(h)
    }

    /// T of the reflectors from number `from` to before `at + width`, from those of the reflectors
    /// before number `at` and from it on, and V'V: `-T1 (V1'V2) T2` stands between them. `stop`:
    /// see [`Update`].
    fn join<T: Scalar>(&self, from: usize, at: usize, width: usize, stop: u64) -> Result<()> {
        let before = at - from;
        let all = |of| self.small::<T>(of, from, before + width);
        let (gram, t) = (all(&self.gram), all(&self.triangle));
        let product = View::new(self.inner.ptr, before, width, before);
        let assign = Update {
            stop,
            ..Update::assign()
        };
        let negative = Update {
            alpha: T::from_f64(-1.0),
            ..assign
        };
        let first = t.sub(0, 0, before, before);
        let last = t.sub(before, before, width, width);
        let between = |of: View<T>| of.sub(0, before, before, width);
        multiply(self.ctx, assign, first, between(gram), product)?;
        multiply(self.ctx, negative, product, last, between(t))
    }

    /// Joins the block's first `at` reflectors, of `rows` rows, and the `width` behind them, whose
    /// T is computed.
    pub(crate) fn append<T: Scalar>(
        &self,
        at: usize,
        rows: usize,
        width: usize,
        stop: u64,
    ) -> Result<()> {
        self.require(at + width)?;
        let v = self.room::<T>(0, rows, at + width).v;
        let cross = self
            .small::<T>(&self.gram, 0, at + width)
            .sub(0, at, at, width);
        let assign = Update {
            stop,
            ..Update::assign().by_norms()
        };
        // Above, the last ones are zero.
        let (first, last) = (v.sub(at, 0, rows - at, at), v.sub(at, at, rows - at, width));
        multiply(self.ctx, assign, first.t(), last, cross)?;
        self.join::<T>(0, at, width, stop)
    }

    /// `C <- H' C` or `H C`. `stop`: see [`Update`].
    pub(crate) fn apply<T: Scalar>(
        &self,
        trans: Trans,
        h: Reflector<T>,
        c: View<T>,
        stop: u64,
    ) -> Result<()> {
        let width = h.v.cols;
        self.require(width)?;
        let t = if trans.is_yes() { h.t.t() } else { h.t };
        let inner = View::new(self.inner.ptr, width, c.cols, width);
        let scaled = View::new(self.scaled.ptr, width, c.cols, width);
        let assign = Update {
            stop,
            ..Update::assign().by_norms()
        };
        multiply(self.ctx, assign, h.v.t(), c, inner)?;
        multiply(self.ctx, assign, t, inner, scaled)?;
        let subtract = Update {
            stop,
            ..Update::subtract().by_norms()
        };
        multiply(self.ctx, subtract, h.v, scaled, c)
    }

    fn require(&self, width: usize) -> Result<()> {
        if width <= self.width {
            return Ok(());
        }
        Err(Error::Internal {
            what: format!("{width} reflectors in a block of {}", self.width),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A panel of 128 reflectors fits in the shared memory of GPUs from sm_90 on, one of 32 in what
    /// every GPU has.
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
