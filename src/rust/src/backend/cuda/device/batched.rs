//! Many small problems in one call.

use crate::backend::cuda::driver::guards::require;
use crate::backend::cuda::matrix::views::Matrix;
use crate::backend::cuda::{cholesky, qr, CudaDevice};
use crate::base::error::Result;
use crate::base::scalar::Scalar;
use crate::device::batched::{is_batch, Batched, ProblemShape, Problems, Ranks};

impl<T: Scalar> Batched<T> for CudaDevice {
    fn batch_bytes(&self, all: usize) -> Result<usize> {
        cholesky::batch::room(self.ctx, all)
    }

    fn potrf_batched(&self, a: &mut Matrix<'_, T>) -> Result<()> {
        require(
            is_batch(a.shape()),
            "potrf_batched: the matrices are not square",
        )?;
        cholesky::batch::factor(self.ctx, a.view())
    }

    fn takes(&self, shape: ProblemShape) -> bool {
        qr::batch::fits::<T>(self.ctx, shape)
    }

    fn qrls_batched(&self, tol: f64, problems: Problems<'_, Matrix<'_, T>>) -> Result<Ranks> {
        let p = problems;
        let parts = qr::batch::Parts {
            shape: p.shape,
            count: p.count,
            x: p.x.view(),
            y: p.y.view(),
            residuals: p.residuals.view(),
            coefficients: p.coefficients.view(),
            qraux: p.qraux.view(),
        };
        require(
            parts.fit() && qr::batch::fits::<T>(self.ctx, parts.shape),
            "qrls_batched: shapes do not fit",
        )?;
        qr::batch::solve(self.ctx, tol, parts)
    }
}
