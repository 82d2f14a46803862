//! Presolve: empty rows are checked, and singleton rows become bounds of their variable. Fixed
//! variables count as constants.
//!
//! Removed rows lose their bounds, and the matrix stays unchanged. Postsolve assigns a variable's
//! reduced cost to the singleton row whose bound is active.

use crate::algo::lp::problem::Problem;
use crate::algo::lp::standard_form::INFINITE;
use crate::base::error;
use crate::base::sparse::csc::Csc;

/// Units of rounding, of a sum's magnitudes, that it may be off.
const ROUNDING: f64 = 64.0 * f64::EPSILON;

/// The bounds of the reduced problem, and the data for postsolve.
pub struct ReducedProblem<'p> {
    a: &'p Csc,
    pub rows: (Vec<f64>, Vec<f64>),
    pub columns: (Vec<f64>, Vec<f64>),
    /// Singleton rows in order of removal: row, variable, coefficient.
    bounding: Vec<(usize, usize, f64)>,
    /// The number of equations that other rows imply.
    pub dropped: usize,
    /// The row from which each bound comes, if not the variable's own.
    of_lower: Vec<Option<usize>>,
    of_upper: Vec<Option<usize>>,
    /// The transpose: its columns are the rows.
    by_rows: Csc,
}

/// The outcome of presolve.
pub enum Presolved<'p> {
    /// There is no empty row and no singleton row.
    Nothing,
    Reduced(Box<ReducedProblem<'p>>),
    /// Farkas multipliers of the rows.
    Infeasible(Vec<f64>),
}

/// Bounds may contradict each other by `tolerance`, relative to their size.
///
/// Errors: of memory, and [`Interrupted`](error::Error::Interrupted).
pub fn presolve<'p>(a: &'p Csc, p: &Problem<'_>, tolerance: f64) -> error::Result<Presolved<'p>> {
    let (m, n) = (a.rows, a.columns());
    let (rows, columns): (Vec<_>, Vec<_>) = (
        (0..m).map(|i| p.row(i)).collect(),
        (0..n).map(|j| p.column(j)).collect(),
    );
    let mut left = vec![0_usize; m];
    for j in (0..n).filter(|j| columns[*j].0 != columns[*j].1) {
        let (index, values) = a.column(j);
        let filled = index.iter().zip(values).filter(|(_, v)| **v != 0.0);
        filled.for_each(|(i, _)| left[*i] += 1);
    }
    let is_row = |i: &usize| rows[*i] != (f64::NEG_INFINITY, f64::INFINITY);
    let queue: Vec<usize> = (0..m).filter(|i| left[*i] <= 1 && is_row(i)).collect();
    if queue.is_empty() {
        return Ok(Presolved::Nothing);
    }
    let mut state = State {
        left,
        fixed: vec![(0.0, 0.0); m],
        settled: vec![false; m],
        queue,
        tolerance,
        units: units(a, &rows, &columns),
        r: ReducedProblem {
            a,
            rows: rows.into_iter().unzip(),
            columns: columns.into_iter().unzip(),
            bounding: Vec::new(),
            dropped: 0,
            of_lower: vec![None; n],
            of_upper: vec![None; n],
            by_rows: a.transposed()?,
        },
    };
    for j in 0..n {
        if state.r.columns.0[j] == state.r.columns.1[j] {
            state.count(j);
        }
    }
    while let Some(i) = state.queue.pop() {
        if std::mem::replace(&mut state.settled[i], true) {
            continue;
        }
        if let Err(y) = state.settle(i) {
            return Ok(Presolved::Infeasible(y));
        }
    }
    Ok(Presolved::Reduced(Box::new(state.r)))
}

/// Scales of rows and columns for bounds near 0: the largest bound that meets there, at most 1.
fn units(a: &Csc, rows: &[(f64, f64)], columns: &[(f64, f64)]) -> (Vec<f64>, Vec<f64>) {
    let size = |(l, u): (f64, f64)| {
        let of = |b: f64| if b.is_finite() { b.abs() } else { 0.0 };
        of(l).max(of(u))
    };
    let mut of_rows: Vec<f64> = rows.iter().map(|b| size(*b)).collect();
    let mut of_columns: Vec<f64> = columns.iter().map(|b| size(*b)).collect();
    let own = (of_rows.clone(), of_columns.clone());
    for (j, of_column) in of_columns.iter_mut().enumerate() {
        let (index, values) = a.column(j);
        for (i, v) in index.iter().zip(values).filter(|(_, v)| **v != 0.0) {
            *of_column = of_column.max(own.0[*i] / v.abs());
            of_rows[*i] = of_rows[*i].max(own.1[j] * v.abs());
        }
    }
    for all in [&mut of_rows, &mut of_columns] {
        all.iter_mut().for_each(|x| *x = x.min(1.0));
    }
    (of_rows, of_columns)
}

struct State<'p> {
    /// For each row the number of nonfixed entries, and the activity of fixed variables: sum, and
    /// sum of magnitudes.
    left: Vec<usize>,
    fixed: Vec<(f64, f64)>,
    settled: Vec<bool>,
    queue: Vec<usize>,
    tolerance: f64,
    units: (Vec<f64>, Vec<f64>),
    r: ReducedProblem<'p>,
}

impl State<'_> {
    /// Adds a fixed variable to the activities of its rows.
    fn count(&mut self, j: usize) {
        let at = self.r.columns.0[j];
        let (index, values) = self.r.a.column(j);
        for (i, v) in index.iter().zip(values) {
            self.fixed[*i].0 += v * at;
            self.fixed[*i].1 += (v * at).abs();
        }
    }

    /// The admissible violation of a bound.
    fn room(&self, b: f64, unit: f64, terms: f64) -> f64 {
        self.tolerance * b.abs().max(unit) + ROUNDING * terms
    }

    fn settle(&mut self, i: usize) -> Result<(), Vec<f64>> {
        let columns = &self.r.columns;
        let changes = |(j, v): &(&usize, &f64)| **v != 0.0 && columns.0[**j] != columns.1[**j];
        let (index, values) = self.r.by_rows.column(i);
        match index.iter().zip(values).find(changes) {
            Some((j, v)) => self.bound(i, *j, *v),
            None => self.compare(i),
        }
    }

    /// Checks a row whose variables are all fixed.
    fn compare(&mut self, i: usize) -> Result<(), Vec<f64>> {
        let ((l, u), (sum, terms)) = ((self.r.rows.0[i], self.r.rows.1[i]), self.fixed[i]);
        let unit = self.units.0[i];
        let below = l.is_finite() && sum < l - self.room(l, unit, terms);
        if below || u.is_finite() && sum > u + self.room(u, unit, terms) {
            let mut y = vec![0.0; self.left.len()];
            y[i] = if below { 1.0 } else { -1.0 };
            let zeros = vec![0.0; self.units.1.len()];
            return Err(self.r.multipliers(y, &zeros));
        }
        self.r.dropped += usize::from(l == u);
        self.release(i);
        Ok(())
    }

    /// Turns singleton row i, with coefficient v, into bounds of variable j.
    fn bound(&mut self, i: usize, j: usize, v: f64) -> Result<(), Vec<f64>> {
        let (sum, terms) = (self.fixed[i].0, self.fixed[i].1 / v.abs());
        let mut of_row = ((self.r.rows.0[i] - sum) / v, (self.r.rows.1[i] - sum) / v);
        if v < 0.0 {
            of_row = (of_row.1, of_row.0);
        }
        // Bounds from this magnitude on would count as infinite.
        let fits = |b: f64| b.is_infinite() || b.abs() < INFINITE;
        if !fits(of_row.0) || !fits(of_row.1) {
            return Ok(());
        }
        let own = (self.r.columns.0[j], self.r.columns.1[j]);
        let (low, high) = (own.0.max(of_row.0), own.1.min(of_row.1));
        if low > own.0 {
            self.r.of_lower[j] = Some(i);
        }
        if high < own.1 {
            self.r.of_upper[j] = Some(i);
        }
        self.r.bounding.push((i, j, v));
        let size = low.abs().max(high.abs());
        if low - high > self.room(size, self.units.1[j], terms) {
            return Err(self.contradiction(j));
        }
        self.release(i);
        (self.r.columns.0[j], self.r.columns.1[j]) = (low, high);
        if size.is_finite() && high - low <= ROUNDING * (size + terms) {
            // The variable's own bound takes precedence over a row's.
            let at = match (self.r.of_lower[j], self.r.of_upper[j]) {
                (None, _) => low,
                (_, None) => high,
                _ => 0.5 * (low + high),
            };
            (self.r.columns.0[j], self.r.columns.1[j]) = (at, at);
            self.fix(j);
        }
        Ok(())
    }

    fn release(&mut self, i: usize) {
        self.r.rows.0[i] = f64::NEG_INFINITY;
        self.r.rows.1[i] = f64::INFINITY;
    }

    fn fix(&mut self, j: usize) {
        self.count(j);
        let (index, values) = self.r.a.column(j);
        for (i, _) in index.iter().zip(values).filter(|(_, v)| **v != 0.0) {
            self.left[*i] -= 1;
            let bounds = (self.r.rows.0[*i], self.r.rows.1[*i]);
            if self.left[*i] <= 1 && bounds != (f64::NEG_INFINITY, f64::INFINITY) {
                self.settled[*i] = false;
                self.queue.push(*i);
            }
        }
    }

    /// Farkas multipliers if a variable's lower bound exceeds its upper one: the difference of
    /// both.
    fn contradiction(&self, j: usize) -> Vec<f64> {
        let mut y = vec![0.0; self.left.len()];
        let mut costs = vec![0.0; self.units.1.len()];
        match self.r.of_lower[j] {
            Some(row) => {
                let (index, values) = self.r.by_rows.column(row);
                let of_row = index.iter().zip(values);
                let entry = of_row.filter(|(k, _)| **k == j).map(|(_, v)| 1.0 / v);
                y[row] = entry.sum();
            }
            None => costs[j] = -1.0,
        }
        self.r.multipliers(y, &costs)
    }
}

impl ReducedProblem<'_> {
    /// Postsolve: multipliers of all rows from those of the reduced problem. A proof has costs
    /// of 0.
    pub fn multipliers(&self, mut y: Vec<f64>, costs: &[f64]) -> Vec<f64> {
        let priced = self.a.transposed_times(&y);
        let mut reduced: Vec<f64> = costs.iter().zip(priced).map(|(c, a)| c - a).collect();
        for (i, j, v) in self.bounding.iter().rev() {
            let of = if reduced[*j] > 0.0 {
                self.of_lower[*j]
            } else if reduced[*j] < 0.0 {
                self.of_upper[*j]
            } else {
                None
            };
            if of != Some(*i) {
                continue;
            }
            let by = reduced[*j] / v;
            y[*i] += by;
            let (index, values) = self.by_rows.column(*i);
            for (k, v) in index.iter().zip(values) {
                reduced[*k] -= v * by;
            }
            reduced[*j] = 0.0;
        }
        y
    }
}
