//! Equations and free columns of a linear program that follow from others are left out of its standard form, or are a proof that it has no optimum.

use super::lp_form::Form;
use super::lp_layout::Constraints;
use super::lp_normal::NormalEquations;
use super::lp_vectors::Vectors;
use crate::error::Result;

/// Pivots of `A A'`, of unit diagonal, down to which its rows are independent beyond doubt.
const INDEPENDENT: f64 = 1e-10;
/// Operations, about, up to which dependent rows and columns are looked for.
const LARGEST: f64 = 5e10;
/// By how much a dependent equation may differ from what the others imply.
const CONSISTENT: f64 = 1e-7;

/// Drops rows that depend on others; how many, or multipliers of rows that contradict each other.
pub fn independent_rows<C: Constraints>(
    a: &C,
    form: &mut Form,
    n: &mut C::Normal,
) -> Result<std::result::Result<usize, Vec<f64>>> {
    let of = n.extents();
    // Where each row has a slack there is nothing to ask.
    if form.layout.slacks.len() == form.layout.rows.len() {
        return Ok(Ok(0));
    }
    let mut ones = n.zeros(of.bounded)?;
    n.shift(1.0, &mut ones)?;
    if n.factor(&ones, INDEPENDENT)? == 0 {
        return Ok(Ok(0));
    }
    let mut has_slack = vec![false; form.rhs.len()];
    form.layout.slacks.iter().for_each(|i| has_slack[*i] = true);
    let equations = form.layout.rows.iter().enumerate();
    let (places, rows): (Vec<usize>, Vec<usize>) =
        equations.filter(|(_, i)| !has_slack[**i]).unzip();
    let columns: Vec<usize> = form
        .layout
        .bounded
        .iter()
        .chain(&form.layout.free)
        .copied()
        .collect();
    // A factorization of the whole would take longer than anything else; pivots that are left out do where equations agree.
    if (rows.len() as f64).powi(2) * columns.len() as f64 > LARGEST {
        return Ok(Ok(0));
    }
    let found = a.dependent_rows(&rows, &columns)?;
    let largest = form.b().iter().fold(0.0, |s: f64, b| s.max(b.abs()));
    for (k, weights) in found.dropped.iter().zip(&found.weights) {
        let kept = found.kept.iter().zip(weights);
        let implied: f64 = kept.clone().map(|(i, w)| w * form.rhs[rows[*i]]).sum();
        let differs = form.rhs[rows[*k]] - implied;
        if differs.abs() > CONSISTENT * (1.0 + largest) {
            let mut y = vec![0.0; form.rhs.len()];
            y[rows[*k]] = 1.0 / differs;
            kept.for_each(|(i, w)| y[rows[*i]] = -w / differs);
            return Ok(Err(y));
        }
    }
    if !found.dropped.is_empty() {
        let dropped: Vec<usize> = found.dropped.iter().map(|k| places[*k]).collect();
        form.drop_rows(&dropped);
        if !form.layout.rows.is_empty() {
            *n = a.arrange(&mut form.layout)?;
        }
    }
    Ok(Ok(found.dropped.len()))
}

/// Drops free columns that depend on others, or gives a direction of such columns along which the objective falls.
pub fn independent_columns<C: Constraints>(
    a: &C,
    form: &mut Form,
    n: &mut C::Normal,
) -> Result<Option<Vec<f64>>> {
    let free = form.layout.free.clone();
    let size = (free.len() as f64).powi(2) * form.layout.rows.len() as f64;
    if free.is_empty() || form.layout.rows.is_empty() || size > LARGEST {
        return Ok(None);
    }
    let found = a.dependent_columns(&free, &form.layout.rows)?;
    let sizes = form.cost.iter().chain(&form.free_cost);
    let largest = sizes.fold(0.0, |s: f64, c| s.max(c.abs()));
    for (k, weights) in found.dropped.iter().zip(&found.weights) {
        let kept = found.kept.iter().zip(weights);
        let cost: f64 = kept.clone().map(|(i, w)| w * form.free_cost[*i]).sum();
        let gain = form.free_cost[*k] - cost;
        if gain.abs() > CONSISTENT * (1.0 + largest) {
            let mut ray = vec![0.0; form.shifts.len()];
            ray[free[*k]] = -1.0 / gain;
            kept.for_each(|(i, w)| ray[free[*i]] = w / gain);
            return Ok(Some(ray));
        }
    }
    if !found.dropped.is_empty() {
        form.drop_free(&found.dropped);
        *n = a.arrange(&mut form.layout)?;
    }
    Ok(None)
}
