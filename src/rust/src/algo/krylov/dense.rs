//! Matrices and preconditioners for blocks of a device: a dense matrix, a Cholesky factor, and what
//! works on the host alone.

use faer::MatRef;

use super::blocks::{require_order, Blocks, Operator, Preconditioner};
use super::device_blocks::OnDevice;
use super::host_blocks::{Host, HostBlock};
use crate::base::error::Result;
use crate::base::matrix::{Trans, Uplo};
use crate::base::scalar::{narrow, try_zeroed, widened, Scalar};
use crate::device::elementwise::Elementwise;
use crate::device::lapack::Lapack;

/// A dense symmetric matrix on a device, of which both triangles are read.
pub struct Dense<'m, 'a, T: Scalar, D: Lapack<T>>(pub &'m D::Mat<'a>);

impl<T: Scalar, D: Elementwise<T>> Operator<OnDevice<'_, T, D>> for Dense<'_, '_, T, D> {
    fn order(&self, blocks: &OnDevice<'_, T, D>) -> usize {
        blocks.dev.shape(self.0).0
    }

    fn multiply(
        &self,
        blocks: &OnDevice<'_, T, D>,
        x: &D::Mat<'static>,
        out: &mut D::Mat<'static>,
    ) -> Result<()> {
        blocks.dev.multiply_columns(self.0, x, out)
    }
}

/// The Cholesky factor of a nearby matrix, on a device: M = U'U or LL', by two triangular systems.
pub struct Factor<'m, 'a, T: Scalar, D: Lapack<T>> {
    pub factor: &'m D::Mat<'a>,
    /// Its triangle; the other is not read. There is no zero on its diagonal.
    pub uplo: Uplo,
}

impl<T: Scalar, D: Elementwise<T>> Preconditioner<OnDevice<'_, T, D>> for Factor<'_, '_, T, D> {
    fn solve(
        &self,
        blocks: &OnDevice<'_, T, D>,
        r: &D::Mat<'static>,
        out: &mut D::Mat<'static>,
    ) -> Result<()> {
        let n = blocks.dev.shape(self.factor).0;
        require_order(n, blocks.dev.shape(r).0)?;
        blocks.assign(r, out)?;
        let first = match self.uplo {
            Uplo::Upper => [Trans::Yes, Trans::No],
            Uplo::Lower => [Trans::No, Trans::Yes],
        };
        first
            .into_iter()
            .try_for_each(|trans| blocks.dev.solve_columns(self.uplo, trans, self.factor, out))
    }
}

/// What multiplies or solves on the host, for blocks of a device, which go there and back.
pub struct ThroughHost<'p, P: ?Sized> {
    pub host: Host,
    pub inner: &'p P,
}

impl<P: ?Sized> ThroughHost<'_, P> {
    fn call<T: Scalar, D: Elementwise<T>>(
        &self,
        blocks: &OnDevice<'_, T, D>,
        x: &D::Mat<'static>,
        out: &mut D::Mat<'static>,
        f: impl FnOnce(&HostBlock, &mut HostBlock) -> Result<()>,
    ) -> Result<()> {
        let (rows, columns) = blocks.dev.shape(x);
        let len = rows.saturating_mul(columns);
        let x = HostBlock::new(rows, columns, widened(&blocks.fetch(x)?)?)?;
        let mut y = HostBlock::new(rows, columns, try_zeroed(len)?)?;
        f(&x, &mut y)?;
        let mut back = try_zeroed::<T>(len)?;
        narrow(y.values(), &mut back)?;
        *out = blocks.bring(MatRef::from_column_major_slice(&back, rows, columns))?;
        Ok(())
    }
}

impl<T: Scalar, D: Elementwise<T>, P: Operator<Host> + ?Sized> Operator<OnDevice<'_, T, D>>
    for ThroughHost<'_, P>
{
    fn order(&self, _: &OnDevice<'_, T, D>) -> usize {
        self.inner.order(&self.host)
    }

    fn multiply(
        &self,
        blocks: &OnDevice<'_, T, D>,
        x: &D::Mat<'static>,
        out: &mut D::Mat<'static>,
    ) -> Result<()> {
        let f = |x: &HostBlock, y: &mut HostBlock| self.inner.multiply(&self.host, x, y);
        self.call(blocks, x, out, f)
    }
}

impl<T: Scalar, D: Elementwise<T>, P: Preconditioner<Host> + ?Sized>
    Preconditioner<OnDevice<'_, T, D>> for ThroughHost<'_, P>
{
    fn solve(
        &self,
        blocks: &OnDevice<'_, T, D>,
        r: &D::Mat<'static>,
        out: &mut D::Mat<'static>,
    ) -> Result<()> {
        let f = |r: &HostBlock, y: &mut HostBlock| self.inner.solve(&self.host, r, y);
        self.call(blocks, r, out, f)
    }
}
