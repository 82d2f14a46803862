//! Eigenvalues and singular values.

use crate::backend::cpu::matrix::views::{require, CpuMat};
use crate::backend::cpu::{spectral, CpuDevice};
use crate::base::error::Result;
use crate::base::packing;
use crate::base::scalar::Scalar;
use crate::device::batched::is_batch;
use crate::device::spectral::{Arrange, EigenBatch, GeneralEigen, SingularValues, SymmetricEigen};

impl<T: Scalar> SymmetricEigen<T> for CpuDevice {
    fn syev(&self, a: &CpuMat<'_, T>, w: &mut [T], z: Option<&mut CpuMat<'_, T>>) -> Result<()> {
        packing::ready()?;
        let a = a.view();
        require(is_square(a.shape(), w.len()), "the matrix is not square")?;
        let z = z.map(CpuMat::view_mut).transpose()?;
        let fits = z.as_ref().is_none_or(|z| z.shape() == a.shape());
        require(fits, "the vectors have other dimensions than the matrix")?;
        spectral::symmetric::syev(a, w, z, self.threads)
    }
}

impl<T: Scalar> EigenBatch<T> for CpuDevice {
    fn takes_eigen(&self, n: usize) -> bool {
        spectral::threads_for(n, self.threads) == 1
    }

    fn syev_batched(
        &self,
        a: &CpuMat<'_, T>,
        w: &mut [T],
        z: Option<&mut CpuMat<'_, T>>,
        arrange: &Arrange<'_, T>,
    ) -> Result<Vec<usize>> {
        packing::ready()?;
        let a = a.view();
        let square = is_batch(a.shape()) && a.ncols() == w.len();
        require(square, "the matrices are not square")?;
        let z = z.map(CpuMat::view_mut).transpose()?;
        let fits = z.as_ref().is_none_or(|z| z.shape() == a.shape());
        require(fits, "the vectors have other dimensions than the matrices")?;
        spectral::batch::syev_batched(a, w, z, arrange, self.threads)?;
        Ok(Vec::new())
    }
}

impl<T: Scalar> GeneralEigen<T> for CpuDevice {
    fn geev(
        &self,
        a: &CpuMat<'_, T>,
        re: &mut [T],
        im: &mut [T],
        v: Option<&mut CpuMat<'_, T>>,
    ) -> Result<()> {
        packing::ready()?;
        let a = a.view();
        let square = is_square(a.shape(), re.len()) && im.len() == re.len();
        require(square, "the matrix is not square")?;
        let v = v.map(CpuMat::view_mut).transpose()?;
        let fits = v.as_ref().is_none_or(|v| v.shape() == a.shape());
        require(fits, "the vectors have other dimensions than the matrix")?;
        spectral::general::geev(a, re, im, v, self.threads)
    }
}

impl<T: Scalar> SingularValues<T> for CpuDevice {
    const DIRECT: bool = true;

    fn gesvd(
        &self,
        a: &CpuMat<'_, T>,
        d: &mut [T],
        u: Option<&mut CpuMat<'_, T>>,
        v: Option<&mut CpuMat<'_, T>>,
    ) -> Result<()> {
        packing::ready()?;
        let a = a.view();
        let (m, n) = a.shape();
        let size = m.min(n);
        require(
            size > 0 && d.len() == size,
            "there is another number of singular values",
        )?;
        let u = u.map(CpuMat::view_mut).transpose()?;
        let v = v.map(CpuMat::view_mut).transpose()?;
        let fits = |shape: (usize, usize), order| {
            shape.0 == order && (shape.1 == size || shape.1 == order)
        };
        require(
            u.as_ref().is_none_or(|u| fits(u.shape(), m))
                && v.as_ref().is_none_or(|v| fits(v.shape(), n)),
            "the vectors have other dimensions than the matrix",
        )?;
        spectral::svd::gesvd(a, d, u, v, self.threads)
    }
}

fn is_square((m, n): (usize, usize), values: usize) -> bool {
    m == n && n == values && n > 0
}
