//! `pcg`.

use extendr_api::prelude::*;

use crate::algo::dense::symmetry::is_symmetric_sparse;
use crate::algo::krylov::blocks::{
    Jacobi, Operator, Preconditioner, Product, Solve, Unpreconditioned,
};
use crate::algo::krylov::host_blocks::{Host, HostBlock};
use crate::algo::krylov::outcome::{End, Stopping};
use crate::algo::krylov::pcg::pcg;
use crate::algo::sparse::cholesky::Ordered;
use crate::algo::sparse::csc::Csc;
use crate::algo::sparse::csr::{Sparse, Stored};
use crate::algo::sparse::incomplete_cholesky::IncompleteCholesky;
use crate::algo::sparse::incomplete_cholesky_columns::Fill;
use crate::algo::systems::choice::factor_that_pays;
use crate::algo::systems::preconditioner::{
    built_of, is_mostly_zero, Built, Operand, PreconditionerName,
};
use crate::base::error::{Error, Result};
use crate::base::matrix::Uplo;
use crate::base::processor::Processor;
use crate::base::scalar::try_zeroed;
use crate::r::args::{self, Out};
use crate::r::pcg_operands::{AnyMatrix, AnyPreconditioner};
use crate::r::pcg_systems::{Solved, Systems};
use crate::r::reply::reply;
use crate::r::session::{last, set_last};
use crate::r::target::How;
use crate::r::{pcg_dense, pcg_sparse};

/// An error unless a sparse matrix is finite and, where all of it is stored, symmetric.
pub fn check_symmetric(a: &Csc, stored: Stored) -> Result<()> {
    if !a.values.iter().all(|v| v.is_finite()) {
        return Err(Error::NonFiniteIn { argument: "A" });
    }
    if stored != Stored::All || is_symmetric_sparse(a) {
        return Ok(());
    }
    Err(Error::NotSymmetric { argument: "A" })
}

impl Systems<'_> {
    fn block(&self, values: &[f64]) -> Result<HostBlock> {
        let mut own = try_zeroed(values.len())?;
        own.copy_from_slice(values);
        HostBlock::new(self.n, self.columns, own)
    }

    fn on_host(&self, a: &dyn Operator<Host>, m: &dyn Preconditioner<Host>) -> Result<Solved> {
        set_last(Processor::Cpu);
        let b = self.block(self.b)?;
        let start = self.start.map(|x| self.block(x)).transpose()?;
        let found = pcg(&self.host, a, m, &b, start.as_ref(), self.stop)?;
        set_last(Processor::Cpu);
        Solved::new(found, |x| Ok(x.into_values()))
    }

    /// With a preconditioner built from the matrix.
    fn sparse(&self, a: &Csc, stored: Stored, asked: PreconditionerName) -> Result<Solved> {
        let product = Sparse::new(a, stored)?;
        match built_of(Operand::SparseOnHost, asked) {
            Some(built @ Built::Jacobi) => {
                let m = Jacobi::new(&self.host, &product.diagonal()?)?;
                Ok(self.on_host(&product, &m)?.by(built))
            }
            Some(built @ Built::Cholesky) => {
                let m = Ordered::new(a, stored)?.factor(&self.host)?;
                Ok(self.on_host(&product, &m)?.by(built))
            }
            // On a device, where R's matrix is.
            Some(Built::Multigrid) => Err(Error::Internal {
                what: "algebraic multigrid of a matrix that is not sparse in R".into(),
            }),
            Some(Built::Ic0) => self.by_ic0(a, stored, product),
            Some(Built::CholeskyOrIc0) => {
                let wanted = (self.columns, self.stop.tol);
                let m = factor_that_pays((a, stored), &product, wanted, &self.host)?;
                match m {
                    Some(m) => Ok(self.on_host(&product, &m)?.by(Built::Cholesky)),
                    None => self.by_ic0(a, stored, product),
                }
            }
            Some(Built::None) | None => {
                Ok(self.on_host(&product, &Unpreconditioned)?.by(Built::None))
            }
        }
    }

    fn by_ic0(&self, a: &Csc, stored: Stored, product: Sparse) -> Result<Solved> {
        let m = IncompleteCholesky::new(a, stored, Fill::None)?;
        let solved = self.on_host(&product, &m)?.by(Built::Ic0);
        Ok(Solved {
            shift: m.shift(),
            ..solved
        })
    }

    /// Of a sparse matrix of the host: all of it where the preconditioner is made of it.
    fn on_host_with(&self, a: Csc, stored: Stored, m: &AnyPreconditioner) -> Result<Begun> {
        check_symmetric(&a, stored)?;
        match m {
            AnyPreconditioner::Named(asked) => Ok(Begun::Solved(self.sparse(&a, stored, *asked)?)),
            _ => Ok(Begun::Operator(Sparse::new(&a, stored)?)),
        }
    }

    fn solve(&self, how: &How, a: AnyMatrix, m: &AnyPreconditioner) -> Result<Solved> {
        let n = self.n;
        let op: Box<dyn Operator<Host>> = match a {
            AnyMatrix::Resident(a) => return pcg_dense::resident(self, how, &a, m),
            AnyMatrix::Dense(x) => {
                let x = args::matrix(&x, (n, n))?;
                let on_gpu = matches!(how.target(0.0), Processor::Cuda(_));
                if on_gpu || !is_mostly_zero(x) {
                    return pcg_dense::host(self, how, x, m);
                }
                let a = Csc::from_dense(n, x)?;
                match self.on_host_with(a, Stored::All, m)? {
                    Begun::Solved(solved) => return Ok(solved),
                    Begun::Operator(op) => Box::new(op),
                }
            }
            AnyMatrix::Sparse(a) => {
                if let AnyPreconditioner::Named(asked) = m {
                    if let Some(solved) = pcg_sparse::on_device(self, how, &a, *asked)? {
                        return Ok(solved);
                    }
                }
                let (a, stored) = a.csc()?;
                match self.on_host_with(a, stored, m)? {
                    Begun::Solved(solved) => return Ok(solved),
                    Begun::Operator(op) => Box::new(op),
                }
            }
            AnyMatrix::Function(f) => Box::new(Product {
                order: n,
                multiply: move |x: &HostBlock, out: &mut HostBlock| f.apply(x, out),
            }),
        };
        match m {
            AnyPreconditioner::Incomplete(l) => self.on_host(&*op, l),
            AnyPreconditioner::Function(f) => {
                let m = Solve(|r: &HostBlock, out: &mut HostBlock| f.apply(r, out));
                self.on_host(&*op, &m)
            }
            // Of sparse matrices it was built before; a function gets none.
            AnyPreconditioner::Named(_) => {
                Ok(self.on_host(&*op, &Unpreconditioned)?.by(Built::None))
            }
            AnyPreconditioner::Dense(_) | AnyPreconditioner::Resident(_) => {
                pcg_dense::through_host(self, how, &*op, m)
            }
        }
    }
}

/// What is left to do with a sparse matrix.
enum Begun {
    Solved(Solved),
    Operator(Sparse),
}

fn end(e: End) -> &'static str {
    match e {
        End::Converged => "converged",
        End::Iterations => "iterations",
        End::Stagnated => "stagnated",
        End::Indefinite { .. } | End::IndefinitePreconditioner { .. } => "indefinite",
        End::NonFinite | End::Overflow => "non_finite",
    }
}

/// out = the solution of A X = B, by columns. `a` and `m` are lists that begin with what they are;
/// `start` may be NULL; `limits` are the tolerance and iterations
#[extendr]
#[allow(clippy::too_many_arguments)]
fn native_pcg(
    a: Robj,
    m: Robj,
    b: Robj,
    dim: Robj,
    start: Robj,
    limits: Robj,
    out: Robj,
    how: Robj,
) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let dim = args::dims(&dim)?;
        let mut out = Out::new(&out, dim)?;
        let &[tol, maxit] = args::doubles(&limits)? else {
            return Err(Error::Internal {
                what: "a native routine was called without limits".into(),
            });
        };
        let start = match start.is_null() {
            true => None,
            false => Some(args::matrix(&start, dim)?),
        };
        let systems = Systems {
            n: dim.0,
            columns: dim.1,
            b: args::matrix(&b, dim)?,
            start,
            stop: Stopping {
                tol,
                maxit: maxit as usize,
            },
            host: Host::new(how.threads),
        };
        let (a, m) = (
            AnyMatrix::parse(&a, dim.0)?,
            AnyPreconditioner::parse(&m, dim.0)?,
        );
        let _pinned = (a.pin(), m.pin());
        let solved = systems.solve(&how, a, &m)?;
        let s = solved.solution;
        s.verdict()?;
        out.slice().copy_from_slice(&s.x);
        let iterations: Vec<i32> = s.iterations.iter().map(|i| *i as i32).collect();
        Ok(list!(
            iterations = iterations,
            residuals = s.residuals,
            history = List::from_values(s.history),
            ends = s.ends.iter().map(|e| end(*e)).collect::<Vec<_>>(),
            preconditioner = solved.kind.map_or("", Built::name),
            shift = solved.shift,
            device = last()
        ))
    })
}

/// Whether a factor is upper triangular; an error unless it is triangular
#[extendr]
fn native_triangles(x: Robj, dim: Robj) -> Robj {
    reply(|| {
        let dim = args::dims(&dim)?;
        let x = args::matrix(&x, dim)?;
        let (mut below, mut above) = (true, true);
        for (j, column) in x.chunks_exact(dim.0.max(1)).enumerate() {
            crate::base::interrupt::poll()?;
            let (upper, lower) = column.split_at(j.min(column.len()));
            above &= upper.iter().all(|v| *v == 0.0);
            below &= lower.iter().skip(1).all(|v| *v == 0.0);
            if !above && !below {
                break;
            }
        }
        let upper = pcg_dense::triangle(dim.1, below, above)? == Uplo::Upper;
        Ok(list!(upper = upper))
    })
}

extendr_module! {
    mod pcg;
    fn native_pcg;
    fn native_triangles;
}
