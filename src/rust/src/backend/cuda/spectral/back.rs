//! Q2 applied to other columns (`kernels/spectral/chase_back.cuh`): which kernels, and how the work
//! is cut.

use std::mem::size_of;

use crate::backend::cuda::driver::buffer::Buffer;
use crate::backend::cuda::driver::context::Context;
use crate::backend::cuda::driver::kernels::{args, Family, Kernel};
use crate::backend::cuda::matrix::views::View;
use crate::base::error::Result;
use crate::base::scalar::Scalar;

/// Bytes of packed steps, unless one group needs more.
const PACKED: usize = 64 << 20;

/// The reflectors of Q2 as `chase` leaves them.
pub(super) struct Reflectors {
    pub order: usize,
    pub vectors: u64,
    pub taus: u64,
}

/// The kernels for a bandwidth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Back {
    band: usize,
    pack: Kernel,
    apply: Kernel,
    /// Columns of a warp.
    columns: usize,
    /// The most warps of a block.
    warps: usize,
    /// Numbers of a packed step: `SIZE` in the kernels.
    step: usize,
    /// Numbers in shared memory of a block, and of each of its warps.
    shared: (usize, usize),
}

impl Back {
    /// Without tensor cores: `PlainPlace` and `Back` in the kernels.
    pub(super) const fn plain(band: usize, pack: &'static str, apply: &'static str) -> Back {
        Back {
            band,
            pack: Kernel::new(Family::ChaseBack, pack),
            apply: Kernel::new(Family::ChaseBack, apply),
            columns: 0,
            warps: 4,
            step: 4 * band * band,
            shared: (2 * band * band, 3 * band),
        }
    }

    /// Double precision on tensor cores: `TilePlace` and `BackTiles` in the kernels.
    pub(super) const fn tiles(
        band: usize,
        columns: usize,
        pack: &'static str,
        apply: &'static str,
    ) -> Back {
        let n = band / 8;
        let step = (3 * n * (n + 1) / 2 + n * n) * 64;
        Back {
            band,
            pack: Kernel::new(Family::ChaseBackTiles, pack),
            apply: Kernel::new(Family::ChaseBackTiles, apply),
            columns,
            warps: 8,
            step,
            shared: (if band == 32 { 3 * step } else { step }, 0),
        }
    }

    fn columns<T>(&self) -> usize {
        match self.columns {
            0 => 64 / size_of::<T>(),
            columns => columns,
        }
    }

    /// Bytes of shared memory: `PackingMemory` in the kernels.
    fn packing<T>(&self) -> usize {
        self.band * (3 * self.band + 3) * size_of::<T>()
    }

    fn applying<T>(&self, warps: usize) -> usize {
        let line = self.columns::<T>() * size_of::<T>() + 16;
        self.shared.0 * size_of::<T>() + warps * self.shared.1 * line
    }

    /// What it needs at least.
    pub(super) fn shared<T>(&self) -> usize {
        self.packing::<T>().max(self.applying::<T>(1))
    }

    /// Warps of a block for so many columns: few, so that all multiprocessors have as much to do,
    /// but two, since they share the copies of V and V T.
    fn warps<T>(&self, ctx: &'static Context, columns: usize) -> usize {
        let fits = |warps: &usize| self.applying::<T>(*warps) <= ctx.properties.shared;
        let most = (1..=self.warps).rev().find(fits).unwrap_or(1);
        let all = columns.div_ceil(self.columns::<T>());
        let blocks = ctx.properties.multiprocessors.max(1);
        let even = all.div_ceil(blocks * all.div_ceil(blocks * most));
        even.max(2).min(most)
    }

    /// `Z <- Q2 Z`. `q` has at least three rows.
    pub(super) fn apply<T: Scalar>(
        &self,
        ctx: &'static Context,
        q: &Reflectors,
        z: View<T>,
    ) -> Result<()> {
        let (n, b) = (q.order, self.band);
        let steps = |first: usize| (n - 1 - first).div_ceil(b);
        let last = (n - 3) / b;
        let all: usize = (0..=last).map(|group| steps(group * b)).sum();
        let room = (PACKED / size_of::<T>() / self.step).max(steps(0)).min(all);
        let packed = Buffer::of::<T>(ctx, room.saturating_mul(self.step))?;
        let warps = self.warps::<T>(ctx, z.cols);
        let mut left = last + 1;
        while left > 0 {
            let first = (left - 1) * b;
            let (mut groups, mut filled) = (0, 0);
            while groups < left && filled + steps(first - groups * b) <= room {
                filled += steps(first - groups * b);
                groups += 1;
            }
            left -= groups;
            ctx.launch_shared::<T>(
                self.pack,
                (steps(left * b), groups),
                (4 * b) as u32,
                self.packing::<T>(),
                &args![
                    n as i32,
                    first as i32,
                    q.vectors,
                    n as i64,
                    q.taus,
                    packed.ptr
                ],
            )?;
            ctx.launch_shared::<T>(
                self.apply,
                (z.cols.div_ceil(warps * self.columns::<T>()), 1),
                (32 * warps) as u32,
                self.applying::<T>(warps),
                &args![
                    n as i32,
                    z.cols as i32,
                    first as i32,
                    groups as i32,
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
