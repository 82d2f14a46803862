//! Factorizations in place.

use crate::backend::cuda::driver::guards::{require, require_indexable};
use crate::backend::cuda::matrix::views::Matrix;
use crate::backend::cuda::{cholesky, lu, qr, triangular, CudaDevice};
use crate::base::error::Result;
use crate::base::matrix::{Block, Trans, Uplo};
use crate::base::scalar::Scalar;
use crate::device::lapack::{Lapack, LuInfo, PivotedCholesky, PivotedQr};
use crate::device::memory::Memory;

impl<T: Scalar> Lapack<T> for CudaDevice {
    fn potrf(&self, uplo: Uplo, a: &mut Matrix<'_, T>) -> Result<()> {
        require(
            a.shape().0 == a.shape().1,
            "potrf: the matrix is not square",
        )?;
        require_indexable(a.shape())?;
        cholesky::factor::factor(self.ctx, uplo, a.view())
    }

    fn pstrf(&self, tol: f64, a: &mut Matrix<'_, T>) -> Result<PivotedCholesky> {
        require(
            a.shape().0 == a.shape().1,
            "pstrf: the matrix is not square",
        )?;
        require_indexable(a.shape())?;
        cholesky::factor::factor_pivoted(self.ctx, tol, a.view())
    }

    fn getrf(&self, a: &mut Matrix<'_, T>) -> Result<LuInfo> {
        require_indexable(a.shape())?;
        lu::factor::factor(self.ctx, a.view())
    }

    fn laswp(&self, trans: Trans, ipiv: &[usize], b: &mut Matrix<'_, T>) -> Result<()> {
        let rows = b.shape().0;
        require_indexable(b.shape())?;
        require(
            ipiv.len() <= rows && ipiv.iter().all(|p| *p < rows),
            "laswp: an exchange is out of range",
        )?;
        triangular::trsm::exchange_rows(self.ctx, trans, ipiv, b.view())
    }

    fn geqrf(&self, a: &mut Matrix<'_, T>) -> Result<Vec<T>> {
        qr::factor::factor(self.ctx, a.view())
    }

    fn scale_trapezoids(&self, below: &[T], rows: &[T], a: &mut Matrix<'_, T>) -> Result<()> {
        qr::householder::scale_trapezoids(self.ctx, below, rows, a.view())
    }

    fn geqp3(&self, a: &mut Matrix<'_, T>) -> Result<PivotedQr<T>> {
        require_indexable(a.shape())?;
        qr::pivoted::factor(self.ctx, qr::pivoted::Rule::Largest, a.view())
    }

    fn qrdc2(&self, tol: f64, a: &mut Matrix<'_, T>) -> Result<PivotedQr<T>> {
        require_indexable(a.shape())?;
        qr::pivoted::factor(self.ctx, qr::pivoted::Rule::Limited(tol), a.view())
    }

    fn ormqr(
        &self,
        trans: Trans,
        a: &Matrix<'_, T>,
        tau: &[T],
        c: &mut Matrix<'_, T>,
    ) -> Result<()> {
        let (m, n) = a.shape();
        require(
            tau.len() <= m.min(n) && c.shape().0 == m,
            "ormqr: shapes do not fit",
        )?;
        qr::householder::apply(self.ctx, trans, a.view(), tau, c.view())
    }

    fn ormqr_under(
        &self,
        a: &Matrix<'_, T>,
        tau: &[T],
        b: &Matrix<'_, T>,
        c: &mut Matrix<'_, T>,
    ) -> Result<()> {
        let ((m, n), (rows, cols)) = (a.shape(), c.shape());
        let fits = tau.len() <= m.min(n).min(cols) && rows == m;
        require(
            fits && b.shape() == (tau.len(), tau.len()),
            "ormqr: shapes do not fit",
        )?;
        if qr::householder::apply_under(self.ctx, a.view(), tau, b.view(), c.view())? {
            return Ok(());
        }
        let whole = Block::leading(tau.len(), tau.len());
        c.set_identity(self.ctx)?;
        self.copy_block(b, whole, c, (0, 0))?;
        self.ormqr(Trans::No, a, tau, c)
    }

    fn orgqr(&self, a: &Matrix<'_, T>, tau: &[T], q: &mut Matrix<'_, T>) -> Result<()> {
        let ((m, n), (rows, cols)) = (a.shape(), q.shape());
        require(
            tau.len() <= m.min(n) && rows == m && (tau.len()..=m).contains(&cols),
            "orgqr: shapes do not fit",
        )?;
        qr::householder::form(self.ctx, a.view(), tau, q.view())
    }
}
