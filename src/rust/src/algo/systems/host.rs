//! Systems whose matrix and preconditioner stay in memory of the host.

use super::choice::factor_that_pays;
use super::preconditioner::{built_of, Built, Operand, PreconditionerName};
use super::problem::{Solved, Systems};
use crate::algo::krylov::blocks::{Blocks, Jacobi, Operator, Preconditioner, Unpreconditioned};
use crate::algo::krylov::host_blocks::{Host, HostBlock};
use crate::algo::krylov::pcg::pcg;
use crate::algo::sparse::cholesky::Ordered;
use crate::algo::sparse::incomplete_cholesky::IncompleteCholesky;
use crate::algo::sparse::incomplete_cholesky_columns::Fill;
use crate::base::error::{Error, Result};
use crate::base::processor::Processor;
use crate::base::scalar::{try_zeroed, Scalar};
use crate::base::sparse::csc::Csc;
use crate::base::sparse::symmetric::{Stored, Symmetric};
use crate::device::dispatch::{AnyDevice, Dispatch, Routine};

/// Checks that a sparse matrix is finite and, where all of it is stored, symmetric.
///
/// # Errors
/// [`Error::NonFiniteIn`] and [`Error::NotSymmetric`].
pub fn check_symmetric(a: &Csc, stored: Stored) -> Result<()> {
    if !a.values.iter().all(|v| v.is_finite()) {
        return Err(Error::NonFiniteIn { argument: "A" });
    }
    if stored != Stored::All || a.is_symmetric()? {
        return Ok(());
    }
    Err(Error::NotSymmetric { argument: "A" })
}

/// The incomplete factor of a sparse matrix; without fill where `droptol` is 0.
///
/// # Errors
/// As of [`check_symmetric`] and [`IncompleteCholesky::new`].
pub fn incomplete_factor(a: &Csc, stored: Stored, droptol: f64) -> Result<IncompleteCholesky> {
    check_symmetric(a, stored)?;
    let fill = match droptol {
        0.0 => Fill::None,
        t => Fill::Threshold(t),
    };
    IncompleteCholesky::new(a, stored, fill)
}

/// `out = M^-1 b`, both by columns.
///
/// # Errors
/// [`Error::Dimension`] of a preconditioner of another order; [`Error::HostMemory`].
pub fn apply_inverse(
    host: &Host,
    m: &dyn Preconditioner<Host>,
    (b, dim): (&[f64], (usize, usize)),
    out: &mut [f64],
) -> Result<()> {
    let b = block(dim, b)?;
    let mut x = host.zeros(dim.0, dim.1)?;
    m.solve(host, &b, &mut x)?;
    out.copy_from_slice(x.values());
    Ok(())
}

/// Solves with a preconditioner that is built from a sparse matrix. Multigrid is not one of them:
/// it is built on a device.
pub(super) fn solve_sparse(
    s: &Systems,
    (a, stored): (&Csc, Stored),
    asked: PreconditionerName,
    devices: &impl Dispatch,
) -> Result<Solved> {
    let product = Symmetric::new(a, stored)?;
    match built_of(Operand::SparseOnHost, asked) {
        Some(built @ Built::Jacobi) => {
            let m = Jacobi::new(&s.host, &product.diagonal()?)?;
            Ok(solve(s, &product, &m, devices)?.by(built))
        }
        Some(built @ Built::Cholesky) => {
            let m = Ordered::new(a, stored)?.factor(&s.host)?;
            Ok(solve(s, &product, &m, devices)?.by(built))
        }
        Some(Built::Multigrid) => Err(Error::Internal {
            what: "algebraic multigrid of a matrix that was not given as a sparse one".into(),
        }),
        Some(Built::Ic0) => by_ic0(s, (a, stored), &product, devices),
        Some(Built::CholeskyOrIc0) => {
            let wanted = (s.columns, s.stop.tol);
            match factor_that_pays((a, stored), &product, wanted, &s.host)? {
                Some(m) => Ok(solve(s, &product, &m, devices)?.by(Built::Cholesky)),
                None => by_ic0(s, (a, stored), &product, devices),
            }
        }
        Some(Built::None) | None => {
            Ok(solve(s, &product, &Unpreconditioned, devices)?.by(Built::None))
        }
    }
}

fn by_ic0(
    s: &Systems,
    (a, stored): (&Csc, Stored),
    product: &Symmetric,
    devices: &impl Dispatch,
) -> Result<Solved> {
    let m = IncompleteCholesky::new(a, stored, Fill::None)?;
    let solved = solve(s, product, &m, devices)?.by(Built::Ic0);
    Ok(Solved {
        shift: m.shift(),
        ..solved
    })
}

/// Solves with any matrix and preconditioner of the host.
pub(super) fn solve(
    s: &Systems,
    a: &dyn Operator<Host>,
    m: &dyn Preconditioner<Host>,
    devices: &impl Dispatch,
) -> Result<Solved> {
    devices.run_on(Processor::Cpu, None, &mut OnHost { s, a, m })
}

struct OnHost<'s> {
    s: &'s Systems<'s>,
    a: &'s dyn Operator<Host>,
    m: &'s dyn Preconditioner<Host>,
}

impl Routine for OnHost<'_> {
    type Value = Solved;

    fn run<T: Scalar, D: AnyDevice<T>>(&mut self, _: &D) -> Result<Solved> {
        let s = self.s;
        let dim = (s.n, s.columns);
        let b = block(dim, s.b)?;
        let start = s.start.map(|x| block(dim, x)).transpose()?;
        let found = pcg(&s.host, self.a, self.m, &b, start.as_ref(), s.stop)?;
        Solved::new(Processor::Cpu, found, |x| Ok(x.into_values()))
    }
}

fn block((rows, columns): (usize, usize), values: &[f64]) -> Result<HostBlock> {
    let mut own = try_zeroed(values.len())?;
    own.copy_from_slice(values);
    HostBlock::new(rows, columns, own)
}
