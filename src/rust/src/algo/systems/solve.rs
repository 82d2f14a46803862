//! Systems with a matrix of the host, on the device that is chosen for them.

use faer::MatRef;

use super::dense;
use super::host;
use super::preconditioner::{built_of, is_mostly_zero, Built, Operand, PreconditionerName};
use super::problem::{Given, Matrix, Solved, Systems};
use super::resident::pcg_resident;
use crate::algo::dense::symmetry::is_symmetric;
use crate::algo::krylov::blocks::{Operator, Unpreconditioned};
use crate::algo::krylov::device_blocks::OnDevice;
use crate::algo::krylov::host_blocks::Host;
use crate::base::error::{Error, Result};
use crate::base::processor::Processor;
use crate::base::scalar::Scalar;
use crate::base::sparse::csc::Csc;
use crate::base::sparse::symmetric::{Stored, Symmetric};
use crate::cost::plan::device::suits_sparse;
use crate::cost::work::{Operands, Work};
use crate::device::dispatch::{AnyDevice, Dispatch, Routine};
use crate::device::memory::Memory;
use crate::device::sparse::{Columns, Sparse};

/// What dense systems of order n are taken for.
pub fn work(n: usize) -> Work {
    Work::cholesky(n)
}

/// Systems as work of so many operations, which alone decide about the device.
fn counted_as(s: &Systems, flops: f64) -> Work {
    Work::from(flops).with(Operands::System(s.n, s.columns))
}

/// Solves the systems by conjugate gradients, or by a complete factor as their preconditioner.
///
/// | A | preconditioner | device |
/// |:---|:---|:---|
/// | dense, mostly zero | as for sparse A | the CPU, unless the user names a GPU |
/// | dense | any | the one for [`work`] |
/// | sparse | named, built on a GPU | a GPU, if [`suits_sparse`] or the user names one |
/// | sparse | another | the CPU |
/// | sparse, function | a dense factor | the one for [`work`], for the factor |
/// | function | none, on the host | the CPU |
///
/// # Errors
/// [`Error::NotSymmetric`], [`Error::NonFiniteIn`] and [`Error::Dimension`] of the matrix; what is
/// wrong with the preconditioner; what the device answers. Columns that do not converge are no
/// error: see [`Solution::verdict`](crate::algo::krylov::outcome::Solution::verdict).
pub fn solve(s: &Systems, a: Matrix<'_>, m: &Given, devices: &impl Dispatch) -> Result<Solved> {
    match (a, m) {
        (Matrix::Dense(x), _) => {
            let on_gpu = matches!(devices.processor(counted_as(s, 0.0)), Processor::Cuda(_));
            if on_gpu || !is_mostly_zero(x) {
                return solve_dense(s, x, m, devices);
            }
        }
        (Matrix::Sparse(a), Given::Named(asked)) => {
            if let Some(solved) = solve_on_device(s, a, *asked, devices)? {
                return Ok(solved);
            }
        }
        _ => {}
    }
    match m {
        Given::Named(asked) => match HostMatrix::new(s, a)? {
            HostMatrix::Sparse(a, stored) => host::solve_sparse(s, (&a, stored), *asked, devices),
            // It has no entries to build a preconditioner from.
            HostMatrix::Function(a) => {
                Ok(host::solve(s, a, &Unpreconditioned, devices)?.by(Built::None))
            }
        },
        Given::OnHost(m) => host::solve(s, HostOperator::new(s, a)?.operator(), *m, devices),
        Given::Factor(factor) => {
            let a = HostOperator::new(s, a)?;
            let a = a.operator();
            devices.run(work(s.n), &mut WithFactor { s, a, factor })
        }
    }
}

/// A matrix of the host that was checked.
enum HostMatrix<'m> {
    Sparse(Csc, Stored),
    Function(&'m dyn Operator<Host>),
}

impl<'m> HostMatrix<'m> {
    fn new(s: &Systems, a: Matrix<'m>) -> Result<Self> {
        let (a, stored) = match a {
            Matrix::Function(a) => return Ok(HostMatrix::Function(a)),
            Matrix::Dense(x) => (Csc::from_dense(s.n, x)?, Stored::All),
            Matrix::Sparse(a) => (a.copied(s.n)?, a.stored),
        };
        host::check_symmetric(&a, stored)?;
        Ok(HostMatrix::Sparse(a, stored))
    }
}

/// A matrix of the host that multiplies there.
pub enum HostOperator<'m> {
    Sparse(Symmetric),
    Function(&'m dyn Operator<Host>),
}

impl<'m> HostOperator<'m> {
    /// Errors: as of [`solve`], of the matrix.
    pub fn new(s: &Systems, a: Matrix<'m>) -> Result<Self> {
        Ok(match HostMatrix::new(s, a)? {
            HostMatrix::Sparse(a, stored) => HostOperator::Sparse(Symmetric::new(&a, stored)?),
            HostMatrix::Function(a) => HostOperator::Function(a),
        })
    }

    pub fn operator(&self) -> &dyn Operator<Host> {
        match self {
            HostOperator::Sparse(a) => a,
            HostOperator::Function(a) => *a,
        }
    }
}

/// A dense matrix, on the device for it.
fn solve_dense(s: &Systems, x: &[f64], m: &Given, devices: &impl Dispatch) -> Result<Solved> {
    let a = MatRef::from_column_major_slice(x, s.n, s.n);
    if !is_symmetric(a)? {
        return Err(Error::NotSymmetric { argument: "A" });
    }
    devices.run(work(s.n), &mut WithDense { s, x, m })
}

struct WithDense<'s> {
    s: &'s Systems<'s>,
    x: &'s [f64],
    m: &'s Given<'s>,
}

impl Routine for WithDense<'_> {
    type Value = Solved;

    fn run<T: Scalar, D: AnyDevice<T>>(&mut self, dev: &D) -> Result<Solved> {
        let n = self.s.n;
        let x = T::borrow_host(self.x)?;
        let a = Memory::<T>::load(dev, MatRef::from_column_major_slice(&x, n, n))?;
        dense::solve_symmetric::<T, D>(self.s, dev, &a, self.m)
    }
}

struct WithFactor<'s> {
    s: &'s Systems<'s>,
    a: &'s dyn Operator<Host>,
    factor: &'s [f64],
}

impl Routine for WithFactor<'_> {
    type Value = Solved;

    fn run<T: Scalar, D: AnyDevice<T>>(&mut self, dev: &D) -> Result<Solved> {
        dense::solve_operator::<T, D>(self.s, dev, self.a, self.factor)
    }
}

/// A sparse matrix on a GPU, or by multigrid on the CPU. `None` where the host's preconditioners
/// are to solve the systems.
fn solve_on_device(
    s: &Systems,
    a: Columns<'_>,
    asked: PreconditionerName,
    devices: &impl Dispatch,
) -> Result<Option<Solved>> {
    let fits = suits_sparse(s.n, a.index.len());
    let processor = devices.processor(counted_as(s, if fits { f64::MAX } else { 0.0 }));
    let run = |processor, built| {
        let solved = devices.run_on(processor, None, &mut WithSparse { s, a, built });
        solved.map(|solved| solved.by(built))
    };
    if let (Processor::Cuda(_), Some(built)) = (processor, built_of(Operand::SparseOnGpu, asked)) {
        match run(processor, built) {
            Err(e) if devices.recovers(&e) => {}
            solved => return solved.map(Some),
        }
    }
    match built_of(Operand::SparseOnHost, asked) {
        Some(built @ Built::Multigrid) => run(Processor::Cpu, built).map(Some),
        _ => Ok(None),
    }
}

struct WithSparse<'s> {
    s: &'s Systems<'s>,
    a: Columns<'s>,
    built: Built,
}

impl Routine for WithSparse<'_> {
    type Value = Solved;

    fn run<T: Scalar, D: AnyDevice<T>>(&mut self, dev: &D) -> Result<Solved> {
        with_sparse(self.s, dev, self.a, self.built)
    }
}

fn with_sparse<D: Sparse>(s: &Systems, dev: &D, a: Columns<'_>, built: Built) -> Result<Solved> {
    let blocks = OnDevice::<f64, D>::new(dev);
    let bring = |x: &[f64]| blocks.bring(MatRef::from_column_major_slice(x, s.n, s.columns));
    let a = dev.sparse_load(a)?;
    let b = bring(s.b)?;
    let start = s.start.map(bring).transpose()?;
    let found = pcg_resident(dev, a, built, &b, start.as_ref(), s.stop)?;
    Solved::new(dev.processor(), found, |x| blocks.fetch(&x))
}
