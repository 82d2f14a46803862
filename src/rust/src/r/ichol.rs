//! `ichol`, and systems with what it gives.

use extendr_api::prelude::*;

use crate::algo::krylov::blocks::{Blocks, Preconditioner};
use crate::algo::krylov::host_blocks::Host;
use crate::algo::sparse::incomplete_cholesky::IncompleteCholesky;
use crate::algo::sparse::incomplete_cholesky_columns::Fill;
use crate::base::error::Error;
use crate::base::processor::Processor;
use crate::r::args::{self, Out};
use crate::r::reply::reply;
use crate::r::session::set_last;
use crate::r::sparse;
use crate::r::target::How;

/// The incomplete Cholesky factor of a sparse matrix; `droptol` of 0 for that without fill
#[extendr]
fn native_ichol(
    starts: Robj,
    rows: Robj,
    values: Robj,
    dim: Robj,
    stored: Robj,
    droptol: Robj,
) -> Robj {
    reply(|| {
        let a = sparse::csc(&starts, &rows, &values, args::dims(&dim)?)?;
        let stored = sparse::stored(&stored);
        super::pcg::check_symmetric(&a, stored)?;
        let fill = match args::number(&droptol)? {
            0.0 => Fill::None,
            t => Fill::Threshold(t),
        };
        let factor = IncompleteCholesky::new(&a, stored, fill)?;
        set_last(Processor::Cpu);
        let [starts, rows, values] = sparse::parts(&factor.lower()?)?;
        Ok(list!(
            starts = starts,
            rows = rows,
            values = values,
            shift = factor.shift(),
            failures = factor.failures() as f64
        ))
    })
}

/// out = `(L L')^-1 b`
#[extendr]
#[allow(clippy::too_many_arguments)]
fn native_ichol_solve(
    starts: Robj,
    rows: Robj,
    values: Robj,
    dim: Robj,
    b: Robj,
    bdim: Robj,
    out: Robj,
    how: Robj,
) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let l = sparse::csc(&starts, &rows, &values, args::dims(&dim)?)?;
        let bdim = args::dims(&bdim)?;
        let host = Host::new(how.threads);
        let mut own = host.zeros(bdim.0, bdim.1)?;
        own.values_mut().copy_from_slice(args::matrix(&b, bdim)?);
        let mut out = Out::new(&out, bdim)?;
        let mut x = host.zeros(bdim.0, bdim.1)?;
        set_last(Processor::Cpu);
        let l = IncompleteCholesky::from_lower(&l).map_err(|e| match e {
            Error::NonFiniteIn { .. } => Error::NonFiniteIn { argument: "a" },
            Error::Argument { what, .. } => Error::Argument {
                argument: "a",
                what,
            },
            other => other,
        })?;
        l.solve(&host, &own, &mut x)?;
        out.slice().copy_from_slice(x.values());
        Ok(())
    })
}

extendr_module! {
    mod ichol;
    fn native_ichol;
    fn native_ichol_solve;
}
