//! Q2 applied to other columns (`kernels/spectral/chase_back.cuh`): which kernels, and how the work
//! is cut.

use std::mem::size_of;

use crate::backend::cuda::driver::buffer::Buffer;
use crate::backend::cuda::driver::context::Context;
use crate::backend::cuda::driver::kernels::{args, Family, Kernel};
use crate::backend::cuda::matrix::views::View;
use crate::base::error::Result;
use crate::base::scalar::Scalar;

/// The width of the band.
pub(super) const BAND: usize = 32;

/// Bytes of packed steps, unless the groups of one set need more.
const PACKED: usize = 64 << 20;

/// The reflectors of Q2 as `chase` leaves them.
pub(super) struct Reflectors {
    pub order: usize,
    pub vectors: u64,
    pub taus: u64,
}

/// The kernels for a GPU. A team of warps takes some columns of Z through all steps. It has a warp
/// for each group of a set, and a set's groups are applied together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Back {
    pack: Kernel,
    apply: Kernel,
    set: usize,
    /// Columns of a team.
    columns: usize,
    /// The fewest and the most teams of a block.
    teams: [usize; 2],
    /// Numbers of a packed step: `SIZE` in the kernels.
    step: usize,
    /// Numbers in shared memory of a block, and of each of its teams.
    shared: [usize; 2],
}

impl Back {
    /// The kernels for a GPU, in a precision: with tensor cores, if it has them and enough shared
    /// memory.
    pub(super) fn of<T: Scalar>(ctx: &'static Context) -> Back {
        let double = size_of::<T>() == size_of::<f64>();
        let tiles = Back::tiles(ctx.properties.capability);
        let fits = tiles.shared::<T>() <= ctx.properties.shared;
        match double && ctx.has(Family::ChaseBackTiles) && fits {
            true => tiles,
            false => Back::plain::<T>(),
        }
    }

    /// Without tensor cores: `PlainPlace` and `Back` in the kernels. Two warps at least share
    /// copies of V and V T.
    pub(super) const fn plain<T>() -> Back {
        let columns = 64 / size_of::<T>();
        Back {
            pack: Kernel::new(Family::ChaseBack, "chase_pack_steps32"),
            apply: Kernel::new(Family::ChaseBack, "chase_apply_group32"),
            set: 1,
            columns,
            teams: [2, 4],
            step: 4 * BAND * BAND,
            shared: [2 * BAND * BAND, 3 * BAND * (columns + 16 / size_of::<T>())],
        }
    }

    /// Double precision on tensor cores: `TilePlace` and `Back` in the kernels.
    const fn tiles(capability: (i32, i32)) -> Back {
        const N: usize = BAND / 8;
        let set = if capability.0 >= 9 { 3 } else { 2 };
        let (step, columns) = ((3 * N * (N + 1) / 2 + N * N) * 64, 16);
        Back {
            pack: Kernel::new(Family::ChaseBackTiles, "chase_pack_steps32"),
            apply: Kernel::new(Family::ChaseBackTiles, "chase_apply_tiles32"),
            set,
            columns,
            teams: [1, 4],
            step,
            shared: [2 * set * step, (2 * set - 1) * BAND * columns],
        }
    }

    /// Bytes of shared memory: `PackingMemory` in the kernels.
    const fn packing<T>(&self) -> usize {
        BAND * (3 * BAND + 3) * size_of::<T>()
    }

    const fn applying<T>(&self, teams: usize) -> usize {
        (self.shared[0] + teams * self.shared[1]) * size_of::<T>()
    }

    /// What it needs at least.
    pub(super) fn shared<T>(&self) -> usize {
        self.packing::<T>().max(self.applying::<T>(1))
    }

    /// Teams of a block for so many columns: few, so that all multiprocessors have as much to do.
    fn teams<T>(&self, ctx: &'static Context, columns: usize) -> usize {
        let fits = |teams: &usize| self.applying::<T>(*teams) <= ctx.properties.shared;
        let [least, most] = self.teams;
        let most = (1..=most).rev().find(fits).unwrap_or(1);
        let all = columns.div_ceil(self.columns);
        let blocks = ctx.properties.multiprocessors.max(1);
        let even = all.div_ceil(blocks * all.div_ceil(blocks * most));
        even.max(least).min(most)
    }

    /// `Z <- Q2 Z`. `q` has at least three rows.
    pub(super) fn apply<T: Scalar>(
        &self,
        ctx: &'static Context,
        q: &Reflectors,
        z: View<T>,
    ) -> Result<()> {
        let (n, b) = (q.order, BAND);
        let steps = |first: usize| (n - 1 - first).div_ceil(b);
        let last = (n - 3) / b;
        let all: usize = (0..=last).map(|group| steps(group * b)).sum();
        let room = PACKED / size_of::<T>() / self.step;
        let room = room.max(self.set * steps(0)).min(all);
        let packed = Buffer::of::<T>(ctx, room.saturating_mul(self.step))?;
        let teams = self.teams::<T>(ctx, z.cols);
        let mut left = last + 1;
        while left > 0 {
            let first = (left - 1) * b;
            let (mut groups, mut filled) = (0, 0);
            while groups < left && filled + steps(first - groups * b) <= room {
                filled += steps(first - groups * b);
                groups += 1;
            }
            // Whole sets, but for the last launch.
            if groups < left {
                groups -= groups % self.set;
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
                (z.cols.div_ceil(teams * self.columns), 1),
                (32 * teams * self.set) as u32,
                self.applying::<T>(teams),
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
