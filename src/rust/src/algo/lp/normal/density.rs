//! Which linear programs are solved with a sparse matrix, and what of it is dense all the same.

use crate::algo::lp::problem::Problem;
use crate::base::sparse::csc::Csc;

/// Whether the normal equations of a problem have so many entries that it had better be solved as a
/// dense one. Free columns do not count where they can stand apart.
pub fn is_for_dense(a: &Csc, p: &Problem<'_>) -> bool {
    let is_free = |j: usize| p.column(j) == (f64::NEG_INFINITY, f64::INFINITY);
    let has_slack = |i: usize| p.row(i).0 != p.row(i).1;
    let mut alone: Vec<bool> = (0..a.rows).map(has_slack).collect();
    for j in (0..a.columns()).filter(|j| !is_free(*j)) {
        if let ([i], _) = a.column(j) {
            alone[*i] = true;
        }
    }
    let apart = alone.iter().all(|a| *a);
    fills_its_product(a, |j| apart && is_free(j))
}

/// Rows that are looked at.
const SAMPLE: usize = 64;

/// Whether more than half of the entries of `A A'` are there, as far as a sample of rows tells,
/// without some columns: then nothing is gained by leaving zeros out.
fn fills_its_product(a: &Csc, without: impl Fn(usize) -> bool) -> bool {
    let columns = || (0..a.columns()).filter(|j| !without(*j));
    let of_column = |j: usize| ((a.starts[j + 1] - a.starts[j]) as f64).powi(2);
    if columns().map(of_column).sum::<f64>() < 0.5 * (a.rows as f64).powi(2) {
        return false;
    }
    let mut by_row = vec![Vec::new(); a.rows];
    for j in columns() {
        let (index, _) = a.column(j);
        index.iter().for_each(|i| by_row[*i].push(j));
    }
    let step = (a.rows / SAMPLE).max(1);
    let (mut met, mut asked) = (0, 0);
    let mut seen = vec![usize::MAX; a.rows];
    for i in (0..a.rows).step_by(step) {
        for j in &by_row[i] {
            for k in a.column(*j).0 {
                met += usize::from(seen[*k] != i);
                seen[*k] = i;
            }
        }
        asked += a.rows;
    }
    2 * met > asked
}

/// Whether free columns had better be left out of the normal equations: where these are definite
/// without them, as each row has a bounded column to itself, and would have many entries more. So
/// it is with the residuals of a regression, whose normal equations are diagonal.
pub(super) fn stands_alone(bounded: &Csc, free: &Csc) -> bool {
    let mut alone = vec![false; bounded.rows];
    let (mut entries, mut more) = (bounded.rows, 0_usize);
    for j in 0..bounded.columns() {
        let (index, _) = bounded.column(j);
        if let [i] = index {
            alone[*i] = true;
        } else {
            entries = entries.saturating_add(index.len().saturating_mul(index.len()));
        }
    }
    for j in 0..free.columns() {
        let (index, _) = free.column(j);
        more = more.saturating_add(index.len().saturating_mul(index.len()));
    }
    alone.iter().all(|a| *a) && more > entries.saturating_mul(4)
}
