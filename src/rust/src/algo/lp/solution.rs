//! What can be asked of the solution of a linear program, and what it is.

use std::time::{Duration, Instant};

use super::ipm::iterate::{Record, Seconds, Status};
use super::ipm::stop::Measures;
use crate::algo::lp::problem::Problem;

#[derive(Debug, Clone, Copy)]
pub struct Options {
    pub tolerance: f64,
    pub iterations: usize,
    pub time: Option<Duration>,
    /// When time began to count.
    pub began: Instant,
    /// What is added to the objective: the gap is relative to the sum.
    pub constant: f64,
    /// The largest finite bound of the problem as given, for what presolve leaves without any.
    pub scale: f64,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            tolerance: 1e-8,
            iterations: 100,
            time: None,
            began: Instant::now(),
            constant: 0.0,
            scale: 0.0,
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
pub struct LpSolution {
    pub status: Status,
    pub x: Vec<f64>,
    /// The rate at which the optimum grows with each row's right-hand side.
    pub y: Vec<f64>,
    /// `A x`, and `objective - A'y`.
    pub activity: Vec<f64>,
    pub reduced: Vec<f64>,
    pub measures: Measures,
    pub log: Vec<Record>,
    pub seconds: Seconds,
    pub certificate: Option<Certificate>,
    /// A feasible point of an unbounded problem.
    pub point: Option<Vec<f64>>,
    /// Rows, and free columns, that depend on others.
    pub dropped: usize,
    pub dropped_columns: usize,
}

impl LpSolution {
    pub(super) fn without_iterations(status: Status, x: Vec<f64>, y: Vec<f64>) -> Self {
        LpSolution {
            status,
            activity: vec![f64::NAN; y.len()],
            reduced: vec![f64::NAN; x.len()],
            x,
            y,
            measures: Measures::default(),
            log: Vec::new(),
            seconds: Seconds::default(),
            certificate: None,
            point: None,
            dropped: 0,
            dropped_columns: 0,
        }
    }

    pub(crate) fn infeasible(p: &Problem<'_>, y: Vec<f64>) -> Self {
        LpSolution::proved(Status::Infeasible, p, Certificate::Rows(y))
    }

    pub(crate) fn unbounded(p: &Problem<'_>, ray: Vec<f64>) -> Self {
        LpSolution::proved(Status::Unbounded, p, Certificate::Ray(ray))
    }

    pub(super) fn proved(status: Status, p: &Problem<'_>, certificate: Certificate) -> Self {
        let (n, m) = (p.objective.len(), p.rows.0.len());
        let nan = f64::NAN;
        LpSolution {
            certificate: Some(certificate),
            ..LpSolution::without_iterations(status, vec![nan; n], vec![nan; m])
        }
    }
}
