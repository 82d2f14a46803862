//! Factorizations in place, and solutions from factors.

use crate::base::error::Result;
use crate::base::matrix::{Block, Diag, Side, Trans, Uplo};
use crate::base::progress;
use crate::base::scalar::Scalar;
use crate::cost::flops::cholesky_flops;
use crate::device::blas::Blas;

/// Row exchanges in LAPACK's form: row `i` was swapped with row `ipiv[i]` (0-based,
/// `ipiv[i] >= i`), in order of `i`.
pub type Transpositions = Vec<usize>;

/// What `getrf` returns with the factor.
#[derive(Debug, Clone, PartialEq)]
pub struct LuInfo {
    pub ipiv: Transpositions,
    /// 0-based index of the first exactly zero diagonal entry of U. The factor is complete in any
    /// case.
    pub zero: Option<usize>,
}

/// What `pstrf` returns with the factor.
#[derive(Debug, Clone, PartialEq)]
pub struct PivotedCholesky {
    /// Column `j` of the factor stands for the 0-based column `jpvt[j]` of the matrix.
    pub jpvt: Vec<usize>,
    pub rank: usize,
}

/// What a QR factorization with column exchanges returns with the factor.
#[derive(Debug, Clone, PartialEq)]
pub struct PivotedQr<T> {
    pub tau: Vec<T>,
    pub jpvt: Vec<usize>,
    pub rank: usize,
}

/// LAPACK's verbs. Each factors its matrix in place.
pub trait Lapack<T: Scalar>: Blas<T> {
    /// `A = U'U` or `LL'` in the triangle `uplo`; the other one is neither read nor written.
    ///
    /// A pivot that is not greater than zero, or is NaN, is
    /// [`Error::NotPositiveDefinite`](crate::base::error::Error) with LAPACK's order. An infinite
    /// pivot is no error, as in LAPACK.
    fn potrf(&self, uplo: Uplo, a: &mut Self::Mat<'_>) -> Result<()>;
    /// `C <- (R'R)^-1` from the leading upper triangle of R, of the order of C, without a zero on
    /// its diagonal.
    ///
    /// It writes both triangles, exactly symmetric.
    fn potri(&self, r: &Self::Mat<'_>, c: &mut Self::Mat<'_>) -> Result<()> {
        let (n, _) = self.shape(c);
        // The inverse and the product do not use that entries are zero: 2 n^3 operations instead of
        // 2 n^3 / 3.
        progress::extend(4.0 * cholesky_flops(n));
        let mut inv = self.zeros(n, n)?;
        self.set_identity(&mut inv)?;
        let (left, upper) = (Side::Left, Uplo::Upper);
        self.trsm(left, upper, Trans::No, Diag::NonUnit, n, r, &mut inv)?;
        self.syrk(Trans::No, &inv, c)
    }
    /// `P'AP = U'U` in the upper triangle with the largest diagonal entry first (LAPACK's `pstrf`).
    ///
    /// The first of equal entries is taken. The factorization stops at a pivot `<= tol` or NaN; a
    /// negative `tol` means `n eps/2 max(diag(A))`.
    fn pstrf(&self, tol: f64, a: &mut Self::Mat<'_>) -> Result<PivotedCholesky>;

    /// `A = P L U` with partial pivoting, for any shape. The first of equal pivots is taken.
    fn getrf(&self, a: &mut Self::Mat<'_>) -> Result<LuInfo>;
    /// `X <- A^-1 X` from the LU factors of A.
    fn getrs(&self, lu: &Self::Mat<'_>, ipiv: &[usize], x: &mut Self::Mat<'_>) -> Result<()> {
        let (n, left, no) = (ipiv.len(), Side::Left, Trans::No);
        self.laswp(no, ipiv, x)?;
        self.trsm(left, Uplo::Lower, no, Diag::Unit, n, lu, x)?;
        self.trsm(left, Uplo::Upper, no, Diag::NonUnit, n, lu, x)
    }
    /// Applies the exchanges of `ipiv` to the rows of B: in order (`Trans::No`, `B <- P'B`) or in
    /// reverse (`Trans::Yes`, `B <- P B`).
    fn laswp(&self, trans: Trans, ipiv: &[usize], b: &mut Self::Mat<'_>) -> Result<()>;

    /// `A = QR` by Householder reflectors in LAPACK's storage and signs; the `min(m, n)` factors
    /// `tau`.
    ///
    /// R is on and above the diagonal. The reflectors are below it, with an implicit leading one.
    fn geqrf(&self, a: &mut Self::Mat<'_>) -> Result<Vec<T>>;
    /// QR with the column of largest remaining norm next (LAPACK's `geqp3`); `rank` is `min(m, n)`.
    fn geqp3(&self, a: &mut Self::Mat<'_>) -> Result<PivotedQr<T>>;
    /// QR with LINPACK's limited exchanges (R's `dqrdc2`), in LAPACK's form.
    ///
    /// A column whose remaining norm falls below `tol` times its first norm (1 where that is 0)
    /// moves behind the others, which keep their order. `rank` counts the columns in front, at
    /// most `min(m, n)`. The columns moved behind are reduced without further exchanges, so there
    /// are always `min(m, n)` reflectors.
    fn qrdc2(&self, tol: f64, a: &mut Self::Mat<'_>) -> Result<PivotedQr<T>>;
    /// `C <- Q' C` (`Trans::Yes`) or `Q C`, for the first `tau.len()` reflectors in A.
    fn ormqr(
        &self,
        trans: Trans,
        a: &Self::Mat<'_>,
        tau: &[T],
        c: &mut Self::Mat<'_>,
    ) -> Result<()>;
    /// `C <- Q diag(B, I)` in C's columns, no fewer than B has. Nothing of C is read.
    ///
    /// Q is the product of all reflectors in A. B is square, of as many rows as there are.
    fn ormqr_under(
        &self,
        a: &Self::Mat<'_>,
        tau: &[T],
        b: &Self::Mat<'_>,
        c: &mut Self::Mat<'_>,
    ) -> Result<()> {
        let (rows, cols) = self.shape(b);
        self.set_identity(c)?;
        self.copy_block(b, Block::leading(rows, cols), c, (0, 0))?;
        self.ormqr(Trans::No, a, tau, c)
    }
    /// Q <- the first columns of the orthogonal factor, for the first `tau.len()` reflectors in A.
    ///
    /// Q has at least `tau.len()` columns and at most as many as A has rows; its contents are not
    /// read. This takes less work than `ormqr` on an identity.
    fn orgqr(&self, a: &Self::Mat<'_>, tau: &[T], q: &mut Self::Mat<'_>) -> Result<()>;
    /// `A[i,j] <- below[j] A[i,j]` under the diagonal, `A[i,j] <- rows[i] A[i,j]` on and above it.
    ///
    /// Beyond the end of a list the factor is 1.
    fn scale_trapezoids(&self, below: &[T], rows: &[T], a: &mut Self::Mat<'_>) -> Result<()>;
}
