//! Conjugate gradients with a sparse matrix on a device.

use super::preconditioner::Built;
use crate::algo::krylov::blocks::{Blocks, Jacobi, Operator, Unpreconditioned};
use crate::algo::krylov::device_blocks::OnDevice;
use crate::algo::krylov::outcome::{Solution, Stopping};
use crate::algo::krylov::pcg::pcg;
use crate::algo::multigrid::algebraic::Algebraic;
use crate::base::error::{Error, Result};
use crate::device::memory::Memory;
use crate::device::multigrid::LevelOperator;
use crate::device::sparse::Sparse;

type Own<D> = <D as Memory<f64>>::Mat<'static>;

/// A sparse matrix that multiplies blocks of its device.
struct Multiplies<D: Sparse>(D::Csr);

impl<D: Sparse> Operator<OnDevice<'_, f64, D>> for Multiplies<D> {
    fn order(&self, blocks: &OnDevice<'_, f64, D>) -> usize {
        blocks.dev.sparse_order(&self.0)
    }

    fn multiply(&self, blocks: &OnDevice<'_, f64, D>, x: &Own<D>, out: &mut Own<D>) -> Result<()> {
        self.0.residual(blocks.dev, None, x, out)
    }
}

/// As [`pcg`], with a matrix on the device and a preconditioner that is built from it. Errors: what
/// [`pcg`] answers, and [`NotPositiveDefinite`](crate::base::error::Error::NotPositiveDefinite) of
/// Jacobi's.
pub fn pcg_resident<D: Sparse>(
    dev: &D,
    a: D::Csr,
    built: Built,
    b: &Own<D>,
    x0: Option<&Own<D>>,
    stop: Stopping,
) -> Result<Solution<Own<D>>> {
    let blocks = &OnDevice::<f64, D>::new(dev);
    if blocks.shape(b).1 == 0 {
        return pcg(blocks, &Multiplies::<D>(a), &Unpreconditioned, b, x0, stop);
    }
    match built {
        Built::None => pcg(blocks, &Multiplies::<D>(a), &Unpreconditioned, b, x0, stop),
        Built::Jacobi => {
            let m = Jacobi::new(blocks, &dev.sparse_diagonal(&a)?)?;
            pcg(blocks, &Multiplies::<D>(a), &m, b, x0, stop)
        }
        Built::Multigrid => {
            let both = Algebraic::new(dev, a)?;
            pcg(blocks, &both, &both, b, x0, stop)
        }
        Built::Ic0 | Built::Cholesky | Built::CholeskyOrIc0 => Err(Error::Internal {
            what: "a device was asked for a preconditioner of the host".into(),
        }),
    }
}
