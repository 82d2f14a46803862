//! Eigenvalues of symmetric matrices.

use std::ops::Range;

use crate::backend::cuda::driver::guards::{require, require_indexable};
use crate::backend::cuda::elementwise::columns;
use crate::backend::cuda::matrix::views::Matrix;
use crate::backend::cuda::{spectral, CudaDevice};
use crate::base::error::Result;
use crate::base::scalar::Scalar;
use crate::device::batched::is_batch;
use crate::device::spectral::{Arrange, EigenBatch, SingularValues, SymmetricEigen};

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

    const FINISHES: bool = true;

    fn scale(&self, by: f64, a: &mut Matrix<'_, T>) -> Result<()> {
        columns::scale_by(self.ctx, by, a.view())
    }

    fn turn(
        &self,
        q: &mut Matrix<'_, T>,
        columns: Range<usize>,
        follow: Option<&mut Matrix<'_, T>>,
        enough: f64,
        reversed: bool,
    ) -> Result<()> {
        let exist = |a: &Matrix<'_, T>| columns.start <= columns.end && columns.end <= a.shape().1;
        let fits = exist(q) && follow.as_ref().is_none_or(|f| exist(f));
        require(fits, "turn: there are fewer columns")?;
        let of = |a: &Matrix<'_, T>| {
            let (rows, first) = (a.shape().0, columns.start);
            a.view().sub(0, first, rows, columns.len())
        };
        columns::turn(self.ctx, of(q), follow.map(|f| of(f)), enough, reversed)
    }
}

impl<T: Scalar> EigenBatch<T> for CudaDevice {
    fn takes_eigen(&self, n: usize) -> bool {
        spectral::batch::fits::<T>(self.ctx, n)
    }

    /// The kernel gives the vectors their order and their signs.
    fn syev_batched(
        &self,
        a: &Matrix<'_, T>,
        w: &mut [T],
        z: Option<&mut Matrix<'_, T>>,
        _arrange: &Arrange<'_, T>,
    ) -> Result<Vec<usize>> {
        let shape = a.shape();
        let square = is_batch(shape) && shape.1 == w.len();
        require(
            square && spectral::batch::fits::<T>(self.ctx, shape.0),
            "syev_batched: the matrices are not square, or too large",
        )?;
        let fits = z.as_ref().is_none_or(|z| z.shape() == shape);
        require(
            fits,
            "syev_batched: the vectors have other dimensions than the matrices",
        )?;
        spectral::batch::solve(self.ctx, a.view(), w, z.map(|z| z.view()))
    }
}

impl<T: Scalar> SingularValues<T> for CudaDevice {
    const DIRECT: bool = false;
}
