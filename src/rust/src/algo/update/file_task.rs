//! An update of a Cholesky factor in a file, as a task of a call.

use std::sync::Arc;

use faer::MatRef;

use super::file::update;
use crate::algo::tiled::file_task::FileTask;
use crate::algo::tiled::memory::Budget;
use crate::base::error::Result;
use crate::base::matrix::Change;
use crate::base::progress::Moved;
use crate::base::scalar::Scalar;
use crate::cost::plan::device::suits_file;
use crate::cost::work::{Operands, Work};
use crate::device::async_copy::AsyncCopy;
use crate::tiles::TileFile;

/// A factor in a file, and the name of another for the changed one.
pub struct Update<'a, T> {
    pub from: &'a TileFile<T>,
    pub to: &'a str,
    pub change: Change,
    pub v: &'a [f64],
    pub k: usize,
    pub least: u64,
    pub margin: f64,
}

impl<T: Scalar> FileTask<T> for Update<'_, T> {
    fn operations(&self) -> f64 {
        Work::cholesky_update(self.from.layout().rows(), self.k, self.change).flops
    }

    fn phase(&self) -> &'static str {
        "updating"
    }

    fn moved(&self) -> Arc<Moved> {
        self.from.counter()
    }

    fn tile_bytes(&self) -> Result<u64> {
        Ok(self.from.buffer()?.bytes().len() as u64)
    }

    fn is_large(&self) -> bool {
        suits_file(self.from.layout().rows(), self.k)
    }

    fn dimensions(&self) -> (Operands, usize) {
        let layout = self.from.layout();
        (
            Operands::Matrix(layout.rows(), layout.cols()),
            layout.tile(),
        )
    }

    /// What panels take that are on their way.
    fn column(&self) -> u64 {
        self.least
    }

    fn run<D: AsyncCopy<T>>(&mut self, dev: &D, budget: Budget) -> Result<()> {
        let v = T::borrow_host(self.v)?;
        let v = MatRef::from_column_major_slice(&v, self.from.layout().rows(), self.k);
        let make = || TileFile::create(self.to, *self.from.layout());
        self.margin = update(dev, self.change, self.from, make, v, budget)?;
        Ok(())
    }
}
