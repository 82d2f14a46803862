//! `lp_ipm`.

use std::time::{Duration, Instant};

use extendr_api::prelude::*;

use crate::algo::lp::choice::{solve_on, solve_resident, ConstraintMatrix};
use crate::algo::lp::ipm::iterate::{Record, Status};
use crate::algo::lp::problem::Problem;
use crate::algo::lp::solve::{Certificate, LpSolution, Options};
use crate::base::error::{Error, Result};
use crate::cost::work::Work;
use crate::r::args;
use crate::r::handle::resident;
use crate::r::on_resident::{on_resident, watch};
use crate::r::reply::reply;
use crate::r::sparse;
use crate::r::target::How;

/// What goes with the matrix: `parts` is a list of the objective, lower and upper bounds of rows,
/// and of columns; `limits` are the tolerance, iterations, seconds and the constant of the
/// objective.
struct Call<'r> {
    parts: [&'r [f64]; 5],
    options: Options,
}

impl<'r> Call<'r> {
    fn new(parts: &'r [Robj], (m, n): (usize, usize), limits: &Robj) -> Result<Self> {
        let broken = |what: &str| Error::Internal {
            what: format!("a native routine was called without {what}"),
        };
        let [a, b, c, d, e] = parts else {
            return Err(broken("the parts of a linear program"));
        };
        let &[tolerance, iterations, seconds, constant] = args::doubles(limits)? else {
            return Err(broken("its limits"));
        };
        let all = |x, len| args::matrix(x, (len, 1));
        Ok(Call {
            parts: [all(a, n)?, all(b, m)?, all(c, m)?, all(d, n)?, all(e, n)?],
            options: Options {
                tolerance,
                iterations: iterations as usize,
                time: Duration::try_from_secs_f64(seconds).ok(),
                constant,
                began: Instant::now(),
                ..Options::default()
            },
        })
    }

    fn problem(&self) -> Problem<'_> {
        let [objective, rl, ru, l, u] = self.parts;
        Problem {
            objective,
            rows: (rl, ru),
            columns: (l, u),
        }
    }
}

fn list_of(x: &Robj) -> Vec<Robj> {
    x.as_list()
        .map(|l| l.values().collect())
        .unwrap_or_default()
}

fn status(s: Status) -> &'static str {
    match s {
        Status::Optimal => "optimal",
        Status::Infeasible => "infeasible",
        Status::Unbounded => "unbounded",
        Status::IterationLimit => "iteration_limit",
        Status::TimeLimit => "time_limit",
        Status::Interrupted => "interrupted",
        Status::Stalled => "stalled",
    }
}

fn numbers(r: &Record) -> [f64; 12] {
    let m = &r.measures;
    [
        m.objective,
        m.dual_objective,
        m.primal,
        m.dual,
        m.gap,
        r.mu,
        r.steps.0,
        r.steps.1,
        r.centring,
        r.correctors as f64,
        r.tau,
        r.kappa,
    ]
}

fn answer(s: LpSolution) -> List {
    let (m, t) = (s.measures, s.seconds);
    let log: Vec<f64> = s.log.iter().flat_map(numbers).collect();
    let (kind, proof) = match s.certificate {
        None => ("", Vec::new()),
        Some(Certificate::Rows(y)) => ("rows", y),
        Some(Certificate::Ray(x)) => ("ray", x),
    };
    list!(
        status = status(s.status),
        x = s.x,
        y = s.y,
        activity = s.activity,
        reduced = s.reduced,
        measures = vec![m.objective, m.dual_objective, m.primal, m.dual, m.gap],
        log = log,
        seconds = vec![t.iterating, t.forming, t.factoring],
        proof = proof,
        kind = kind,
        point = s.point.unwrap_or_default(),
        dropped = s.dropped as f64,
        dropped_columns = s.dropped_columns as f64
    )
}

/// A linear program with a matrix of R's doubles
#[extendr]
fn native_lp(x: Robj, dim: Robj, parts: Robj, limits: Robj, how: Robj) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let dim = args::dims(&dim)?;
        let x = args::matrix(&x, dim)?;
        let parts = list_of(&parts);
        let call = Call::new(&parts, dim, &limits)?;
        let a = ConstraintMatrix::Dense(dim, x);
        solve_on(&how, a, &call.problem(), &call.options).map(answer)
    })
}

/// The same with a sparse one, by columns: where each begins, rows, and values
#[extendr]
fn native_lp_sparse(
    starts: Robj,
    rows: Robj,
    values: Robj,
    dim: Robj,
    parts: Robj,
    limits: Robj,
    how: Robj,
) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let dim = args::dims(&dim)?;
        let parts = list_of(&parts);
        let call = Call::new(&parts, dim, &limits)?;
        let a = sparse::csc(&starts, &rows, &values, dim)?;
        let a = ConstraintMatrix::Sparse(a);
        solve_on(&how, a, &call.problem(), &call.options).map(answer)
    })
}

/// The same with one that is on a device
#[extendr]
fn native_resident_lp(x: Robj, parts: Robj, limits: Robj, how: Robj) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let parts = list_of(&parts);
        let a = resident(&x)?;
        let call = Call::new(&parts, a.shape(), &limits)?;
        let _shown = watch(&how, a, Work::linear_program(a.shape().0, a.shape().1));
        on_resident!(&how, a, |dev, T, a| {
            solve_resident::<T, _>(dev, a, &call.problem(), &call.options)
        })
        .map(answer)
    })
}

extendr_module! {
    mod lp_ipm;
    fn native_lp;
    fn native_lp_sparse;
    fn native_resident_lp;
}
