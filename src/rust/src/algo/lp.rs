//! Linear programs: from the problem as it was given by way of its standard form to the answer, or to a certificate that there is none.

use std::time::Duration;

use super::lp_dependent::{independent_columns, independent_rows};
use super::lp_form::{form, Form, Formed, Problem};
use super::lp_ipm::{self, Limits, Outcome, Record, Status};
use super::lp_layout::Constraints;
use super::lp_normal::NormalEquations;
use super::lp_point::Data;
use super::lp_scale::{self, Scales};
use super::lp_stop::{norm, Measures, Sizes, Yardstick};
use crate::error::Result;

#[derive(Debug, Clone, Copy)]
pub struct Options {
    pub tolerance: f64,
    pub iterations: usize,
    pub time: Option<Duration>,
    /// What is added to the objective: the gap is relative to the sum.
    pub constant: f64,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            tolerance: 1e-8,
            iterations: 100,
            time: None,
            constant: 0.0,
        }
    }
}

/// Proof that there is no optimum.
#[derive(Debug, Clone, PartialEq)]
pub enum Certificate {
    /// Multipliers of rows whose combination no point within the bounds of variables can have.
    Rows(Vec<f64>),
    /// A direction along which the objective falls by 1, and bounds and rows keep no one.
    Ray(Vec<f64>),
}

#[derive(Debug, Clone)]
pub struct Solution {
    pub status: Status,
    pub x: Vec<f64>,
    /// The rate at which the optimum grows with each row's right-hand side.
    pub y: Vec<f64>,
    /// `A x`, and `objective - A'y`.
    pub activity: Vec<f64>,
    pub reduced: Vec<f64>,
    pub measures: Measures,
    pub log: Vec<Record>,
    pub certificate: Option<Certificate>,
    /// Rows that depend on others.
    pub dropped: usize,
}

impl Solution {
    fn without_iterations(status: Status, x: Vec<f64>, y: Vec<f64>) -> Self {
        Solution {
            status,
            activity: vec![f64::NAN; y.len()],
            reduced: vec![f64::NAN; x.len()],
            x,
            y,
            measures: Measures::default(),
            log: Vec::new(),
            certificate: None,
            dropped: 0,
        }
    }

    fn proved(status: Status, p: &Problem<'_>, certificate: Certificate) -> Self {
        let (n, m) = (p.objective.len(), p.rows.0.len());
        let nan = f64::NAN;
        Solution {
            certificate: Some(certificate),
            ..Solution::without_iterations(status, vec![nan; n], vec![nan; m])
        }
    }
}

/// Solves a problem.
pub fn solve<C: Constraints>(a: &C, p: &Problem<'_>, options: &Options) -> Result<Solution> {
    let mut solution = solve_form(a, p, options)?;
    if solution.certificate.is_none() {
        solution.activity = a.times(&solution.x)?;
        let priced = a.transposed_times(&solution.y)?;
        let costs = p.objective.iter().zip(priced);
        solution.reduced = costs.map(|(c, a)| c - a).collect();
    }
    Ok(solution)
}

fn solve_form<C: Constraints>(a: &C, p: &Problem<'_>, options: &Options) -> Result<Solution> {
    let mut form = match form(a, p)? {
        Formed::Form(form) => *form,
        Formed::Endless(j, direction) => {
            let mut ray = vec![0.0; p.objective.len()];
            ray[j] = direction / p.objective[j].abs();
            return Ok(Solution::proved(
                Status::Unbounded,
                p,
                Certificate::Ray(ray),
            ));
        }
    };
    if form.layout.rows.is_empty() {
        return Ok(settled(&form, p, 0));
    }
    let mut n = a.arrange(&mut form.layout)?;
    let dropped = match independent_rows(a, &mut form, &mut n)? {
        Ok(dropped) => dropped,
        Err(y) => {
            let proof = Certificate::Rows(y);
            return Ok(Solution::proved(Status::Infeasible, p, proof));
        }
    };
    if let Some(ray) = independent_columns(a, &mut form, &mut n)? {
        return Ok(Solution::proved(
            Status::Unbounded,
            p,
            Certificate::Ray(ray),
        ));
    }
    if n.extents().bounded + n.extents().free == 0 || form.layout.rows.is_empty() {
        let (x, y) = (form.columns(&[], &[], true), form.rows(&[]));
        let mut solution = Solution::without_iterations(Status::Optimal, x, y);
        let objective = p
            .objective
            .iter()
            .zip(&solution.x)
            .map(|(c, x)| c * x)
            .sum();
        solution.measures.objective = objective;
        solution.measures.dual_objective = objective;
        solution.dropped = dropped;
        return Ok(solution);
    }
    let mut solution = iterate(&form, p, &mut n, options)?;
    solution.dropped = dropped;
    Ok(solution)
}

/// Where no row is left each variable is at its best.
fn settled(form: &Form, p: &Problem<'_>, dropped: usize) -> Solution {
    let (x, y) = (form.columns(&[], &[], true), form.rows(&[]));
    let objective = p.objective.iter().zip(&x).map(|(c, x)| c * x).sum();
    Solution {
        measures: Measures {
            objective,
            dual_objective: objective,
            ..Measures::default()
        },
        dropped,
        ..Solution::without_iterations(Status::Optimal, x, y)
    }
}

fn iterate<N: NormalEquations>(
    form: &Form,
    p: &Problem<'_>,
    n: &mut N,
    options: &Options,
) -> Result<Solution> {
    let mut b = form.b();
    let costs = || form.cost.iter().chain(&form.free_cost);
    let shifted: f64 = p
        .objective
        .iter()
        .zip(&form.shifts)
        .map(|(c, s)| c * s)
        .sum();
    let sizes = Sizes {
        rhs: norm(b.iter().chain(&form.upper)),
        cost: norm(costs()),
        constant: shifted + options.constant,
    };
    let mut s = lp_scale::scale(n)?;
    let by = |x: &[f64], by: &[f64]| x.iter().zip(by).map(|(x, by)| x * by).collect::<Vec<_>>();
    b = by(&b, &s.rows);
    let (mut cost, mut free_cost) = (by(&form.cost, &s.bounded), by(&form.free_cost, &s.free));
    s.rhs = lp_scale::towards_one(b.iter());
    s.cost = lp_scale::towards_one(cost.iter().chain(&free_cost));
    b.iter_mut().for_each(|b| *b *= s.rhs);
    for c in cost.iter_mut().chain(&mut free_cost) {
        *c *= s.cost;
    }
    let places = n.extents().capped.places();
    let upper: Vec<f64> = places
        .zip(&form.upper)
        .map(|(j, u)| u / s.bounded[j] * s.rhs)
        .collect();
    let data = Data {
        rhs: n.bring(&b)?,
        cost: n.bring(&cost)?,
        free_cost: n.bring(&free_cost)?,
        upper: n.bring(&upper)?,
    };
    let yardstick = Yardstick::new(n, &s, &sizes, options.tolerance)?;
    let limits = Limits {
        iterations: options.iterations,
        time: options.time,
    };
    let outcome = lp_ipm::solve(n, &data, &yardstick, limits)?;
    unscale(form, p, n, &s, outcome, shifted)
}

/// The point of the problem as it was given.
fn unscale<N: NormalEquations>(
    form: &Form,
    p: &Problem<'_>,
    n: &N,
    s: &Scales,
    outcome: Outcome<N::V>,
    shifted: f64,
) -> Result<Solution> {
    let at = &outcome.point;
    let by = |x: Vec<f64>, scales: &[f64], by: f64| -> Vec<f64> {
        x.iter().zip(scales).map(|(x, s)| x * s * by).collect()
    };
    let proves = matches!(outcome.status, Status::Infeasible | Status::Unbounded);
    let tau = if proves { 1.0 } else { at.tau };
    let bounded = by(n.fetch(&at.x)?, &s.bounded, 1.0 / (s.rhs * tau));
    let free = by(n.fetch(&at.free)?, &s.free, 1.0 / (s.rhs * tau));
    let rows = form.rows(&by(n.fetch(&at.y)?, &s.rows, 1.0 / (s.cost * tau)));
    let whole = |m: Measures| Measures {
        objective: m.objective + shifted,
        dual_objective: m.dual_objective + shifted,
        ..m
    };
    let mut log = outcome.log;
    log.iter_mut().for_each(|r| r.measures = whole(r.measures));
    let mut solution = match outcome.status {
        Status::Infeasible => {
            let scale = outcome.measures.dual_objective.abs() * at.tau;
            let y = rows.iter().map(|y| y / scale).collect();
            Solution::proved(outcome.status, p, Certificate::Rows(y))
        }
        Status::Unbounded => {
            let x = form.columns(&bounded, &free, false);
            let fall: f64 = p.objective.iter().zip(&x).map(|(c, x)| c * x).sum();
            let ray = x.iter().map(|x| x / fall.abs()).collect();
            Solution::proved(outcome.status, p, Certificate::Ray(ray))
        }
        status => {
            let x = form.columns(&bounded, &free, true);
            Solution::without_iterations(status, x, rows)
        }
    };
    solution.measures = whole(outcome.measures);
    solution.log = log;
    Ok(solution)
}
