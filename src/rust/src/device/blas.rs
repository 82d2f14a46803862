//! Products, triangular systems, norms.

use crate::base::error::Result;
use crate::base::matrix::{Diag, Side, Trans, Uplo};
use crate::base::scalar::Scalar;
use crate::device::memory::Memory;

/// BLAS's verbs.
pub trait Blas<T: Scalar>: Memory<T> {
    /// `C <- alpha op(A) op(B) + beta C`.
    ///
    /// With `beta = 0` the device does not read C. NaN and Inf propagate.
    #[allow(clippy::too_many_arguments)]
    fn gemm(
        &self,
        alpha: T,
        ta: Trans,
        a: &Self::Mat<'_>,
        tb: Trans,
        b: &Self::Mat<'_>,
        beta: T,
        c: &mut Self::Mat<'_>,
    ) -> Result<()>;
    /// `C <- A' A` (`Trans::Yes`) or `A A'` (`Trans::No`). It writes both triangles, exactly
    /// symmetric.
    fn syrk(&self, trans: Trans, a: &Self::Mat<'_>, c: &mut Self::Mat<'_>) -> Result<()>;
    /// `B[0..k, ] <- op(A)^-1 B[0..k, ]` (left) or `B[, 0..k] <- B[, 0..k] op(A)^-1` (right).
    ///
    /// A is the leading `k` x `k` triangle, without a zero on its diagonal. The other triangle is
    /// not read.
    #[allow(clippy::too_many_arguments)]
    fn trsm(
        &self,
        side: Side,
        uplo: Uplo,
        trans: Trans,
        diag: Diag,
        k: usize,
        a: &Self::Mat<'_>,
        b: &mut Self::Mat<'_>,
    ) -> Result<()>;
    /// `out <- A X` for a symmetric matrix A, both of whose triangles are read.
    ///
    /// On the host a column of the result depends on that column of X alone: no bit of it on the
    /// number of columns or threads. On a GPU that holds to rounding.
    fn multiply_columns(
        &self,
        a: &Self::Mat<'_>,
        x: &Self::Mat<'_>,
        out: &mut Self::Mat<'_>,
    ) -> Result<()> {
        let (one, zero) = (T::from_f64(1.0), T::from_f64(0.0));
        self.gemm(one, Trans::No, a, Trans::No, x, zero, out)
    }
    /// `out <- A X` for a symmetric matrix A with both triangles and few columns X. A device may
    /// read one of them.
    fn multiply_symmetric(
        &self,
        a: &Self::Mat<'_>,
        x: &Self::Mat<'_>,
        out: &mut Self::Mat<'_>,
    ) -> Result<()> {
        let (one, zero) = (T::from_f64(1.0), T::from_f64(0.0));
        self.gemm(one, Trans::No, a, Trans::No, x, zero, out)
    }
    /// `B <- op(A)^-1 B` for a triangle of A, without a zero on its diagonal. Columns are as
    /// independent as those of [`Blas::multiply_columns`].
    fn solve_columns(
        &self,
        uplo: Uplo,
        trans: Trans,
        a: &Self::Mat<'_>,
        b: &mut Self::Mat<'_>,
    ) -> Result<()> {
        let order = self.shape(a).0;
        self.trsm(Side::Left, uplo, trans, Diag::NonUnit, order, a, b)
    }
    /// The largest sum of absolute values in a column; 0 without columns.
    fn norm1(&self, a: &Self::Mat<'_>) -> Result<f64>;
    /// The Euclidean norm of every column, without overflow or underflow.
    fn column_norms(&self, a: &Self::Mat<'_>) -> Result<Vec<f64>>;
    /// The `min(m, n)` diagonal entries.
    fn diagonal(&self, a: &Self::Mat<'_>) -> Result<Vec<T>>;
}
