//! Eigenvalues of symmetric matrices.

use crate::backend::cuda::driver::guards::{require, require_indexable};
use crate::backend::cuda::matrix::views::Matrix;
use crate::backend::cuda::{spectral, CudaDevice};
use crate::base::error::Result;
use crate::base::scalar::Scalar;
use crate::device::spectral::{SingularValues, SymmetricEigen};

impl<T: Scalar> SymmetricEigen<T> for CudaDevice {
    fn syev(&self, a: &Matrix<'_, T>, w: &mut [T], z: Option<&mut Matrix<'_, T>>) -> Result<()> {
        let n = w.len();
        require(
            a.shape() == (n, n) && n > 0,
            "syev: the matrix is not square",
        )?;
        let fits = z.as_ref().is_none_or(|z| z.shape() == (n, n));
        require(
            fits,
            "syev: the vectors have other dimensions than the matrix",
        )?;
        require_indexable((n, n))?;
        spectral::symmetric::decompose(self.ctx, a.view(), w, z.map(|z| z.view()), |_| Ok(()))
    }
}

impl<T: Scalar> SingularValues<T> for CudaDevice {
    const DIRECT: bool = false;
}
