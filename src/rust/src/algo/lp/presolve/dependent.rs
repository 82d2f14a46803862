//! Equations and free columns of a linear program that follow from others are left out of its
//! standard form, or are a proof that it has no optimum.
//!
//! Both are asked of the scaled matrix. What is neither consistent to the tolerance nor a proof,
//! which is held against the problem as it was given, stays: the iteration then decides.

use super::scale::Scales;
use super::verify::Verifier;
use crate::algo::lp::normal::equations::NormalEquations;
use crate::algo::lp::normal::layout::{Constraints, Scaled};
use crate::algo::lp::standard_form::{drop_places, StandardForm};
use crate::algo::lp::vectors::space::Vectors;
use crate::base::error::Result;

/// Pivots of `A A'`, of unit diagonal, down to which its rows are independent beyond doubt.
const INDEPENDENT: f64 = 1e-10;
/// Operations, about, up to which dependent rows and columns are looked for.
const LARGEST: f64 = 5e10;
/// Units of rounding, of the sum of magnitudes, that a dependent row's right-hand side may differ
/// from what the others imply.
const ROUNDING: f64 = 64.0;

/// Whether the last number is the weighted sum of the others, to the tolerance or to rounding; the
/// difference.
fn differs(b: f64, others: impl Iterator<Item = f64>, tolerance: f64, eps: f64) -> (f64, bool) {
    let (mut implied, mut sum) = (0.0, b.abs());
    for x in others {
        implied += x;
        sum += x.abs();
    }
    let by = b - implied;
    let allowed = tolerance * (1.0 + b.abs()) + ROUNDING * eps * sum;
    (by, by.abs() <= allowed)
}

/// Drops rows that depend on others, and their scales; their number, or multipliers of rows that
/// contradict each other.
pub fn independent_rows<C: Constraints>(
    a: &C,
    form: &mut StandardForm,
    (n, s): (&mut C::Normal, &mut Scales),
    verifier: &Verifier<'_, C>,
    tolerance: f64,
) -> Result<std::result::Result<usize, Vec<f64>>> {
    let of = n.dimensions();
    // Where each row has a slack there is nothing to ask.
    if form.layout.slacks.len() == form.layout.rows.len() {
        return Ok(Ok(0));
    }
    let mut ones = n.space().zeros(of.bounded)?;
    n.space().shift(1.0, &mut ones)?;
    if n.factor(&ones, INDEPENDENT)? == 0 {
        return Ok(Ok(0));
    }
    let mut has_slack = vec![false; form.rhs.len()];
    form.layout.slacks.iter().for_each(|i| has_slack[*i] = true);
    let all = form.layout.rows.iter().enumerate();
    let (places, equations): (Vec<usize>, Vec<usize>) =
        all.filter(|(_, i)| !has_slack[**i]).unzip();
    let layout = &form.layout;
    let columns = Scaled {
        places: layout.bounded.iter().chain(&layout.free).copied().collect(),
        // Slacks are behind the structural ones, and in no equation.
        scales: s.bounded[..layout.bounded.len()]
            .iter()
            .chain(&s.free)
            .copied()
            .collect(),
    };
    // A factorization of the whole would take longer than anything else; pivots that are left out
    // do where equations agree.
    if (equations.len() as f64).powi(2) * columns.places.len() as f64 > LARGEST {
        return Ok(Ok(0));
    }
    let rows = Scaled {
        scales: places.iter().map(|k| s.rows[*k]).collect(),
        places: equations,
    };
    let found = a.dependent_rows(&rows, &columns)?;
    let mut dropped = Vec::new();
    for (k, weights) in found.dropped.iter().zip(&found.weights) {
        let kept = || found.kept.iter().map(|i| rows.places[*i]).zip(weights);
        let row = rows.places[*k];
        let terms = kept().map(|(i, w)| w * form.rhs[i]);
        let (by, agrees) = differs(form.rhs[row], terms, tolerance, a.eps());
        if agrees {
            dropped.push(places[*k]);
            continue;
        }
        let mut y = vec![0.0; form.rhs.len()];
        y[row] = 1.0 / by;
        kept().for_each(|(i, w)| y[i] = -w / by);
        if let Some(y) = verifier.rows(y)? {
            return Ok(Err(y));
        }
    }
    form.drop_rows(&dropped);
    drop_places(&mut s.rows, &dropped);
    Ok(Ok(dropped.len()))
}

/// Drops free columns that depend on others; their number, or a direction of such columns along
/// which the objective falls.
pub fn independent_columns<C: Constraints>(
    a: &C,
    form: &mut StandardForm,
    s: &Scales,
    verifier: &Verifier<'_, C>,
    tolerance: f64,
) -> Result<std::result::Result<usize, Vec<f64>>> {
    let free = Scaled {
        places: form.layout.free.clone(),
        scales: s.free.clone(),
    };
    let rows = Scaled {
        places: form.layout.rows.clone(),
        scales: s.rows.clone(),
    };
    let size = (free.places.len() as f64).powi(2) * rows.places.len() as f64;
    if free.places.is_empty() || rows.places.is_empty() || size > LARGEST {
        return Ok(Ok(0));
    }
    let found = a.dependent_columns(&free, &rows)?;
    let mut dropped = Vec::new();
    for (k, weights) in found.dropped.iter().zip(&found.weights) {
        let kept = || found.kept.iter().zip(weights);
        let terms = kept().map(|(i, w)| w * form.free_cost[*i]);
        let (gain, agrees) = differs(form.free_cost[*k], terms, tolerance, a.eps());
        if agrees {
            dropped.push(*k);
            continue;
        }
        let mut ray = vec![0.0; form.shifts.len()];
        ray[free.places[*k]] = -1.0 / gain;
        kept().for_each(|(i, w)| ray[free.places[*i]] = w / gain);
        if let Some(ray) = verifier.ray(ray)? {
            return Ok(Err(ray));
        }
    }
    form.drop_free(&dropped);
    Ok(Ok(dropped.len()))
}
