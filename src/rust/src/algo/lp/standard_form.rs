//! The standard form of a linear program: `min c'x`, `A x = b`, `x_B >= 0`, `x_U <= u` for some of
//! these, `x_F` free.
//!
//! A row that is no equation gets a slack with the row's bounds. Lower bounds are moved to 0, a
//! column with an upper bound alone is counted from that downwards, fixed columns go into b.
//! Columns without coefficients and rows without bounds are settled here.

use super::normal::layout::{ConstraintLayout, Constraints};
use crate::algo::lp::problem::Problem;
use crate::base::error::{Error, Result};

/// Bounds from this magnitude on are none, as is the custom of files and of other solvers.
pub const INFINITE: f64 = 1e20;

/// The bounds of one row or column, infinite ones as such.
fn bounds((lower, upper): (&[f64], &[f64]), i: usize) -> (f64, f64) {
    let (mut l, mut u) = (lower[i], upper[i]);
    if l <= -INFINITE {
        l = f64::NEG_INFINITY;
    }
    if u >= INFINITE {
        u = f64::INFINITY;
    }
    (l, u)
}

impl Problem<'_> {
    pub fn row(&self, i: usize) -> (f64, f64) {
        bounds(self.rows, i)
    }

    pub fn column(&self, j: usize) -> (f64, f64) {
        bounds(self.columns, j)
    }

    /// The largest finite magnitude of bounds, 0 if there is none.
    pub fn scale(&self) -> f64 {
        let rows = (0..self.rows.0.len()).map(|i| self.row(i));
        let columns = (0..self.columns.0.len()).map(|j| self.column(j));
        let both = rows.chain(columns).flat_map(|(l, u)| [l.abs(), u.abs()]);
        both.filter(|b| b.is_finite()).fold(0.0, f64::max)
    }

    /// An error unless it has this shape, no NaN, finite coefficients of the objective, and bounds
    /// that leave room.
    pub fn check(&self, (m, n): (usize, usize)) -> Result<()> {
        let lengths = [
            (self.objective.len(), n),
            (self.columns.0.len(), n),
            (self.columns.1.len(), n),
            (self.rows.0.len(), m),
            (self.rows.1.len(), m),
        ];
        if lengths.iter().any(|(is, wanted)| is != wanted) {
            return Err(Error::Dimension {
                what: "the parts of a linear program differ in their dimensions".into(),
            });
        }
        if self.objective.iter().any(|c| !c.is_finite()) {
            return Err(Error::NonFiniteIn { argument: "obj" });
        }
        let apart = |(l, u): (f64, f64)| {
            l.is_nan() || u.is_nan() || l > u || l == f64::INFINITY || u == f64::NEG_INFINITY
        };
        let crossed = |argument, what: &str| {
            Err(Error::Argument {
                argument,
                what: what.into(),
            })
        };
        if (0..m).any(|i| apart(self.row(i))) {
            return crossed("rhs", "a row's bounds leave no value");
        }
        if (0..n).any(|j| apart(self.column(j))) {
            return crossed("bounds", "a variable's bounds leave no value");
        }
        Ok(())
    }
}

#[derive(Debug, Clone, Default)]
pub struct StandardForm {
    pub layout: ConstraintLayout,
    /// Of each column of the problem: what its counterpart in the form is added to; its value where
    /// it has none.
    pub shifts: Vec<f64>,
    /// Right-hand sides of the problem's rows, and what they were before lower bounds were moved to
    /// 0: residuals are relative to these.
    pub rhs: Vec<f64>,
    pub given: Vec<f64>,
    /// Of columns with an upper bound, in their order.
    pub upper: Vec<f64>,
    /// Of bounded columns and slacks.
    pub cost: Vec<f64>,
    pub free_cost: Vec<f64>,
}

/// What the standard form is, or a column without coefficients along which the objective has no
/// end: its number and direction.
pub enum Formed {
    Form(Box<StandardForm>),
    Endless(usize, f64),
}

pub fn form<C: Constraints>(a: &C, p: &Problem<'_>) -> Result<Formed> {
    let (m, n) = a.shape();
    p.check((m, n))?;
    let mut form = StandardForm {
        shifts: vec![0.0; n],
        rhs: vec![0.0; m],
        ..StandardForm::default()
    };
    let is_row = |i: &usize| p.row(*i) != (f64::NEG_INFINITY, f64::INFINITY);
    form.layout.rows = (0..m).filter(is_row).collect();
    let magnitudes = a.column_magnitudes(&form.layout.rows)?;
    if magnitudes.iter().any(|x| !x.is_finite()) {
        return Err(Error::NonFiniteIn { argument: "mat" });
    }
    let (mut capped, mut uncapped) = (Vec::new(), Vec::new());
    for (j, magnitude) in magnitudes.into_iter().enumerate() {
        let ((l, u), c) = (p.column(j), p.objective[j]);
        if l == u {
            form.shifts[j] = l;
        } else if magnitude == 0.0 {
            let best = match c {
                c if c > 0.0 => l,
                c if c < 0.0 => u,
                _ => 0.0_f64.max(l).min(u),
            };
            if best.is_infinite() {
                return Ok(Formed::Endless(j, best.signum()));
            }
            form.shifts[j] = best;
        } else if l.is_finite() {
            form.shifts[j] = l;
            let list = if u.is_finite() {
                &mut capped
            } else {
                &mut uncapped
            };
            list.push((j, 1.0, u - l));
        } else if u.is_finite() {
            form.shifts[j] = u;
            uncapped.push((j, -1.0, f64::INFINITY));
        } else {
            form.layout.free.push(j);
            form.free_cost.push(c);
        }
    }
    form.layout.capped.0 = capped.len();
    for (j, sign, range) in capped.into_iter().chain(uncapped) {
        form.layout.bounded.push(j);
        form.layout.signs.push(sign);
        form.cost.push(sign * p.objective[j]);
        if range.is_finite() {
            form.upper.push(range);
        }
    }
    slacks(&mut form, p);
    form.given.clone_from(&form.rhs);
    if form.shifts.iter().any(|s| *s != 0.0) {
        let moved = a.times(&form.shifts)?;
        form.rhs.iter_mut().zip(moved).for_each(|(b, a)| *b -= a);
    }
    Ok(Formed::Form(Box::new(form)))
}

fn slacks(form: &mut StandardForm, p: &Problem<'_>) {
    let (mut capped, mut uncapped) = (Vec::new(), Vec::new());
    for i in &form.layout.rows {
        let (l, u) = p.row(*i);
        form.rhs[*i] = if l.is_finite() { l } else { u };
        if l == u {
            continue;
        }
        match (l.is_finite(), u.is_finite()) {
            (true, true) => capped.push((*i, -1.0, u - l)),
            (true, false) => uncapped.push((*i, -1.0, f64::INFINITY)),
            _ => uncapped.push((*i, 1.0, f64::INFINITY)),
        }
    }
    form.layout.capped.1 = capped.len();
    for (i, sign, range) in capped.into_iter().chain(uncapped) {
        form.layout.slacks.push(i);
        form.layout.slack_signs.push(sign);
        form.cost.push(0.0);
        if range.is_finite() {
            form.upper.push(range);
        }
    }
}

impl StandardForm {
    /// Right-hand sides of the rows that are kept, in their order.
    pub fn b(&self) -> Vec<f64> {
        self.layout.rows.iter().map(|i| self.rhs[*i]).collect()
    }

    /// What these were as they were given.
    pub fn given(&self) -> Vec<f64> {
        self.layout.rows.iter().map(|i| self.given[*i]).collect()
    }

    /// From columns of the form to those of the problem; without `shifts` a direction.
    pub fn columns(&self, bounded: &[f64], free: &[f64], shifts: bool) -> Vec<f64> {
        let mut x = if shifts {
            self.shifts.clone()
        } else {
            vec![0.0; self.shifts.len()]
        };
        let signed = self.layout.bounded.iter().zip(&self.layout.signs);
        for ((j, sign), value) in signed.zip(bounded) {
            x[*j] += sign * value;
        }
        for (j, value) in self.layout.free.iter().zip(free) {
            x[*j] += value;
        }
        x
    }

    /// From rows of the form to those of the problem.
    pub fn rows(&self, y: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.rhs.len()];
        for (i, value) in self.layout.rows.iter().zip(y) {
            out[*i] = *value;
        }
        out
    }

    /// Without some of the rows that are kept, given by their places.
    pub fn drop_rows(&mut self, places: &[usize]) {
        drop_places(&mut self.layout.rows, places);
    }

    /// Without some of the free columns, which are 0 then, given by their places.
    pub fn drop_free(&mut self, places: &[usize]) {
        drop_places(&mut self.layout.free, places);
        drop_places(&mut self.free_cost, places);
    }
}

/// A list without what stands in these places.
pub fn drop_places<X>(all: &mut Vec<X>, places: &[usize]) {
    let mut keep = vec![true; all.len()];
    places.iter().for_each(|i| keep[*i] = false);
    let mut keep = keep.into_iter();
    all.retain(|_| keep.next().unwrap_or(true));
}
