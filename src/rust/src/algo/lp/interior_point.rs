//! The interior-point solution of a linear program: standard form, scaling, dependent rows and
//! columns, iteration, answer or proof.

use super::ipm;
use super::ipm::iterate::{Limits, Outcome, Status};
use super::ipm::point::{Data, Point};
use super::ipm::stop::{norm, Measures, Sizes, StoppingCriteria, Verdict};
use super::normal::equations::NormalEquations;
use super::normal::layout::Constraints;
use super::presolve;
use super::presolve::dependent::{independent_columns, independent_rows};
use super::presolve::scale::Scales;
use super::presolve::verify::Verifier;
use super::solution::{Certificate, LpSolution, Options};
use super::standard_form::{form, Formed, StandardForm};
use super::vectors::space::Vectors;
use crate::algo::lp::problem::Problem;
use crate::base::error::Result;

/// Adds activities of rows and reduced costs.
pub fn with_products<C: Constraints>(
    a: &C,
    p: &Problem<'_>,
    mut s: LpSolution,
) -> Result<LpSolution> {
    if s.certificate.is_none() {
        s.activity = a.times(&s.x)?;
        let priced = a.transposed_times(&s.y)?;
        let costs = p.objective.iter().zip(priced);
        s.reduced = costs.map(|(c, a)| c - a).collect();
    }
    Ok(s)
}

/// Solves a problem by its standard form.
pub fn solve_within<C: Constraints>(
    a: &C,
    p: &Problem<'_>,
    options: &Options,
) -> Result<LpSolution> {
    let mut verifier = Verifier::new(a, p, options.tolerance);
    let solution = solve_form(a, p, options, &mut verifier)?;
    with_products(a, p, solution)
}

fn solve_form<C: Constraints>(
    a: &C,
    p: &Problem<'_>,
    options: &Options,
    verifier: &mut Verifier<'_, C>,
) -> Result<LpSolution> {
    let mut form = match form(a, p)? {
        Formed::Form(form) => *form,
        Formed::Endless(j, direction) => {
            let mut ray = vec![0.0; p.objective.len()];
            ray[j] = direction / p.objective[j].abs();
            return Ok(LpSolution::unbounded(p, ray));
        }
    };
    let (mut dropped, mut dropped_columns) = (0, 0);
    let mut arranged = None;
    if !form.layout.is_empty() {
        let mut n = a.arrange(&mut form.layout)?;
        let mut s = presolve::scale::scale(&mut n)?;
        verifier.learn(&form, &s);
        let tolerance = options.tolerance;
        dropped = match independent_rows(a, &mut form, (&mut n, &mut s), verifier, tolerance)? {
            Ok(dropped) => dropped,
            Err(y) => return Ok(LpSolution::infeasible(p, y)),
        };
        dropped_columns = match independent_columns(a, &mut form, &s, verifier, tolerance)? {
            Ok(dropped) => dropped,
            Err(ray) => return Ok(LpSolution::unbounded(p, ray)),
        };
        arranged = Some((n, s));
    }
    let solution = match arranged {
        Some((mut n, mut s)) if !form.layout.is_empty() => {
            if dropped + dropped_columns > 0 {
                n = a.arrange(&mut form.layout)?;
                s = presolve::scale::scale(&mut n)?;
            }
            iterate(&form, p, (&mut n, s), options, verifier)?
        }
        _ => settled(&form, p, verifier)?,
    };
    Ok(LpSolution {
        dropped,
        dropped_columns,
        ..solution
    })
}

/// Where no row or no column is left each variable is at its best.
fn settled<C: Constraints>(
    form: &StandardForm,
    p: &Problem<'_>,
    verifier: &Verifier<'_, C>,
) -> Result<LpSolution> {
    let (x, y) = (form.columns(&[], &[], true), form.rows(&[]));
    let mut status = Status::Optimal;
    if !verifier.is_optimal(&x, &y)? {
        if let Some(y) = verifier.impossible_row(&x)? {
            return Ok(LpSolution::infeasible(p, y));
        }
        status = Status::Stalled;
    }
    let objective = p.objective.iter().zip(&x).map(|(c, x)| c * x).sum();
    Ok(LpSolution {
        measures: Measures {
            objective,
            dual_objective: objective,
            ..Measures::default()
        },
        ..LpSolution::without_iterations(status, x, y)
    })
}

fn iterate<C: Constraints>(
    form: &StandardForm,
    p: &Problem<'_>,
    (n, mut s): (&mut C::Normal, Scales),
    options: &Options,
    verifier: &Verifier<'_, C>,
) -> Result<LpSolution> {
    let mut b = form.b();
    let costs = || form.cost.iter().chain(&form.free_cost);
    let shifted: f64 = p
        .objective
        .iter()
        .zip(&form.shifts)
        .map(|(c, s)| c * s)
        .sum();
    fn largest<'a>(all: impl Iterator<Item = &'a f64>) -> f64 {
        all.fold(0.0, |s, x| s.max(x.abs()))
    }
    let largest_rhs = largest(form.given().iter().chain(&form.upper));
    let sizes = Sizes {
        rhs: norm(form.given().iter().chain(&form.upper)),
        cost: norm(costs()),
        largest_rhs: if largest_rhs > 0.0 {
            largest_rhs
        } else {
            options.scale
        },
        largest_cost: largest(costs()),
        constant: shifted + options.constant,
    };
    let by = |x: &[f64], by: &[f64]| x.iter().zip(by).map(|(x, by)| x * by).collect::<Vec<_>>();
    b = by(&b, &s.rows);
    let (mut cost, mut free_cost) = (by(&form.cost, &s.bounded), by(&form.free_cost, &s.free));
    s.rhs = presolve::scale::towards_one(b.iter());
    s.cost = presolve::scale::towards_one(cost.iter().chain(&free_cost));
    b.iter_mut().for_each(|b| *b *= s.rhs);
    for c in cost.iter_mut().chain(&mut free_cost) {
        *c *= s.cost;
    }
    let places = n.dimensions().capped.places();
    let upper: Vec<f64> = places
        .zip(&form.upper)
        .map(|(j, u)| u / s.bounded[j] * s.rhs)
        .collect();
    let data = Data {
        rhs: n.space().bring(&b)?,
        rhs_size: b.iter().fold(0.0, |s, b| s.max(b.abs())),
        cost: n.space().bring(&cost)?,
        free_cost: n.space().bring(&free_cost)?,
        upper: n.space().bring(&upper)?,
    };
    let yardstick = StoppingCriteria::new(n, &data, &s, &sizes, options.tolerance)?;
    let limits = Limits {
        iterations: options.iterations,
        time: options.time,
        began: options.began,
    };
    let outcome = {
        let holds = |n: &C::Normal, at: &Point<_>, verdict| {
            let (x, y) = unscaled(form, n, &s, at, verdict == Verdict::Optimal)?;
            match verdict {
                Verdict::GoOn => Ok(false),
                Verdict::Optimal => verifier.is_optimal(&x, &y),
                Verdict::Infeasible => Ok(verifier.rows(y)?.is_some()),
                Verdict::Unbounded => Ok(verifier.ray(x)?.is_some()),
            }
        };
        n.coarsen(true)?;
        ipm::iterate::solve(n, &data, &yardstick, limits, &holds)?
    };
    answer(form, p, (n, &s), outcome, shifted, verifier)
}

/// Variables and duals of rows of the problem as it was given, or directions of both.
fn unscaled<N: NormalEquations>(
    form: &StandardForm,
    n: &N,
    s: &Scales,
    at: &Point<N::V>,
    a_point: bool,
) -> Result<(Vec<f64>, Vec<f64>)> {
    let tau = if a_point { at.tau } else { 1.0 };
    let by = |x: Vec<f64>, scales: &[f64], by: f64| -> Vec<f64> {
        x.iter().zip(scales).map(|(x, s)| x * s * by).collect()
    };
    let bounded = by(n.space().fetch(&at.x)?, &s.bounded, 1.0 / (s.rhs * tau));
    let free = by(n.space().fetch(&at.free)?, &s.free, 1.0 / (s.rhs * tau));
    let rows = by(n.space().fetch(&at.y)?, &s.rows, 1.0 / (s.cost * tau));
    Ok((form.columns(&bounded, &free, a_point), form.rows(&rows)))
}

fn answer<C: Constraints>(
    form: &StandardForm,
    p: &Problem<'_>,
    (n, s): (&C::Normal, &Scales),
    outcome: Outcome<<C::Normal as NormalEquations>::V>,
    shifted: f64,
    verifier: &Verifier<'_, C>,
) -> Result<LpSolution> {
    let whole = |m: Measures| Measures {
        objective: m.objective + shifted,
        dual_objective: m.dual_objective + shifted,
        ..m
    };
    let mut log = outcome.log;
    log.iter_mut().for_each(|r| r.measures = whole(r.measures));
    let proves = matches!(outcome.status, Status::Infeasible | Status::Unbounded);
    let (x, y) = unscaled(form, n, s, &outcome.point, !proves)?;
    let proof = match outcome.status {
        Status::Infeasible => verifier.rows(y.clone())?.map(Certificate::Rows),
        Status::Unbounded => verifier.ray(x.clone())?.map(Certificate::Ray),
        _ => None,
    };
    let solution = match proof {
        Some(proof) => LpSolution::proved(outcome.status, p, proof),
        None if proves => LpSolution::without_iterations(Status::Stalled, x, y),
        None => LpSolution::without_iterations(outcome.status, x, y),
    };
    Ok(LpSolution {
        measures: whole(outcome.measures),
        log,
        seconds: outcome.seconds,
        ..solution
    })
}
