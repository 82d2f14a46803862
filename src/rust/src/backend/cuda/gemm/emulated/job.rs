//! A product from integers: its operands, its blocks, and memory for their planes.

use super::lines::{Lengths, Operand};
use super::plan::Integers;
use crate::backend::cuda::driver::buffer::Buffer;
use crate::backend::cuda::driver::context::Context;
use crate::backend::cuda::driver::kernels::Kernel;
use crate::backend::cuda::gemm::update::{Update, UpdatedPart};
use crate::backend::cuda::matrix::views::View;
use crate::base::error::Result;
use crate::cost::flops::ProductSize;

/// Sides of the tiles of planes (`planes.cuh`).
pub(super) const ROWS: usize = 128;
pub(super) const COLS: usize = 256;
pub(super) const DEPTH: usize = 128;

/// Blocks for each multiprocessor that hide the wait for memory.
const BLOCKS: usize = 4;

/// How many blocks share a tile where there are few: a power of two, at most `most`.
pub(super) fn parts(ctx: &Context, tiles: usize, most: usize) -> usize {
    let wanted = (BLOCKS * ctx.multiprocessors()).div_ceil(tiles.max(1));
    wanted.next_power_of_two().min(most)
}

/// A product of measured operands. Columns of C are contiguous, or it has no contiguous dimension.
pub(super) struct EmulatedProduct<'t, T> {
    pub(super) ctx: &'static Context,
    pub(super) multiply: (Kernel, u32, usize),
    pub(super) integers: Integers,
    pub(super) left: Operand,
    pub(super) right: Operand,
    /// Whether B is the transpose of A.
    pub(super) square: bool,
    pub(super) lengths: Vec<Lengths>,
    pub(super) update: Update<T>,
    pub(super) a: View<T>,
    pub(super) b: View<T>,
    pub(super) c: View<T>,
    /// Whether the user wants it even where it takes longer.
    pub(super) always: bool,
    /// Computes in double precision.
    pub(super) doubles: Doubles<'t, T>,
}

/// A product in double precision.
pub(crate) type Doubles<'t, T> =
    &'t dyn Fn(&'static Context, Update<T>, View<T>, View<T>, View<T>) -> Result<()>;

/// A block of C: its first row and column, its size, and the part of it that is computed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Block {
    pub(super) row: usize,
    pub(super) col: usize,
    pub(super) rows: usize,
    pub(super) cols: usize,
    pub(super) part: UpdatedPart,
}

impl Block {
    pub(super) fn tiles(&self) -> (usize, usize) {
        (self.rows.div_ceil(ROWS), self.cols.div_ceil(COLS))
    }

    pub(super) fn size(&self, depth: usize) -> ProductSize {
        ProductSize {
            m: self.rows,
            n: self.cols,
            k: depth,
            triangle: self.part != UpdatedPart::Full,
        }
    }
}

/// Memory for planes of a block's operands and of the block.
pub(super) struct Planes {
    pub(super) left: Buffer,
    pub(super) right: Option<Buffer>,
    pub(super) block: Buffer,
    /// Depth of the residues that fit, and of magnitudes, which have one plane.
    pub(super) depth: usize,
    pub(super) depth_of_magnitudes: usize,
}

impl<T> EmulatedProduct<'_, T> {
    /// Addresses of the lengths of a block's rows and columns.
    pub(super) fn lengths_of(&self, block: Block) -> (u64, u64) {
        let second = self.lengths.last().map_or(0, |lengths| lengths.ptr);
        (
            self.lengths[0].ptr + 4 * block.row as u64,
            second + 4 * block.col as u64,
        )
    }
}
