//! A panel of the reduction to a band of width 32, in two launches whose blocks exchange sums
//! (`kernels/spectral/band_panel.cu`). Its rows stay in shared memory.
//!
//! Device memory: 2.4 MB for what the blocks tell one another. Each launch has one half of it, all
//! of whose words must be empty, and empties what the launch before used of the other half. No
//! launch may be lost: an error ends the reduction.

use std::cell::Cell;
use std::mem::size_of;

use crate::backend::cuda::driver::buffer::Buffer;
use crate::backend::cuda::driver::context::Context;
use crate::backend::cuda::driver::kernels::{args, Family, Kernel};
use crate::backend::cuda::matrix::views::View;
use crate::backend::cuda::qr::reflectors::Reflector;
use crate::base::error::Result;
use crate::base::scalar::Scalar;

const REFLECT: Kernel = Kernel::new(Family::BandPanel, "band_panel_reflect");
const JOIN: Kernel = Kernel::new(Family::BandPanel, "band_panel_join");

/// Columns of a panel, and rows of a set.
const SIDE: usize = 32;
const SQUARE: usize = SIDE * SIDE;
const THREADS: usize = 288;
/// Chunks whose sums a warp adds.
const MOST_CHUNKS: usize = 128;
/// Numbers in a block's shared memory besides the rows, in either kernel.
const REFLECTING: usize = 5 * SQUARE + 2 * SIDE + 2;
const JOINING: usize = 3 * SQUARE;

/// Words of a board for the sums of `chunks` chunks, two for each thread.
const fn sums(chunks: usize) -> usize {
    2 * THREADS * (chunks + 1)
}

/// Words for a panel: two Gram matrices and the first rows of Q1.
const fn words(chunks: usize) -> usize {
    2 * sums(chunks) + SQUARE
}

/// How rows are shared out. Sums depend on the first two numbers alone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Plan {
    /// Sets of a chunk.
    sets: usize,
    chunks: usize,
    multiprocessors: usize,
    /// Sets that a block has at most.
    held: usize,
}

impl Plan {
    fn of(rows: usize, multiprocessors: usize, shared: usize) -> Option<Self> {
        let sets = rows.div_ceil(SIDE).div_ceil(MOST_CHUNKS);
        let chunks = rows.div_ceil(SIDE).div_ceil(sets.max(1));
        let held = chunks.div_ceil(multiprocessors.max(1)) * sets;
        let plan = Plan {
            sets,
            chunks,
            multiprocessors,
            held,
        };
        let bytes = plan.reflecting().max(plan.joining());
        (rows >= SIDE && multiprocessors > 0 && bytes <= shared).then_some(plan)
    }

    /// Bytes of shared memory.
    fn reflecting(&self) -> usize {
        (REFLECTING + self.held * SQUARE) * size_of::<f64>()
    }

    fn joining(&self) -> usize {
        (JOINING + 2 * self.held * SQUARE) * size_of::<f64>()
    }
}

/// The matrices beside a panel's rows: those that [`Together::join`] writes to have V and W side by
/// side, and W and V.
#[derive(Clone, Copy)]
pub(super) struct Sides<T> {
    pub left: View<T>,
    pub right: View<T>,
}

pub(super) struct Together {
    ctx: &'static Context,
    board: Buffer,
    turn: Cell<usize>,
    /// Words that the launch before used.
    used: Cell<usize>,
}

impl Together {
    /// For panels of `columns` columns; none if they or the GPU do not suit.
    pub(super) fn new<T: Scalar>(ctx: &'static Context, columns: usize) -> Result<Option<Self>> {
        let double = size_of::<T>() == size_of::<f64>();
        let able = ctx.properties.cooperative && ctx.has(Family::BandPanel);
        if columns != SIDE || !double || !able {
            return Ok(None);
        }
        let count = 2 * words(MOST_CHUNKS);
        let board = Buffer::of::<u64>(ctx, count)?;
        // All bits of an empty word are one.
        board.fill_words(u32::MAX, 2 * count)?;
        Ok(Some(Together {
            ctx,
            board,
            turn: Cell::new(0),
            used: Cell::new(0),
        }))
    }

    /// For so many rows, unless shared memory is too small.
    pub(super) fn plan(&self, rows: usize) -> Option<Plan> {
        let device = &self.ctx.properties;
        Plan::of(rows, device.multiprocessors, device.shared)
    }

    /// Addresses of a half for `words` words and of the other one, and the words used there.
    fn next(&self, words: usize) -> (u64, u64, usize) {
        let turn = self.turn.get();
        self.turn.set(1 - turn);
        let half =
            |i: usize| self.board.ptr + (i * self::words(MOST_CHUNKS) * size_of::<u64>()) as u64;
        (half(turn), half(1 - turn), self.used.replace(words))
    }

    /// As [`Panels::factor`](crate::backend::cuda::qr::cholesky_qr::Panels::factor).
    pub(super) fn reflect<T: Scalar>(
        &self,
        plan: Plan,
        first: usize,
        a: View<T>,
        tau: u64,
        to: Reflector<T>,
        stop: u64,
    ) -> Result<()> {
        let (board, before, used) = self.next(words(plan.chunks));
        // Two more blocks, for small products.
        let blocks = (plan.chunks + 2).min(plan.multiprocessors);
        self.ctx.launch_together::<T>(
            REFLECT,
            blocks,
            THREADS as u32,
            plan.reflecting(),
            &args![
                a.rows as i32,
                plan.sets as i32,
                plan.chunks as i32,
                a.ptr,
                a.ld(),
                to.v.ptr,
                to.v.ld(),
                to.t.ptr,
                to.t.ld(),
                tau,
                board,
                before,
                used,
                first,
                stop
            ],
        )
    }

    /// `W = Y T - V (T' V'Y T) / 2` for `y = A V`, next to V. The left side may have V already.
    pub(super) fn join<T: Scalar>(
        &self,
        plan: Plan,
        h: Reflector<T>,
        y: View<T>,
        to: Sides<T>,
        stop: u64,
    ) -> Result<()> {
        let (board, before, used) = self.next(sums(plan.chunks));
        self.ctx.launch_together::<T>(
            JOIN,
            plan.chunks.min(plan.multiprocessors),
            THREADS as u32,
            plan.joining(),
            &args![
                y.rows as i32,
                plan.sets as i32,
                plan.chunks as i32,
                h.v.ptr,
                h.v.ld(),
                y.ptr,
                y.ld(),
                h.t.ptr,
                h.t.ld(),
                to.left.ptr,
                to.right.ptr,
                to.left.ld(),
                plan.held as i32,
                board,
                before,
                used,
                stop
            ],
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Panels of orders up to 45000 fit on large GPUs, and some on small ones.
    #[test]
    fn rows_fit_in_shared_memory() {
        let of = |rows, processors, kib: usize| {
            Plan::of(rows, processors, kib << 10).map(|p| (p.sets, p.chunks, p.held))
        };
        assert_eq!(of(32, 132, 227), Some((1, 1, 1)));
        assert_eq!(of(31, 132, 227), None);
        assert_eq!(of(4096, 132, 227), Some((1, 128, 1)));
        assert_eq!(of(4097, 132, 227), Some((2, 65, 2)));
        assert_eq!(of(10240, 132, 227), Some((3, 107, 3)));
        assert_eq!(of(4096, 84, 99), Some((1, 128, 2)));
        assert_eq!(of(4096, 40, 64), None);
        assert_eq!(of(2048, 40, 64), Some((1, 64, 2)));
        for rows in (SIDE..12000).chain((12000..45000).step_by(37)) {
            let plan = Plan::of(rows, 132, 227 << 10).unwrap();
            assert!(plan.chunks <= MOST_CHUNKS && plan.chunks * plan.sets * SIDE >= rows);
            let blocks = plan.chunks.min(132);
            assert_eq!(plan.held, plan.chunks.div_ceil(blocks) * plan.sets);
        }
    }
}
