//! The matrix and the preconditioner of `pcg`, as lists that begin with what they are.

use extendr_api::prelude::*;

use crate::algo::sparse::csc::Csc;
use crate::algo::sparse::incomplete_cholesky::IncompleteCholesky;
use crate::algo::systems::preconditioner::PreconditionerName;
use crate::base::error::{Error, Result};
use crate::device::sparse::{Columns, Stored};
use crate::r::args;
use crate::r::callback::Callback;
use crate::r::resident::{held, Held, Pin};
use crate::r::sparse;

/// A sparse matrix as R has it.
pub struct SparseMatrix {
    n: usize,
    starts: Robj,
    rows: Robj,
    values: Robj,
    stored: Stored,
}

impl SparseMatrix {
    /// A copy whose parts were checked, and which entries it has.
    pub fn csc(&self) -> Result<(Csc, Stored)> {
        let a = sparse::csc(&self.starts, &self.rows, &self.values, (self.n, self.n))?;
        Ok((a, self.stored))
    }

    /// R's memory, unchecked.
    pub fn columns(&self) -> Result<Columns<'_>> {
        let starts = args::integers(&self.starts)?;
        if starts.len() != self.n + 1 {
            return Err(Error::Dimension {
                what: "a sparse matrix has parts that do not fit together".into(),
            });
        }
        Ok(Columns {
            starts,
            index: args::integers(&self.rows)?,
            values: args::doubles(&self.values)?,
            stored: self.stored,
        })
    }
}

pub enum AnyMatrix {
    Sparse(SparseMatrix),
    Function(Callback),
    /// Values by columns.
    Dense(Robj),
    /// A handle.
    Resident(Robj),
}

pub enum AnyPreconditioner {
    Named(PreconditionerName),
    Incomplete(IncompleteCholesky),
    Function(Callback),
    /// The upper triangle of values by columns.
    Dense(Robj),
    /// The same behind a handle.
    Resident(Robj),
}

fn broken(what: &str) -> Error {
    Error::Internal {
        what: format!("a native routine was called without {what}"),
    }
}

fn parts(x: &Robj) -> Result<(String, Vec<Robj>)> {
    let mut all = x.as_list().ok_or_else(|| broken("an operand"))?.values();
    let kind = all.next().and_then(|k| k.as_str().map(str::to_owned));
    Ok((kind.ok_or_else(|| broken("a kind"))?, all.collect()))
}

impl AnyMatrix {
    pub fn parse(x: &Robj, n: usize) -> Result<Self> {
        let (kind, parts) = parts(x)?;
        match (kind.as_str(), &parts[..]) {
            ("sparse", [starts, rows, values, stored]) => {
                let [starts, rows, values] = [starts, rows, values].map(Robj::clone);
                let stored = sparse::stored(stored);
                Ok(AnyMatrix::Sparse(SparseMatrix {
                    n,
                    starts,
                    rows,
                    values,
                    stored,
                }))
            }
            ("function", [f, continuation]) => {
                Ok(AnyMatrix::Function(Callback::new(f, continuation)))
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
}

impl AnyPreconditioner {
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
                let l = IncompleteCholesky::from_lower(&l).map_err(|e| match e {
                    Error::NonFiniteIn { .. } => Error::NonFiniteIn { argument: "M" },
                    other => other,
                });
                Ok(AnyPreconditioner::Incomplete(l?))
            }
            ("function", [f, continuation]) => {
                Ok(AnyPreconditioner::Function(Callback::new(f, continuation)))
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

    /// What is behind the handle, if it is one.
    pub fn resident(&self) -> Result<Option<&Held>> {
        match self {
            AnyPreconditioner::Resident(x) => held(x).map(Some),
            _ => Ok(None),
        }
    }
}
