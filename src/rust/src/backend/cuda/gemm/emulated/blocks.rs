//! Computes a product from integers, block by block of C.

use super::job::{parts, Block, EmulatedProduct, Planes};
use super::moduli::Tables;
use super::proof::Unproven;
use crate::backend::cuda::driver::buffer::where_there_is_room;
use crate::backend::cuda::driver::kernels::{args, scalar, Family, Kernel};
use crate::backend::cuda::gemm::update::{Bound, Update, UpdatedPart};
use crate::base::error::Result;
use crate::base::progress;
use crate::base::scalar::Scalar;

const RESTORE: Kernel = Kernel::new(Family::Emulated, "residues_restore_tiles");

/// Blocks that share a tile of C, at most.
const PARTS_OF_C: usize = 16;

impl<T: Scalar> EmulatedProduct<'_, T> {
    pub(super) fn run(self) -> Result<bool> {
        let ctx = self.ctx;
        let Some((order, depth)) = self.cut()? else {
            return Ok(false);
        };
        let Some(tables) = Tables::on(ctx)? else {
            return Ok(false);
        };
        let Some(planes) = where_there_is_room(self.planes(order, depth))? else {
            return Ok(false);
        };
        for col in (0..self.c.cols).step_by(order) {
            for row in (0..self.c.rows).step_by(order) {
                let part = match self.update.triangle {
                    UpdatedPart::Full => UpdatedPart::Full,
                    part if row == col => part,
                    UpdatedPart::Lower if row > col => UpdatedPart::Full,
                    UpdatedPart::Upper if row < col => UpdatedPart::Full,
                    _ => continue,
                };
                let block = Block {
                    row,
                    col,
                    rows: order.min(self.c.rows - row),
                    cols: order.min(self.c.cols - col),
                    part,
                };
                self.block(tables, &planes, block)?;
            }
        }
        Ok(true)
    }

    fn block(&self, tables: Tables, planes: &Planes, block: Block) -> Result<()> {
        let unproven = match &self.integers.proof {
            None => None,
            Some(proof) => Some(self.unproven(proof, tables, planes, block)?),
        };
        let share = unproven.as_ref().map_or(0.0, |u| u.share());
        if !self.pays(block, share) {
            return self.in_doubles(block);
        }
        self.multiply_planes(tables, planes, block, None)?;
        // The launch in double precision that follows other bounds counts them, cancelled or not.
        if self.update.bound == Bound::Entries {
            progress::advance((1.0 - share) * block.size(self.left.depth).operations());
        }
        let c = self.c.sub(block.row, block.col, block.rows, block.cols);
        let (row_tiles, col_tiles) = block.tiles();
        let (rows, cols) = self.lengths_of(block);
        let parts = parts(self.ctx, row_tiles * col_tiles, PARTS_OF_C);
        self.ctx.launch::<f64>(
            RESTORE,
            row_tiles,
            col_tiles * parts,
            256,
            &args![
                planes.block.ptr,
                self.integers.moduli as i32,
                tables.of(self.integers.moduli),
                scalar(self.integers.bits.0),
                rows,
                scalar(self.integers.bits.1),
                cols,
                i32::from(self.integers.whole),
                scalar(self.update.alpha),
                scalar(self.update.beta),
                c.ptr,
                c.rs,
                c.cs,
                block.rows as i32,
                block.cols as i32,
                block.part as i32,
                unproven.as_ref().map_or(0, |u| u.flags.ptr),
                parts as i32,
                self.update.stop
            ],
        )?;
        for block in unproven.iter().flat_map(Unproven::blocks) {
            self.in_doubles(block)?;
        }
        Ok(())
    }

    /// Whether integers are faster for a block of which a share is in double precision all the
    /// same. Never if nothing is proven, and always if the user wants it.
    fn pays(&self, block: Block, share: f64) -> bool {
        if share == 0.0 || self.always {
            return share < 1.0;
        }
        let (size, rates) = (
            block.size(self.left.depth),
            self.ctx.properties.integer_rates(),
        );
        let doubles = size.operations() / rates.doubles;
        rates.seconds(&size, self.integers.moduli, false) + share * doubles < doubles
    }

    /// Computes a block in double precision.
    fn in_doubles(&self, block: Block) -> Result<()> {
        let update = Update {
            triangle: block.part,
            ..self.update
        };
        let depth = self.left.depth;
        (self.doubles)(
            self.ctx,
            update,
            self.a.sub(block.row, 0, block.rows, depth),
            self.b.sub(0, block.col, depth, block.cols),
            self.c.sub(block.row, block.col, block.rows, block.cols),
        )
    }
}
