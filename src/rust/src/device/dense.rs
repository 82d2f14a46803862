//! The contract between the algorithms and the machines they run on.
//!
//! [`Device`] has BLAS's and LAPACK's verbs on column-major matrices. `algo/` is generic over it;
//! `backend/` implements it. Shapes are the caller's duty: a backend may answer a wrong one with
//! [`Error::Dimension`], and must never read or write outside a matrix.
//!
//! A [`Device::Mat`] may borrow host memory for `'a`: on the CPU an operand *is* R's memory, and
//! a result is written where R will read it; on a GPU both stand for device memory, and
//! [`Device::store`] brings a result home.

use faer::{MatMut, MatRef};

use crate::base::error::{Error, Result};
use crate::base::matrix::{Block, Change, Diag, Part, Side, Trans, Uplo};
use crate::base::progress;
use crate::base::scalar::Scalar;
use crate::cost::work::cholesky_flops;
use crate::device::covariance::{Covariance, Points};

/// Row exchanges as LAPACK records them: row `i` was swapped with row `ipiv[i]` (0-based,
/// `ipiv[i] >= i`), in order of `i`.
pub type Transpositions = Vec<usize>;

/// `getrf`'s outcome besides the factor.
#[derive(Debug, Clone, PartialEq)]
pub struct LuInfo {
    pub ipiv: Transpositions,
    /// 0-based index of the first exactly zero diagonal entry of U, if any. The factor is complete either way.
    pub zero: Option<usize>,
}

/// `pstrf`'s outcome besides the factor.
#[derive(Debug, Clone, PartialEq)]
pub struct PivotedCholesky {
    /// `jpvt[j]` is the 0-based column of the original matrix that column `j` of the factor stands for.
    pub jpvt: Vec<usize>,
    pub rank: usize,
}

/// Outcome of a QR factorization with column exchanges, besides the factor.
#[derive(Debug, Clone, PartialEq)]
pub struct PivotedQr<T> {
    pub tau: Vec<T>,
    pub jpvt: Vec<usize>,
    pub rank: usize,
}

/// Extents of least-squares problems of one shape: `m` observations, `n` columns, `q` responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProblemShape {
    pub m: usize,
    pub n: usize,
    pub q: usize,
}

/// Least-squares problems of one shape side by side, and where the parts of their solutions go: each has n columns of `x`, one of
/// `qraux` and q of the others.
pub struct Problems<'p, M> {
    pub shape: ProblemShape,
    pub count: usize,
    /// m rows. Becomes the factor in LINPACK's form, columns in the order of `jpvt`.
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

/// The integers of problems solved together: `jpvt` has n entries for each problem, counted from 0.
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
            v.try_reserve_exact(len)
                .map_err(|_| crate::base::error::Error::HostMemory {
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

/// Columns of a factor that are changed together: panels of [`Device::chud_panel`] begin at its multiples.
pub const PANEL: usize = 448;

/// Whether a matrix of this shape is made of square ones side by side.
pub fn is_batch((rows, cols): (usize, usize)) -> bool {
    cols.checked_rem(rows).unwrap_or(0) == 0
}

/// What is asked when a block of columns is factored: the number of its first column, the diagonal of its triangle, the norms that its
/// columns had, its `tau`. The answer is by what to scale each column below the diagonal; or none, which ends it all.
pub type QrBlock<'a, T> = dyn FnMut(usize, &[T], &[f64], &[T]) -> Option<Vec<T>> + 'a;

pub trait Device<T: Scalar> {
    /// A matrix this device can compute with.
    type Mat<'a>;
    /// Points that it can compute covariances of.
    type Points<'a>;
    /// What the rows of a changed factor do to columns that are changed after theirs.
    type Reflections;

    /// `"cpu"` or `"cuda:0"`.
    fn name(&self) -> String;

    // ---- memory -------------------------------------------------------------------------------

    /// An operand that is only read. On the CPU it borrows `a`.
    fn load<'a>(&self, a: MatRef<'a, T>) -> Result<Self::Mat<'a>>;
    /// A copy of `part` of `a` (zero elsewhere), to be changed; its contents end in `home`, of the same shape.
    fn load_into<'a>(
        &self,
        a: MatRef<'_, T>,
        part: Part,
        home: MatMut<'a, T>,
    ) -> Result<Self::Mat<'a>>;
    /// A matrix whose entries are undefined until written, and whose contents end in `home`.
    fn output<'a>(&self, home: MatMut<'a, T>) -> Result<Self::Mat<'a>>;
    /// A matrix of zeros that lives on the device alone.
    fn zeros(&self, rows: usize, cols: usize) -> Result<Self::Mat<'static>>;
    /// A copy of `part` of `a` (zero elsewhere) that lives on the device alone, to be changed.
    fn load_temporary(&self, a: MatRef<'_, T>, part: Part) -> Result<Self::Mat<'static>>;
    /// Overwrites a matrix with `part` of `from`, of the same shape (zero elsewhere).
    fn refill(&self, from: MatRef<'_, T>, part: Part, to: &mut Self::Mat<'_>) -> Result<()>;
    /// Sets ones on the diagonal and zeros elsewhere.
    fn set_identity(&self, a: &mut Self::Mat<'_>) -> Result<()>;
    /// Brings the contents to the matrix's home and waits for them. Without a home it only waits.
    fn store(&self, a: Self::Mat<'_>) -> Result<()>;
    /// As [`Device::store`], for a matrix whose entries outside of `part` are zero.
    fn store_part(&self, a: Self::Mat<'_>, part: Part) -> Result<()>;
    /// Copies the contents to `out`, of the same shape, and waits for them.
    fn read(&self, a: &Self::Mat<'_>, out: MatMut<'_, T>) -> Result<()>;
    /// As [`Device::read`], the rows and columns of `block` alone.
    fn read_block(&self, a: &Self::Mat<'_>, block: Block, out: MatMut<'_, T>) -> Result<()>;
    /// A copy of `part` of a matrix on the device (zero elsewhere), to be changed.
    fn duplicate(&self, a: &Self::Mat<'_>, part: Part) -> Result<Self::Mat<'static>>;
    /// Copies a block of one matrix to another, where its first entry goes to row and column `at`.
    fn copy_block(
        &self,
        from: &Self::Mat<'_>,
        block: Block,
        to: &mut Self::Mat<'_>,
        at: (usize, usize),
    ) -> Result<()>;
    fn shape(&self, a: &Self::Mat<'_>) -> (usize, usize);
    /// How many of these bytes of independent matrices are best loaded together.
    fn batch_bytes(&self, all: usize) -> Result<usize>;

    // ---- products -----------------------------------------------------------------------------

    /// `C <- alpha op(A) op(B) + beta C`. With `beta = 0` C is not read. NaN and Inf propagate.
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
    /// `out = op(a) op(b)`, from host to host. A device that is not the host brings parts of the operands and of the result on
    /// their way while others are multiplied.
    fn gemm_host(
        &self,
        a: (Trans, MatRef<'_, T>),
        b: (Trans, MatRef<'_, T>),
        out: MatMut<'_, T>,
    ) -> Result<()> {
        self.gemm_loaded(a, b, out)
    }
    /// As [`Device::gemm_host`], one step after the other.
    fn gemm_loaded(
        &self,
        (ta, a): (Trans, MatRef<'_, T>),
        (tb, b): (Trans, MatRef<'_, T>),
        out: MatMut<'_, T>,
    ) -> Result<()> {
        let (a, b) = (self.load(a)?, self.load(b)?);
        let mut c = self.output(out)?;
        self.gemm(T::from_f64(1.0), ta, &a, tb, &b, T::from_f64(0.0), &mut c)?;
        self.store(c)
    }
    /// `out = a'a` or `aa'`, from host to host, as [`Device::gemm_host`].
    fn syrk_host(&self, trans: Trans, a: MatRef<'_, T>, out: MatMut<'_, T>) -> Result<()> {
        self.syrk_loaded(trans, a, out)
    }
    /// As [`Device::syrk_host`], one step after the other.
    fn syrk_loaded(&self, trans: Trans, a: MatRef<'_, T>, out: MatMut<'_, T>) -> Result<()> {
        let a = self.load(a)?;
        let mut c = self.output(out)?;
        self.syrk(trans, &a, &mut c)?;
        self.store(c)
    }
    /// `C <- A' A` (`Trans::Yes`) or `A A'` (`Trans::No`), both triangles written, exactly symmetric.
    fn syrk(&self, trans: Trans, a: &Self::Mat<'_>, c: &mut Self::Mat<'_>) -> Result<()>;

    // ---- triangular systems -------------------------------------------------------------------

    /// `B[0..k, ] <- op(A)^-1 B[0..k, ]` (left) or `B[, 0..k] <- B[, 0..k] op(A)^-1` (right), with the
    /// leading `k` x `k` triangle of A, which must have no zero on its diagonal. The other triangle is not read.
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

    // ---- factorizations, in place -------------------------------------------------------------

    /// `A = U'U` or `LL'` in the triangle `uplo`; the other is neither read nor written. A pivot that is not
    /// greater than zero (NaN too) is [`Error::NotPositiveDefinite`](crate::base::error::Error) with LAPACK's order;
    /// an infinite pivot goes on, as in LAPACK.
    fn potrf(&self, uplo: Uplo, a: &mut Self::Mat<'_>) -> Result<()>;
    /// `out` becomes the factor U of `a`, of whose entries only the upper triangle is read; from host to host, as
    /// [`Device::gemm_host`].
    fn potrf_host(&self, a: MatRef<'_, T>, out: MatMut<'_, T>) -> Result<()> {
        self.potrf_loaded(a, out)
    }
    /// As [`Device::potrf_host`], one step after the other.
    fn potrf_loaded(&self, a: MatRef<'_, T>, out: MatMut<'_, T>) -> Result<()> {
        let mut u = self.load_into(a, Part::Upper, out)?;
        self.potrf(Uplo::Upper, &mut u)?;
        self.store_part(u, Part::Upper)
    }
    /// `A = U'U` for each of the square matrices that stand side by side in A, as many as its columns make. Only their upper
    /// triangles are read, and zeros are written below the diagonals. A pivot as in [`Device::potrf`] is
    /// [`Error::NotPositiveDefiniteIn`](crate::base::error::Error) of the first matrix that has one; nothing is then said of the
    /// contents of A.
    fn potrf_batched(&self, a: &mut Self::Mat<'_>) -> Result<()>;
    /// `C <- (R'R)^-1` of the leading upper triangle of R, of the order of C, which must have no zero on its diagonal; both triangles
    /// written, exactly symmetric.
    fn potri(&self, r: &Self::Mat<'_>, c: &mut Self::Mat<'_>) -> Result<()> {
        let (n, _) = self.shape(c);
        // This and the product do not know of zeros, and so do 2 n^3 operations where 2 n^3 / 3 would do.
        progress::extend(4.0 * cholesky_flops(n));
        let mut inv = self.zeros(n, n)?;
        self.set_identity(&mut inv)?;
        let (left, upper) = (Side::Left, Uplo::Upper);
        self.trsm(left, upper, Trans::No, Diag::NonUnit, n, r, &mut inv)?;
        self.syrk(Trans::No, &inv, c)
    }
    /// Whether there are [`Device::chud`] and [`Device::chud_panel`].
    fn reflects(&self) -> bool {
        false
    }
    /// Whether [`Device::chud`] is there, and faster for so many rows and columns of V than another factorization.
    fn chud_pays(&self, _n: usize, _k: usize) -> bool {
        false
    }
    /// The upper factor of `R'R + V V'` or `R'R - V V'` in place of R, with a positive diagonal; V is lost. The triangle below the diagonal is of no
    /// account, and stays. Where there is no factor that is [`Error::NotPositiveDefinite`](crate::base::error::Error) with the order of the minor, and R is lost, too.
    fn chud(&self, _change: Change, _r: &mut Self::Mat<'_>, _v: &mut Self::Mat<'_>) -> Result<()> {
        Err(Error::Internal {
            what: "this device has no reflections of a factor".into(),
        })
    }
    /// As [`Device::chud`] of the upper triangle of `from`, into `out`, which is zero below the diagonal; from host to host, as [`Device::gemm_host`]. `None`
    /// where that is not for this device and matrix: V is as it was. Before a downdate changes anything `look` is given R, whose error ends all. An error where
    /// `from` has numbers that are not finite, or a zero on the diagonal.
    fn chud_host(
        &self,
        _change: Change,
        _from: MatRef<'_, T>,
        _v: &mut Self::Mat<'_>,
        _out: MatMut<'_, T>,
        _look: &mut dyn FnMut(&Self::Mat<'static>) -> Result<()>,
    ) -> Result<Option<()>> {
        Ok(None)
    }
    /// Whether [`Device::chud`] of a factor of order n with k columns of V is over in a moment, so that users who want an end may be heard after it.
    fn is_steady(&self, _n: usize, _k: usize) -> bool {
        false
    }
    /// Whether matrices are where the host has them, so that it can look at them on the way.
    fn is_here(&self) -> bool {
        false
    }
    /// Whether it is known that this is an upper factor, zero below the diagonal, of numbers with which one can be changed without a look at them.
    fn is_factor(&self, _a: &Self::Mat<'_>) -> bool {
        false
    }
    /// Says so, or that it is not; who changes the matrix otherwise has to.
    fn set_factor(&self, _a: &mut Self::Mat<'_>, _known: bool) {}
    /// Zeroes what is outside of `part`.
    fn keep_part(&self, part: Part, a: &mut Self::Mat<'_>) -> Result<()>;
    /// Room for the reflections of `n` rows of a factor with `k` columns of V, of which none is there yet: O(n k) numbers.
    fn reflections(&self, change: Change, n: usize, k: usize) -> Result<Self::Reflections>;
    /// As [`Device::chud`], of the columns from `first` on: `panel` has them down to the diagonal, `first` rows and as many more as it has columns, and `v` the
    /// rows of V of these columns, which are lost. A factor that lies nowhere as a whole is changed so, each entry met once: `all` has the reflections of the rows
    /// above `first`, and gets those of the panel's. Panels come in order from column 0 on, each from a multiple of [`PANEL`] on.
    /// After an error nothing of `all` is of use.
    fn chud_panel(
        &self,
        all: &mut Self::Reflections,
        first: usize,
        panel: &mut Self::Mat<'_>,
        v: &mut Self::Mat<'_>,
    ) -> Result<()>;
    /// `P'AP = U'U` in the upper triangle with the largest diagonal entry first (LAPACK's `pstrf`; the first
    /// of equals). Stops at a pivot `<= tol` or NaN; a negative `tol` means `n eps/2 max(diag(A))`.
    fn pstrf(&self, tol: f64, a: &mut Self::Mat<'_>) -> Result<PivotedCholesky>;
    /// `A = P L U` with partial pivoting, first maximum wins; any shape.
    fn getrf(&self, a: &mut Self::Mat<'_>) -> Result<LuInfo>;
    /// [`Device::getrf`] of a host matrix in A, of its shape, whose contents are not read, and the matrix's 1-norm.
    fn getrf_host(&self, x: MatRef<'_, T>, a: &mut Self::Mat<'_>) -> Result<(LuInfo, f64)> {
        self.getrf_loaded(x, a)
    }
    /// As [`Device::getrf_host`], one step after the other.
    fn getrf_loaded(&self, x: MatRef<'_, T>, a: &mut Self::Mat<'_>) -> Result<(LuInfo, f64)> {
        self.refill(x, Part::All, a)?;
        let norm = self.norm1(a)?;
        Ok((self.getrf(a)?, norm))
    }
    /// `out = A^-1 b` from the LU factors of A; without `b` the inverse.
    fn getrs_host(
        &self,
        lu: &Self::Mat<'_>,
        ipiv: &[usize],
        b: Option<MatRef<'_, T>>,
        out: MatMut<'_, T>,
    ) -> Result<()> {
        self.getrs_loaded(lu, ipiv, b, out)
    }
    /// As [`Device::getrs_host`], one step after the other.
    fn getrs_loaded(
        &self,
        lu: &Self::Mat<'_>,
        ipiv: &[usize],
        b: Option<MatRef<'_, T>>,
        out: MatMut<'_, T>,
    ) -> Result<()> {
        let mut x = match b {
            Some(b) => self.load_into(b, Part::All, out)?,
            None => {
                let mut x = self.output(out)?;
                self.set_identity(&mut x)?;
                x
            }
        };
        self.getrs(lu, ipiv, &mut x)?;
        self.store(x)
    }
    /// `X <- A^-1 X` from the LU factors of A.
    fn getrs(&self, lu: &Self::Mat<'_>, ipiv: &[usize], x: &mut Self::Mat<'_>) -> Result<()> {
        let (n, left, no) = (ipiv.len(), Side::Left, Trans::No);
        self.laswp(no, ipiv, x)?;
        self.trsm(left, Uplo::Lower, no, Diag::Unit, n, lu, x)?;
        self.trsm(left, Uplo::Upper, no, Diag::NonUnit, n, lu, x)
    }
    /// Applies the exchanges of `ipiv` to the rows of B, in order (`Trans::No`: B <- P'B) or
    /// in reverse (`Trans::Yes`: B <- P B).
    fn laswp(&self, trans: Trans, ipiv: &[usize], b: &mut Self::Mat<'_>) -> Result<()>;
    /// `A = QR` by Householder reflectors, LAPACK's storage and signs (R on and above the diagonal, reflectors
    /// with an implicit leading one below it); returns the `min(m, n)` factors `tau`.
    fn geqrf(&self, a: &mut Self::Mat<'_>) -> Result<Vec<T>>;
    /// [`Device::geqrf`] of a host matrix, its form changed by `finish`, in `out`; `None` where that is not for this device and matrix.
    fn geqrf_host(
        &self,
        _x: MatRef<'_, T>,
        _out: MatMut<'_, T>,
        _finish: &mut QrBlock<'_, T>,
    ) -> Result<Option<Vec<T>>> {
        Ok(None)
    }
    /// `A[i,j] <- below[j] A[i,j]` under the diagonal, `A[i,j] <- rows[i] A[i,j]` on and above it. Where a list ends the
    /// factor is 1.
    fn scale_trapezoids(&self, below: &[T], rows: &[T], a: &mut Self::Mat<'_>) -> Result<()>;
    /// QR with the column of largest remaining norm next (LAPACK's `geqp3`); `rank` is `min(m, n)`.
    fn geqp3(&self, a: &mut Self::Mat<'_>) -> Result<PivotedQr<T>>;
    /// QR with LINPACK's limited exchanges (R's `dqrdc2`): a column whose remaining norm falls below `tol` times
    /// its first norm (1 if that is 0) moves behind the others, whose order is kept; `rank` counts the columns left in
    /// front, at most `min(m, n)`. As in `dqrdc2` the columns moved behind are reduced too, without further exchanges, so that
    /// there are `min(m, n)` reflectors. Reflectors and `tau` in LAPACK's form.
    fn qrdc2(&self, tol: f64, a: &mut Self::Mat<'_>) -> Result<PivotedQr<T>>;
    /// `C <- Q' C` (`Trans::Yes`) or `Q C`, for the first `tau.len()` reflectors in A.
    fn ormqr(
        &self,
        trans: Trans,
        a: &Self::Mat<'_>,
        tau: &[T],
        c: &mut Self::Mat<'_>,
    ) -> Result<()>;
    /// Q <- the first columns of the orthogonal factor, for the first `tau.len()` reflectors in A: as many as Q has, at least
    /// `tau.len()` and at most as many as A has rows. Less work than `ormqr` on an identity; nothing of Q is read.
    fn orgqr(&self, a: &Self::Mat<'_>, tau: &[T], q: &mut Self::Mat<'_>) -> Result<()>;

    /// Whether [`Device::qrls_batched`] takes problems of this shape. Others are large enough to be solved one by one.
    fn batches(&self, shape: ProblemShape) -> bool;
    /// Least squares by QR with the exchanges of [`Device::qrdc2`] for many problems (LINPACK's `dqrls` as R has it),
    /// which have at least one row.
    fn qrls_batched(&self, tol: f64, problems: Problems<'_, Self::Mat<'_>>) -> Result<Ranks>;

    // ---- what a driver asks about a matrix ----------------------------------------------------

    /// The largest sum of absolute values in a column (0 for no columns).
    fn norm1(&self, a: &Self::Mat<'_>) -> Result<f64>;
    /// The Euclidean norm of every column, without overflow or underflow.
    fn column_norms(&self, a: &Self::Mat<'_>) -> Result<Vec<f64>>;
    /// The `min(m, n)` diagonal entries.
    fn diagonal(&self, a: &Self::Mat<'_>) -> Result<Vec<T>>;

    // ---- covariances of points ----------------------------------------------------------------

    /// Points to be read, in double precision whatever the matrices' type. On the CPU they are borrowed.
    fn points<'a>(&self, x: Points<'a>) -> Result<Self::Points<'a>>;
    /// `out[i, j]` becomes the covariance of point `block.row + i` of x with point `block.col + j` of y, for the block's rows and columns, and zero in what
    /// `out` has beyond them. The nugget is added where the two numbers are the same: it is for points and themselves. x and y have the same
    /// dimensions, and the scales of x count. Entries are computed in double precision, by the operations of
    /// [`Correlation::at`](crate::device::covariance::Correlation::at) in their order, and rounded to the type of `out` once, so that devices differ by the last places
    /// of their exponential functions alone, and an entry depends on its two points alone.
    fn covariance(
        &self,
        function: &Covariance,
        x: &Self::Points<'_>,
        y: &Self::Points<'_>,
        block: Block,
        out: &mut Self::Mat<'_>,
    ) -> Result<()>;
}
