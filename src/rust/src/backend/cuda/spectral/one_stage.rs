//! Symmetric to tridiagonal in one launch: `A = Q T Q'` (`kernels/spectral/one_stage.cu`).
//!
//! Every column needs all multiprocessors to meet, but the matrix stays in their shared memory. So
//! this is faster than two stages up to the order at which it no longer fits there.
//!
//! Device memory: `n n` numbers for what the blocks tell one another.

use std::mem::size_of;

use super::band;
use crate::backend::cuda::driver::buffer::Buffer;
use crate::backend::cuda::driver::context::Context;
use crate::backend::cuda::driver::kernels::{args, Family, Kernel};
use crate::backend::cuda::matrix::views::View;
use crate::base::error::Result;
use crate::base::scalar::{try_zeroed, Scalar};

/// Threads of a block.
const THREADS: usize = 256;
/// A kernel and the rows of a thread: for matrices that shared memory holds, and for larger ones.
const SMALL: (Kernel, usize) = (kernel("symmetric_reduce_columns4"), 4);
const LARGE: (Kernel, usize) = (kernel("symmetric_reduce_columns10"), 10);

const fn kernel(name: &'static str) -> Kernel {
    Kernel::new(Family::OneStage, name)
}

/// How the columns are shared out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct OneStage {
    kernel: Kernel,
    blocks: usize,
    /// Columns of a block in shared memory.
    held: usize,
    /// Bytes of shared memory.
    shared: usize,
}

/// `A = Q T Q'`, where A has the reflectors of Q below the diagonal.
pub(super) struct Reduced<T> {
    pub diagonal: Vec<T>,
    pub below: Vec<T>,
    taus: Vec<T>,
}

impl OneStage {
    /// For a matrix of order n in double precision, if shared memory holds half of it.
    pub(super) fn of<T: Scalar>(ctx: &'static Context, n: usize) -> Option<Self> {
        let device = &ctx.properties;
        let double = size_of::<T>() == size_of::<f64>();
        if !double || !device.cooperative || !ctx.has(Family::OneStage) {
            return None;
        }
        Self::in_memory(n, device.multiprocessors, device.shared)
    }

    pub(super) fn in_memory(n: usize, multiprocessors: usize, shared: usize) -> Option<Self> {
        let blocks = multiprocessors.min(n);
        let columns = n.div_ceil(blocks.max(1));
        let warps = THREADS / 32;
        // `Shared` in the kernel.
        let fixed = 2 * warps + 2 + columns * (warps + 2);
        let left = (shared / size_of::<f64>()).checked_sub(fixed)?;
        let held = columns.min(left.checked_div(n)?);
        let (kernel, rows) = match held == columns && n <= SMALL.1 * THREADS {
            true => SMALL,
            false => LARGE,
        };
        (2 * held >= columns && n <= rows * THREADS).then_some(OneStage {
            kernel,
            blocks,
            held,
            shared: (fixed + held * n) * size_of::<f64>(),
        })
    }

    /// Reduces `a`, both triangles of which are given. Its largest entry should be about one.
    pub(super) fn reduce<T: Scalar>(
        &self,
        ctx: &'static Context,
        a: View<T>,
    ) -> Result<Reduced<T>> {
        let n = a.rows;
        let found = Buffer::zeroed::<T>(ctx, 3 * n)?;
        let [below, taus] = [1, 2].map(|i| found.ptr + (i * n * size_of::<T>()) as u64);
        // All bits are one where nothing is written yet.
        let board = Buffer::of::<T>(ctx, n * n)?;
        board.fill_words(u32::MAX, n * n * size_of::<T>() / 4)?;
        ctx.launch_together::<T>(
            self.kernel,
            self.blocks,
            THREADS as u32,
            self.shared,
            &args![
                n as i32,
                a.ptr,
                a.ld(),
                self.held as i32,
                found.ptr,
                below,
                taus,
                board.ptr
            ],
        )?;
        let mut diagonal = try_zeroed::<T>(3 * n)?;
        found.to_slice(&mut diagonal)?;
        let mut taus = diagonal.split_off(2 * n);
        let mut below = diagonal.split_off(n);
        below.truncate(n - 1);
        taus.truncate(n - 1);
        Ok(Reduced {
            diagonal,
            below,
            taus,
        })
    }
}

impl<T: Scalar> Reduced<T> {
    /// `Z <- Q Z` for the reduced `a`.
    pub(super) fn back(&self, ctx: &'static Context, a: View<T>, z: View<T>) -> Result<()> {
        band::back(ctx, a, 1, &self.taus, z)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What fits on an H100, and on GPUs with less shared memory.
    #[test]
    fn half_of_the_matrix_is_held() {
        let of = |n, processors, kib: usize| {
            OneStage::in_memory(n, processors, kib << 10).map(|x| x.held)
        };
        assert_eq!(of(1024, 132, 227), Some(8));
        assert_eq!(of(2048, 132, 227), Some(14));
        assert_eq!(of(2560, 132, 227), Some(11));
        assert_eq!(of(2561, 132, 227), None);
        assert_eq!(of(1024, 128, 99), Some(8));
        assert_eq!(of(1024, 16, 64), None);
        assert_eq!(of(1, 132, 227), Some(1));
        assert_eq!(of(0, 132, 227), None);
        for n in 1..3000 {
            let Some(plan) = OneStage::in_memory(n, 132, 227 << 10) else {
                continue;
            };
            assert!(plan.shared <= 227 << 10 && plan.blocks <= n);
        }
    }
}
