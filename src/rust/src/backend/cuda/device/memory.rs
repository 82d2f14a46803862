//! Matrices of the device.

use crate::backend::cuda::matrix::views::Matrix;
use crate::backend::cuda::{matrix, CudaDevice};
use crate::base::error::Result;
use crate::base::matrix::{Block, Part};
use crate::base::processor::Processor;
use crate::base::scalar::Scalar;
use crate::device::memory::Memory;
use faer::{MatMut, MatRef};

impl<T: Scalar> Memory<T> for CudaDevice {
    type Mat<'a> = Matrix<'a, T>;

    const BORROWS: bool = false;

    fn processor(&self) -> Processor {
        Processor::Cuda(self.ctx.ordinal)
    }

    fn load<'a>(&self, a: MatRef<'a, T>) -> Result<Matrix<'a, T>> {
        Matrix::from_host(self.ctx, a, Part::All)
    }

    fn load_into<'a>(
        &self,
        a: MatRef<'_, T>,
        part: Part,
        home: MatMut<'a, T>,
    ) -> Result<Matrix<'a, T>> {
        Matrix::from_host(self.ctx, a, part)?.with_home(home)
    }

    fn output<'a>(&self, home: MatMut<'a, T>) -> Result<Matrix<'a, T>> {
        Matrix::new(self.ctx, home.nrows(), home.ncols())?.with_home(home)
    }

    fn zeros(&self, rows: usize, cols: usize) -> Result<Matrix<'static, T>> {
        Matrix::zeros(self.ctx, rows, cols)
    }

    fn load_temporary(&self, a: MatRef<'_, T>, part: Part) -> Result<Matrix<'static, T>> {
        Matrix::from_host(self.ctx, a, part)
    }

    fn refill(&self, from: MatRef<'_, T>, part: Part, to: &mut Matrix<'_, T>) -> Result<()> {
        to.refill(self.ctx, from, part)
    }

    fn set_identity(&self, a: &mut Matrix<'_, T>) -> Result<()> {
        a.set_identity(self.ctx)
    }

    fn store(&self, a: Matrix<'_, T>) -> Result<()> {
        a.store(self.ctx, Part::All)
    }

    fn store_part(&self, a: Matrix<'_, T>, part: Part) -> Result<()> {
        a.store(self.ctx, part)
    }

    fn read(&self, a: &Matrix<'_, T>, out: MatMut<'_, T>) -> Result<()> {
        a.read(self.ctx, out)
    }

    fn read_block(&self, a: &Matrix<'_, T>, block: Block, out: MatMut<'_, T>) -> Result<()> {
        if block == Block::leading(a.shape().0, a.shape().1) {
            return a.read(self.ctx, out);
        }
        let gathered = Matrix::new(self.ctx, block.rows, block.cols)?;
        gathered.copy_block(self.ctx, a, block, (0, 0))?;
        gathered.read(self.ctx, out)
    }

    fn duplicate(&self, a: &Matrix<'_, T>, part: Part) -> Result<Matrix<'static, T>> {
        a.duplicate(self.ctx, part)
    }

    fn copy_block(
        &self,
        from: &Matrix<'_, T>,
        block: Block,
        to: &mut Matrix<'_, T>,
        at: (usize, usize),
    ) -> Result<()> {
        to.copy_block(self.ctx, from, block, at)
    }

    fn shape(&self, a: &Matrix<'_, T>) -> (usize, usize) {
        a.shape()
    }

    fn keep_part(&self, part: Part, a: &mut Matrix<'_, T>) -> Result<()> {
        match part {
            Part::All => Ok(()),
            part => matrix::views::keep_triangle(self.ctx, a.view(), part == Part::Lower),
        }
    }
}
