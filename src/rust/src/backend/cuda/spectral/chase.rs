//! Band to tridiagonal: `B = Q2 T Q2'` by bulge chasing (`kernels/spectral/chase.cu`).
//!
//! Device memory: `2 b n` numbers for the band, `n n` for the reflectors and `n n / b` for their
//! factors, where b is the bandwidth. `Chased::back` takes up to 64 MiB, or `9 b n` numbers if that
//! is more.

use std::mem::size_of;

use super::back::{Back, Reflectors, BAND};
use crate::backend::cuda::driver::buffer::Buffer;
use crate::backend::cuda::driver::context::Context;
use crate::backend::cuda::driver::kernels::{args, Family, Kernel};
use crate::backend::cuda::matrix::views::{blocks_for, View};
use crate::base::error::Result;
use crate::base::scalar::{try_zeroed, Scalar};

const LOAD: Kernel = Kernel::new(Family::Chase, "band_load_plain32");
const CHASE: Kernel = Kernel::new(Family::Chase, "band_chase_sweeps32");
const READ: Kernel = Kernel::new(Family::Chase, "band_read_plain32");

/// The most sweeps of a block, warps of a sweep, and warps that load and store for all of them: as
/// in `chase_ring.cuh`.
const SWEEPS: usize = 3;
const TEAM: usize = 4;
const MOVERS: usize = 4;
/// Numbers in shared memory for each sweep besides the ring: `Vectors` there.
const VECTORS: usize = 170;
/// Bytes of the counts: `Counts` there.
const COUNTS: usize = 136;

/// A launch: sweeps of a block, columns of the band in its ring, threads, and shared memory.
struct Plan {
    sweeps: usize,
    ring: usize,
    threads: u32,
    shared: usize,
}

impl Plan {
    /// For a GPU whose blocks have so much shared memory. It may be too little for the last resort.
    fn new<T>(shared: usize) -> Plan {
        let of = |sweeps: usize, tiles: usize| Plan {
            sweeps,
            ring: tiles * BAND,
            threads: 32 * (TEAM * sweeps + MOVERS) as u32,
            shared: COUNTS + (VECTORS * sweeps + 2 * BAND * BAND * tiles) * size_of::<T>(),
        };
        // Two tiles for each sweep, and two that are loaded and stored meanwhile.
        let mut together = (1..=SWEEPS).rev().map(|n| of(n, 2 * n + 2));
        let fitting = together.find(|plan| plan.shared <= shared);
        fitting.unwrap_or_else(|| of(1, 3))
    }
}

/// The least shared memory that a GPU must have for a block.
pub(super) fn shared<T>() -> usize {
    Plan::new::<T>(0)
        .shared
        .max(Back::plain::<T>().shared::<T>())
}

/// A tridiagonal matrix, its diagonal and what is below it, and the reflectors of Q2.
pub(crate) struct Chased<T> {
    pub diagonal: Vec<T>,
    pub below: Vec<T>,
    reflectors: Buffer,
    taus: Buffer,
}

/// Makes the band in the lower part of `a` tridiagonal; `a` stays. Its largest entry should be
/// about one.
pub(crate) fn chase<T: Scalar>(ctx: &'static Context, a: View<T>) -> Result<Chased<T>> {
    let (n, b) = (a.rows, BAND);
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
    ctx.launch::<T>(LOAD, blocks, 1, 256, &load)?;
    if n > 2 {
        let plan = Plan::new::<T>(ctx.properties.shared);
        // A sweep begins when the one before is two steps ahead; more blocks have nothing to do.
        let blocks = (steps / (2 * plan.sweeps) + 2).min(ctx.properties.multiprocessors);
        ctx.launch_together::<T>(
            CHASE,
            blocks,
            plan.threads,
            plan.shared,
            &args![
                n as i32,
                plan.ring as i32,
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
        READ,
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
        Back::of::<T>(ctx).apply(ctx, &reflectors, z)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What fits on an H100, on GPUs with 99 KiB, and on those with 64.
    #[test]
    fn sweeps_fit_in_shared_memory() {
        let sweeps = |plan: Plan| (plan.sweeps, plan.ring / BAND);
        let of = |kib: usize| Plan::new::<f64>(kib << 10);
        assert_eq!(sweeps(of(227)), (3, 8));
        assert_eq!(sweeps(of(99)), (2, 6));
        assert_eq!(sweeps(of(64)), (1, 3));
        assert_eq!(sweeps(Plan::new::<f32>(64 << 10)), (2, 6));
        for kib in [64, 99, 163, 227] {
            assert!(of(kib).shared <= kib << 10);
            assert!(Plan::new::<f32>(kib << 10).shared <= kib << 10);
        }
        assert!(shared::<f64>() <= 64 << 10);
    }
}
