//! The processor as a device for arithmetic by entries and for parts of matrices.

use faer::Mat;

use crate::backend::cpu::elementwise::{columns, fold, movement};
use crate::backend::cpu::matrix::views::{require, CpuMat};
use crate::backend::cpu::{elementwise, few, CpuDevice};
use crate::base::error::Result;
use crate::base::matrix::{Part, Trans};
use crate::base::packing;
use crate::base::scalar::Scalar;
use crate::device::elementwise::{Elementwise, Index, Operand, Scaling};
use crate::device::functions::{Fold, Lines, Map, Zip};
use crate::device::memory::Memory;

impl<T: Scalar> Elementwise<T> for CpuDevice {
    fn blank(&self, rows: usize, cols: usize) -> Result<CpuMat<'static, T>> {
        self.zeros(rows, cols)
    }

    fn multiply_few(
        &self,
        op: Trans,
        a: &CpuMat<'_, T>,
        x: &CpuMat<'_, T>,
        out: &mut CpuMat<'_, T>,
    ) -> Result<()> {
        packing::ready()?;
        few::columns::multiply(op, a.view(), x.view(), out.view_mut()?, self.threads)
    }

    fn project(
        &self,
        q: &[CpuMat<'static, T>],
        count: usize,
        w: &mut CpuMat<'static, T>,
    ) -> Result<Vec<CpuMat<'static, T>>> {
        packing::ready()?;
        let parts: Vec<_> = q.iter().map(|part| part.view()).collect();
        let h = few::basis::project(&parts, count, w.view_mut()?, self.threads)?;
        let mut at = 0;
        let of = |part: &CpuMat<'_, T>| {
            let cols = part.view().ncols();
            at += cols;
            self.load_temporary(h.as_ref().subcols(at - cols, cols), Part::All)
        };
        q.iter().map(of).collect()
    }

    fn orthonormalize(&self, w: &mut CpuMat<'static, T>) -> Result<Option<Mat<f64>>> {
        few::basis::orthonormalize(w.view_mut()?, self.threads)
    }

    fn map(&self, f: Map, a: &CpuMat<'_, T>, out: &mut CpuMat<'_, T>) -> Result<bool> {
        let out = out.view_mut()?;
        require(a.view().shape() == out.shape(), "non-conformable arrays")?;
        elementwise::entries::map(f, a.view(), out, self.threads)
    }

    fn zip(
        &self,
        f: Zip,
        a: Operand<'_, CpuMat<'_, T>>,
        b: Operand<'_, CpuMat<'_, T>>,
        out: &mut CpuMat<'_, T>,
    ) -> Result<()> {
        elementwise::entries::zip(f, a, b, out.view_mut()?, self.threads)
    }

    fn fold(&self, f: Fold, lines: Lines, skip: bool, a: &CpuMat<'_, T>) -> Result<Vec<f64>> {
        fold::fold(f, lines, skip, a.view(), self.threads)
    }

    fn scale_columns(
        &self,
        x: &CpuMat<'_, T>,
        by: &[f64],
        how: Scaling,
        y: &mut CpuMat<'_, T>,
    ) -> Result<()> {
        columns::scale(x.view(), by, how, y.view_mut()?, self.threads)
    }

    fn column_dots(&self, x: &CpuMat<'_, T>, y: &CpuMat<'_, T>) -> Result<Vec<f64>> {
        columns::dots(x.view(), y.view(), self.threads)
    }

    fn transpose(&self, a: &CpuMat<'_, T>, out: &mut CpuMat<'_, T>) -> Result<()> {
        movement::transpose(a.view(), out.view_mut()?, self.threads)
    }

    fn set_diagonal(&self, values: &[T], a: &mut CpuMat<'_, T>) -> Result<()> {
        movement::set_diagonal(values, a.view_mut()?)
    }

    fn gather(
        &self,
        rows: Index<'_>,
        cols: Index<'_>,
        missing: T,
        a: &CpuMat<'_, T>,
        out: &mut CpuMat<'_, T>,
    ) -> Result<()> {
        movement::gather(rows, cols, missing, a.view(), out.view_mut()?, self.threads)
    }

    fn scatter(
        &self,
        rows: Index<'_>,
        cols: Index<'_>,
        shape: (usize, usize),
        b: Operand<'_, CpuMat<'_, T>>,
        out: &mut CpuMat<'_, T>,
    ) -> Result<()> {
        movement::scatter(rows, cols, shape, b, out.view_mut()?)
    }
}
