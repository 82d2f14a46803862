//! Linear programs: from the problem as it was given by way of its standard form to the answer, or
//! to a certificate that there is none.

use super::interior_point::{solve_within, with_products};
use super::ipm::iterate::Status;
use super::ipm::stop::Measures;
use super::normal::layout::Constraints;
use super::presolve::far_bounds::without_far_bounds;
use super::presolve::reductions::{presolve, Presolved};
use super::presolve::verify::Verifier;
use super::simplex::undecided::{decide, is_tiny, CONTRADICTION};
pub use super::solution::{Certificate, LpSolution, Options};
use crate::algo::lp::problem::Problem;
use crate::base::error::{Error, Result};
use crate::base::sparse::csc::Csc;

/// A lower limit of iterations is the user's choice: the simplex method does not overrule it.
const ENOUGH: usize = 100;

/// Solves a problem: presolve, iteration, and the simplex method for small undecided problems.
pub fn solve<C: Constraints>(a: &C, p: &Problem<'_>, options: &Options) -> Result<LpSolution> {
    p.check(a.shape())?;
    let options = &Options {
        scale: p.scale(),
        ..*options
    };
    let on_host = a.on_host()?;
    let host = on_host.as_deref();
    let found = match reduced(a, host, p, options) {
        Ok(Some(solution)) => Ok(solution),
        Ok(None) => feasible_or_not(a, p, options),
        Err(e) => Err(e),
    };
    let undecided = match &found {
        Ok(s) if s.status == Status::Optimal => {
            is_tiny(host) && !Verifier::new(a, p, options.tolerance).is_within(&s.x)?
        }
        Ok(s) => {
            let limit = s.status == Status::IterationLimit && options.iterations >= ENOUGH;
            limit || s.status == Status::Stalled
        }
        Err(e) => matches!(e, Error::NonFinite | Error::NotPositiveDefinite { .. }),
    };
    if undecided {
        if let Some(decided) = decide(a, host, p, options)? {
            let decided = with_products(a, p, decided)?;
            return Ok(match found {
                // The interior solution takes precedence over a vertex.
                Ok(s) if s.status == decided.status => s,
                Ok(s) => LpSolution {
                    log: s.log,
                    seconds: s.seconds,
                    ..decided
                },
                Err(_) => decided,
            });
        }
    }
    found.map_err(out_of_range)
}

/// Solves the reduced problem. None if presolve removes nothing, or if the verifier refuses the
/// answer for the whole problem.
fn reduced<C: Constraints>(
    a: &C,
    host: Option<&Csc>,
    p: &Problem<'_>,
    options: &Options,
) -> Result<Option<LpSolution>> {
    let tolerance = CONTRADICTION * options.tolerance.max(a.eps());
    let Some(host) = host else {
        return Ok(None);
    };
    let verifier = Verifier::new(a, p, options.tolerance);
    let reduced = match presolve(host, p, tolerance)? {
        Presolved::Nothing => return Ok(None),
        Presolved::Infeasible(y) => {
            return Ok(verifier.rows(y)?.map(|y| LpSolution::infeasible(p, y)))
        }
        Presolved::Reduced(reduced) => reduced,
    };
    let smaller = Problem {
        objective: p.objective,
        rows: (&reduced.rows.0, &reduced.rows.1),
        columns: (&reduced.columns.0, &reduced.columns.1),
    };
    let mut s = feasible_or_not(a, &smaller, options)?;
    s.dropped += reduced.dropped;
    match s.certificate.take() {
        Some(Certificate::Rows(y)) => {
            let y = reduced.multipliers(y, &vec![0.0; p.objective.len()]);
            s.certificate = verifier.rows(y)?.map(Certificate::Rows);
        }
        Some(Certificate::Ray(x)) => s.certificate = verifier.ray(x)?.map(Certificate::Ray),
        None => {
            s.y = reduced.multipliers(s.y, p.objective);
            let holds = s.status != Status::Optimal || verifier.is_optimal(&s.x, &s.y)?;
            return holds.then(|| with_products(a, p, s)).transpose();
        }
    }
    Ok(s.certificate.is_some().then_some(s))
}

/// Solves a problem. After a ray, a second solution with costs of 0 finds a feasible point, or
/// proves that none exists.
fn feasible_or_not<C: Constraints>(
    a: &C,
    p: &Problem<'_>,
    options: &Options,
) -> Result<LpSolution> {
    let s = solve_near(a, p, options)?;
    if s.status != Status::Unbounded {
        return Ok(s);
    }
    let nothing = vec![0.0; p.objective.len()];
    let feasible = Problem {
        objective: &nothing,
        ..*p
    };
    let first = solve_near(a, &feasible, options)?;
    Ok(match first.status {
        Status::Optimal => LpSolution {
            point: Some(first.x),
            ..s
        },
        Status::Infeasible => first,
        status => {
            let objective = p.objective.iter().zip(&first.x).map(|(c, x)| c * x).sum();
            let measures = Measures {
                objective,
                dual_objective: f64::NEG_INFINITY,
                gap: f64::INFINITY,
                ..first.measures
            };
            let point = LpSolution {
                status,
                measures,
                ..first
            };
            with_products(a, p, point)?
        }
    })
}

/// Solves a problem without its far bounds first.
fn solve_near<C: Constraints>(a: &C, p: &Problem<'_>, options: &Options) -> Result<LpSolution> {
    if let Some((lower, upper)) = without_far_bounds(p) {
        let wider = Problem {
            columns: (&lower, &upper),
            ..*p
        };
        let solution = solve_within(a, &wider, options)?;
        let within = |(j, x): (usize, &f64)| *x >= p.columns.0[j] && *x <= p.columns.1[j];
        let done = match solution.status {
            Status::Optimal => solution.x.iter().enumerate().all(within),
            Status::Infeasible | Status::TimeLimit | Status::Interrupted => true,
            Status::Unbounded | Status::IterationLimit | Status::Stalled => false,
        };
        if done {
            return Ok(solution);
        }
    }
    solve_within(a, p, options)
}

/// What it means that not even a starting point can be had of finite numbers.
fn out_of_range(e: Error) -> Error {
    match e {
        Error::NonFinite | Error::NotPositiveDefinite { .. } => Error::Argument {
            argument: "mat",
            what: "the numbers of the linear program differ by too many orders of magnitude".into(),
        },
        e => e,
    }
}
