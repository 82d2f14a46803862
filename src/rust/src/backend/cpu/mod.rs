//! The processor: faer's kernels, blocked and threaded for R's layout.
//!
//! Operands are R's memory as it is, and results are written where R will read them.

mod cholesky;
mod device;
mod elementwise;
mod gemm;
mod lu;
mod matrix;
mod multigrid;
mod qr;
mod triangular;
mod update;
pub(crate) mod vector;

use faer::{MatMut, MatRef};

pub use self::device::usage::memory;
pub use self::matrix::views::CpuMat;
use self::matrix::views::{columns, columns_mut, op, require, submatrix};
pub use self::update::factor::Reflections;
pub use crate::backend::cpu::multigrid::csr::{HostAggregates, HostCsr};

use crate::base::error::{Error, Result};
use crate::base::matrix::{Block, Change, Diag, Part, Side, Trans, Uplo};
use crate::base::packing;
use crate::base::scalar::{try_zeroed, Scalar};
use crate::device::covariance::{Covariance, Points};
use crate::device::dense::{
    is_batch, Device, LuInfo, PivotedCholesky, PivotedQr, ProblemShape, Problems, Ranks,
};

/// The processor with a number of threads.
#[derive(Debug, Clone)]
pub struct CpuDevice {
    threads: usize,
    /// Whether tiles are copied to memory of its own.
    apart: bool,
    /// Whether others of its kind reach that memory.
    reached: bool,
}

impl CpuDevice {
    /// At most this many threads; 0 asks the environment and the machine.
    pub fn new(threads: usize) -> Self {
        CpuDevice {
            threads: crate::base::threads::resolve(threads),
            apart: false,
            reached: false,
        }
    }

    /// As [`CpuDevice::new`], with memory apart from the host's for tiles, as a GPU has: what drives several GPUs is tested by it without one.
    pub fn apart(threads: usize) -> Self {
        CpuDevice {
            apart: true,
            reached: true,
            ..CpuDevice::new(threads)
        }
    }

    /// As [`CpuDevice::apart`], with memory that no other device reaches.
    pub fn out_of_reach(threads: usize) -> Self {
        CpuDevice {
            reached: false,
            ..CpuDevice::apart(threads)
        }
    }

    /// The threads in force.
    pub fn threads(&self) -> usize {
        self.threads
    }
}

/// Of a factor's order, squared, times columns of V: a change of a factor that is over in a moment, some tenths of a second.
const STEADY: f64 = 1e9;

impl<T: Scalar> Device<T> for CpuDevice {
    type Mat<'a> = CpuMat<'a, T>;
    type Points<'a> = Points<'a>;
    type Reflections = Reflections<T>;

    fn name(&self) -> String {
        "cpu".into()
    }

    fn load<'a>(&self, a: MatRef<'a, T>) -> Result<CpuMat<'a, T>> {
        Ok(CpuMat::Read(a))
    }

    fn load_into<'a>(
        &self,
        a: MatRef<'_, T>,
        part: Part,
        mut home: MatMut<'a, T>,
    ) -> Result<CpuMat<'a, T>> {
        require(
            a.shape() == home.shape(),
            "a matrix and its home differ in shape",
        )?;
        matrix::copy::part(a, part, home.as_mut(), self.threads)?;
        Ok(CpuMat::Home(home))
    }

    fn output<'a>(&self, home: MatMut<'a, T>) -> Result<CpuMat<'a, T>> {
        Ok(CpuMat::Home(home))
    }

    fn zeros(&self, rows: usize, cols: usize) -> Result<CpuMat<'static, T>> {
        let len = rows
            .checked_mul(cols)
            .ok_or(Error::HostMemory { needed: u64::MAX })?;
        Ok(CpuMat::Own {
            data: try_zeroed(len)?,
            rows,
            cols,
            factor: false,
        })
    }

    fn load_temporary(&self, a: MatRef<'_, T>, part: Part) -> Result<CpuMat<'static, T>> {
        let mut copy = self.zeros(a.nrows(), a.ncols())?;
        matrix::copy::part(a, part, copy.view_mut()?, self.threads)?;
        Ok(copy)
    }

    fn refill(&self, from: MatRef<'_, T>, part: Part, to: &mut CpuMat<'_, T>) -> Result<()> {
        let to = to.view_mut()?;
        require(
            from.shape() == to.shape(),
            "a matrix and its copy differ in shape",
        )?;
        matrix::copy::part(from, part, to, self.threads)?;
        Ok(())
    }

    fn set_identity(&self, a: &mut CpuMat<'_, T>) -> Result<()> {
        let mut a = a.view_mut()?;
        a.fill(T::from_f64(0.0));
        for i in 0..a.nrows().min(a.ncols()) {
            a[(i, i)] = T::from_f64(1.0);
        }
        Ok(())
    }

    fn store(&self, _: CpuMat<'_, T>) -> Result<()> {
        Ok(())
    }

    fn store_part(&self, _: CpuMat<'_, T>, _: Part) -> Result<()> {
        Ok(())
    }

    fn read(&self, a: &CpuMat<'_, T>, out: MatMut<'_, T>) -> Result<()> {
        require(
            a.view().shape() == out.shape(),
            "a matrix and its copy differ in shape",
        )?;
        matrix::copy::part(a.view(), Part::All, out, self.threads)?;
        Ok(())
    }

    fn read_block(&self, a: &CpuMat<'_, T>, block: Block, out: MatMut<'_, T>) -> Result<()> {
        let from = submatrix(a.view(), block)?;
        require(
            from.shape() == out.shape(),
            "a block and its copy differ in shape",
        )?;
        matrix::copy::part(from, Part::All, out, self.threads)?;
        Ok(())
    }

    fn duplicate(&self, a: &CpuMat<'_, T>, part: Part) -> Result<CpuMat<'static, T>> {
        self.load_temporary(a.view(), part)
    }

    fn copy_block(
        &self,
        from: &CpuMat<'_, T>,
        block: Block,
        to: &mut CpuMat<'_, T>,
        at: (usize, usize),
    ) -> Result<()> {
        let from = submatrix(from.view(), block)?;
        let to = to.view_mut()?;
        let place = Block {
            row: at.0,
            col: at.1,
            ..block
        };
        require(place.is_in(to.shape()), "a block is outside the matrix")?;
        let to = to.submatrix_mut(place.row, place.col, place.rows, place.cols);
        matrix::copy::part(from, Part::All, to, self.threads)?;
        Ok(())
    }

    fn shape(&self, a: &CpuMat<'_, T>) -> (usize, usize) {
        a.view().shape()
    }

    fn batch_bytes(&self, all: usize) -> Result<usize> {
        Ok(all.min(cholesky::batch::CACHED_BYTES.saturating_mul(self.threads)))
    }

    fn gemm(
        &self,
        alpha: T,
        ta: Trans,
        a: &CpuMat<'_, T>,
        tb: Trans,
        b: &CpuMat<'_, T>,
        beta: T,
        c: &mut CpuMat<'_, T>,
    ) -> Result<()> {
        packing::ready()?;
        let (a, b, c) = (op(ta, a.view()), op(tb, b.view()), c.view_mut()?);
        require(
            a.ncols() == b.nrows() && c.shape() == (a.nrows(), b.ncols()),
            "the shapes of a product do not agree",
        )?;
        gemm::gemm(alpha, a, b, beta, c, self.threads)
    }

    fn syrk(&self, trans: Trans, a: &CpuMat<'_, T>, c: &mut CpuMat<'_, T>) -> Result<()> {
        packing::ready()?;
        // C = B'B
        let b = match trans {
            Trans::Yes => a.view(),
            Trans::No => a.view().transpose(),
        };
        let c = c.view_mut()?;
        require(
            c.shape() == (b.ncols(), b.ncols()),
            "the shapes of a product do not agree",
        )?;
        gemm::crossproduct(b, c, self.threads)
    }

    fn trsm(
        &self,
        side: Side,
        uplo: Uplo,
        trans: Trans,
        diag: Diag,
        k: usize,
        a: &CpuMat<'_, T>,
        b: &mut CpuMat<'_, T>,
    ) -> Result<()> {
        packing::ready()?;
        let (a, b) = (a.view(), b.view_mut()?);
        let order = match side {
            Side::Left => b.nrows(),
            Side::Right => b.ncols(),
        };
        require(
            k <= a.nrows() && k <= a.ncols() && k <= order,
            "the triangle is larger than its matrix",
        )?;
        triangular::trsm(
            side,
            uplo,
            trans,
            diag,
            a.submatrix(0, 0, k, k),
            b,
            self.threads,
        )
    }

    fn potrf(&self, uplo: Uplo, a: &mut CpuMat<'_, T>) -> Result<()> {
        packing::ready()?;
        let a = a.view_mut()?;
        require(a.nrows() == a.ncols(), "the matrix is not square")?;
        match uplo {
            Uplo::Lower => cholesky::factor::potrf(a, self.threads),
            Uplo::Upper => cholesky::factor::potrf(a.transpose_mut(), self.threads),
        }
    }

    fn potrf_batched(&self, a: &mut CpuMat<'_, T>) -> Result<()> {
        packing::ready()?;
        let a = a.columns_mut()?;
        require(is_batch(a.shape()), "the matrices are not square")?;
        cholesky::batch::potrf_batched(a, self.threads)
    }

    fn reflects(&self) -> bool {
        true
    }

    fn chud_pays(&self, n: usize, k: usize) -> bool {
        k <= n / 2
    }

    fn chud(&self, change: Change, r: &mut CpuMat<'_, T>, v: &mut CpuMat<'_, T>) -> Result<()> {
        packing::ready()?;
        let (r, v) = (r.columns_mut()?, v.columns_mut()?);
        let fits = r.nrows() == r.ncols() && r.nrows() == v.nrows();
        require(fits, "a factor and its update differ in their rows")?;
        update::factor::update(change, r, v, self.threads)
    }

    fn chud_host(
        &self,
        change: Change,
        from: MatRef<'_, T>,
        v: &mut CpuMat<'_, T>,
        out: MatMut<'_, T>,
        _look: &mut dyn FnMut(&CpuMat<'static, T>) -> Result<()>,
    ) -> Result<Option<()>> {
        packing::ready()?;
        if change == Change::Down || from.try_as_col_major().is_none() {
            return Ok(None);
        }
        let (from, r) = (columns(from)?, columns_mut(out)?);
        let v = v.columns_mut()?;
        let fits = r.nrows() == r.ncols() && r.nrows() == v.nrows() && r.shape() == from.shape();
        require(fits, "a factor and its update differ in their rows")?;
        update::factor::update_from(change, from, r, v, self.threads).map(Some)
    }

    fn is_steady(&self, n: usize, k: usize) -> bool {
        (n as f64).powi(2) * k as f64 <= STEADY
    }

    fn is_factor(&self, a: &CpuMat<'_, T>) -> bool {
        matches!(a, CpuMat::Own { factor: true, .. })
    }

    fn set_factor(&self, a: &mut CpuMat<'_, T>, known: bool) {
        if let CpuMat::Own { factor, .. } = a {
            *factor = known;
        }
    }

    fn is_here(&self) -> bool {
        true
    }

    fn keep_part(&self, part: Part, a: &mut CpuMat<'_, T>) -> Result<()> {
        let mut a = a.view_mut()?;
        for j in 0..a.ncols() {
            for i in 0..a.nrows() {
                let outside = match part {
                    Part::All => false,
                    Part::Upper => i > j,
                    Part::Lower => i < j,
                };
                if outside {
                    a[(i, j)] = T::from_f64(0.0);
                }
            }
        }
        Ok(())
    }

    fn reflections(&self, change: Change, n: usize, k: usize) -> Result<Reflections<T>> {
        Reflections::new(change, n, k)
    }

    fn chud_panel(
        &self,
        all: &mut Reflections<T>,
        first: usize,
        panel: &mut CpuMat<'_, T>,
        v: &mut CpuMat<'_, T>,
    ) -> Result<()> {
        packing::ready()?;
        let (panel, v) = (panel.columns_mut()?, v.columns_mut()?);
        let fits = panel.nrows() == first + panel.ncols() && panel.ncols() == v.nrows();
        require(
            fits && all.expects(first, panel.nrows(), v.ncols()),
            "a panel of a factor and its update do not fit what came before",
        )?;
        update::factor::change_panel(all, first, panel, v, self.threads)
    }

    fn potri(&self, r: &CpuMat<'_, T>, c: &mut CpuMat<'_, T>) -> Result<()> {
        packing::ready()?;
        let (r, c) = (r.view(), c.view_mut()?);
        let n = c.nrows();
        require(
            c.ncols() == n && n <= r.nrows() && n <= r.ncols(),
            "the triangle is larger than its matrix",
        )?;
        cholesky::inverse::potri(r.submatrix(0, 0, n, n), c, self.threads)
    }

    fn pstrf(&self, tol: f64, a: &mut CpuMat<'_, T>) -> Result<PivotedCholesky> {
        packing::ready()?;
        let a = a.columns_mut()?;
        require(a.nrows() == a.ncols(), "the matrix is not square")?;
        cholesky::pivoted::pstrf(tol, a, self.threads)
    }

    fn getrf(&self, a: &mut CpuMat<'_, T>) -> Result<LuInfo> {
        packing::ready()?;
        lu::getrf(a.columns_mut()?, self.threads)
    }

    fn laswp(&self, trans: Trans, ipiv: &[usize], b: &mut CpuMat<'_, T>) -> Result<()> {
        let b = b.columns_mut()?;
        require(
            ipiv.len() <= b.nrows() && ipiv.iter().all(|&p| p < b.nrows()),
            "a row exchange is outside the matrix",
        )?;
        lu::laswp(trans, ipiv, b);
        Ok(())
    }

    fn geqrf(&self, a: &mut CpuMat<'_, T>) -> Result<Vec<T>> {
        packing::ready()?;
        qr::factor::geqrf(a.columns_mut()?, self.threads)
    }

    fn scale_trapezoids(&self, below: &[T], rows: &[T], a: &mut CpuMat<'_, T>) -> Result<()> {
        qr::factor::scale_trapezoids(below, rows, a.columns_mut()?, self.threads);
        Ok(())
    }

    fn geqp3(&self, a: &mut CpuMat<'_, T>) -> Result<PivotedQr<T>> {
        packing::ready()?;
        qr::pivoted::geqp3(a.columns_mut()?, self.threads)
    }

    fn qrdc2(&self, tol: f64, a: &mut CpuMat<'_, T>) -> Result<PivotedQr<T>> {
        packing::ready()?;
        qr::limited::qrdc2(tol, a.columns_mut()?, self.threads)
    }

    fn ormqr(
        &self,
        trans: Trans,
        a: &CpuMat<'_, T>,
        tau: &[T],
        c: &mut CpuMat<'_, T>,
    ) -> Result<()> {
        packing::ready()?;
        let (a, c) = (columns(a.view())?, c.columns_mut()?);
        require(
            tau.len() <= a.nrows().min(a.ncols()) && c.nrows() == a.nrows(),
            "the reflectors do not fit the matrix",
        )?;
        qr::factor::ormqr(trans, a, tau, c, self.threads)
    }

    fn orgqr(&self, a: &CpuMat<'_, T>, tau: &[T], q: &mut CpuMat<'_, T>) -> Result<()> {
        packing::ready()?;
        let (a, q) = (columns(a.view())?, q.columns_mut()?);
        require(
            tau.len() <= a.nrows().min(a.ncols())
                && q.nrows() == a.nrows()
                && (tau.len()..=a.nrows()).contains(&q.ncols()),
            "the reflectors do not fit the matrix",
        )?;
        qr::factor::orgqr(a, tau, q, self.threads)
    }

    fn batches(&self, shape: ProblemShape) -> bool {
        let each = shape
            .m
            .saturating_mul(shape.n)
            .saturating_mul(size_of::<T>());
        each <= cholesky::batch::CACHED_BYTES / 4
    }

    fn qrls_batched(&self, tol: f64, problems: Problems<'_, CpuMat<'_, T>>) -> Result<Ranks> {
        packing::ready()?;
        let p = problems;
        let parts = qr::batch::Parts {
            shape: p.shape,
            count: p.count,
            x: p.x.columns_mut()?,
            y: p.y.columns_mut()?,
            residuals: p.residuals.columns_mut()?,
            coefficients: p.coefficients.columns_mut()?,
            qraux: p.qraux.columns_mut()?,
        };
        require(parts.fit(), "the parts of the problems differ in shape")?;
        qr::batch::qrls_batched(tol, parts, self.threads)
    }

    fn norm1(&self, a: &CpuMat<'_, T>) -> Result<f64> {
        elementwise::norms::norm1(a.view(), self.threads)
    }

    fn column_norms(&self, a: &CpuMat<'_, T>) -> Result<Vec<f64>> {
        elementwise::norms::column_norms(a.view(), self.threads)
    }

    fn diagonal(&self, a: &CpuMat<'_, T>) -> Result<Vec<T>> {
        Ok(elementwise::norms::diagonal(a.view()))
    }

    fn points<'a>(&self, x: Points<'a>) -> Result<Points<'a>> {
        x.check().map(|()| x)
    }

    fn covariance(
        &self,
        function: &Covariance,
        x: &Points<'_>,
        y: &Points<'_>,
        block: Block,
        out: &mut CpuMat<'_, T>,
    ) -> Result<()> {
        elementwise::covariance::evaluate(function, (x, y), block, out.view_mut()?, self.threads)
    }
}
