//! What is said of a linear program, held against the problem as it was given: an optimum row by
//! row and variable by variable, a proof that there is none by what it combines to.
//!
//! Norms over all rows do not see one small row beside large ones, and a proof that holds relative
//! to its largest part may be no proof where columns differ by orders of magnitude.

use super::scale::Scales;
use crate::algo::lp::normal::equations::or_one;
use crate::algo::lp::normal::layout::Constraints;
use crate::algo::lp::problem::Problem;
use crate::algo::lp::standard_form::StandardForm;
use crate::base::error::Result;

/// Units in the last place, of the sum of magnitudes, that a sum may be off.
const ROUNDING: f64 = 256.0;
/// What a row, or a reduced cost, may be off, in tolerances.
const SINGLY: f64 = 100.0;
/// What rounding and the tolerance leave of a proof of infeasibility must be positive by this share
/// of it.
const MARGIN: f64 = 0.5;

/// Holds what is found against the problem.
pub struct Verifier<'v, C> {
    a: &'v C,
    p: &'v Problem<'v>,
    tolerance: f64,
    /// What brings rows and columns of the problem to a magnitude of about 1; 1 where that is not
    /// known.
    rows: Vec<f64>,
    columns: Vec<f64>,
}

/// The scale for errors of numbers near 0: the largest finite magnitude, at most 1.
pub fn unit_of<'a>(all: impl Iterator<Item = &'a f64>) -> f64 {
    let finite = all.map(|x| x.abs()).filter(|x| x.is_finite());
    or_one(finite.fold(0.0, f64::max)).min(1.0)
}

fn largest(x: &[f64], scales: &[f64]) -> f64 {
    let scaled = x.iter().zip(scales).map(|(x, s)| (x / s).abs());
    scaled.fold(0.0, f64::max)
}

fn inner(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

impl<'v, C: Constraints> Verifier<'v, C> {
    pub fn new(a: &'v C, p: &'v Problem<'v>, tolerance: f64) -> Self {
        Verifier {
            a,
            p,
            tolerance,
            rows: vec![1.0; p.rows.0.len()],
            columns: vec![1.0; p.objective.len()],
        }
    }

    /// Takes note of the scales of a form's rows and columns.
    pub fn learn(&mut self, form: &StandardForm, s: &Scales) {
        let layout = &form.layout;
        for (i, scale) in layout.rows.iter().zip(&s.rows) {
            self.rows[*i] = *scale;
        }
        for (j, scale) in layout.bounded.iter().zip(&s.bounded) {
            self.columns[*j] = *scale;
        }
        for (j, scale) in layout.free.iter().zip(&s.free) {
            self.columns[*j] = *scale;
        }
    }

    fn rounding(&self) -> f64 {
        ROUNDING * self.a.eps()
    }

    /// The largest bound and the largest cost of the scaled problem.
    fn sizes(&self) -> (f64, f64) {
        let finite = |(l, u): (f64, f64)| {
            let of = |b: f64| if b.is_finite() { b.abs() } else { 0.0 };
            of(l).max(of(u))
        };
        let rows = self.rows.iter().enumerate();
        let rows = rows.map(|(i, s)| finite(self.p.row(i)) * s);
        let columns = self.columns.iter().enumerate();
        let columns = columns.map(|(j, s)| finite(self.p.column(j)) / s);
        let costs = self.p.objective.iter().zip(&self.columns);
        (
            or_one(rows.chain(columns).fold(0.0, f64::max)),
            or_one(costs.map(|(c, s)| (c * s).abs()).fold(0.0, f64::max)),
        )
    }

    /// Whether each row and variable is within its bounds, each reduced cost and each row's dual
    /// has its sign, and none is far from its bound and has a dual at once. Errors near 0 are
    /// relative to the largest scaled bound, or cost, at most 1.
    pub fn is_optimal(&self, x: &[f64], y: &[f64]) -> Result<bool> {
        let (near, rounding) = (SINGLY * self.tolerance, self.rounding());
        // Products of distances and duals fall with the square of what either is off.
        let apart = self.tolerance.sqrt();
        let sound =
            |v: f64, (l, u): (f64, f64), d: f64, off: (f64, f64), cost: f64, units: (f64, f64)| {
                let within =
                    |by: f64, bound: f64| by <= near * (units.0 + bound.abs()) + rounding * off.0;
                let (dual_near, size) = (near * (units.1 + cost.abs()) + rounding * off.1, d.abs());
                let bound = if d > 0.0 { l } else { u };
                let distance = (v - bound).abs() / (units.0 + v.abs());
                let settled = size <= dual_near
                    || bound.is_finite() && distance * size <= apart * (units.1 + size)
                    || bound.is_finite() && within((v - bound).abs(), bound);
                (l.is_infinite() || within(l - v, l))
                    && (u.is_infinite() || within(v - u, u))
                    && settled
            };
        let (of_bounds, of_costs) = self.sizes();
        let (activity, sizes) = (self.a.times(x)?, self.a.magnitudes_times(x)?);
        // A dual counts in its row's own unit.
        let rows = (0..y.len()).all(|i| {
            let off = (sizes[i], y[i].abs());
            let units = (
                (of_bounds / self.rows[i]).min(1.0),
                (of_costs * self.rows[i]).min(1.0),
            );
            sound(activity[i], self.p.row(i), y[i], off, 0.0, units)
        });
        if !rows {
            return Ok(false);
        }
        let (priced, sizes) = (
            self.a.transposed_times(y)?,
            self.a.magnitudes_transposed_times(y)?,
        );
        Ok((0..x.len()).all(|j| {
            let c = self.p.objective[j];
            let off = (x[j].abs(), sizes[j] + c.abs());
            let units = (
                (of_bounds * self.columns[j]).min(1.0),
                (of_costs / self.columns[j]).min(1.0),
            );
            sound(x[j], self.p.column(j), c - priced[j], off, c, units)
        }))
    }

    /// Whether violations of all bounds are at most a tenth of the tolerance, relative to their
    /// size.
    pub fn is_within(&self, x: &[f64]) -> Result<bool> {
        let (activity, sizes) = (self.a.times(x)?, self.a.magnitudes_times(x)?);
        let (unit, rounding) = (self.sizes().0.min(1.0), self.rounding());
        let within = |v: f64, (l, u): (f64, f64), size: f64| {
            let near = |b: f64| 0.1 * self.tolerance * b.abs().max(unit) + rounding * size;
            (l.is_infinite() || l - v <= near(l)) && (u.is_infinite() || v - u <= near(u))
        };
        let rows = (0..activity.len()).all(|i| within(activity[i], self.p.row(i), sizes[i]));
        Ok(rows && (0..x.len()).all(|j| within(x[j], self.p.column(j), x[j].abs())))
    }

    /// Multipliers of rows that prove that no point is within all bounds, such that what they ask
    /// for is 1 more than can be had: without those of a wrong sign. None where they do not prove
    /// it, rounding set against it.
    pub fn rows(&self, mut y: Vec<f64>) -> Result<Option<Vec<f64>>> {
        for (i, y) in y.iter_mut().enumerate() {
            let (l, u) = self.p.row(i);
            if *y > 0.0 && l.is_infinite() || *y < 0.0 && u.is_infinite() {
                *y = 0.0;
            }
        }
        let rounding = self.rounding();
        let (combined, sizes) = (
            self.a.transposed_times(&y)?,
            self.a.magnitudes_transposed_times(&y)?,
        );
        let least = rounding * largest(&y, &self.rows);
        let (mut gap, mut sum) = (0.0, 0.0);
        for (i, y) in y.iter().enumerate().filter(|(_, y)| **y != 0.0) {
            let (l, u) = self.p.row(i);
            let asked = y * if *y > 0.0 { l } else { u };
            gap += asked;
            sum += asked.abs();
        }
        for (j, d) in combined.iter().enumerate() {
            let (l, u) = self.p.column(j);
            let off = rounding * sizes[j];
            let bound = if *d > 0.0 { u } else { l };
            if bound.is_finite() {
                gap -= d * bound;
                sum += (d * bound).abs();
            } else if d.abs() > off.max(least / self.columns[j]) {
                return Ok(None);
            }
            // What is 0 but for rounding may as well have the other sign.
            if l.is_finite() && u.is_finite() {
                sum += sizes[j] * l.abs().max(u.abs());
            }
        }
        let holds = gap.is_finite() && MARGIN * gap > rounding * sum;
        Ok(holds.then(|| y.iter().map(|y| y / gap).collect()))
    }

    /// A direction along which the objective falls by 1 and that no bound of a row or variable
    /// ends, rid of what points to a bound. None where it is no such direction, but for rounding.
    pub fn ray(&self, mut x: Vec<f64>) -> Result<Option<Vec<f64>>> {
        for (j, x) in x.iter_mut().enumerate() {
            let (l, u) = self.p.column(j);
            if *x > 0.0 && u.is_finite() || *x < 0.0 && l.is_finite() {
                *x = 0.0;
            }
        }
        let rounding = self.rounding();
        let (moved, sizes) = (self.a.times(&x)?, self.a.magnitudes_times(&x)?);
        let least = rounding * largest(&x, &self.columns);
        for (i, d) in moved.iter().enumerate() {
            let (l, u) = self.p.row(i);
            let ends = *d > 0.0 && u.is_finite() || *d < 0.0 && l.is_finite();
            if ends && d.abs() > (rounding * sizes[i]).max(least / self.rows[i]) {
                return Ok(None);
            }
        }
        let c = self.p.objective;
        let fall = -inner(c, &x);
        let sum: f64 = c.iter().zip(&x).map(|(c, x)| (c * x).abs()).sum();
        let holds = fall.is_finite() && MARGIN * fall > rounding * sum;
        Ok(holds.then(|| x.iter().map(|x| x / fall).collect()))
    }

    /// A row that no point within the bounds of variables can have, as a proof: of a problem whose
    /// variables leave no choice.
    pub fn impossible_row(&self, x: &[f64]) -> Result<Option<Vec<f64>>> {
        for (i, activity) in self.a.times(x)?.into_iter().enumerate() {
            let (l, u) = self.p.row(i);
            if activity < l || activity > u {
                let mut y = vec![0.0; self.rows.len()];
                y[i] = if activity < l { 1.0 } else { -1.0 };
                if let Some(y) = self.rows(y)? {
                    return Ok(Some(y));
                }
            }
        }
        Ok(None)
    }
}
