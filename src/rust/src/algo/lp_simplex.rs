//! A simplex method for small linear programs whose interior-point iteration ends without a decision, in twice the working precision.
//!
//! Variables are columns and rows alike, each with bounds. Those in the basis are combinations of those outside of it, and these are at a bound, or 0. Bland's rule chooses, so that no basis comes
//! twice. Rounding is far below everything that is to be told apart: what is 0 in exact arithmetic is 0 here but for 1e-22, of numbers that scaling brings near 1.

use std::time::Instant;

use super::lp_csc::Csc;
use super::lp_form::Problem;
use super::lp_scale::scales_of;
use super::lp_twofold::{Twofold, ZERO};
use crate::error::Result;
use crate::interrupt;

/// Magnitudes of coefficients that are none, of a matrix near 1.
const NOTHING: f64 = 1e-22;
/// Of a bound, or of costs: what is equal.
const EQUAL: f64 = 1e-20;
/// Entries of a matrix up to which a problem is small, and exchanges.
pub const SMALL: usize = 20_000;
const EXCHANGES: usize = 5000;

/// What there is, in numbers of the problem.
#[derive(Debug, Clone, PartialEq)]
pub enum Found {
    /// A vertex, and duals of rows.
    Optimal {
        x: Vec<f64>,
        y: Vec<f64>,
    },
    /// Multipliers of rows.
    Infeasible {
        y: Vec<f64>,
    },
    Unbounded {
        point: Vec<f64>,
        ray: Vec<f64>,
    },
    Undecided,
}

struct Tableau {
    rows: usize,
    columns: usize,
    /// Row by row, a combination of what is outside for each in the basis.
    t: Vec<Twofold>,
    outside: Vec<usize>,
    basis: Vec<usize>,
    /// Values of what is outside and in the basis.
    at: Vec<Twofold>,
    values: Vec<Twofold>,
    lower: Vec<f64>,
    upper: Vec<f64>,
    cost: Vec<f64>,
    scales: (Vec<f64>, Vec<f64>),
    /// What bounds near 0 are compared with: 1, or less where all bounds are smaller.
    unit: f64,
    /// What a bound may be off, and a cost, of their sizes.
    tolerance: f64,
}

/// What an exchange came to.
enum Step {
    Done,
    None,
    /// Along this variable outside, upwards or downwards, no bound comes.
    Ray(usize, f64),
}

/// Solves a problem; `tolerance` is what bounds may be off relative to their size, as those of data that were rounded are.
pub fn solve(a: &Csc, p: &Problem<'_>, tolerance: f64, until: Option<Instant>) -> Result<Found> {
    let mut t = Tableau::new(a, p, tolerance);
    let mut left = EXCHANGES;
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
        for (g, j) in gradient.iter_mut().zip(&t.outside) {
            *g = *g + Twofold::from(t.cost[*j]);
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
    fn new(a: &Csc, p: &Problem<'_>, tolerance: f64) -> Self {
        let (m, n) = (a.rows, a.columns());
        let (r, c) = scales_of(a);
        let (mut lower, mut upper) = (Vec::new(), Vec::new());
        for (j, c) in c.iter().enumerate() {
            let (l, u) = p.column(j);
            lower.push(l / c);
            upper.push(u / c);
        }
        for (i, r) in r.iter().enumerate() {
            let (l, u) = p.row(i);
            lower.push(l * r);
            upper.push(u * r);
        }
        let mut t = vec![ZERO; m * n];
        for j in 0..n {
            let (index, values) = a.column(j);
            for (i, v) in index.iter().zip(values) {
                t[i * n + j] = Twofold::from(v * r[*i] * c[j]);
            }
        }
        let at = (0..n).map(|j| match (lower[j], upper[j]) {
            (l, _) if l.is_finite() => Twofold::from(l),
            (_, u) if u.is_finite() => Twofold::from(u),
            _ => ZERO,
        });
        let at = at.collect();
        let sizes = lower.iter().chain(&upper).map(|b: &f64| b.abs());
        let largest = sizes.filter(|b| b.is_finite()).fold(0.0, f64::max);
        let mut cost: Vec<f64> = p.objective.iter().zip(&c).map(|(x, c)| x * c).collect();
        cost.resize(n + m, 0.0);
        Tableau {
            rows: m,
            columns: n,
            t,
            outside: (0..n).collect(),
            basis: (n..n + m).collect(),
            at,
            values: vec![ZERO; m],
            unit: if largest > 0.0 { largest.min(1.0) } else { 1.0 },
            lower,
            upper,
            cost,
            scales: (r, c),
            tolerance,
        }
    }

    fn row(&self, i: usize) -> &[Twofold] {
        &self.t[i * self.columns..(i + 1) * self.columns]
    }

    fn evaluate(&mut self) {
        let inner = |i: usize| {
            let terms = self.row(i).iter().zip(&self.at);
            terms.fold(ZERO, |s, (a, x)| s + *a * *x)
        };
        self.values = (0..self.rows).map(inner).collect();
    }

    fn is_finite(&self) -> bool {
        self.values.iter().all(|v| v.is_finite())
    }

    /// Of each in the basis 1 where it is below its lower bound, -1 where it is above its upper one, else 0.
    fn off(&self) -> Vec<f64> {
        let of = |(v, k): (&Twofold, &usize)| {
            let (l, u) = (self.lower[*k], self.upper[*k]);
            let equal = |b: f64| Twofold::from(EQUAL * b.abs().max(self.unit));
            if l.is_finite() && *v < Twofold::from(l) - equal(l) {
                1.0
            } else if u.is_finite() && *v > Twofold::from(u) + equal(u) {
                -1.0
            } else {
                0.0
            }
        };
        self.values.iter().zip(&self.basis).map(of).collect()
    }

    /// The combination of rows with these weights.
    fn combined(&self, weight: impl Fn(usize) -> f64) -> Vec<Twofold> {
        let mut out = vec![ZERO; self.columns];
        for i in 0..self.rows {
            let w = weight(i);
            if w != 0.0 {
                for (g, a) in out.iter_mut().zip(self.row(i)) {
                    *g = *g + *a * Twofold::from(w);
                }
            }
        }
        out
    }

    /// Moves what is outside against the gradient, as far as bounds allow.
    fn step(&mut self, gradient: &[Twofold], off: &[f64]) -> Step {
        let largest = self.cost.iter().fold(0.0_f64, |s, c| s.max(c.abs()));
        let feasible = off.iter().all(|s| *s == 0.0);
        let least = if feasible { EQUAL * largest } else { NOTHING };
        let mut candidates: Vec<(usize, usize)> =
            self.outside.iter().copied().zip(0..self.columns).collect();
        candidates.sort_unstable();
        for (j, k) in candidates {
            let (l, u, x, g) = (self.lower[j], self.upper[j], self.at[k], gradient[k]);
            if g.abs().rounded() <= least {
                continue;
            }
            let up = g < ZERO;
            let (way, end) = if up { (1.0, u) } else { (-1.0, l) };
            if up && x >= Twofold::from(u) || !up && x <= Twofold::from(l) {
                continue;
            }
            let room = (Twofold::from(end) - x).abs();
            let mut best = end.is_finite().then_some((room, usize::MAX, None));
            for i in 0..self.rows {
                let slope = self.row(i)[k] * Twofold::from(way);
                let b = self.basis[i];
                let bounds = (self.lower[b], self.upper[b]);
                // One that is outside its bounds ends the step where it comes to them.
                let end = match (slope > ZERO, off[i]) {
                    _ if slope.abs().rounded() <= NOTHING => continue,
                    (true, 1.0) | (false, 0.0) => bounds.0,
                    (true, 0.0) | (false, -1.0) => bounds.1,
                    _ => continue,
                };
                if !end.is_finite() {
                    continue;
                }
                let mut step = (Twofold::from(end) - self.values[i]) / slope;
                if step < ZERO {
                    step = ZERO;
                }
                let nearer = |(s, other, _): &(Twofold, usize, Option<(usize, f64)>)| {
                    step < *s || step == *s && b < *other
                };
                if best.as_ref().is_none_or(nearer) {
                    best = Some((step, b, Some((i, end))));
                }
            }
            match best {
                None if feasible && self.is_level(k, g) => continue,
                None => return Step::Ray(k, way),
                // To its other bound.
                Some((_, _, None)) => self.at[k] = Twofold::from(end),
                Some((_, _, Some((i, end)))) => self.exchange(i, k, end),
            }
            return Step::Done;
        }
        Step::None
    }

    /// Whether a cost is no more than its terms may be off.
    fn is_level(&self, k: usize, g: Twofold) -> bool {
        let of_row = |i: usize| (self.cost[self.basis[i]] * self.row(i)[k].rounded()).abs();
        let terms = (0..self.rows).map(of_row).sum::<f64>() + self.cost[self.outside[k]].abs();
        g.abs().rounded() <= self.tolerance * terms
    }

    /// Takes one out of the basis, to its bound, and another one in.
    fn exchange(&mut self, i: usize, k: usize, end: f64) {
        let n = self.columns;
        let pivot = self.row(i)[k];
        let mut new: Vec<Twofold> = self.row(i).iter().map(|a| -*a / pivot).collect();
        new[k] = Twofold::from(1.0) / pivot;
        for other in (0..self.rows).filter(|other| *other != i) {
            let row = &mut self.t[other * n..(other + 1) * n];
            let by = row[k];
            if by == ZERO {
                continue;
            }
            row[k] = ZERO;
            for (a, b) in row.iter_mut().zip(&new) {
                *a = *a + by * *b;
            }
        }
        self.t[i * n..(i + 1) * n].copy_from_slice(&new);
        std::mem::swap(&mut self.basis[i], &mut self.outside[k]);
        self.at[k] = Twofold::from(end);
    }

    /// Where what is left outside bounds is within the tolerance: moves these bounds there.
    fn accepts(&mut self, off: &[f64]) -> bool {
        let excess = |i: usize| {
            let (k, v) = (self.basis[i], self.values[i].rounded());
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
            let (k, v) = (self.basis[i], self.values[i].rounded());
            if *off > 0.0 {
                self.lower[k] = v;
            } else {
                self.upper[k] = v;
            }
        }
        true
    }

    /// Of each row of the problem its multiplier: the entry of the gradient, or the weight of one in the basis.
    fn multipliers(&self, gradient: &[Twofold], weights: &[f64]) -> Vec<f64> {
        let mut y = vec![0.0; self.rows];
        let outside = gradient.iter().map(|g| g.rounded()).zip(&self.outside);
        for (w, j) in outside.chain(weights.iter().copied().zip(&self.basis)) {
            if *j >= self.columns {
                let i = j - self.columns;
                y[i] = w * self.scales.0[i];
            }
        }
        y
    }

    /// Columns of the problem, from values of what is outside and in the basis.
    fn columns_of(&self, outside: &[Twofold], basis: &[Twofold]) -> Vec<f64> {
        let mut x = vec![0.0; self.columns];
        let both = self.outside.iter().zip(outside);
        for (j, v) in both.chain(self.basis.iter().zip(basis)) {
            if *j < self.columns {
                x[*j] = v.rounded() * self.scales.1[*j];
            }
        }
        x
    }

    fn point(&self) -> Vec<f64> {
        self.columns_of(&self.at, &self.values)
    }

    fn ray(&self, k: usize, way: f64) -> Vec<f64> {
        let mut outside = vec![ZERO; self.columns];
        outside[k] = Twofold::from(way);
        let along = |i: usize| {
            let slope = self.row(i)[k] * outside[k];
            if slope.abs().rounded() <= NOTHING {
                ZERO
            } else {
                slope
            }
        };
        let basis: Vec<Twofold> = (0..self.rows).map(along).collect();
        self.columns_of(&outside, &basis)
    }
}
