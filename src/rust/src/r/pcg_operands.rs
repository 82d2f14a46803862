//! The matrix and the preconditioner of `pcg`, as lists that begin with what they are.

use extendr_api::prelude::*;

use crate::algo::krylov::blocks::{Operator, Preconditioner, Product, Solve};
use crate::algo::krylov::host_blocks::{Host, HostBlock};
use crate::algo::sparse::incomplete_cholesky::IncompleteCholesky;
use crate::algo::systems::preconditioner::PreconditionerName;
use crate::algo::systems::problem::{Given, Matrix};
use crate::base::error::{Error, Result};
use crate::base::sparse::symmetric::Stored;
use crate::r::args;
use crate::r::callback::Callback;
use crate::r::handle::{resident, Pin};
use crate::r::resident::ResidentMatrix;
use crate::r::sparse;

pub enum AnyMatrix {
    /// Starts, rows and values of R's.
    Sparse([Robj; 3], Stored),
    Function(Box<dyn Operator<Host>>),
    /// Values by columns.
    Dense(Robj),
    /// A handle.
    Resident(Robj),
}

pub enum AnyPreconditioner {
    Named(PreconditionerName),
    OnHost(Box<dyn Preconditioner<Host>>),
    /// The upper triangle of values by columns.
    Dense(Robj),
    /// The same behind a handle.
    Resident(Robj),
}

pub fn broken(what: &str) -> Error {
    Error::Internal {
        what: format!("a native routine was called without {what}"),
    }
}

pub fn parts(x: &Robj) -> Result<(String, Vec<Robj>)> {
    let mut all = x.as_list().ok_or_else(|| broken("an operand"))?.values();
    let kind = all.next().and_then(|k| k.as_str().map(str::to_owned));
    Ok((kind.ok_or_else(|| broken("a kind"))?, all.collect()))
}

impl AnyMatrix {
    /// A matrix of order n.
    pub fn parse(x: &Robj, n: usize) -> Result<Self> {
        let (kind, parts) = parts(x)?;
        match (kind.as_str(), &parts[..]) {
            ("sparse", [starts, rows, values, stored]) => {
                let parts = [starts, rows, values].map(Robj::clone);
                Ok(AnyMatrix::Sparse(parts, sparse::stored(stored)))
            }
            ("function", [f, continuation]) => {
                let f = Callback::new(f, continuation);
                Ok(AnyMatrix::Function(Box::new(Product {
                    order: n,
                    multiply: move |x: &HostBlock, out: &mut HostBlock| f.apply(x, out),
                })))
            }
            ("dense", [x]) => {
                args::matrix(x, (n, n))?;
                Ok(AnyMatrix::Dense(x.clone()))
            }
            ("resident", [x]) => Ok(AnyMatrix::Resident(x.clone())),
            _ => Err(broken("a matrix")),
        }
    }

    /// Keeps what is behind a handle from the functions that are called meanwhile.
    pub fn pin(&self) -> Option<Pin> {
        match self {
            AnyMatrix::Resident(x) => Pin::new(x),
            _ => None,
        }
    }

    /// What is behind the handle, if it is one.
    pub fn resident(&self) -> Result<Option<&ResidentMatrix>> {
        match self {
            AnyMatrix::Resident(x) => resident(x).map(Some),
            _ => Ok(None),
        }
    }

    /// The matrix of order n, unless it is behind a handle.
    pub fn matrix(&self, n: usize) -> Result<Matrix<'_>> {
        Ok(match self {
            AnyMatrix::Sparse([starts, rows, values], stored) => {
                Matrix::Sparse(sparse::columns(starts, rows, values, n, *stored)?)
            }
            AnyMatrix::Function(f) => Matrix::Function(&**f),
            AnyMatrix::Dense(x) => Matrix::Dense(args::matrix(x, (n, n))?),
            AnyMatrix::Resident(_) => return Err(broken("a matrix of the host")),
        })
    }
}

impl AnyPreconditioner {
    /// A preconditioner for a matrix of order n.
    pub fn parse(x: &Robj, n: usize) -> Result<Self> {
        let (kind, parts) = parts(x)?;
        let named = |kind| Ok(AnyPreconditioner::Named(kind));
        match (kind.as_str(), &parts[..]) {
            ("none", []) => named(PreconditionerName::None),
            ("jacobi", []) => named(PreconditionerName::Jacobi),
            ("ic0", []) => named(PreconditionerName::Ic0),
            ("cholesky", []) => named(PreconditionerName::Cholesky),
            ("amg", []) => named(PreconditionerName::Amg),
            ("auto", []) => named(PreconditionerName::Auto),
            ("default", []) => named(PreconditionerName::Default),
            ("ichol", [starts, rows, values]) => {
                let l = sparse::csc(starts, rows, values, (n, n))?;
                let l = IncompleteCholesky::from_lower(&l, "M")?;
                Ok(AnyPreconditioner::OnHost(Box::new(l)))
            }
            ("function", [f, continuation]) => {
                let f = Callback::new(f, continuation);
                let solve = Solve(move |r: &HostBlock, out: &mut HostBlock| f.apply(r, out));
                Ok(AnyPreconditioner::OnHost(Box::new(solve)))
            }
            ("dense", [x]) => {
                args::matrix(x, (n, n))?;
                Ok(AnyPreconditioner::Dense(x.clone()))
            }
            ("resident", [x]) => Ok(AnyPreconditioner::Resident(x.clone())),
            _ => Err(broken("a preconditioner")),
        }
    }

    /// As [`AnyMatrix::pin`].
    pub fn pin(&self) -> Option<Pin> {
        match self {
            AnyPreconditioner::Resident(x) => Pin::new(x),
            _ => None,
        }
    }

    /// As [`AnyMatrix::resident`].
    pub fn resident(&self) -> Result<Option<&ResidentMatrix>> {
        match self {
            AnyPreconditioner::Resident(x) => resident(x).map(Some),
            _ => Ok(None),
        }
    }

    /// The preconditioner for a matrix of order n, unless it is behind a handle.
    pub fn given(&self, n: usize) -> Result<Given<'_>> {
        Ok(match self {
            AnyPreconditioner::Named(asked) => Given::Named(*asked),
            AnyPreconditioner::OnHost(m) => Given::OnHost(&**m),
            AnyPreconditioner::Dense(x) => Given::Factor(args::matrix(x, (n, n))?),
            AnyPreconditioner::Resident(_) => return Err(broken("a factor of the host")),
        })
    }
}
