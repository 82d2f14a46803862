//! Reductions. Numbers are added pairwise, in an order that does not depend on the number of
//! threads.

use faer::MatRef;

use super::norms::of_columns;
use crate::backend::cpu::matrix::bands::in_bands;
use crate::backend::cpu::matrix::views::{columns, Columns};
use crate::base::error::Result;
use crate::base::scalar::{try_zeroed, Scalar};
use crate::base::threads::{join, share};
use crate::device::functions::{Fold, Lines};

/// Numbers that one loop takes.
const LEAF: usize = 512;
const LANES: usize = 8;
/// Columns that one loop adds to each other.
const LEAF_COLUMNS: usize = 32;
/// Rows that pass through all columns together.
const ROWS: usize = 512;
/// An entry costs about as much as this many multiplications.
const READ: f64 = 8.0;

/// A reduction: its initial value, how it adds a number, and how two results are combined.
struct Rule<F, G> {
    start: f64,
    take: F,
    join: G,
}

pub(crate) fn fold<T: Scalar>(
    f: Fold,
    lines: Lines,
    skip: bool,
    a: MatRef<'_, T>,
    threads: usize,
) -> Result<Vec<f64>> {
    let a = columns(a)?;
    let threads = share(threads, READ * a.nrows() as f64 * a.ncols() as f64);
    let smaller = |s: f64, x: f64| if x < s || x.is_nan() { x } else { s };
    let greater = |s: f64, x: f64| if x > s || x.is_nan() { x } else { s };
    let sum = |s: f64, x: f64| s + x;
    macro_rules! by {
        ($take:expr, $join:expr) => {{
            let take = |s: f64, x: f64| {
                if skip && x.is_nan() {
                    s
                } else {
                    $take(s, x)
                }
            };
            let rule = Rule {
                start: f.of_nothing(),
                take,
                join: $join,
            };
            each_line(&rule, lines, a, threads)
        }};
    }
    match f {
        Fold::Sum => by!(sum, sum),
        Fold::Min => by!(smaller, smaller),
        Fold::Max => by!(greater, greater),
        Fold::Count => by!(|s: f64, x: f64| if x.is_nan() { s } else { s + 1.0 }, sum),
        Fold::Magnitudes => by!(|s: f64, x: f64| s + x.abs(), sum),
        Fold::Squares => by!(|s: f64, x: f64| s + x * x, sum),
        Fold::Largest => by!(|s: f64, x: f64| greater(s, x.abs()), greater),
    }
}

fn each_line<T: Scalar, F: Fn(f64, f64) -> f64 + Sync, G: Fn(f64, f64) -> f64 + Sync>(
    rule: &Rule<F, G>,
    lines: Lines,
    a: Columns<'_, T>,
    threads: usize,
) -> Result<Vec<f64>> {
    if lines == Lines::Rows {
        let mut out = try_zeroed(a.nrows())?;
        in_bands(a.nrows(), a.ncols(), ROWS, |first, count| {
            let band = &mut out[first..first + count];
            rows(rule, a.subrows(first, count), band, threads);
        })?;
        return Ok(out);
    }
    let out = of_columns(a, threads, &|x, t| slice(rule, x, t))?;
    if lines == Lines::Columns {
        return Ok(out);
    }
    let rule = Rule {
        start: rule.start,
        take: &rule.join,
        join: &rule.join,
    };
    Ok(vec![slice(&rule, &out, 1)])
}

fn slice<T: Scalar, F: Fn(f64, f64) -> f64 + Sync, G: Fn(f64, f64) -> f64 + Sync>(
    rule: &Rule<F, G>,
    x: &[T],
    threads: usize,
) -> f64 {
    if x.len() > LEAF {
        let half = (x.len() / 2).next_multiple_of(LANES);
        let (left, right) = x.split_at(half);
        let (l, r) = join(threads, |t| slice(rule, left, t), |t| slice(rule, right, t));
        return (rule.join)(l, r);
    }
    let mut lanes = [rule.start; LANES];
    let (blocks, rest) = pulp::as_arrays::<LANES, _>(x);
    for block in blocks {
        for (lane, x) in lanes.iter_mut().zip(block) {
            *lane = (rule.take)(*lane, (*x).into());
        }
    }
    for (lane, x) in lanes.iter_mut().zip(rest) {
        *lane = (rule.take)(*lane, (*x).into());
    }
    lanes.into_iter().fold(rule.start, &rule.join)
}

fn rows<T: Scalar, F: Fn(f64, f64) -> f64 + Sync, G: Fn(f64, f64) -> f64 + Sync>(
    rule: &Rule<F, G>,
    a: Columns<'_, T>,
    out: &mut [f64],
    threads: usize,
) {
    if threads > 1 && out.len() > 1 {
        let half = out.len() * (threads / 2) / threads;
        let ((a1, a2), (out1, out2)) = (a.split_at_row(half), out.split_at_mut(half));
        join(
            threads,
            |t| rows(rule, a1, out1, t),
            |t| rows(rule, a2, out2, t),
        );
        return;
    }
    for (k, out) in out.chunks_mut(ROWS).enumerate() {
        through_columns(rule, a, k * ROWS, 0..a.ncols(), out);
    }
}

/// Rows `first..first + out.len()` of some columns.
fn through_columns<T: Scalar, F: Fn(f64, f64) -> f64, G: Fn(f64, f64) -> f64>(
    rule: &Rule<F, G>,
    a: Columns<'_, T>,
    first: usize,
    cols: std::ops::Range<usize>,
    out: &mut [f64],
) {
    if cols.len() > LEAF_COLUMNS {
        let half = cols.start + cols.len() / 2;
        through_columns(rule, a, first, cols.start..half, out);
        let mut right = [0.0; ROWS];
        let right = &mut right[..out.len()];
        through_columns(rule, a, first, half..cols.end, right);
        for (out, right) in out.iter_mut().zip(right) {
            *out = (rule.join)(*out, *right);
        }
        return;
    }
    out.fill(rule.start);
    for j in cols {
        let column = &a.col(j).as_slice()[first..first + out.len()];
        for (out, x) in out.iter_mut().zip(column) {
            *out = (rule.take)(*out, (*x).into());
        }
    }
}
