//! The simplex method decides small linear programs that the iteration leaves undecided. The
//! verifier checks its answers like all others.

use super::primal;
use super::primal::Found;
use crate::algo::lp::ipm::iterate::Status;
use crate::algo::lp::ipm::stop::{norm, Measures};
use crate::algo::lp::normal::layout::Constraints;
use crate::algo::lp::normal::layout::SMALL;
use crate::algo::lp::presolve::verify::{unit_of, Verifier};
use crate::algo::lp::problem::Problem;
use crate::algo::lp::solution::{Certificate, LpSolution, Options};
use crate::base::error::Result;
use crate::base::sparse::csc::Csc;

/// Bounds may contradict each other by this share of the tolerance, relative to their size.
pub const CONTRADICTION: f64 = 0.1;

/// The largest number of matrix entries for which the simplex method checks an optimal point that
/// violates a bound by more than [`CONTRADICTION`].
const TINY: usize = 1000;

pub fn is_tiny(on_host: Option<&Csc>) -> bool {
    on_host.is_some_and(|a| a.rows * a.columns() <= TINY)
}

/// A verified answer; none if the problem is large or the verifier refuses.
pub fn decide<C: Constraints>(
    a: &C,
    on_host: Option<&Csc>,
    p: &Problem<'_>,
    options: &Options,
) -> Result<Option<LpSolution>> {
    let Some(host) = on_host.filter(|a| a.rows * a.columns() <= SMALL) else {
        return Ok(None);
    };
    let until = options.time.map(|t| options.began + t);
    let tolerance = CONTRADICTION * options.tolerance.max(a.eps());
    let verifier = Verifier::new(a, p, options.tolerance);
    Ok(match primal::solve(host, p, tolerance, until)? {
        Found::Optimal { x, y } if verifier.is_optimal(&x, &y)? => {
            let measures = measures(a, p, options, &x, &y)?;
            Some(LpSolution {
                measures,
                ..LpSolution::without_iterations(Status::Optimal, x, y)
            })
        }
        Found::Infeasible { y } => verifier.rows(y)?.map(|y| LpSolution::infeasible(p, y)),
        Found::Unbounded { point, ray } => verifier.ray(ray)?.map(|ray| LpSolution {
            point: Some(point),
            ..LpSolution::proved(Status::Unbounded, p, Certificate::Ray(ray))
        }),
        _ => None,
    })
}

/// Residuals and gap of a point and the duals of the rows.
fn measures<C: Constraints>(
    a: &C,
    p: &Problem<'_>,
    options: &Options,
    x: &[f64],
    y: &[f64],
) -> Result<Measures> {
    let (activity, priced) = (a.times(x)?, a.transposed_times(y)?);
    let costs = p.objective.iter().zip(priced);
    let reduced: Vec<f64> = costs.map(|(c, a)| c - a).collect();
    let rows = (0..y.len()).map(|i| (activity[i], y[i], p.row(i)));
    let columns = (0..x.len()).map(|j| (x[j], reduced[j], p.column(j)));
    let (mut outside, mut signs, mut bounds) = (Vec::new(), Vec::new(), Vec::new());
    let mut dual_objective = 0.0;
    for (v, d, (l, u)) in rows.chain(columns) {
        outside.push((l - v).max(v - u).max(0.0));
        bounds.extend([l, u].into_iter().filter(|b| b.is_finite()));
        let bound = if d > 0.0 { l } else { u };
        if bound.is_finite() {
            dual_objective += d * bound;
        } else {
            signs.push(d);
        }
    }
    let objective: f64 = p.objective.iter().zip(x).map(|(c, x)| c * x).sum();
    let units = (unit_of(bounds.iter()), unit_of(p.objective.iter()));
    let size = units.0 * units.1 + (objective + options.constant).abs();
    Ok(Measures {
        primal: norm(outside.iter()) / (units.0 + norm(bounds.iter())),
        dual: norm(signs.iter()) / (units.1 + norm(p.objective.iter())),
        gap: (objective - dual_objective).abs() / size,
        objective,
        dual_objective,
    })
}
