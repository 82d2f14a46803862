//! Makes planes of operands, and multiplies them.

use super::job::{parts, Block, EmulatedProduct, Planes, COLS, DEPTH};
use super::lines::Operand;
use super::moduli::Tables;
use super::plan::Proof;
use crate::backend::cuda::driver::buffer::Buffer;
use crate::backend::cuda::driver::kernels::{args, scalar, Family, Kernel};
use crate::backend::cuda::driver::properties::LONGEST_LAUNCH;
use crate::backend::cuda::matrix::operand::OperandLayout;
use crate::base::error::Result;
use crate::base::scalar::Scalar;

const MAKE_ALONG: Kernel = Kernel::new(Family::Emulated, "residues_make_along");
const MAKE_ACROSS: Kernel = Kernel::new(Family::Emulated, "residues_make_across");

/// Row tiles of a band: with 16 a band of A and the columns that pass stay in the cache.
const BAND: usize = 16;

/// Blocks that share a tile of an operand, at most.
const PARTS_OF_LINES: usize = 8;

impl<T: Scalar> EmulatedProduct<'_, T> {
    /// Multiplies a block's residues, or the magnitudes of a proof.
    pub(super) fn multiply_planes(
        &self,
        tables: Tables,
        planes: &Planes,
        block: Block,
        proof: Option<&Proof>,
    ) -> Result<()> {
        let (ctx, all) = (self.ctx, self.left.depth);
        let (kernel, threads, shared) = self.multiply;
        let (row_tiles, col_tiles) = block.tiles();
        let (count, depth, tables) = match proof {
            None => {
                let moduli = self.integers.moduli;
                (moduli, planes.depth, tables.of(moduli))
            }
            Some(_) => (1, planes.depth_of_magnitudes, tables.of_magnitudes()),
        };
        // Columns of B come in pairs of tiles of lines.
        let (left_tiles, right_tiles) = (2 * block.rows.div_ceil(COLS), 2 * col_tiles);
        for from in (0..all).step_by(depth) {
            let steps = depth.min(all - from);
            let left = (&self.left, block.row, block.rows, left_tiles);
            self.residues(tables, left, (from, steps), (0, proof), &planes.left)?;
            let right = match &planes.right {
                None => planes.left.ptr,
                Some(planes) => {
                    let right = (&self.right, block.col, block.cols, right_tiles);
                    self.residues(tables, right, (from, steps), (1, proof), planes)?;
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
                    count as i32,
                    BAND as i32,
                    block.part as i32,
                    i32::from(from > 0),
                    tables,
                    self.update.stop
                ],
            )?;
            let rates = ctx.properties.integer_rates();
            let seconds = rates.products(&block.size(steps), count);
            ctx.fence_after(seconds / LONGEST_LAUNCH)?;
        }
        Ok(())
    }

    /// Residues of some lines and steps of the first or second operand, or their magnitudes, in so
    /// many row tiles. `tables` is an address.
    fn residues(
        &self,
        tables: u64,
        (x, line, lines, tiles): (&Operand, usize, usize, usize),
        (from, steps): (usize, usize),
        (which, proof): (usize, Option<&Proof>),
        to: &Buffer,
    ) -> Result<()> {
        let kernel = match x.at.layout {
            OperandLayout::Depth => MAKE_ALONG,
            OperandLayout::Lines => MAKE_ACROSS,
        };
        let bits = [self.integers.bits.0, self.integers.bits.1][which];
        let lengths = self.lengths[which.min(self.lengths.len() - 1)].ptr + 4 * line as u64;
        let parts = parts(self.ctx, tiles * steps.div_ceil(DEPTH), PARTS_OF_LINES);
        self.ctx.launch::<f64>(
            kernel,
            tiles * parts,
            steps.div_ceil(DEPTH),
            256,
            &args![
                x.from(line, from),
                x.at.ld,
                lines as i32,
                steps as i32,
                scalar(bits),
                lengths,
                tables,
                proof.map_or(self.integers.moduli as i32, |_| 0),
                proof.map_or(0, |proof| proof.shifts[which]),
                to.ptr,
                tiles as i32,
                parts as i32,
                self.update.stop
            ],
        )
    }
}
