//! Finds the entries of a block for which magnitudes do not prove the bound.

use super::job::{Block, EmulatedProduct, Planes, COLS};
use super::moduli::Tables;
use super::plan::Proof;
use crate::backend::cuda::driver::buffer::Buffer;
use crate::backend::cuda::driver::kernels::{args, Family, Kernel};
use crate::backend::cuda::gemm::update::UpdatedPart;
use crate::base::error::Result;
use crate::base::scalar::Scalar;

const CHECK: Kernel = Kernel::new(Family::Emulated, "bound_check_tiles");

/// Squares of 256 x 256 entries of a block for which the bound is not proven.
pub(super) struct Unproven {
    block: Block,
    /// A word for each square, column after column: not 0 if it is not proven. `words` is the
    /// host's copy.
    pub(super) flags: Buffer,
    words: Vec<i32>,
}

impl<T: Scalar> EmulatedProduct<'_, T> {
    /// Multiplies magnitudes, and waits for the device.
    pub(super) fn unproven(
        &self,
        proof: &Proof,
        tables: Tables,
        planes: &Planes,
        block: Block,
    ) -> Result<Unproven> {
        self.multiply_planes(tables, planes, block, Some(proof))?;
        let (row_tiles, col_tiles) = block.tiles();
        let (rows, cols) = self.lengths_of(block);
        let mut words = vec![0; row_tiles.div_ceil(2) * col_tiles];
        let flags = Buffer::zeroed::<i32>(self.ctx, words.len())?;
        self.ctx.launch::<f64>(
            CHECK,
            row_tiles,
            col_tiles,
            256,
            &args![
                planes.block.ptr,
                proof.least,
                rows,
                cols,
                block.rows as i32,
                block.cols as i32,
                block.part as i32,
                flags.ptr,
                self.update.stop
            ],
        )?;
        flags.to_slice(&mut words)?;
        Ok(Unproven {
            block,
            flags,
            words,
        })
    }
}

impl Unproven {
    /// The share of the block's squares.
    pub(super) fn share(&self) -> f64 {
        let found = self.words.iter().filter(|word| **word != 0).count();
        let (rows, cols) = self.squares();
        let in_column = |j: usize| match self.block.part {
            UpdatedPart::Full => rows,
            UpdatedPart::Lower => rows.saturating_sub(j),
            UpdatedPart::Upper => rows.min(j + 1),
        };
        let all: usize = (0..cols).map(in_column).sum();
        found as f64 / all.max(1) as f64
    }

    fn squares(&self) -> (usize, usize) {
        (
            self.block.rows.div_ceil(COLS),
            self.block.cols.div_ceil(COLS),
        )
    }

    /// The squares as blocks of C. Those below one another are one block, but for one on the
    /// diagonal of a triangle.
    pub(super) fn blocks(&self) -> Vec<Block> {
        let (rows, cols) = self.squares();
        let mut blocks: Vec<Block> = Vec::new();
        for j in 0..cols {
            let mut open = false;
            for i in 0..rows {
                let is_found = self.words[j * rows + i] != 0;
                let part = match i == j {
                    true => self.block.part,
                    false => UpdatedPart::Full,
                };
                let height = COLS.min(self.block.rows - i * COLS);
                match blocks.last_mut() {
                    Some(last) if open && is_found && part == UpdatedPart::Full => {
                        last.rows += height;
                    }
                    _ if is_found => blocks.push(Block {
                        row: self.block.row + i * COLS,
                        col: self.block.col + j * COLS,
                        rows: height,
                        cols: COLS.min(self.block.cols - j * COLS),
                        part,
                    }),
                    _ => {}
                }
                open = is_found && part == UpdatedPart::Full;
            }
        }
        blocks
    }
}
