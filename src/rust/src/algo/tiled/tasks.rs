//! Tasks that stream through a matrix in a file: products with it, and systems with a factor.

use std::sync::Arc;

use faer::{MatMut, MatRef};

use super::factor::Factor;
use super::file_task::FileTask;
use super::inverse::inverse_diagonal;
use super::memory::Budget;
use super::product::{multiply, Stored};
use super::solve::{solve, System};
use super::tile_source::TileSource;
use crate::base::error::Result;
use crate::base::matrix::Trans;
use crate::base::progress::Moved;
use crate::base::scalar::Scalar;
use crate::cost::flops::cholesky_flops;
use crate::cost::plan::device::suits_file;
use crate::cost::work::Operands;
use crate::device::async_copy::AsyncCopy;

/// `out = op(x) y`
pub struct Product<'a, T> {
    pub x: &'a Stored<'a, T>,
    pub tile: usize,
    pub op: Trans,
    pub y: &'a [f64],
    pub ydim: (usize, usize),
    pub out: &'a mut [f64],
    pub odim: (usize, usize),
}

impl<T: Scalar> FileTask<T> for Product<'_, T> {
    fn operations(&self) -> f64 {
        2.0 * self.x.multiplications() * self.ydim.1 as f64
    }

    fn phase(&self) -> &'static str {
        "multiplying"
    }

    fn moved(&self) -> Arc<Moved> {
        self.x.counter()
    }

    fn tile_bytes(&self) -> Result<u64> {
        self.x.tile_bytes()
    }

    fn is_large(&self) -> bool {
        let (rows, cols) = self.x.dimensions();
        suits_file(rows.min(cols), self.ydim.1)
    }

    fn dimensions(&self) -> (Operands, usize) {
        let x = self.op.shape(self.x.dimensions());
        (Operands::Product(x, self.ydim), self.tile)
    }

    fn column(&self) -> u64 {
        ((self.ydim.0 + self.odim.0) * size_of::<T>()) as u64
    }

    fn run<D: AsyncCopy<T>>(&mut self, dev: &D, budget: Budget) -> Result<()> {
        let y = T::borrow_host(self.y)?;
        let (x, op, ydim, odim) = (self.x, self.op, self.ydim, self.odim);
        T::fill_host(self.out, |out| {
            let (y, out) = (
                MatRef::from_column_major_slice(&y, ydim.0, ydim.1),
                MatMut::from_column_major_slice_mut(out, odim.0, odim.1),
            );
            multiply(dev, x, op, y, out, budget).map(|_| ())
        })
    }
}

/// `out = op(R)^-1 b`
pub struct Solve<'a, T> {
    pub factor: &'a Factor<'a, T>,
    pub system: System,
    pub b: &'a [f64],
    pub dim: (usize, usize),
    pub out: &'a mut [f64],
}

impl<T: Scalar> FileTask<T> for Solve<'_, T> {
    fn operations(&self) -> f64 {
        let n = self.factor.order() as f64;
        self.system.sweeps() * n * n * self.dim.1 as f64
    }

    fn phase(&self) -> &'static str {
        "solving"
    }

    fn moved(&self) -> Arc<Moved> {
        self.factor.counter()
    }

    fn tile_bytes(&self) -> Result<u64> {
        self.factor.tile_bytes()
    }

    fn is_large(&self) -> bool {
        suits_file(self.factor.order(), self.dim.1)
    }

    fn dimensions(&self) -> (Operands, usize) {
        let operands = Operands::System(self.factor.order(), self.dim.1);
        (operands, self.factor.tile())
    }

    fn column(&self) -> u64 {
        (self.factor.order() * size_of::<T>()) as u64
    }

    fn run<D: AsyncCopy<T>>(&mut self, dev: &D, budget: Budget) -> Result<()> {
        let b = T::borrow_host(self.b)?;
        let odim = (self.factor.order(), self.dim.1);
        let (factor, system, dim) = (self.factor, self.system, self.dim);
        T::fill_host(self.out, |out| {
            let (b, out) = (
                MatRef::from_column_major_slice(&b, dim.0, dim.1),
                MatMut::from_column_major_slice_mut(out, odim.0, odim.1),
            );
            solve(dev, factor, system, b, out, budget).map(|_| ())
        })
    }
}

/// `out = diag((R'R)^-1)`
pub struct InverseDiagonal<'a, T> {
    pub factor: &'a Factor<'a, T>,
    pub out: &'a mut [f64],
}

impl<T: Scalar> FileTask<T> for InverseDiagonal<'_, T> {
    fn operations(&self) -> f64 {
        cholesky_flops(self.factor.order())
    }

    fn phase(&self) -> &'static str {
        "inverting"
    }

    fn moved(&self) -> Arc<Moved> {
        self.factor.counter()
    }

    fn tile_bytes(&self) -> Result<u64> {
        self.factor.tile_bytes()
    }

    fn is_large(&self) -> bool {
        suits_file(self.factor.order(), usize::MAX)
    }

    fn dimensions(&self) -> (Operands, usize) {
        let n = self.factor.order();
        (Operands::Matrix(n, n), self.factor.tile())
    }

    fn column(&self) -> u64 {
        // Of one column alone every tile is read for too little arithmetic.
        (self.factor.order() * self.factor.tile() * size_of::<T>()) as u64
    }

    fn run<D: AsyncCopy<T>>(&mut self, dev: &D, budget: Budget) -> Result<()> {
        inverse_diagonal(dev, self.factor, self.out, budget).map(|_| ())
    }
}
