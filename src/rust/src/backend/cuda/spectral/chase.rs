//! Band to tridiagonal: `B = Q2 T Q2'` by bulge chasing (`kernels/spectral/chase.cu` and
//! `chase_sweeps.cu`).
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

/// How blocks of threads share the sweeps.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Chasing {
    /// A sweep at a time, [`PARTS`] threads a row.
    Single(Kernel),
    /// Up to [`SWEEPS`] together, [`TEAM`] warps each, with what passes between them in shared
    /// memory.
    Several(Kernel),
}

/// A launch: sweeps of a block, columns of the band in its ring, threads, and shared memory.
struct Plan {
    kernel: Kernel,
    sweeps: usize,
    ring: usize,
    threads: u32,
    shared: usize,
}

/// The kernels for a bandwidth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Bandwidth {
    pub columns: usize,
    load: Kernel,
    chase: Chasing,
    read: Kernel,
    back: Back,
    /// For few columns and for many.
    back_tiles: [Back; 2],
}

pub(crate) static NARROW: Bandwidth = Bandwidth {
    columns: 32,
    load: kernel(Family::Chase, "band_load_plain32"),
    chase: Chasing::Several(kernel(Family::ChaseSweeps, "band_chase_sweeps32")),
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
    chase: Chasing::Single(kernel(Family::Chase, "band_chase_bulges64")),
    read: kernel(Family::Chase, "band_read_plain64"),
    back: Back::plain(64, "chase_pack_steps64", "chase_apply_group64"),
    back_tiles: [
        Back::tiles(64, 8, "chase_pack_steps64", "chase_apply_eight64"),
        Back::tiles(64, 16, "chase_pack_steps64", "chase_apply_sixteen64"),
    ],
};

/// Threads of a row, where a block has one sweep.
const PARTS: usize = 4;
/// The most sweeps of a block, warps of a sweep, and warps that load and store for all of them: as
/// in `chase_ring.cuh`.
const SWEEPS: usize = 3;
const TEAM: usize = 4;
const MOVERS: usize = 4;
/// Numbers in shared memory for each sweep besides the ring: `Vectors` there.
const VECTORS: usize = 170;
/// Bytes of the counts: `Counts` there.
const COUNTS: usize = 136;

impl Bandwidth {
    /// For a GPU whose blocks have so much shared memory. It may be too little for the last resort.
    fn plan<T>(&self, shared: usize) -> Plan {
        let b = self.columns;
        let kernel = match self.chase {
            Chasing::Several(kernel) => kernel,
            Chasing::Single(kernel) => {
                // `Chase::Shared` in the kernel.
                let warps = PARTS * b / 32;
                let numbers = b * (b + 1) + warps * b + 4 * b + 2 * (warps + 1);
                return Plan {
                    kernel,
                    sweeps: 1,
                    ring: 0,
                    threads: (PARTS * b) as u32,
                    shared: numbers * size_of::<T>(),
                };
            }
        };
        let of = |sweeps: usize, tiles: usize| Plan {
            kernel,
            sweeps,
            ring: tiles * b,
            threads: 32 * (TEAM * sweeps + MOVERS) as u32,
            shared: COUNTS + (VECTORS * sweeps + 2 * b * b * tiles) * size_of::<T>(),
        };
        // Two tiles for each sweep, and two that are loaded and stored meanwhile.
        let mut together = (1..=SWEEPS).rev().map(|n| of(n, 2 * n + 2));
        let fitting = together.find(|plan| plan.shared <= shared);
        fitting.unwrap_or_else(|| of(1, 3))
    }

    /// The least that a GPU must have for a block.
    pub(crate) fn shared<T>(&self) -> usize {
        self.plan::<T>(0).shared.max(self.back.shared::<T>())
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
    // With a tile of zeros behind the last column, and one more: blocks reach beyond the matrix.
    let band = Buffer::zeroed::<T>(ctx, (n + 2 * b).saturating_mul(2 * b))?;
    let reflectors = Buffer::of::<T>(ctx, n.saturating_mul(n))?;
    let taus = Buffer::of::<T>(ctx, n.saturating_mul(steps))?;
    // Two for each group of sweeps.
    let progress = Buffer::zeroed::<i32>(ctx, 2 * n)?;
    let to_read = Buffer::of::<T>(ctx, 2 * n)?;
    let blocks = blocks_for(n * 2 * b);
    let load = args![n as i32, a.ptr, a.ld(), band.ptr];
    ctx.launch::<T>(by.load, blocks, 1, 256, &load)?;
    if n > 2 {
        let plan = by.plan::<T>(ctx.properties.shared);
        // A sweep begins when the one before is two steps ahead; more blocks have nothing to do.
        let blocks = (steps / (2 * plan.sweeps) + 2).min(ctx.properties.multiprocessors);
        let size = args![n as i32, plan.ring as i32];
        let rest = args![band.ptr, reflectors.ptr, n as i64, taus.ptr, progress.ptr];
        let sizes = if plan.ring > 0 { 2 } else { 1 };
        let args = [&size[..sizes], &rest].concat();
        ctx.launch_together::<T>(plan.kernel, blocks, plan.threads, plan.shared, &args)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    /// What fits on an H100, on GPUs with 99 KiB, and on those with 64.
    #[test]
    fn sweeps_fit_in_shared_memory() {
        let of = |kib: usize| NARROW.plan::<f64>(kib << 10);
        let sweeps = |plan: Plan| (plan.sweeps, plan.ring / 32);
        assert_eq!(sweeps(of(227)), (3, 8));
        assert_eq!(sweeps(of(99)), (2, 6));
        assert_eq!(sweeps(of(64)), (1, 3));
        assert_eq!(sweeps(NARROW.plan::<f32>(64 << 10)), (2, 6));
        for kib in [64, 99, 163, 227] {
            assert!(of(kib).shared <= kib << 10);
            assert!(NARROW.plan::<f32>(kib << 10).shared <= kib << 10);
        }
        assert!(NARROW.shared::<f64>() <= 64 << 10);
    }
}
