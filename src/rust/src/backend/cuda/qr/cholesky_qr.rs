//! Panels of the QR factorization from matrix products (`kernels/qr/qr_panel.cu`): CholeskyQR2 and
//! Householder reconstruction.
//!
//! The verdict on a panel is not waited for before the next one is queued. One that is refused sets
//! a flag, and whatever is queued behind it does nothing, so that the matrix is as the panel before
//! left it. [`Panels::refused`] asks.

use std::mem::size_of;

use super::reflectors::{dividing, eliminating, Reflector};
use super::reflectors::{DIVIDING, FEW_ROWS, LD, MANY_ROWS, SIDE};
use crate::backend::cuda::driver::buffer::Buffer;
use crate::backend::cuda::driver::context::Context;
use crate::backend::cuda::driver::kernels::{args, Family, Kernel};
use crate::backend::cuda::gemm::gemm_syrk::square;
use crate::backend::cuda::gemm::update::Bound;
use crate::backend::cuda::matrix::views::View;
use crate::base::error::Result;
use crate::base::scalar::Scalar;

const FACTOR: Kernel = Kernel::new(Family::QrPanel, "panel_factor_gram");
const RECONSTRUCT: Kernel = Kernel::new(Family::QrPanel, "panel_reconstruct_block");
const FINISH_TOP: Kernel = Kernel::new(Family::QrPanel, "panel_finish_top");

/// Threads of a block that eliminates, and of one that computes a tile of R.
const ELIMINATING: u32 = 512;
const TILE: u32 = 256;
/// Rows of a warp of `kernels/qr/qr_divide.cu`; few rows are one warp's of each block.
const WARP_ROWS: usize = 16;
/// Up to this number of columns its variant with fewer registers suffices.
const NARROW: usize = 64;

/// Small matrices of a panel: R1, R2, V1 and M, P, the Gram matrix, and the signs.
const SMALL: usize = 5 * LD * LD + LD;

/// Workspace for panels, in addition to that of their reflectors.
pub(crate) struct Panels {
    ctx: &'static Context,
    small: Buffer,
    stop: Buffer,
}

impl Panels {
    pub(crate) fn new<T: Scalar>(ctx: &'static Context) -> Result<Self> {
        Ok(Panels {
            ctx,
            small: Buffer::of::<T>(ctx, SMALL)?,
            stop: Buffer::zeroed::<i32>(ctx, 1)?,
        })
    }

    /// The flag that cancels work queued behind a refused panel.
    pub(crate) fn stop(&self) -> u64 {
        self.stop.ptr
    }

    /// Factors the panel that begins at column `first` of its matrix, at most [`LD`] columns and no
    /// fewer rows, unless it is refused. Its reflectors go to `to` if other work is to `follow`.
    pub(crate) fn factor<T: Scalar>(
        &self,
        first: usize,
        a: View<T>,
        tau: u64,
        to: Reflector<T>,
        follow: bool,
    ) -> Result<()> {
        let (m, n) = (a.rows, a.cols);
        let small = |i: usize| self.small.ptr + (i * LD * LD * size_of::<T>()) as u64;
        let (r1, r2, factors, p, signs) = (small(0), small(1), small(2), small(3), small(5));
        let gram = View::new(small(4), n, n, LD);
        let Reflector { v: q, t } = to;
        let shared = eliminating::<T>(n);
        let rows = Rows::of::<T>(self.ctx, m, n);
        square(self.ctx, Bound::Norms, a.t(), gram)?;
        self.ctx.launch_shared::<T>(
            FACTOR,
            (1, 1),
            ELIMINATING,
            shared,
            &args![n as i32, gram.ptr, r1, first, self.stop.ptr],
        )?;
        self.ctx.launch_shared::<T>(
            rows.divide,
            (rows.blocks(m, 0), 1),
            DIVIDING,
            rows.shared,
            &args![m, n as i32, a.ptr, a.ld(), r1, q.ptr, q.ld(), self.stop.ptr],
        )?;
        square(self.ctx, Bound::Norms, q.t(), gram)?;
        self.ctx.launch_shared::<T>(
            RECONSTRUCT,
            (1, 1),
            ELIMINATING,
            shared,
            &args![
                n as i32,
                i32::from(m == n),
                gram.ptr,
                q.ptr,
                q.ld(),
                r2,
                factors,
                signs,
                tau,
                first,
                self.stop.ptr
            ],
        )?;
        self.ctx.launch::<T>(
            FINISH_TOP,
            n.div_ceil(SIDE).pow(2),
            1,
            TILE,
            &args![
                n as i32,
                r1,
                r2,
                factors,
                signs,
                a.ptr,
                a.ld(),
                q.ptr,
                q.ld(),
                p,
                self.stop.ptr
            ],
        )?;
        let beside = if follow { n.div_ceil(rows.at_once) } else { 0 };
        self.ctx.launch_shared::<T>(
            rows.finish,
            (rows.blocks(m - n, beside) + beside, 1),
            DIVIDING,
            rows.shared,
            &args![
                m,
                n as i32,
                factors,
                p,
                t.ptr,
                t.ld(),
                q.ptr,
                q.ld(),
                a.ptr,
                a.ld(),
                i32::from(follow),
                self.stop.ptr
            ],
        )
    }

    /// Waits for the queued work, and returns the first column of the panel that was refused, if
    /// any. Then clears the flag.
    pub(crate) fn refused(&self) -> Result<Option<usize>> {
        let mut stop = [0i32];
        self.stop.to_slice(&mut stop)?;
        if stop[0] == 0 {
            return Ok(None);
        }
        self.stop.clear(size_of::<i32>())?;
        Ok(usize::try_from(stop[0] - 1).ok())
    }
}

/// The launch that divides rows by a triangle.
struct Rows {
    divide: Kernel,
    finish: Kernel,
    /// Rows that make a block, its bytes of shared memory, and the blocks that are resident.
    at_once: usize,
    shared: usize,
    resident: usize,
}

impl Rows {
    /// For `m` rows and a triangle of order `n`.
    fn of<T: Scalar>(ctx: &Context, m: usize, n: usize) -> Self {
        // The driver keeps 1 KiB of a block's shared memory.
        let resident = |shared: usize, most: usize| {
            let each = (ctx.properties.shared / (shared + 1024)).clamp(1, most);
            each * ctx.multiprocessors()
        };
        let with = |tall: bool| {
            let (at_once, divide, finish) = if tall {
                (MANY_ROWS, "panel_divide_tall", "panel_finish_tall")
            } else {
                (FEW_ROWS, "panel_divide_rows", "panel_finish_rows")
            };
            let shared = dividing::<T>(n, at_once);
            Rows {
                divide: Kernel::new(Family::QrPanel, divide),
                finish: Kernel::new(Family::QrPanel, finish),
                at_once,
                shared,
                // Four blocks have enough warps.
                resident: resident(shared, 4),
            }
        };
        // Four rows to four threads take about twice as long as one, so that they pay from the
        // third round on. Tensor cores take less for a row, but it takes time to lay out a triangle
        // for them.
        let few = with(false);
        let round = few.resident * few.at_once;
        let tensor = ctx.properties.double_keeps_up();
        if m <= if tensor { round / 2 } else { 2 * round } {
            return few;
        }
        if tensor && ctx.has(Family::QrDivide) {
            let shared = tiles(n);
            // This many blocks use all registers.
            let (divide, finish, most) = match n <= NARROW {
                true => ("panel_divide_narrow", "panel_finish_narrow", 4),
                false => ("panel_divide_tiles", "panel_finish_tiles", 3),
            };
            return Rows {
                divide: Kernel::new(Family::QrDivide, divide),
                finish: Kernel::new(Family::QrDivide, finish),
                at_once: WARP_ROWS,
                shared,
                resident: resident(shared, most),
            };
        }
        with(true)
    }

    /// Blocks for so many rows: no more than are resident at once together with `beside` others,
    /// since each has to fetch the triangle first.
    fn blocks(&self, rows: usize, beside: usize) -> usize {
        let resident = self.resident.saturating_sub(beside).max(1);
        rows.div_ceil(self.at_once).min(resident)
    }
}

/// Bytes of shared memory of a block of `kernels/qr/qr_divide.cu`: a triangle of order `n` in tiles
/// of order 8, in double precision.
fn tiles(n: usize) -> usize {
    let across = n.div_ceil(8);
    across * (across + 1) / 2 * 64 * size_of::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three blocks fit a multiprocessor of 228 KiB, and a triangle fits wherever those of the
    /// other kernels do.
    #[test]
    fn tiles_of_a_triangle_fit() {
        assert!(3 * (tiles(LD) + 1024) <= 228 << 10);
        for n in 1..=LD {
            assert!(tiles(n) <= dividing::<f64>(n, MANY_ROWS));
        }
    }
}
