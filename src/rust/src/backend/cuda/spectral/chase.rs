//! Band to tridiagonal: `B = Q2 T Q2'` by bulge chasing (`kernels/spectral/chase.cu`), and Q2
//! applied to other columns (`kernels/spectral/chase_back.cu`).
//!
//! Device memory: `2 b n` numbers for the band, `n n` for the reflectors and `n n / b` for their
//! factors, where b is the bandwidth.

use std::mem::size_of;

use crate::backend::cuda::driver::buffer::Buffer;
use crate::backend::cuda::driver::context::Context;
use crate::backend::cuda::driver::kernels::{args, Family, Kernel};
use crate::backend::cuda::matrix::views::{blocks_for, View};
use crate::base::error::Result;
use crate::base::scalar::{try_zeroed, Scalar};

const fn kernel(family: Family, name: &'static str) -> Kernel {
    Kernel::new(family, name)
}

/// The kernels for a bandwidth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Bandwidth {
    pub columns: usize,
    load: Kernel,
    chase: Kernel,
    read: Kernel,
    pack: Kernel,
    apply: Kernel,
    apply_tiles: Kernel,
}

pub(crate) static NARROW: Bandwidth = Bandwidth {
    columns: 32,
    load: kernel(Family::Chase, "band_load_plain32"),
    chase: kernel(Family::Chase, "band_chase_bulges32"),
    read: kernel(Family::Chase, "band_read_plain32"),
    pack: kernel(Family::ChaseBack, "chase_pack_steps32"),
    apply: kernel(Family::ChaseBack, "chase_apply_group32"),
    apply_tiles: kernel(Family::ChaseBackTiles, "chase_apply_group32"),
};
pub(crate) static WIDE: Bandwidth = Bandwidth {
    columns: 64,
    load: kernel(Family::Chase, "band_load_plain64"),
    chase: kernel(Family::Chase, "band_chase_bulges64"),
    read: kernel(Family::Chase, "band_read_plain64"),
    pack: kernel(Family::ChaseBack, "chase_pack_steps64"),
    apply: kernel(Family::ChaseBack, "chase_apply_group64"),
    apply_tiles: kernel(Family::ChaseBackTiles, "chase_apply_group64"),
};

/// Columns of Z of a block of threads.
const SLAB: usize = 64;
/// Threads of a row.
const PARTS: usize = 4;

impl Bandwidth {
    fn threads(&self) -> u32 {
        (PARTS * self.columns) as u32
    }

    /// Bytes of shared memory: `Chase::Shared`, `PackingMemory` and `Back::Shared` in the kernels.
    fn chasing<T>(&self) -> usize {
        let (b, warps) = (self.columns, PARTS * self.columns / 32);
        (b * (b + 1) + warps * b + 4 * b + 2 * (warps + 1)) * size_of::<T>()
    }

    fn packing<T>(&self) -> usize {
        let b = self.columns;
        b * (3 * b + 2) * size_of::<T>()
    }

    fn applying<T>(&self) -> usize {
        3 * self.columns * (SLAB + 4) * size_of::<T>()
    }

    /// The most that a block of any of the kernels has.
    pub(crate) fn shared<T>(&self) -> usize {
        let all = [
            self.chasing::<T>(),
            self.packing::<T>(),
            self.applying::<T>(),
        ];
        all.into_iter().max().unwrap_or(0)
    }
}

/// A tridiagonal matrix, its diagonal and what is below it, and the reflectors of Q2.
pub(crate) struct Chased<T> {
    pub diagonal: Vec<T>,
    pub below: Vec<T>,
    by: Bandwidth,
    reflectors: Buffer,
    taus: Buffer,
}

/// Makes the band in the lower part of `a` tridiagonal; `a` stays. Its largest entry should be
/// about one.
pub(crate) fn chase<T: Scalar>(
    ctx: &'static Context,
    a: View<T>,
    by: Bandwidth,
) -> Result<Chased<T>> {
    let (n, b) = (a.rows, by.columns);
    let steps = n.div_ceil(b);
    let band = Buffer::of::<T>(ctx, n.saturating_mul(2 * b))?;
    let reflectors = Buffer::of::<T>(ctx, n.saturating_mul(n))?;
    let taus = Buffer::of::<T>(ctx, n.saturating_mul(steps))?;
    let progress = Buffer::zeroed::<i32>(ctx, n)?;
    let to_read = Buffer::of::<T>(ctx, 2 * n)?;
    let blocks = blocks_for(n * 2 * b);
    let load = args![n as i32, a.ptr, a.ld(), band.ptr];
    ctx.launch::<T>(by.load, blocks, 1, 256, &load)?;
    if n > 2 {
        // A sweep begins when the one before is two steps ahead.
        let blocks = (steps / 2 + 1).min(ctx.properties.multiprocessors);
        ctx.launch_together::<T>(
            by.chase,
            blocks,
            by.threads(),
            by.chasing::<T>(),
            &args![
                n as i32,
                band.ptr,
                reflectors.ptr,
                n as i64,
                taus.ptr,
                progress.ptr
            ],
        )?;
    }
    let below = to_read.ptr + (n * size_of::<T>()) as u64;
    ctx.launch::<T>(
        by.read,
        n.div_ceil(256),
        1,
        256,
        &args![n as i32, band.ptr, to_read.ptr, below],
    )?;
    let mut diagonal = try_zeroed::<T>(2 * n)?;
    to_read.to_slice(&mut diagonal)?;
    let below = diagonal.split_off(n);
    Ok(Chased {
        diagonal,
        below,
        by,
        reflectors,
        taus,
    })
}

impl<T: Scalar> Chased<T> {
    /// `Z <- Q2 Z`
    pub(crate) fn back(&self, ctx: &'static Context, z: View<T>) -> Result<()> {
        let (n, b) = (self.diagonal.len(), self.by.columns);
        if n < 3 || z.cols == 0 {
            return Ok(());
        }
        let count = |first: usize| (n - 1 - first).div_ceil(b);
        let packed = Buffer::of::<T>(ctx, count(0) * 4 * b * b)?;
        let double = size_of::<T>() == size_of::<f64>();
        let apply = match double && ctx.has(Family::ChaseBackTiles) {
            true => self.by.apply_tiles,
            false => self.by.apply,
        };
        for first in (0..n - 2).step_by(b).rev() {
            ctx.launch_shared::<T>(
                self.by.pack,
                (count(first), 1),
                self.by.threads(),
                self.by.packing::<T>(),
                &args![
                    n as i32,
                    first as i32,
                    self.reflectors.ptr,
                    n as i64,
                    self.taus.ptr,
                    packed.ptr
                ],
            )?;
            ctx.launch_shared::<T>(
                apply,
                (z.cols.div_ceil(SLAB), 1),
                self.by.threads(),
                self.by.applying::<T>(),
                &args![
                    n as i32,
                    z.cols as i32,
                    first as i32,
                    count(first) as i32,
                    packed.ptr,
                    z.ptr,
                    z.ld()
                ],
            )?;
            ctx.fence()?;
        }
        Ok(())
    }
}
