//! Covariances of points.

use crate::backend::cpu::matrix::views::CpuMat;
use crate::backend::cpu::{elementwise, CpuDevice};
use crate::base::error::Result;
use crate::base::matrix::Block;
use crate::base::scalar::Scalar;
use crate::device::covariance::{Covariance, CovarianceMatrix, Points};

impl<T: Scalar> CovarianceMatrix<T> for CpuDevice {
    type Points<'a> = Points<'a>;

    fn points<'a>(&self, x: Points<'a>) -> Result<Points<'a>> {
        x.check().map(|()| x)
    }

    fn covariance(
        &self,
        function: &Covariance,
        x: &Points<'_>,
        y: &Points<'_>,
        block: Block,
        out: &mut CpuMat<'_, T>,
    ) -> Result<()> {
        elementwise::covariance::evaluate(function, (x, y), block, out.view_mut()?, self.threads)
    }
}
