//! Matrices that multiply on the host, for blocks of any device.

use faer::MatRef;

use crate::algo::krylov::blocks::Operator;
use crate::algo::krylov::host_blocks::{Host, HostBlock};
use crate::algo::lanczos::operator::Linear;
use crate::algo::lanczos::transfer::fetch;
use crate::base::error::Result;
use crate::base::matrix::{Part, Trans};
use crate::base::scalar::{try_zeroed, Scalar};
use crate::base::sparse::csc::Csc;
use crate::base::sparse::symmetric::Symmetric;
use crate::base::sparse::view::CscRef;
use crate::base::threads::share;
use crate::device::elementwise::Elementwise;

/// A matrix A that multiplies blocks of the host.
pub trait HostLinear {
    /// Rows and columns.
    fn shape(&self) -> (usize, usize);
    /// `out <- op(A) x`. A symmetric matrix may ignore `op`.
    fn multiply(&self, host: &Host, op: Trans, x: &HostBlock, out: &mut HostBlock) -> Result<()>;
    /// As [`Linear::unit`].
    fn unit(&self) -> f64 {
        f64::EPSILON
    }
}

impl HostLinear for Symmetric {
    fn shape(&self) -> (usize, usize) {
        (self.rows(), self.rows())
    }

    fn multiply(&self, host: &Host, _: Trans, x: &HostBlock, out: &mut HostBlock) -> Result<()> {
        Operator::multiply(self, host, x, out)
    }
}

/// A sparse matrix with its rows and its columns, so that both products go through rows.
pub struct Sparse {
    rows: Csc<i32>,
    columns: Csc<i32>,
}

/// An entry of a sparse matrix costs about as much as this many multiplications.
const ENTRY: f64 = 4.0;

impl Sparse {
    /// # Errors
    /// [`Error::Dimension`](crate::base::error::Error::Dimension) of parts that do not fit
    /// together.
    pub fn new(a: CscRef<'_, i32, i32>) -> Result<Self> {
        a.check()?;
        let rows = a.transposed()?;
        let columns = rows.transposed()?;
        Ok(Sparse { rows, columns })
    }
}

impl HostLinear for Sparse {
    fn shape(&self) -> (usize, usize) {
        (self.columns.rows, self.rows.rows)
    }

    fn multiply(&self, host: &Host, op: Trans, x: &HostBlock, out: &mut HostBlock) -> Result<()> {
        let (rows, k) = out.shape();
        if rows == 0 {
            return Ok(());
        }
        let columns: Vec<&[f64]> = (0..k).map(|j| x.column(j)).collect();
        let outs = out.values_mut().chunks_exact_mut(rows).collect();
        let a = if op.is_yes() {
            &self.columns
        } else {
            &self.rows
        };
        let threads = share(host.threads, ENTRY * (a.values.len() * k) as f64);
        a.multiply_rows(&columns, outs, threads);
        Ok(())
    }
}

/// A matrix of these dimensions given by a function `(op, x, out)` that multiplies.
pub struct Function<F> {
    pub shape: (usize, usize),
    pub multiply: F,
    /// See [`Linear::unit`].
    pub unit: f64,
}

impl<F: Fn(Trans, &HostBlock, &mut HostBlock) -> Result<()>> HostLinear for Function<F> {
    fn shape(&self) -> (usize, usize) {
        self.shape
    }

    fn multiply(&self, _: &Host, op: Trans, x: &HostBlock, out: &mut HostBlock) -> Result<()> {
        (self.multiply)(op, x, out)
    }

    fn unit(&self) -> f64 {
        self.unit
    }
}

/// A matrix of the host for blocks of a device, which are copied to the host and back.
pub struct OnHost<'p> {
    pub host: Host,
    pub inner: &'p dyn HostLinear,
}

impl<T: Scalar, D: Elementwise<T>> Linear<T, D> for OnHost<'_> {
    fn shape(&self) -> (usize, usize) {
        self.inner.shape()
    }

    fn unit(&self) -> f64 {
        T::EPS.max(self.inner.unit())
    }

    fn multiply(
        &self,
        dev: &D,
        op: Trans,
        x: &D::Mat<'static>,
        out: &mut D::Mat<'static>,
    ) -> Result<()> {
        let (rows, cols) = dev.shape(x);
        let to = dev.shape(out).0;
        let x = HostBlock::new(rows, cols, fetch(dev, x)?)?;
        let mut y = HostBlock::new(to, cols, try_zeroed(to * cols)?)?;
        self.inner.multiply(&self.host, op, &x, &mut y)?;
        let back = T::borrow_host(y.values())?;
        dev.refill(
            MatRef::from_column_major_slice(&back, to, cols),
            Part::All,
            out,
        )
    }
}
