//! Covariances of points.

use crate::backend::cuda::elementwise::covariance::DevicePoints;
use crate::backend::cuda::matrix::views::Matrix;
use crate::backend::cuda::{elementwise, CudaDevice};
use crate::base::error::Result;
use crate::base::matrix::Block;
use crate::base::scalar::Scalar;
use crate::device::covariance::{Covariance, CovarianceMatrix, Points};

impl<T: Scalar> CovarianceMatrix<T> for CudaDevice {
    type Points<'a> = DevicePoints;

    fn points<'a>(&self, x: Points<'a>) -> Result<DevicePoints> {
        elementwise::covariance::points(self.ctx, x)
    }

    fn covariance(
        &self,
        function: &Covariance,
        x: &DevicePoints,
        y: &DevicePoints,
        block: Block,
        out: &mut Matrix<'_, T>,
    ) -> Result<()> {
        elementwise::covariance::evaluate(self.ctx, function, (x, y), block, out)
    }
}
