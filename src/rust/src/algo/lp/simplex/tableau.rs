//! The tableau of the simplex method: basic variables as linear combinations of nonbasic ones.

use crate::algo::lp::presolve::scale::scales_of;
use crate::algo::lp::presolve::verify::unit_of;
use crate::algo::lp::problem::Problem;
use crate::base::sparse::csc::Csc;

use qd::Quad;

/// Tableau entries up to this magnitude count as zero.
pub const NOTHING: f64 = 1e-22;
/// 0 in twice the working precision.
pub const ZERO: Quad = Quad(0.0, 0.0);

/// A tableau of a scaled problem.
pub struct Tableau {
    pub rows: usize,
    pub columns: usize,
    /// By rows: each basic variable as a combination of the nonbasic ones.
    t: Vec<Quad>,
    pub nonbasic: Vec<usize>,
    pub basis: Vec<usize>,
    /// Values of the nonbasic and of the basic variables.
    pub at: Vec<Quad>,
    pub values: Vec<Quad>,
    pub lower: Vec<f64>,
    pub upper: Vec<f64>,
    pub cost: Vec<f64>,
    scales: (Vec<f64>, Vec<f64>),
    /// The scale for violations of bounds near 0: the largest bound, at most 1.
    pub unit: f64,
    /// The relative error of bounds and costs that the data may have.
    pub tolerance: f64,
}

impl Tableau {
    pub fn new(a: &Csc, p: &Problem<'_>, tolerance: f64) -> Self {
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
                t[i * n + j] = Quad::from(v * r[*i] * c[j]);
            }
        }
        let at = (0..n).map(|j| match (lower[j], upper[j]) {
            (l, _) if l.is_finite() => Quad::from(l),
            (_, u) if u.is_finite() => Quad::from(u),
            _ => ZERO,
        });
        let at = at.collect();
        let mut cost: Vec<f64> = p.objective.iter().zip(&c).map(|(x, c)| x * c).collect();
        cost.resize(n + m, 0.0);
        Tableau {
            rows: m,
            columns: n,
            t,
            nonbasic: (0..n).collect(),
            basis: (n..n + m).collect(),
            at,
            values: vec![ZERO; m],
            unit: unit_of(lower.iter().chain(&upper)),
            lower,
            upper,
            cost,
            scales: (r, c),
            tolerance,
        }
    }

    pub fn row(&self, i: usize) -> &[Quad] {
        &self.t[i * self.columns..(i + 1) * self.columns]
    }

    pub fn evaluate(&mut self) {
        let inner = |i: usize| {
            let terms = self.row(i).iter().zip(&self.at);
            terms.fold(ZERO, |s, (a, x)| s + *a * *x)
        };
        self.values = (0..self.rows).map(inner).collect();
    }

    pub fn is_finite(&self) -> bool {
        self.values.iter().all(|v| v.is_finite())
    }

    /// The linear combination of the rows with these weights.
    pub fn combined(&self, weight: impl Fn(usize) -> f64) -> Vec<Quad> {
        let mut out = vec![ZERO; self.columns];
        for i in 0..self.rows {
            let w = weight(i);
            if w != 0.0 {
                for (g, a) in out.iter_mut().zip(self.row(i)) {
                    *g += *a * Quad::from(w);
                }
            }
        }
        out
    }

    /// Pivots: the basic variable of row i leaves for its bound, nonbasic variable k enters.
    pub fn pivot(&mut self, i: usize, k: usize, end: f64) {
        let n = self.columns;
        let entry = self.row(i)[k];
        let mut new: Vec<Quad> = self.row(i).iter().map(|a| -*a / entry).collect();
        new[k] = Quad::from(1.0) / entry;
        for other in (0..self.rows).filter(|other| *other != i) {
            let row = &mut self.t[other * n..(other + 1) * n];
            let by = row[k];
            if by == ZERO {
                continue;
            }
            row[k] = ZERO;
            for (a, b) in row.iter_mut().zip(&new) {
                *a += by * *b;
            }
        }
        self.t[i * n..(i + 1) * n].copy_from_slice(&new);
        std::mem::swap(&mut self.basis[i], &mut self.nonbasic[k]);
        self.at[k] = Quad::from(end);
    }

    /// Multipliers of the problem's rows: gradient entries if nonbasic, weights if basic.
    pub fn multipliers(&self, gradient: &[Quad], weights: &[f64]) -> Vec<f64> {
        let mut y = vec![0.0; self.rows];
        let nonbasic = gradient.iter().map(|g| g.0).zip(&self.nonbasic);
        for (w, j) in nonbasic.chain(weights.iter().copied().zip(&self.basis)) {
            if *j >= self.columns {
                let i = j - self.columns;
                y[i] = w * self.scales.0[i];
            }
        }
        y
    }

    /// Values of the problem's columns from those of nonbasic and basic variables.
    pub fn columns_of(&self, nonbasic: &[Quad], basis: &[Quad]) -> Vec<f64> {
        let mut x = vec![0.0; self.columns];
        let both = self.nonbasic.iter().zip(nonbasic);
        for (j, v) in both.chain(self.basis.iter().zip(basis)) {
            if *j < self.columns {
                x[*j] = v.0 * self.scales.1[*j];
            }
        }
        x
    }

    pub fn point(&self) -> Vec<f64> {
        self.columns_of(&self.at, &self.values)
    }

    pub fn ray(&self, k: usize, way: f64) -> Vec<f64> {
        let mut nonbasic = vec![ZERO; self.columns];
        nonbasic[k] = Quad::from(way);
        let along = |i: usize| {
            let slope = self.row(i)[k] * nonbasic[k];
            if slope.abs().0 <= NOTHING {
                ZERO
            } else {
                slope
            }
        };
        let basis: Vec<Quad> = (0..self.rows).map(along).collect();
        self.columns_of(&nonbasic, &basis)
    }
}
