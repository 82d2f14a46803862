//! Matrices of the device.

use crate::backend::cpu::matrix::views::{require, submatrix, CpuMat};
use crate::backend::cpu::{matrix, CpuDevice};
use crate::base::error::{Error, Result};
use crate::base::matrix::{Block, Part};
use crate::base::processor::Processor;
use crate::base::scalar::{try_zeroed, Scalar};
use crate::device::memory::Memory;
use faer::{MatMut, MatRef};

impl<T: Scalar> Memory<T> for CpuDevice {
    type Mat<'a> = CpuMat<'a, T>;

    const BORROWS: bool = true;

    fn processor(&self) -> Processor {
        Processor::Cpu
    }

    fn load<'a>(&self, a: MatRef<'a, T>) -> Result<CpuMat<'a, T>> {
        Ok(CpuMat::Read(a))
    }

    fn load_into<'a>(
        &self,
        a: MatRef<'_, T>,
        part: Part,
        mut home: MatMut<'a, T>,
    ) -> Result<CpuMat<'a, T>> {
        require(
            a.shape() == home.shape(),
            "a matrix and its home differ in shape",
        )?;
        matrix::copy::part(a, part, home.as_mut(), self.threads)?;
        Ok(CpuMat::Home(home))
    }

    fn output<'a>(&self, home: MatMut<'a, T>) -> Result<CpuMat<'a, T>> {
        Ok(CpuMat::Home(home))
    }

    fn zeros(&self, rows: usize, cols: usize) -> Result<CpuMat<'static, T>> {
        let len = rows
            .checked_mul(cols)
            .ok_or(Error::HostMemory { needed: u64::MAX })?;
        Ok(CpuMat::Own {
            data: try_zeroed(len)?,
            rows,
            cols,
            factor: false,
        })
    }

    fn load_temporary(&self, a: MatRef<'_, T>, part: Part) -> Result<CpuMat<'static, T>> {
        let mut copy = self.zeros(a.nrows(), a.ncols())?;
        matrix::copy::part(a, part, copy.view_mut()?, self.threads)?;
        Ok(copy)
    }

    fn refill(&self, from: MatRef<'_, T>, part: Part, to: &mut CpuMat<'_, T>) -> Result<()> {
        let to = to.view_mut()?;
        require(
            from.shape() == to.shape(),
            "a matrix and its copy differ in shape",
        )?;
        matrix::copy::part(from, part, to, self.threads)?;
        Ok(())
    }

    fn set_identity(&self, a: &mut CpuMat<'_, T>) -> Result<()> {
        let mut a = a.view_mut()?;
        a.fill(T::from_f64(0.0));
        for i in 0..a.nrows().min(a.ncols()) {
            a[(i, i)] = T::from_f64(1.0);
        }
        Ok(())
    }

    fn store(&self, _: CpuMat<'_, T>) -> Result<()> {
        Ok(())
    }

    fn store_part(&self, _: CpuMat<'_, T>, _: Part) -> Result<()> {
        Ok(())
    }

    fn read(&self, a: &CpuMat<'_, T>, out: MatMut<'_, T>) -> Result<()> {
        require(
            a.view().shape() == out.shape(),
            "a matrix and its copy differ in shape",
        )?;
        matrix::copy::part(a.view(), Part::All, out, self.threads)?;
        Ok(())
    }

    fn read_block(&self, a: &CpuMat<'_, T>, block: Block, out: MatMut<'_, T>) -> Result<()> {
        let from = submatrix(a.view(), block)?;
        require(
            from.shape() == out.shape(),
            "a block and its copy differ in shape",
        )?;
        matrix::copy::part(from, Part::All, out, self.threads)?;
        Ok(())
    }

    fn duplicate(&self, a: &CpuMat<'_, T>, part: Part) -> Result<CpuMat<'static, T>> {
        self.load_temporary(a.view(), part)
    }

    fn copy_block(
        &self,
        from: &CpuMat<'_, T>,
        block: Block,
        to: &mut CpuMat<'_, T>,
        at: (usize, usize),
    ) -> Result<()> {
        let from = submatrix(from.view(), block)?;
        let to = to.view_mut()?;
        let place = Block {
            row: at.0,
            col: at.1,
            ..block
        };
        require(place.is_in(to.shape()), "a block is outside the matrix")?;
        let to = to.submatrix_mut(place.row, place.col, place.rows, place.cols);
        matrix::copy::part(from, Part::All, to, self.threads)?;
        Ok(())
    }

    fn shape(&self, a: &CpuMat<'_, T>) -> (usize, usize) {
        a.view().shape()
    }

    fn keep_part(&self, part: Part, a: &mut CpuMat<'_, T>) -> Result<()> {
        let mut a = a.view_mut()?;
        for j in 0..a.ncols() {
            for i in 0..a.nrows() {
                let outside = match part {
                    Part::All => false,
                    Part::Upper => i > j,
                    Part::Lower => i < j,
                };
                if outside {
                    a[(i, j)] = T::from_f64(0.0);
                }
            }
        }
        Ok(())
    }
}
