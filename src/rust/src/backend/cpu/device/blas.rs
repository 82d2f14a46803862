//! Products, triangular systems, norms.

use crate::backend::cpu::matrix::views::{op, require, CpuMat};
use crate::backend::cpu::{elementwise, few, gemm, separate, triangular, CpuDevice};
use crate::base::error::Result;
use crate::base::matrix::{Diag, Side, Trans, Uplo};
use crate::base::packing;
use crate::base::scalar::Scalar;
use crate::device::blas::Blas;

impl<T: Scalar> Blas<T> for CpuDevice {
    fn gemm(
        &self,
        alpha: T,
        ta: Trans,
        a: &CpuMat<'_, T>,
        tb: Trans,
        b: &CpuMat<'_, T>,
        beta: T,
        c: &mut CpuMat<'_, T>,
    ) -> Result<()> {
        packing::ready()?;
        let (a, b, c) = (op(ta, a.view()), op(tb, b.view()), c.view_mut()?);
        require(
            a.ncols() == b.nrows() && c.shape() == (a.nrows(), b.ncols()),
            "the shapes of a product do not agree",
        )?;
        gemm::gemm(alpha, a, b, beta, c, self.threads)
    }

    fn syrk(&self, trans: Trans, a: &CpuMat<'_, T>, c: &mut CpuMat<'_, T>) -> Result<()> {
        packing::ready()?;
        // C = B'B
        let b = match trans {
            Trans::Yes => a.view(),
            Trans::No => a.view().transpose(),
        };
        let c = c.view_mut()?;
        require(
            c.shape() == (b.ncols(), b.ncols()),
            "the shapes of a product do not agree",
        )?;
        gemm::crossproduct(b, c, self.threads)
    }

    fn trsm(
        &self,
        side: Side,
        uplo: Uplo,
        trans: Trans,
        diag: Diag,
        k: usize,
        a: &CpuMat<'_, T>,
        b: &mut CpuMat<'_, T>,
    ) -> Result<()> {
        packing::ready()?;
        let (a, b) = (a.view(), b.view_mut()?);
        let order = match side {
            Side::Left => b.nrows(),
            Side::Right => b.ncols(),
        };
        require(
            k <= a.nrows() && k <= a.ncols() && k <= order,
            "the triangle is larger than its matrix",
        )?;
        triangular::trsm(
            side,
            uplo,
            trans,
            diag,
            a.submatrix(0, 0, k, k),
            b,
            self.threads,
        )
    }

    fn multiply_columns(
        &self,
        a: &CpuMat<'_, T>,
        x: &CpuMat<'_, T>,
        out: &mut CpuMat<'_, T>,
    ) -> Result<()> {
        separate::multiply(a.view(), x.view(), out.view_mut()?, self.threads)
    }

    fn multiply_symmetric(
        &self,
        a: &CpuMat<'_, T>,
        x: &CpuMat<'_, T>,
        out: &mut CpuMat<'_, T>,
    ) -> Result<()> {
        packing::ready()?;
        few::columns::symmetric(a.view(), x.view(), out.view_mut()?, self.threads)
    }

    fn solve_columns(
        &self,
        uplo: Uplo,
        trans: Trans,
        a: &CpuMat<'_, T>,
        b: &mut CpuMat<'_, T>,
    ) -> Result<()> {
        separate::solve(uplo, trans, a.view(), b.view_mut()?, self.threads)
    }

    fn norm1(&self, a: &CpuMat<'_, T>) -> Result<f64> {
        elementwise::norms::norm1(a.view(), self.threads)
    }

    fn column_norms(&self, a: &CpuMat<'_, T>) -> Result<Vec<f64>> {
        elementwise::norms::column_norms(a.view(), self.threads)
    }

    fn diagonal(&self, a: &CpuMat<'_, T>) -> Result<Vec<T>> {
        Ok(elementwise::norms::diagonal(a.view()))
    }
}
