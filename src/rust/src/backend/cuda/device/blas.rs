//! Products, triangular systems, norms.

use crate::backend::cuda::driver::guards::require;
use crate::backend::cuda::gemm::update::{Bound, Update};
use crate::backend::cuda::matrix::views::Matrix;
use crate::backend::cuda::{elementwise, gemm, triangular, CudaDevice};
use crate::base::error::Result;
use crate::base::matrix::{Diag, Side, Trans, Uplo};
use crate::base::scalar::Scalar;
use crate::device::blas::Blas;

impl<T: Scalar> Blas<T> for CudaDevice {
    fn gemm(
        &self,
        alpha: T,
        ta: Trans,
        a: &Matrix<'_, T>,
        tb: Trans,
        b: &Matrix<'_, T>,
        beta: T,
        c: &mut Matrix<'_, T>,
    ) -> Result<()> {
        let a = if ta.is_yes() { a.view().t() } else { a.view() };
        let b = if tb.is_yes() { b.view().t() } else { b.view() };
        let c = c.view();
        require(
            a.cols == b.rows && c.rows == a.rows && c.cols == b.cols,
            "gemm: shapes do not fit",
        )?;
        let update = Update {
            alpha,
            beta,
            ..Update::assign()
        };
        gemm::gemm_syrk::multiply(self.ctx, update, a, b, c)
    }

    fn syrk(&self, trans: Trans, a: &Matrix<'_, T>, c: &mut Matrix<'_, T>) -> Result<()> {
        let a = if trans.is_yes() {
            a.view().t()
        } else {
            a.view()
        };
        require(c.shape() == (a.rows, a.rows), "syrk: shapes do not fit")?;
        gemm::gemm_syrk::square(self.ctx, Bound::Entries, a, c.view())
    }

    fn trsm(
        &self,
        side: Side,
        uplo: Uplo,
        trans: Trans,
        diag: Diag,
        k: usize,
        a: &Matrix<'_, T>,
        b: &mut Matrix<'_, T>,
    ) -> Result<()> {
        let (a, b) = (a.view(), b.view());
        let along = if side == Side::Left { b.rows } else { b.cols };
        require(
            k <= a.rows && k <= a.cols && k <= along,
            "trsm: shapes do not fit",
        )?;
        let b = match side {
            Side::Left => b.sub(0, 0, k, b.cols),
            Side::Right => b.sub(0, 0, b.rows, k),
        };
        triangular::trsm::solve(self.ctx, side, uplo, trans, diag, a.sub(0, 0, k, k), b)
    }

    fn norm1(&self, a: &Matrix<'_, T>) -> Result<f64> {
        elementwise::norms::one_norm(self.ctx, a.view())
    }

    fn column_norms(&self, a: &Matrix<'_, T>) -> Result<Vec<f64>> {
        elementwise::norms::column_norms(self.ctx, a.view())
    }

    fn diagonal(&self, a: &Matrix<'_, T>) -> Result<Vec<T>> {
        elementwise::norms::diagonal(self.ctx, a.view())
    }
}
