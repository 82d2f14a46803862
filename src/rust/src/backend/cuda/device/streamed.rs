//! Verbs from host to host, in blocks of columns.

use faer::{MatMut, MatRef};

use crate::backend::cuda::driver::guards::{in_blocks, require, require_indexable};
use crate::backend::cuda::matrix::views::Matrix;
use crate::backend::cuda::{cholesky, streamed, CudaDevice};
use crate::base::error::Result;
use crate::base::matrix::Trans;
use crate::base::scalar::Scalar;
use crate::cost::plan::size;
use crate::device::lapack::LuInfo;
use crate::device::streamed::{QrBlock, Streamed};

impl<T: Scalar> Streamed<T> for CudaDevice {
    fn gemm_streamed(
        &self,
        a: (Trans, MatRef<'_, T>),
        b: (Trans, MatRef<'_, T>),
        out: MatMut<'_, T>,
    ) -> Result<Option<()>> {
        Ok(streamed::product::multiply(self.ctx, a, b, out)?.then_some(()))
    }

    fn syrk_streamed(
        &self,
        trans: Trans,
        a: MatRef<'_, T>,
        out: MatMut<'_, T>,
    ) -> Result<Option<()>> {
        let n = trans.shape(a.shape()).0;
        require(out.shape() == (n, n), "syrk: shapes do not fit")?;
        match (
            trans,
            size::Streamed::Crossprod.blocks(a.shape(), size_of::<T>()),
        ) {
            (Trans::Yes, Some(blocks)) => {
                in_blocks(|| streamed::factors::crossprod(self.ctx, a, out, &blocks))
            }
            _ => Ok(None),
        }
    }

    fn potrf_streamed(&self, a: MatRef<'_, T>, out: MatMut<'_, T>) -> Result<Option<()>> {
        let (n, columns) = a.shape();
        require(
            n == columns && out.shape() == a.shape(),
            "potrf: shapes do not fit",
        )?;
        require_indexable(a.shape())?;
        if cholesky::via_f64::is_whole_cholesky::<T>(self.ctx, n) {
            return Ok(None);
        }
        match size::Streamed::Cholesky.blocks(a.shape(), size_of::<T>()) {
            Some(blocks) => in_blocks(|| streamed::factors::cholesky(self.ctx, a, out, &blocks)),
            None => Ok(None),
        }
    }

    fn getrf_streamed(
        &self,
        x: MatRef<'_, T>,
        a: &mut Matrix<'_, T>,
    ) -> Result<Option<(LuInfo, f64)>> {
        require_indexable(x.shape())?;
        require(a.shape() == x.shape(), "getrf: shapes do not fit")?;
        match size::Streamed::Lu.blocks(x.shape(), size_of::<T>()) {
            Some(blocks) => in_blocks(|| streamed::factors::lu(self.ctx, x, a.view(), &blocks)),
            None => Ok(None),
        }
    }

    fn getrs_streamed(
        &self,
        lu: &Matrix<'_, T>,
        ipiv: &[usize],
        b: Option<MatRef<'_, T>>,
        out: MatMut<'_, T>,
    ) -> Result<Option<()>> {
        let n = out.nrows();
        let fits = lu.shape() == (n, n)
            && ipiv.len() == n
            && ipiv.iter().all(|p| *p < n)
            && b.is_none_or(|b| b.shape() == out.shape());
        require(fits, "getrs: shapes do not fit")?;
        let Some(blocks) = size::Streamed::LuSolve.blocks(out.shape(), size_of::<T>()) else {
            return Ok(None);
        };
        in_blocks(|| streamed::factors::solve_factored(self.ctx, lu.view(), ipiv, b, out, &blocks))
    }

    fn geqrf_streamed(
        &self,
        x: MatRef<'_, T>,
        out: MatMut<'_, T>,
        finish: &mut QrBlock<'_, T>,
    ) -> Result<Option<Vec<T>>> {
        require(x.shape() == out.shape(), "geqrf: shapes do not fit")?;
        match size::Streamed::Qr.blocks(x.shape(), size_of::<T>()) {
            Some(blocks) => in_blocks(|| streamed::factors::qr(self.ctx, x, out, &blocks, finish)),
            None => Ok(None),
        }
    }
}
