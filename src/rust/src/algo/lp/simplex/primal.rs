//! A bounded primal simplex method in twice the working precision, for small linear programs.
//!
//! Columns and rows are both variables with bounds. Basic variables are linear combinations of
//! nonbasic ones. A nonbasic variable is at a bound, or 0 if it is free. Bland's rule chooses
//! pivots, so the method cannot cycle. Scaling brings entries near 1. Rounding errors are then far
//! below 1e-22, the threshold for zero.

use std::time::Instant;

use super::tableau::{Tableau, NOTHING, ZERO};
use crate::algo::lp::problem::Problem;
use crate::base::error::Result;
use crate::base::interrupt;
use crate::base::sparse::csc::Csc;
use qd::Quad;

/// Values this close to a bound, relative to it, are at the bound.
const EQUAL: f64 = 1e-20;
const PIVOTS: usize = 5000;

/// The result, in the units of the problem.
#[derive(Debug, Clone, PartialEq)]
pub enum Found {
    /// A vertex and the duals of the rows.
    Optimal {
        x: Vec<f64>,
        y: Vec<f64>,
    },
    /// Farkas multipliers of the rows.
    Infeasible {
        y: Vec<f64>,
    },
    Unbounded {
        point: Vec<f64>,
        ray: Vec<f64>,
    },
    Undecided,
}

/// The outcome of a pivot.
enum Step {
    Done,
    None,
    /// This nonbasic variable can grow (1) or fall (-1) without limit.
    Ray(usize, f64),
}

/// The variable that ends a step, at a bound; the row is none if it is the nonbasic variable
/// itself.
struct Block {
    step: Quad,
    variable: usize,
    row: Option<usize>,
    end: f64,
}

impl Block {
    fn comes_before(&self, other: &Block) -> bool {
        self.step < other.step || self.step == other.step && self.variable < other.variable
    }
}

/// Solves a problem. Bounds may be violated by `tolerance`, relative to their size: rounded data
/// are rarely consistent to the last digit.
pub fn solve(a: &Csc, p: &Problem<'_>, tolerance: f64, until: Option<Instant>) -> Result<Found> {
    let mut t = Tableau::new(a, p, tolerance);
    let mut left = PIVOTS;
    let mut go_on = || {
        interrupt::poll()?;
        left = left.saturating_sub(1);
        Ok(left > 0 && until.is_none_or(|t| Instant::now() < t))
    };
    loop {
        t.evaluate();
        if !t.is_finite() || !go_on()? {
            return Ok(Found::Undecided);
        }
        let off = t.off();
        if off.iter().all(|s| *s == 0.0) {
            break;
        }
        let gradient = t.combined(|i| -off[i]);
        match t.step(&gradient, &off) {
            Step::Done => {}
            Step::Ray(..) => return Ok(Found::Undecided),
            Step::None if t.accepts(&off) => break,
            Step::None => {
                let y = t.multipliers(&gradient, &off);
                return Ok(Found::Infeasible { y });
            }
        }
    }
    let none = vec![0.0; t.rows];
    loop {
        let mut gradient = t.combined(|i| t.cost[t.basis[i]]);
        for (g, j) in gradient.iter_mut().zip(&t.nonbasic) {
            *g += Quad::from(t.cost[*j]);
        }
        match t.step(&gradient, &none) {
            Step::Done => {}
            Step::None => {
                let y = t.multipliers(&gradient, &none);
                return Ok(Found::Optimal { x: t.point(), y });
            }
            Step::Ray(k, way) => {
                return Ok(Found::Unbounded {
                    point: t.point(),
                    ray: t.ray(k, way),
                })
            }
        }
        t.evaluate();
        if !t.is_finite() || !go_on()? {
            return Ok(Found::Undecided);
        }
    }
}

impl Tableau {
    /// For each basic variable 1 below its lower bound, -1 above its upper one, else 0.
    fn off(&self) -> Vec<f64> {
        let of = |(v, k): (&Quad, &usize)| {
            let (l, u) = (self.lower[*k], self.upper[*k]);
            let equal = |b: f64| Quad::from(EQUAL * b.abs().max(self.unit));
            if l.is_finite() && *v < Quad::from(l) - equal(l) {
                1.0
            } else if u.is_finite() && *v > Quad::from(u) + equal(u) {
                -1.0
            } else {
                0.0
            }
        };
        self.values.iter().zip(&self.basis).map(of).collect()
    }

    /// Moves a nonbasic variable against the gradient, as far as the bounds allow.
    fn step(&mut self, gradient: &[Quad], off: &[f64]) -> Step {
        let largest = self.cost.iter().fold(0.0_f64, |s, c| s.max(c.abs()));
        let feasible = off.iter().all(|s| *s == 0.0);
        let least = if feasible { EQUAL * largest } else { NOTHING };
        let mut candidates: Vec<(usize, usize)> =
            self.nonbasic.iter().copied().zip(0..self.columns).collect();
        candidates.sort_unstable();
        for (j, k) in candidates {
            let (l, u, x, g) = (self.lower[j], self.upper[j], self.at[k], gradient[k]);
            if g.abs().0 <= least {
                continue;
            }
            let up = g < ZERO;
            let (way, end) = if up { (1.0, u) } else { (-1.0, l) };
            if up && x >= Quad::from(u) || !up && x <= Quad::from(l) {
                continue;
            }
            let best = self.ratio_test(k, way, end, off);
            match best {
                None if feasible && self.is_level(k, g) => continue,
                None => return Step::Ray(k, way),
                Some(Block { row: None, end, .. }) => self.at[k] = Quad::from(end),
                Some(Block {
                    row: Some(i), end, ..
                }) => self.pivot(i, k, end),
            }
            return Step::Done;
        }
        Step::None
    }

    /// The bound that blocks nonbasic variable k first: its own bound `end`, or one of a basic
    /// variable.
    fn ratio_test(&self, k: usize, way: f64, end: f64, off: &[f64]) -> Option<Block> {
        let mut best = end.is_finite().then(|| Block {
            step: (Quad::from(end) - self.at[k]).abs(),
            variable: usize::MAX,
            row: None,
            end,
        });
        for (i, off) in off.iter().enumerate() {
            let (slope, variable) = (self.row(i)[k] * Quad::from(way), self.basis[i]);
            if slope.abs().0 <= NOTHING {
                continue;
            }
            // A variable outside its bounds blocks at the violated bound.
            let end = match (slope > ZERO, *off) {
                (true, 1.0) | (false, 0.0) => self.lower[variable],
                (true, 0.0) | (false, -1.0) => self.upper[variable],
                _ => continue,
            };
            if !end.is_finite() {
                continue;
            }
            let mut step = (Quad::from(end) - self.values[i]) / slope;
            if step < ZERO {
                step = ZERO;
            }
            let block = Block {
                step,
                variable,
                row: Some(i),
                end,
            };
            if best.as_ref().is_none_or(|b| block.comes_before(b)) {
                best = Some(block);
            }
        }
        best
    }

    /// Whether a reduced cost is within the error of its terms.
    fn is_level(&self, k: usize, g: Quad) -> bool {
        let of_row = |i: usize| (self.cost[self.basis[i]] * self.row(i)[k].0).abs();
        let terms = (0..self.rows).map(of_row).sum::<f64>() + self.cost[self.nonbasic[k]].abs();
        g.abs().0 <= self.tolerance * terms
    }

    /// Relaxes violated bounds to the values reached if all violations are within the tolerance.
    fn accepts(&mut self, off: &[f64]) -> bool {
        let excess = |i: usize| {
            let (k, v) = (self.basis[i], self.values[i].0);
            let bound = if off[i] > 0.0 {
                self.lower[k]
            } else {
                self.upper[k]
            };
            (v - bound).abs() <= self.tolerance * bound.abs().max(self.unit)
        };
        if !(0..self.rows).filter(|i| off[*i] != 0.0).all(excess) {
            return false;
        }
        for (i, off) in off.iter().enumerate().filter(|(_, off)| **off != 0.0) {
            let (k, v) = (self.basis[i], self.values[i].0);
            if *off > 0.0 {
                self.lower[k] = v;
            } else {
                self.upper[k] = v;
            }
        }
        true
    }
}
