//! Eigenvalues and singular values, under LAPACK's names.
//!
//! All entries that a routine reads are finite, and the largest magnitude is in `[1, 2)` or zero:
//! the driver scales. No dimension is zero. Routines fail with
//! [`Error::NotConverged`] if no method of theirs succeeds.

use std::ops::Range;

use faer::MatMut;

use crate::base::error::{Error, Result};
use crate::base::scalar::Scalar;
use crate::device::memory::Memory;

/// Eigenvalues of symmetric matrices.
pub trait SymmetricEigen<T: Scalar>: Memory<T> {
    /// Eigenvalues of a symmetric matrix in ascending order in `w`, and orthonormal eigenvectors in
    /// the columns of `z`. Only the lower triangle of `a` is read.
    fn syev(&self, a: &Self::Mat<'_>, w: &mut [T], z: Option<&mut Self::Mat<'_>>) -> Result<()>;

    /// Whether the device scales matrices by [`SymmetricEigen::scale`], and gives vectors their
    /// signs by [`SymmetricEigen::turn`]. Otherwise the host does both, and neither is called.
    const FINISHES: bool = false;

    /// `A <- by A`.
    fn scale(&self, by: f64, a: &mut Self::Mat<'_>) -> Result<()> {
        let _ = (by, a);
        Err(left_to_the_host())
    }

    /// Negates those of the `columns` of `q` whose first entry of at least `enough` times the
    /// largest magnitude is negative, and the same columns of `follow`.
    ///
    /// Without `follow`, the columns may then be `reversed` in order.
    fn turn(
        &self,
        q: &mut Self::Mat<'_>,
        columns: Range<usize>,
        follow: Option<&mut Self::Mat<'_>>,
        enough: f64,
        reversed: bool,
    ) -> Result<()> {
        let _ = (q, columns, follow, enough, reversed);
        Err(left_to_the_host())
    }
}

fn left_to_the_host() -> Error {
    Error::Internal {
        what: "this device leaves scaling and signs to the host".to_owned(),
    }
}

/// Gives the vectors of one matrix, by increasing value, their order and their signs.
pub type Arrange<'a, T> = dyn Fn(MatMut<'_, T>) -> Result<()> + Sync + 'a;

/// Eigenvalues of many small symmetric matrices of one order, side by side in one matrix.
pub trait EigenBatch<T: Scalar>: SymmetricEigen<T> {
    /// Whether [`EigenBatch::syev_batched`] accepts matrices of order n. Larger ones are solved one
    /// by one.
    fn takes_eigen(&self, n: usize) -> bool;
    /// Eigenvalues of each matrix in descending order in `w`, n after n, and its eigenvectors in
    /// the same columns of `z`, in the order and with the signs that `arrange` gives. Only lower
    /// triangles are read.
    ///
    /// Answers the positions of the matrices that it could not solve, whose values and vectors are
    /// undefined.
    fn syev_batched(
        &self,
        a: &Self::Mat<'_>,
        w: &mut [T],
        z: Option<&mut Self::Mat<'_>>,
        arrange: &Arrange<'_, T>,
    ) -> Result<Vec<usize>>;
}

/// Eigenvalues of general matrices, by a routine that checks what it returns.
pub trait GeneralEigen<T: Scalar>: Memory<T> {
    /// Eigenvalues of a balanced square matrix in `re` and `im`, and right eigenvectors in `v`,
    /// which need not be normalized.
    ///
    /// Eigenvalues come in the order of the Schur form. The two of a conjugate pair are neighbours,
    /// the one with positive imaginary part first. The real part of its vector is in the first of
    /// the pair's two columns of `v`, and the imaginary part in the second.
    fn geev(
        &self,
        a: &Self::Mat<'_>,
        re: &mut [T],
        im: &mut [T],
        v: Option<&mut Self::Mat<'_>>,
    ) -> Result<()>;
}

/// Singular values. [`svd`](crate::algo::dense::svd::svd) finds them by products and eigenvectors
/// on devices without a routine for them.
pub trait SingularValues<T: Scalar>: SymmetricEigen<T> {
    /// Whether [`SingularValues::gesvd`] exists. It checks what it returns.
    const DIRECT: bool;

    /// Singular values in descending order in `d`, left singular vectors in the columns of `u` and
    /// right singular vectors in the columns of `v`.
    ///
    /// For an m by n matrix, `u` has `min(m, n)` columns or m, and `v` `min(m, n)` or n. The
    /// columns beyond `min(m, n)` complete an orthonormal basis.
    fn gesvd(
        &self,
        a: &Self::Mat<'_>,
        d: &mut [T],
        u: Option<&mut Self::Mat<'_>>,
        v: Option<&mut Self::Mat<'_>>,
    ) -> Result<()> {
        let _ = (a, d, u, v);
        Err(Error::Internal {
            what: "this device has no routine for singular values".to_owned(),
        })
    }
}
