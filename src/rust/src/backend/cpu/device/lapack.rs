//! Factorizations in place.

use crate::backend::cpu::matrix::views::{columns, require, CpuMat};
use crate::backend::cpu::{cholesky, lu, qr, CpuDevice};
use crate::base::error::Result;
use crate::base::matrix::{Trans, Uplo};
use crate::base::packing;
use crate::base::scalar::Scalar;
use crate::device::lapack::{Lapack, LuInfo, PivotedCholesky, PivotedQr};

impl<T: Scalar> Lapack<T> for CpuDevice {
    fn potrf(&self, uplo: Uplo, a: &mut CpuMat<'_, T>) -> Result<()> {
        packing::ready()?;
        let a = a.view_mut()?;
        require(a.nrows() == a.ncols(), "the matrix is not square")?;
        match uplo {
            Uplo::Lower => cholesky::factor::potrf(a, self.threads),
            Uplo::Upper => cholesky::factor::potrf(a.transpose_mut(), self.threads),
        }
    }

    fn potri(&self, r: &CpuMat<'_, T>, c: &mut CpuMat<'_, T>) -> Result<()> {
        packing::ready()?;
        let (r, c) = (r.view(), c.view_mut()?);
        let n = c.nrows();
        require(
            c.ncols() == n && n <= r.nrows() && n <= r.ncols(),
            "the triangle is larger than its matrix",
        )?;
        cholesky::inverse::potri(r.submatrix(0, 0, n, n), c, self.threads)
    }

    fn pstrf(&self, tol: f64, a: &mut CpuMat<'_, T>) -> Result<PivotedCholesky> {
        packing::ready()?;
        let a = a.columns_mut()?;
        require(a.nrows() == a.ncols(), "the matrix is not square")?;
        cholesky::pivoted::pstrf(tol, a, self.threads)
    }

    fn getrf(&self, a: &mut CpuMat<'_, T>) -> Result<LuInfo> {
        packing::ready()?;
        lu::getrf(a.columns_mut()?, self.threads)
    }

    fn laswp(&self, trans: Trans, ipiv: &[usize], b: &mut CpuMat<'_, T>) -> Result<()> {
        let b = b.columns_mut()?;
        require(
            ipiv.len() <= b.nrows() && ipiv.iter().all(|&p| p < b.nrows()),
            "a row exchange is outside the matrix",
        )?;
        lu::laswp(trans, ipiv, b);
        Ok(())
    }

    fn geqrf(&self, a: &mut CpuMat<'_, T>) -> Result<Vec<T>> {
        packing::ready()?;
        qr::factor::geqrf(a.columns_mut()?, self.threads)
    }

    fn scale_trapezoids(&self, below: &[T], rows: &[T], a: &mut CpuMat<'_, T>) -> Result<()> {
        qr::factor::scale_trapezoids(below, rows, a.columns_mut()?, self.threads);
        Ok(())
    }

    fn geqp3(&self, a: &mut CpuMat<'_, T>) -> Result<PivotedQr<T>> {
        packing::ready()?;
        qr::pivoted::geqp3(a.columns_mut()?, self.threads)
    }

    fn qrdc2(&self, tol: f64, a: &mut CpuMat<'_, T>) -> Result<PivotedQr<T>> {
        packing::ready()?;
        qr::limited::qrdc2(tol, a.columns_mut()?, self.threads)
    }

    fn ormqr(
        &self,
        trans: Trans,
        a: &CpuMat<'_, T>,
        tau: &[T],
        c: &mut CpuMat<'_, T>,
    ) -> Result<()> {
        packing::ready()?;
        let (a, c) = (columns(a.view())?, c.columns_mut()?);
        require(
            tau.len() <= a.nrows().min(a.ncols()) && c.nrows() == a.nrows(),
            "the reflectors do not fit the matrix",
        )?;
        qr::factor::ormqr(trans, a, tau, c, self.threads)
    }

    fn orgqr(&self, a: &CpuMat<'_, T>, tau: &[T], q: &mut CpuMat<'_, T>) -> Result<()> {
        packing::ready()?;
        let (a, q) = (columns(a.view())?, q.columns_mut()?);
        require(
            tau.len() <= a.nrows().min(a.ncols())
                && q.nrows() == a.nrows()
                && (tau.len()..=a.nrows()).contains(&q.ncols()),
            "the reflectors do not fit the matrix",
        )?;
        qr::factor::orgqr(a, tau, q, self.threads)
    }
}
