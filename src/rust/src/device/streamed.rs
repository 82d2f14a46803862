//! Verbs from host memory to host memory that compute while blocks of the operands are in flight.

use faer::{MatMut, MatRef};

use crate::base::error::Result;
use crate::base::matrix::Trans;
use crate::base::scalar::Scalar;
use crate::device::lapack::{Lapack, LuInfo};

/// What [`Streamed::geqrf_streamed`] asks when a block of columns is factored.
///
/// Its arguments: the number of the block's first column, the diagonal of its triangle, the norms
/// that its columns had, and its `tau`. The answer: a factor for each column below the diagonal,
/// or `None`, which ends the factorization.
pub type QrBlock<'a, T> = dyn FnMut(usize, &[T], &[f64], &[T]) -> Option<Vec<T>> + 'a;

/// An optional capability of a device with memory apart from the host's.
///
/// Each verb answers `None`, with nothing done, where streaming does not pay for these operands or
/// where the device has no memory for the blocks. The caller then loads whole operands;
/// `algo/dense/host_to_host.rs` has both ways. The default of every verb is `None`.
pub trait Streamed<T: Scalar>: Lapack<T> {
    /// `out = op(a) op(b)`.
    fn gemm_streamed(
        &self,
        _a: (Trans, MatRef<'_, T>),
        _b: (Trans, MatRef<'_, T>),
        _out: MatMut<'_, T>,
    ) -> Result<Option<()>> {
        Ok(None)
    }
    /// `out = a'a` (`Trans::Yes`) or `aa'`.
    fn syrk_streamed(
        &self,
        _trans: Trans,
        _a: MatRef<'_, T>,
        _out: MatMut<'_, T>,
    ) -> Result<Option<()>> {
        Ok(None)
    }
    /// `out` becomes the factor U of `a`, of which only the upper triangle is read, and zero below
    /// the diagonal.
    fn potrf_streamed(&self, _a: MatRef<'_, T>, _out: MatMut<'_, T>) -> Result<Option<()>> {
        Ok(None)
    }
    /// [`Lapack::getrf`] of a host matrix into `a`, of its shape; also the 1-norm of the matrix.
    ///
    /// The contents of `a` are not read.
    fn getrf_streamed(
        &self,
        _x: MatRef<'_, T>,
        _a: &mut Self::Mat<'_>,
    ) -> Result<Option<(LuInfo, f64)>> {
        Ok(None)
    }
    /// `out = A^-1 b` from the LU factors of A; without `b` the inverse.
    fn getrs_streamed(
        &self,
        _lu: &Self::Mat<'_>,
        _ipiv: &[usize],
        _b: Option<MatRef<'_, T>>,
        _out: MatMut<'_, T>,
    ) -> Result<Option<()>> {
        Ok(None)
    }
    /// [`Lapack::geqrf`] of a host matrix to `out`, with columns scaled as `finish` says.
    fn geqrf_streamed(
        &self,
        _x: MatRef<'_, T>,
        _out: MatMut<'_, T>,
        _finish: &mut QrBlock<'_, T>,
    ) -> Result<Option<Vec<T>>> {
        Ok(None)
    }
}
