//! Band to tridiagonal: `B = Q2 T Q2'` by bulge chasing (`kernels/spectral/chase.cu`).
//!
//! Device memory: `2 b n` numbers for the band, `n n` for the reflectors and `n n / b` for their
//! factors, where b is the bandwidth. `Chased::back` takes up to 64 MiB, or `4 b n` numbers if that
//! is more.

use std::mem::size_of;

use super::back::{Back, Reflectors};
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
    back: Back,
    /// For few columns and for many.
    back_tiles: [Back; 2],
}

pub(crate) static NARROW: Bandwidth = Bandwidth {
    columns: 32,
    load: kernel(Family::Chase, "band_load_plain32"),
    chase: kernel(Family::Chase, "band_chase_bulges32"),
    read: kernel(Family::Chase, "band_read_plain32"),
    back: Back::plain(32, "chase_pack_steps32", "chase_apply_group32"),
    back_tiles: [
        Back::tiles(32, 8, "chase_pack_steps32", "chase_apply_eight32"),
        Back::tiles(32, 16, "chase_pack_steps32", "chase_apply_sixteen32"),
    ],
};
pub(crate) static WIDE: Bandwidth = Bandwidth {
    columns: 64,
    load: kernel(Family::Chase, "band_load_plain64"),
    chase: kernel(Family::Chase, "band_chase_bulges64"),
    read: kernel(Family::Chase, "band_read_plain64"),
    back: Back::plain(64, "chase_pack_steps64", "chase_apply_group64"),
    back_tiles: [
        Back::tiles(64, 8, "chase_pack_steps64", "chase_apply_eight64"),
        Back::tiles(64, 16, "chase_pack_steps64", "chase_apply_sixteen64"),
    ],
};

/// Threads of a row.
const PARTS: usize = 4;

impl Bandwidth {
    fn threads(&self) -> u32 {
        (PARTS * self.columns) as u32
    }

    /// Bytes of shared memory: `Chase::Shared` in the kernels.
    fn chasing<T>(&self) -> usize {
        let (b, warps) = (self.columns, PARTS * self.columns / 32);
        (b * (b + 1) + warps * b + 4 * b + 2 * (warps + 1)) * size_of::<T>()
    }

    /// The least that a GPU must have for a block.
    pub(crate) fn shared<T>(&self) -> usize {
        self.chasing::<T>().max(self.back.shared::<T>())
    }

    /// The kernels that apply Q2 to so many columns. A warp with sixteen of them reads V and V T
    /// half as often, but there are fewer warps.
    fn back<T>(&self, ctx: &'static Context, columns: usize) -> &Back {
        let double = size_of::<T>() == size_of::<f64>();
        if !double || !ctx.has(Family::ChaseBackTiles) {
            return &self.back;
        }
        let many = columns >= 16 * 3 * ctx.properties.multiprocessors;
        let tiles = &self.back_tiles[usize::from(many)];
        match tiles.shared::<T>() <= ctx.properties.shared {
            true => tiles,
            false => &self.back,
        }
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
        let order = self.diagonal.len();
        if order < 3 || z.cols == 0 {
            return Ok(());
        }
        let reflectors = Reflectors {
            order,
            vectors: self.reflectors.ptr,
            taus: self.taus.ptr,
        };
        self.by.back::<T>(ctx, z.cols).apply(ctx, &reflectors, z)
    }
}
