//! Computes a product from integers, block by block of C.

use super::lines::{Lengths, Operand};
use super::moduli;
use super::plan::Integers;
use crate::backend::cuda::driver::buffer::{where_there_is_room, Buffer};
use crate::backend::cuda::driver::context::Context;
use crate::backend::cuda::driver::kernels::{args, scalar, Family, Kernel};
use crate::backend::cuda::driver::properties::LONGEST_LAUNCH;
use crate::backend::cuda::gemm::update::{Update, UpdatedPart};
use crate::backend::cuda::matrix::operand::OperandLayout;
use crate::backend::cuda::matrix::views::View;
use crate::base::error::Result;
use crate::base::progress;
use crate::base::scalar::Scalar;
use crate::cost::integers::Size;

const MAKE_ALONG: Kernel = Kernel::new(Family::Emulated, "residues_make_along");
const MAKE_ACROSS: Kernel = Kernel::new(Family::Emulated, "residues_make_across");
const RESTORE: Kernel = Kernel::new(Family::Emulated, "residues_restore_tiles");
const HOPPER: Kernel = Kernel::untyped(Family::PlanesHopper, "planes_multiply_hopper");
const TENSOR: Kernel = Kernel::untyped(Family::PlanesTensor, "planes_multiply_tensor");

/// Sides of the tiles of planes (`planes.cuh`).
const ROWS: usize = 128;
const COLS: usize = 256;
const DEPTH: usize = 128;

/// Row tiles of a band: with 16 a band of A and the columns that pass stay in the cache.
const BAND: usize = 16;

/// Depth of the residues that are in memory at a time. Sums may not be deeper than 2^15.
const DEEPEST: usize = 8192;
const SHALLOWEST: usize = 1024;

/// Orders of the blocks of C whose residues are in memory at a time.
const LARGEST: usize = 16384;
const SMALLEST: usize = 2048;

/// Workspace takes at most this share of the free memory, and what the pool keeps for later.
const SHARE: f64 = 0.5;
const POOLED: f64 = 8.0;

/// The kernel for products of planes on this GPU, with its threads and its shared memory.
pub(super) fn multiplier(ctx: &'static Context) -> Option<(Kernel, u32, usize)> {
    let stage = |cols| (ROWS + cols) * DEPTH;
    if ctx.has(Family::PlanesHopper) && !is_portable() {
        return Some((HOPPER, 384, 4 * stage(COLS)));
    }
    // As `WIDTH` in `planes_tensor.cu`.
    let width = if ctx.properties.capability.0 >= 8 {
        COLS
    } else {
        COLS / 2
    };
    let tensor = (TENSOR, 256, 2 * stage(width));
    (ctx.has(Family::PlanesTensor) && tensor.2 <= ctx.properties.shared).then_some(tensor)
}

#[cfg(test)]
thread_local! {
    static PORTABLE: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
    static CUT: std::cell::Cell<Option<(usize, usize)>> = const { std::cell::Cell::new(None) };
}

/// Runs `f` with blocks of C of this order, and residues of this depth.
#[cfg(test)]
pub(super) fn cut_into<R>(order: usize, depth: usize, f: impl FnOnce() -> R) -> R {
    CUT.set(Some((order, depth)));
    let result = f();
    CUT.set(None);
    result
}

/// Runs `f` with the kernel that other GPUs take.
#[cfg(test)]
pub(super) fn portable<R>(f: impl FnOnce() -> R) -> R {
    PORTABLE.set(true);
    let result = f();
    PORTABLE.set(false);
    result
}

#[cfg(test)]
fn is_portable() -> bool {
    PORTABLE.get()
}
#[cfg(not(test))]
fn is_portable() -> bool {
    false
}

/// A product of measured operands. Columns of C are contiguous, or it has no contiguous dimension.
pub(super) struct EmulatedProduct<T> {
    pub(super) ctx: &'static Context,
    pub(super) multiply: (Kernel, u32, usize),
    pub(super) integers: Integers,
    pub(super) left: Operand,
    pub(super) right: Operand,
    /// Whether B is the transpose of A.
    pub(super) square: bool,
    pub(super) lengths: Vec<Lengths>,
    pub(super) update: Update<T>,
    pub(super) c: View<T>,
}

/// A block of C: its first row and column, and its size.
#[derive(Clone, Copy)]
struct Block {
    row: usize,
    col: usize,
    rows: usize,
    cols: usize,
}

/// Memory for planes of a block's operands and of the block.
struct Planes {
    left: Buffer,
    right: Option<Buffer>,
    block: Buffer,
}

impl<T: Scalar> EmulatedProduct<T> {
    pub(super) fn run(self) -> Result<bool> {
        let ctx = self.ctx;
        let Some((order, depth)) = self.cut()? else {
            return Ok(false);
        };
        let tables = Buffer::from_slice(ctx, &moduli::tables(self.integers.moduli));
        let Some(tables) = where_there_is_room(tables)? else {
            return Ok(false);
        };
        let Some(planes) = where_there_is_room(self.planes(order, depth))? else {
            return Ok(false);
        };
        for col in (0..self.c.cols).step_by(order) {
            for row in (0..self.c.rows).step_by(order) {
                let block = Block {
                    row,
                    col,
                    rows: order.min(self.c.rows - row),
                    cols: order.min(self.c.cols - col),
                };
                let part = match self.update.triangle {
                    UpdatedPart::Full => UpdatedPart::Full,
                    part if row == col => part,
                    UpdatedPart::Lower if row > col => UpdatedPart::Full,
                    UpdatedPart::Upper if row < col => UpdatedPart::Full,
                    _ => continue,
                };
                self.block(&tables, &planes, block, depth, part)?;
            }
        }
        Ok(true)
    }

    /// The order of the blocks of C and the depth of residues that fit into memory; None if there
    /// is too little.
    fn cut(&self) -> Result<Option<(usize, usize)>> {
        let free = self.ctx.room()?;
        let limit = (SHARE * free.0 as f64).min(free.1 as f64 / POOLED);
        let widest = self.c.rows.max(self.c.cols).next_multiple_of(COLS);
        let mut order = LARGEST.min(widest);
        let mut depth = DEEPEST.min(self.left.depth.next_multiple_of(DEPTH));
        let slow = |order: usize, depth: usize| {
            let size = Size {
                m: self.c.rows.min(order),
                n: self.c.cols.min(order),
                k: depth,
                triangle: false,
            };
            let rates = self.ctx.properties.integer_rates();
            rates.products(&size, self.integers.moduli) > LONGEST_LAUNCH
        };
        #[cfg(test)]
        if let Some(cut) = CUT.get() {
            return Ok(Some(cut));
        }
        // No launch may keep an interrupt waiting.
        while depth > SHALLOWEST && slow(order, depth) {
            depth = (depth / 2).next_multiple_of(DEPTH);
        }
        while self.bytes(order, depth) as f64 > limit {
            if depth > SHALLOWEST && depth >= order / 2 {
                depth = (depth / 2).next_multiple_of(DEPTH);
            } else if order > SMALLEST {
                order = (order / 2).next_multiple_of(COLS);
            } else {
                return Ok(None);
            }
        }
        Ok(Some((order, depth)))
    }

    fn sizes(&self, order: usize, depth: usize) -> [usize; 3] {
        let rows = self.c.rows.min(order).next_multiple_of(COLS);
        let cols = self.c.cols.min(order).next_multiple_of(COLS);
        [rows * depth, cols * depth, rows * cols].map(|size| self.integers.moduli * size)
    }

    fn bytes(&self, order: usize, depth: usize) -> usize {
        self.sizes(order, depth).iter().sum()
    }

    fn planes(&self, order: usize, depth: usize) -> Result<Planes> {
        let [left, right, block] = self.sizes(order, depth);
        let one = self.square && self.c.rows <= order;
        Ok(Planes {
            left: Buffer::of::<u8>(self.ctx, left)?,
            right: match one {
                true => None,
                false => Some(Buffer::of::<u8>(self.ctx, right)?),
            },
            block: Buffer::of::<u8>(self.ctx, block)?,
        })
    }

    fn block(
        &self,
        tables: &Buffer,
        planes: &Planes,
        block: Block,
        depth: usize,
        part: UpdatedPart,
    ) -> Result<()> {
        let (ctx, moduli, all) = (self.ctx, self.integers.moduli, self.left.depth);
        let (kernel, threads, shared) = self.multiply;
        let (row_tiles, col_tiles) = (block.rows.div_ceil(ROWS), block.cols.div_ceil(COLS));
        // Columns of B come in pairs of tiles of lines.
        let (left_tiles, right_tiles) = (2 * block.rows.div_ceil(COLS), 2 * col_tiles);
        for from in (0..all).step_by(depth) {
            let steps = depth.min(all - from);
            let left = (&self.left, block.row, block.rows, left_tiles);
            self.residues(tables, left, (from, steps), 0, &planes.left)?;
            let right = match &planes.right {
                None => planes.left.ptr,
                Some(planes) => {
                    let right = (&self.right, block.col, block.cols, right_tiles);
                    self.residues(tables, right, (from, steps), 1, planes)?;
                    planes.ptr
                }
            };
            let blocks = match ctx.resident::<f64>(kernel, threads, shared)? {
                0 => 1,
                resident => resident * ctx.multiprocessors(),
            };
            ctx.launch_shared::<f64>(
                kernel,
                (blocks, 1),
                threads,
                shared,
                &args![
                    planes.left.ptr,
                    left_tiles as i32,
                    right,
                    right_tiles as i32,
                    planes.block.ptr,
                    row_tiles as i32,
                    col_tiles as i32,
                    steps.div_ceil(DEPTH) as i32,
                    moduli as i32,
                    BAND as i32,
                    part as i32,
                    i32::from(from > 0),
                    tables.ptr,
                    self.update.stop
                ],
            )?;
            let size = Size {
                m: block.rows,
                n: block.cols,
                k: steps,
                triangle: part != UpdatedPart::Full,
            };
            progress::advance(size.operations());
            let seconds = ctx.properties.integer_rates().products(&size, moduli);
            ctx.fence_after(seconds / LONGEST_LAUNCH)?;
        }
        let c = self.c.sub(block.row, block.col, block.rows, block.cols);
        let second = self.lengths.last().map_or(0, |lengths| lengths.ptr);
        ctx.launch::<f64>(
            RESTORE,
            row_tiles,
            col_tiles,
            256,
            &args![
                planes.block.ptr,
                moduli as i32,
                tables.ptr,
                scalar(self.integers.bits.0),
                self.lengths[0].ptr + 4 * block.row as u64,
                scalar(self.integers.bits.1),
                second + 4 * block.col as u64,
                i32::from(self.integers.whole),
                scalar(self.update.alpha),
                scalar(self.update.beta),
                c.ptr,
                c.rs,
                c.cs,
                block.rows as i32,
                block.cols as i32,
                part as i32,
                self.update.stop
            ],
        )
    }

    /// Residues of some lines and steps of the first or second operand, in so many row tiles.
    fn residues(
        &self,
        tables: &Buffer,
        (x, line, lines, tiles): (&Operand, usize, usize, usize),
        (from, steps): (usize, usize),
        which: usize,
        to: &Buffer,
    ) -> Result<()> {
        let kernel = match x.at.layout {
            OperandLayout::Depth => MAKE_ALONG,
            OperandLayout::Lines => MAKE_ACROSS,
        };
        let bits = [self.integers.bits.0, self.integers.bits.1][which];
        let lengths = self.lengths[which.min(self.lengths.len() - 1)].ptr + 4 * line as u64;
        self.ctx.launch::<f64>(
            kernel,
            tiles,
            steps.div_ceil(DEPTH),
            256,
            &args![
                x.from(line, from),
                x.at.ld,
                lines as i32,
                steps as i32,
                scalar(bits),
                lengths,
                tables.ptr,
                self.integers.moduli as i32,
                to.ptr,
                tiles as i32,
                self.update.stop
            ],
        )
    }
}
