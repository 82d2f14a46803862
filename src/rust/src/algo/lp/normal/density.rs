//! Which linear programs are solved with a sparse matrix, and what of it is dense all the same.

use crate::algo::lp::problem::Problem;
use crate::algo::sparse::csc::Csc;

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
    a.fills_its_product(|j| apart && is_free(j))
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
