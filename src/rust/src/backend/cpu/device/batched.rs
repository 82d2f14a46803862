//! Many small problems in one call.

use crate::backend::cpu::matrix::views::{require, CpuMat};
use crate::backend::cpu::{cholesky, qr, CpuDevice};
use crate::base::error::Result;
use crate::base::packing;
use crate::base::scalar::Scalar;
use crate::device::batched::{is_batch, Batched, ProblemShape, Problems, Ranks};

impl<T: Scalar> Batched<T> for CpuDevice {
    fn batch_bytes(&self, all: usize) -> Result<usize> {
        Ok(all.min(cholesky::batch::CACHED_BYTES.saturating_mul(self.threads)))
    }

    fn potrf_batched(&self, a: &mut CpuMat<'_, T>) -> Result<()> {
        packing::ready()?;
        let a = a.columns_mut()?;
        require(is_batch(a.shape()), "the matrices are not square")?;
        cholesky::batch::potrf_batched(a, self.threads)
    }

    fn takes(&self, shape: ProblemShape) -> bool {
        let each = shape
            .m
            .saturating_mul(shape.n)
            .saturating_mul(size_of::<T>());
        each <= cholesky::batch::CACHED_BYTES / 4
    }

    fn qrls_batched(&self, tol: f64, problems: Problems<'_, CpuMat<'_, T>>) -> Result<Ranks> {
        packing::ready()?;
        let p = problems;
        let parts = qr::batch::Parts {
            shape: p.shape,
            count: p.count,
            x: p.x.columns_mut()?,
            y: p.y.columns_mut()?,
            residuals: p.residuals.columns_mut()?,
            coefficients: p.coefficients.columns_mut()?,
            qraux: p.qraux.columns_mut()?,
        };
        require(parts.fit(), "the parts of the problems differ in shape")?;
        qr::batch::qrls_batched(tol, parts, self.threads)
    }
}
