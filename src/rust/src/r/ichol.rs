//! `ichol`, and systems with what it gives.

use extendr_api::prelude::*;

use crate::algo::krylov::host_blocks::Host;
use crate::algo::sparse::incomplete_cholesky::IncompleteCholesky;
use crate::algo::systems::host::{apply_inverse, incomplete_factor};
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
        let factor = incomplete_factor(&a, stored, args::number(&droptol)?)?;
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
        let b = args::matrix(&b, bdim)?;
        let mut out = Out::new(&out, bdim)?;
        set_last(Processor::Cpu);
        let l = IncompleteCholesky::from_lower(&l, "a")?;
        apply_inverse(&Host::new(how.threads), &l, (b, bdim), out.slice())
    })
}

extendr_module! {
    mod ichol;
    fn native_ichol;
    fn native_ichol_solve;
}
