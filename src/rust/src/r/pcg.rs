//! `pcg`.

use extendr_api::prelude::*;

use crate::algo::krylov::host_blocks::Host;
use crate::algo::krylov::outcome::{End, Stopping};
use crate::algo::systems::dense;
use crate::algo::systems::preconditioner::Built;
use crate::algo::systems::problem::{Solved, Systems};
use crate::algo::systems::solve::{solve, work, HostOperator};
use crate::base::error::{Error, Result};
use crate::base::matrix::Uplo;
use crate::r::args::{self, Out};
use crate::r::on_resident::{on_pair, on_resident, watch};
use crate::r::pcg_operands::{AnyMatrix, AnyPreconditioner};
use crate::r::reply::reply;
use crate::r::session::{last, set_last};
use crate::r::target::How;

/// Solves on the device of a matrix or factor that is behind a handle, else on the one that is
/// chosen.
fn dispatch(s: &Systems, how: &How, a: &AnyMatrix, m: &AnyPreconditioner) -> Result<Solved> {
    match (a.resident()?, m.resident()?) {
        (Some(a), Some(factor)) => {
            let _shown = watch(how, a, work(s.n));
            on_pair!(how, a, factor, |dev, T, a, f| {
                dense::solve_resident_with::<T, _>(s, dev, a, f)
            })
        }
        (Some(a), None) => {
            let _shown = watch(how, a, work(s.n));
            let m = m.given(s.n)?;
            on_resident!(how, a, |dev, T, a| dense::solve_resident::<T, _>(
                s, dev, a, &m
            ))
        }
        (None, Some(factor)) => {
            let a = HostOperator::new(s, a.matrix(s.n)?)?;
            let _shown = watch(how, factor, work(s.n));
            on_resident!(how, factor, |dev, T, f| {
                dense::solve_operator_with::<T, _>(s, dev, a.operator(), f)
            })
        }
        (None, None) => solve(s, a.matrix(s.n)?, &m.given(s.n)?, how),
    }
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
        let solved = dispatch(&systems, &how, &a, &m)?;
        // A function that was called may have computed elsewhere.
        set_last(solved.processor);
        let s = solved.solution;
        s.verdict()?;
        out.slice().copy_from_slice(&s.x);
        let iterations: Vec<i32> = s.iterations.iter().map(|i| *i as i32).collect();
        Ok(list!(
            iterations = iterations,
            residuals = s.residuals,
            history = List::from_values(s.history),
            ends = s.ends.iter().map(|e| end(*e)).collect::<Vec<_>>(),
            preconditioner = solved.built.map_or("", Built::name),
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
        let upper = dense::triangle_of(args::matrix(&x, dim)?, dim)? == Uplo::Upper;
        Ok(list!(upper = upper))
    })
}

extendr_module! {
    mod pcg;
    fn native_pcg;
    fn native_triangles;
}
