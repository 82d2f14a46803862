//! NVIDIA GPUs, by kernels of our own (`kernels/*.cu`).
//!
//! - `driver`: a GPU's context, streams, memory and kernels; `matrix`: matrices in its memory; `transfer`: their way to and from it
//! - `gemm`, `triangular`, `precision`, `panel`: what factorizations consist of; `cholesky`, `lu`, `qr`: these
//! - `elementwise`, `multigrid`: arithmetic by entries, and the steps of multigrid
//! - `streamed`: factors and products from host to host, computed while blocks travel
//! - `device`: the contracts; start there

mod cholesky;
mod device;
pub mod driver;
mod elementwise;
mod gemm;
mod lu;
pub(super) mod matrix;
mod multigrid;
mod panel;
mod precision;
mod qr;
mod streamed;
mod transfer;
mod triangular;
use faer::prelude::*;
use faer::{MatMut, MatRef};

pub use self::cholesky::update::Reflections;
pub use self::device::usage::Usage;
use self::driver::context::Context;
use self::driver::guards::{in_blocks, require, require_indexable};
pub use self::elementwise::covariance::DevicePoints;
pub use self::matrix::views::Matrix;
pub use self::multigrid::sparse_aggregates::DeviceAggregates;
use crate::backend::cuda::gemm::update::Update;
pub use crate::backend::cuda::multigrid::csr::DeviceCsr;
use crate::base::error::Result;
use crate::base::matrix::{Block, Change, Diag, Part, Side, Trans, Uplo};
use crate::base::scalar::Scalar;
use crate::device::covariance::{Covariance, Points};
use crate::device::dense::{
    is_batch, Device, LuInfo, PivotedCholesky, PivotedQr, ProblemShape, Problems, QrBlock, Ranks,
};

/// One GPU, opened at first use for the life of the process.
#[derive(Clone, Copy)]
pub struct CudaDevice {
    ctx: &'static Context,
}

impl CudaDevice {
    pub fn open(ordinal: usize) -> Result<CudaDevice> {
        Ok(CudaDevice {
            ctx: Context::open(ordinal)?,
        })
    }

    /// Its number, counted from 0.
    pub fn ordinal(&self) -> usize {
        self.ctx.ordinal
    }

    /// Waits until everything asked of the GPU is done.
    pub fn synchronize(&self) -> Result<()> {
        self.ctx.wait()
    }
}

/// Bytes that this process has sent to GPUs, and fetched.
pub fn bytes_moved() -> (u64, u64) {
    driver::traffic::bytes_moved()
}

impl<T: Scalar> Device<T> for CudaDevice {
    type Mat<'a> = Matrix<'a, T>;
    type Points<'a> = DevicePoints;
    type Reflections = Reflections;

    fn name(&self) -> String {
        format!("cuda:{}", self.ctx.ordinal)
    }

    fn load<'a>(&self, a: MatRef<'a, T>) -> Result<Matrix<'a, T>> {
        Matrix::from_host(self.ctx, a, Part::All)
    }

    fn load_into<'a>(
        &self,
        a: MatRef<'_, T>,
        part: Part,
        home: MatMut<'a, T>,
    ) -> Result<Matrix<'a, T>> {
        Matrix::from_host(self.ctx, a, part)?.with_home(home)
    }

    fn output<'a>(&self, home: MatMut<'a, T>) -> Result<Matrix<'a, T>> {
        Matrix::new(self.ctx, home.nrows(), home.ncols())?.with_home(home)
    }

    fn zeros(&self, rows: usize, cols: usize) -> Result<Matrix<'static, T>> {
        Matrix::zeros(self.ctx, rows, cols)
    }

    fn load_temporary(&self, a: MatRef<'_, T>, part: Part) -> Result<Matrix<'static, T>> {
        Matrix::from_host(self.ctx, a, part)
    }

    fn refill(&self, from: MatRef<'_, T>, part: Part, to: &mut Matrix<'_, T>) -> Result<()> {
        to.refill(self.ctx, from, part)
    }

    fn set_identity(&self, a: &mut Matrix<'_, T>) -> Result<()> {
        a.set_identity(self.ctx)
    }

    fn store(&self, a: Matrix<'_, T>) -> Result<()> {
        a.store(self.ctx, Part::All)
    }

    fn store_part(&self, a: Matrix<'_, T>, part: Part) -> Result<()> {
        a.store(self.ctx, part)
    }

    fn read(&self, a: &Matrix<'_, T>, out: MatMut<'_, T>) -> Result<()> {
        a.read(self.ctx, out)
    }

    fn read_block(&self, a: &Matrix<'_, T>, block: Block, out: MatMut<'_, T>) -> Result<()> {
        if block == Block::leading(a.shape().0, a.shape().1) {
            return a.read(self.ctx, out);
        }
        let gathered = Matrix::new(self.ctx, block.rows, block.cols)?;
        gathered.copy_block(self.ctx, a, block, (0, 0))?;
        gathered.read(self.ctx, out)
    }

    fn duplicate(&self, a: &Matrix<'_, T>, part: Part) -> Result<Matrix<'static, T>> {
        a.duplicate(self.ctx, part)
    }

    fn copy_block(
        &self,
        from: &Matrix<'_, T>,
        block: Block,
        to: &mut Matrix<'_, T>,
        at: (usize, usize),
    ) -> Result<()> {
        to.copy_block(self.ctx, from, block, at)
    }

    fn shape(&self, a: &Matrix<'_, T>) -> (usize, usize) {
        a.shape()
    }

    fn batch_bytes(&self, all: usize) -> Result<usize> {
        cholesky::batch::room(self.ctx, all)
    }

    fn gemm(
        &self,
        alpha: T,
        ta: Trans,
        a: &Matrix<'_, T>,
        tb: Trans,
        b: &Matrix<'_, T>,
        beta: T,
        c: &mut Matrix<'_, T>,
    ) -> Result<()> {
        let a = if ta.is_yes() { a.view().t() } else { a.view() };
        let b = if tb.is_yes() { b.view().t() } else { b.view() };
        let c = c.view();
        require(
            a.cols == b.rows && c.rows == a.rows && c.cols == b.cols,
            "gemm: shapes do not fit",
        )?;
        let update = Update {
            alpha,
            beta,
            ..Update::assign()
        };
        gemm::gemm_syrk::multiply(self.ctx, update, a, b, c)
    }

    fn gemm_host(
        &self,
        a: (Trans, MatRef<'_, T>),
        b: (Trans, MatRef<'_, T>),
        mut out: MatMut<'_, T>,
    ) -> Result<()> {
        if streamed::product::multiply(self.ctx, a, b, out.rb_mut())? {
            return Ok(());
        }
        self.gemm_loaded(a, b, out)
    }

    fn syrk_host(&self, trans: Trans, a: MatRef<'_, T>, mut out: MatMut<'_, T>) -> Result<()> {
        let n = trans.shape((a.nrows(), a.ncols())).0;
        require(
            (out.nrows(), out.ncols()) == (n, n),
            "syrk: shapes do not fit",
        )?;
        let blocks = transfer::column_blocks::worthwhile::<T>((a.nrows(), a.ncols()), 4);
        if let (Trans::Yes, Some(blocks)) = (trans, blocks) {
            let done = || streamed::factors::crossprod(self.ctx, a, out.rb_mut(), &blocks);
            if in_blocks(done)?.is_some() {
                return Ok(());
            }
        }
        self.syrk_loaded(trans, a, out)
    }

    fn syrk(&self, trans: Trans, a: &Matrix<'_, T>, c: &mut Matrix<'_, T>) -> Result<()> {
        let a = if trans.is_yes() {
            a.view().t()
        } else {
            a.view()
        };
        require(c.shape() == (a.rows, a.rows), "syrk: shapes do not fit")?;
        gemm::gemm_syrk::square(self.ctx, a, c.view())
    }

    fn trsm(
        &self,
        side: Side,
        uplo: Uplo,
        trans: Trans,
        diag: Diag,
        k: usize,
        a: &Matrix<'_, T>,
        b: &mut Matrix<'_, T>,
    ) -> Result<()> {
        let (a, b) = (a.view(), b.view());
        let along = if side == Side::Left { b.rows } else { b.cols };
        require(
            k <= a.rows && k <= a.cols && k <= along,
            "trsm: shapes do not fit",
        )?;
        let b = match side {
            Side::Left => b.sub(0, 0, k, b.cols),
            Side::Right => b.sub(0, 0, b.rows, k),
        };
        triangular::trsm::solve(self.ctx, side, uplo, trans, diag, a.sub(0, 0, k, k), b)
    }

    fn potrf(&self, uplo: Uplo, a: &mut Matrix<'_, T>) -> Result<()> {
        require(
            a.shape().0 == a.shape().1,
            "potrf: the matrix is not square",
        )?;
        require_indexable(a.shape())?;
        cholesky::factor::factor(self.ctx, uplo, a.view())
    }

    fn reflects(&self) -> bool {
        cholesky::update::is_there(self.ctx)
    }

    fn chud_pays(&self, n: usize, k: usize) -> bool {
        cholesky::update::is_there(self.ctx) && cholesky::update::pays(n, k)
    }

    fn chud(&self, change: Change, r: &mut Matrix<'_, T>, v: &mut Matrix<'_, T>) -> Result<()> {
        let mut all = cholesky::update::reflections(self.ctx, change, r.shape().0, v.shape().1)?;
        cholesky::update::change(self.ctx, &mut all, 0, r.view(), v.view())
    }

    fn reflections(&self, change: Change, n: usize, k: usize) -> Result<Reflections> {
        cholesky::update::reflections(self.ctx, change, n, k)
    }

    fn chud_panel(
        &self,
        all: &mut Reflections,
        first: usize,
        panel: &mut Matrix<'_, T>,
        v: &mut Matrix<'_, T>,
    ) -> Result<()> {
        cholesky::update::change(self.ctx, all, first, panel.view(), v.view())
    }

    fn chud_host(
        &self,
        change: Change,
        from: MatRef<'_, T>,
        v: &mut Matrix<'_, T>,
        out: MatMut<'_, T>,
        look: &mut dyn FnMut(&Matrix<'static, T>) -> Result<()>,
    ) -> Result<Option<()>> {
        let (shape, home) = ((from.nrows(), from.ncols()), (out.nrows(), out.ncols()));
        require(
            shape.0 == shape.1 && shape == home && v.shape().0 == shape.0,
            "chud: shapes do not fit",
        )?;
        let Some(blocks) =
            transfer::column_blocks::worthwhile::<T>(shape, streamed::update::BLOCKS)
        else {
            return Ok(None);
        };
        let v = v.view();
        in_blocks(|| streamed::update::change(self.ctx, change, from, v, out, &blocks, look))
    }

    fn is_steady(&self, n: usize, k: usize) -> bool {
        cholesky::update::is_short(n, k)
    }

    fn is_factor(&self, a: &Matrix<'_, T>) -> bool {
        a.factor
    }

    fn set_factor(&self, a: &mut Matrix<'_, T>, known: bool) {
        a.factor = known;
    }

    fn keep_part(&self, part: Part, a: &mut Matrix<'_, T>) -> Result<()> {
        match part {
            Part::All => Ok(()),
            part => matrix::views::keep_triangle(self.ctx, a.view(), part == Part::Lower),
        }
    }

    fn potrf_host(&self, a: MatRef<'_, T>, mut out: MatMut<'_, T>) -> Result<()> {
        let (shape, home) = ((a.nrows(), a.ncols()), (out.nrows(), out.ncols()));
        require(
            shape.0 == shape.1 && shape == home,
            "potrf: shapes do not fit",
        )?;
        require_indexable(shape)?;
        let whole = cholesky::via_f64::is_whole_cholesky::<T>(self.ctx, shape.0);
        if let Some(blocks) = transfer::column_blocks::worthwhile::<T>(shape, 4).filter(|_| !whole)
        {
            let done = || streamed::factors::cholesky(self.ctx, a, out.rb_mut(), &blocks);
            if in_blocks(done)?.is_some() {
                return Ok(());
            }
        }
        self.potrf_loaded(a, out)
    }

    fn potrf_batched(&self, a: &mut Matrix<'_, T>) -> Result<()> {
        require(
            is_batch(a.shape()),
            "potrf_batched: the matrices are not square",
        )?;
        cholesky::batch::factor(self.ctx, a.view())
    }

    fn pstrf(&self, tol: f64, a: &mut Matrix<'_, T>) -> Result<PivotedCholesky> {
        require(
            a.shape().0 == a.shape().1,
            "pstrf: the matrix is not square",
        )?;
        require_indexable(a.shape())?;
        cholesky::factor::factor_pivoted(self.ctx, tol, a.view())
    }

    fn getrf(&self, a: &mut Matrix<'_, T>) -> Result<LuInfo> {
        require_indexable(a.shape())?;
        lu::factor::factor(self.ctx, a.view())
    }

    fn getrf_host(&self, x: MatRef<'_, T>, a: &mut Matrix<'_, T>) -> Result<(LuInfo, f64)> {
        let shape = (x.nrows(), x.ncols());
        require_indexable(shape)?;
        require(a.shape() == shape, "getrf: shapes do not fit")?;
        if let Some(blocks) = transfer::column_blocks::worthwhile::<T>(shape, 2) {
            let done = || streamed::factors::lu(self.ctx, x, a.view(), &blocks);
            if let Some(done) = in_blocks(done)? {
                return Ok(done);
            }
        }
        self.getrf_loaded(x, a)
    }

    fn getrs_host(
        &self,
        lu: &Matrix<'_, T>,
        ipiv: &[usize],
        b: Option<MatRef<'_, T>>,
        mut out: MatMut<'_, T>,
    ) -> Result<()> {
        let (n, columns) = (out.nrows(), out.ncols());
        let fits = lu.shape() == (n, n)
            && ipiv.len() == n
            && ipiv.iter().all(|p| *p < n)
            && b.is_none_or(|b| (b.nrows(), b.ncols()) == (n, columns));
        require(fits, "getrs: shapes do not fit")?;
        if let Some(blocks) = transfer::column_blocks::worthwhile::<T>((n, columns), 4) {
            let done = || {
                streamed::factors::solve_factored(
                    self.ctx,
                    lu.view(),
                    ipiv,
                    b,
                    out.rb_mut(),
                    &blocks,
                )
            };
            if in_blocks(done)?.is_some() {
                return Ok(());
            }
        }
        self.getrs_loaded(lu, ipiv, b, out)
    }

    fn laswp(&self, trans: Trans, ipiv: &[usize], b: &mut Matrix<'_, T>) -> Result<()> {
        let rows = b.shape().0;
        require_indexable(b.shape())?;
        require(
            ipiv.len() <= rows && ipiv.iter().all(|p| *p < rows),
            "laswp: an exchange is out of range",
        )?;
        triangular::trsm::exchange_rows(self.ctx, trans, ipiv, b.view())
    }

    fn geqrf(&self, a: &mut Matrix<'_, T>) -> Result<Vec<T>> {
        qr::factor::factor(self.ctx, a.view())
    }

    fn geqrf_host(
        &self,
        x: MatRef<'_, T>,
        out: MatMut<'_, T>,
        finish: &mut QrBlock<'_, T>,
    ) -> Result<Option<Vec<T>>> {
        let (shape, home) = ((x.nrows(), x.ncols()), (out.nrows(), out.ncols()));
        require(shape == home, "geqrf: shapes do not fit")?;
        match transfer::column_blocks::worthwhile::<T>(shape, 2) {
            Some(blocks) => in_blocks(|| streamed::factors::qr(self.ctx, x, out, &blocks, finish)),
            None => Ok(None),
        }
    }

    fn scale_trapezoids(&self, below: &[T], rows: &[T], a: &mut Matrix<'_, T>) -> Result<()> {
        qr::householder::scale_trapezoids(self.ctx, below, rows, a.view())
    }

    fn geqp3(&self, a: &mut Matrix<'_, T>) -> Result<PivotedQr<T>> {
        require_indexable(a.shape())?;
        qr::pivoted::factor(self.ctx, qr::pivoted::Rule::Largest, a.view())
    }

    fn qrdc2(&self, tol: f64, a: &mut Matrix<'_, T>) -> Result<PivotedQr<T>> {
        require_indexable(a.shape())?;
        qr::pivoted::factor(self.ctx, qr::pivoted::Rule::Limited(tol), a.view())
    }

    fn ormqr(
        &self,
        trans: Trans,
        a: &Matrix<'_, T>,
        tau: &[T],
        c: &mut Matrix<'_, T>,
    ) -> Result<()> {
        let (m, n) = a.shape();
        require(
            tau.len() <= m.min(n) && c.shape().0 == m,
            "ormqr: shapes do not fit",
        )?;
        qr::householder::apply(self.ctx, trans, a.view(), tau, c.view())
    }

    fn orgqr(&self, a: &Matrix<'_, T>, tau: &[T], q: &mut Matrix<'_, T>) -> Result<()> {
        let ((m, n), (rows, cols)) = (a.shape(), q.shape());
        require(
            tau.len() <= m.min(n) && rows == m && (tau.len()..=m).contains(&cols),
            "orgqr: shapes do not fit",
        )?;
        qr::householder::form(self.ctx, a.view(), tau, q.view())
    }

    fn batches(&self, shape: ProblemShape) -> bool {
        qr::batch::fits::<T>(self.ctx, shape)
    }

    fn qrls_batched(&self, tol: f64, problems: Problems<'_, Matrix<'_, T>>) -> Result<Ranks> {
        let p = problems;
        let parts = qr::batch::Parts {
            shape: p.shape,
            count: p.count,
            x: p.x.view(),
            y: p.y.view(),
            residuals: p.residuals.view(),
            coefficients: p.coefficients.view(),
            qraux: p.qraux.view(),
        };
        require(
            parts.fit() && qr::batch::fits::<T>(self.ctx, parts.shape),
            "qrls_batched: shapes do not fit",
        )?;
        qr::batch::solve(self.ctx, tol, parts)
    }

    fn norm1(&self, a: &Matrix<'_, T>) -> Result<f64> {
        elementwise::norms::one_norm(self.ctx, a.view())
    }

    fn column_norms(&self, a: &Matrix<'_, T>) -> Result<Vec<f64>> {
        elementwise::norms::column_norms(self.ctx, a.view())
    }

    fn diagonal(&self, a: &Matrix<'_, T>) -> Result<Vec<T>> {
        elementwise::norms::diagonal(self.ctx, a.view())
    }

    fn points<'a>(&self, x: Points<'a>) -> Result<DevicePoints> {
        elementwise::covariance::points(self.ctx, x)
    }

    fn covariance(
        &self,
        function: &Covariance,
        x: &DevicePoints,
        y: &DevicePoints,
        block: Block,
        out: &mut Matrix<'_, T>,
    ) -> Result<()> {
        elementwise::covariance::evaluate(self.ctx, function, (x, y), block, out)
    }
}
