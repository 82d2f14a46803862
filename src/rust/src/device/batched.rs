//! Many small problems in one call.

use crate::base::error::{Error, Result};
use crate::base::scalar::Scalar;
use crate::device::memory::Memory;

/// Dimensions of least-squares problems of one shape: `m` observations, `n` columns, `q` responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProblemShape {
    pub m: usize,
    pub n: usize,
    pub q: usize,
}

/// Least-squares problems of one shape side by side, and the places for their solutions.
///
/// Each problem has n columns of `x`, one of `qraux` and q of the others.
pub struct Problems<'p, M> {
    pub shape: ProblemShape,
    pub count: usize,
    /// m rows. Becomes the factor in LINPACK's form, with columns in the order of `jpvt`.
    pub x: &'p mut M,
    /// m rows. Becomes `Q'y` by the first `rank` reflectors.
    pub y: &'p mut M,
    /// m rows.
    pub residuals: &'p mut M,
    /// n rows, in the order of `jpvt`, zero from `rank` on.
    pub coefficients: &'p mut M,
    /// n rows.
    pub qraux: &'p mut M,
}

/// Column orders and ranks of problems solved together. `jpvt` has n entries for each problem,
/// 0-based.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ranks {
    pub jpvt: Vec<i32>,
    pub rank: Vec<i32>,
}

impl Ranks {
    /// For `count` problems of n columns.
    pub fn zeros(n: usize, count: usize) -> Result<Self> {
        let zeros = |len: usize| -> Result<Vec<i32>> {
            let mut v = Vec::new();
            v.try_reserve_exact(len).map_err(|_| Error::HostMemory {
                needed: (len as u64).saturating_mul(4),
            })?;
            v.resize(len, 0);
            Ok(v)
        };
        Ok(Ranks {
            jpvt: zeros(n.saturating_mul(count))?,
            rank: zeros(count)?,
        })
    }
}

/// Whether a matrix of this shape consists of square ones side by side.
pub fn is_batch((rows, cols): (usize, usize)) -> bool {
    cols.checked_rem(rows).unwrap_or(0) == 0
}

/// Factorizations and fits of many small matrices of one shape, side by side in one matrix.
pub trait Batched<T: Scalar>: Memory<T> {
    /// How many of `all` bytes of independent matrices are best loaded together.
    fn batch_bytes(&self, all: usize) -> Result<usize>;
    /// `A = U'U` for each of the square matrices that stand side by side in A.
    ///
    /// Only upper triangles are read; zeros are written below the diagonals.
    ///
    /// # Errors
    /// [`Error::NotPositiveDefiniteIn`] for the first matrix with a pivot as in
    /// [`Lapack::potrf`](crate::device::lapack::Lapack::potrf). The contents of A are then
    /// undefined.
    fn potrf_batched(&self, a: &mut Self::Mat<'_>) -> Result<()>;
    /// Whether [`Batched::qrls_batched`] accepts problems of this shape. Larger ones are solved one
    /// by one.
    fn takes(&self, shape: ProblemShape) -> bool;
    /// Least squares by QR with the exchanges of
    /// [`Lapack::qrdc2`](crate::device::lapack::Lapack::qrdc2) for many problems.
    ///
    /// It is LINPACK's `dqrls` as R uses it. Problems have at least one row.
    fn qrls_batched(&self, tol: f64, problems: Problems<'_, Self::Mat<'_>>) -> Result<Ranks>;
}
