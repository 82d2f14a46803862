//! Balancing: a permutation and a diagonal scaling that make eigenvalues less sensitive.
//!
//! LAPACK's `gebal` and `gebak`; James, Langou & Lowery (2014), with 2-norms. Scales are powers of
//! two, so that nothing is rounded.

use crate::base::error::Result;
use crate::base::scalar::filled;

/// No exponent of an entry grows above this one, so that none overflows.
const LARGEST: f64 = 1000.0;

/// What was done to a matrix of order n.
pub(crate) struct Balance {
    /// Row and column `order[i]` of the matrix became row and column i.
    order: Vec<usize>,
    /// Row i was divided by `scales[i]` and column i multiplied by it.
    scales: Vec<f64>,
}

/// A scaling must lower the sum of the norms by this factor to be made.
const WORTH: f64 = 0.95;

/// Balances a matrix of order n, by columns.
pub(crate) fn balance(a: &mut [f64], n: usize) -> Result<Balance> {
    let mut order: Vec<usize> = (0..n).collect();
    let mut swap = |a: &mut [f64], i: usize, j: usize| {
        if i != j {
            order.swap(i, j);
            (0..n).for_each(|k| a.swap(i * n + k, j * n + k));
            (0..n).for_each(|k| a.swap(k * n + i, k * n + j));
        }
    };
    // Rows with nothing beside the diagonal go to the end, then such columns to the front: their
    // eigenvalues are on the diagonal.
    let (mut low, mut high) = (0, n);
    while let Some(i) = (low..high)
        .rev()
        .find(|&i| (low..high).all(|j| i == j || a[j * n + i] == 0.0))
    {
        swap(a, i, high - 1);
        high -= 1;
    }
    while let Some(j) = (low..high).find(|&j| (low..high).all(|i| i == j || a[j * n + i] == 0.0)) {
        swap(a, j, low);
        low += 1;
    }
    let mut scales = filled(n, 1.0)?;
    scale(a, n, (low, high), &mut scales);
    Ok(Balance { order, scales })
}

/// Scales rows and columns `low..high` until their norms are within a factor of two, or little is
/// gained.
fn scale(a: &mut [f64], n: usize, (low, high): (usize, usize), scales: &mut [f64]) {
    // Each pass that continues lowers a norm, and few are needed.
    for _ in 0..50 {
        let mut changed = false;
        for i in low..high {
            let (column, row) = (
                log_norm((low..high).map(|k| a[i * n + k])),
                log_norm((low..high).map(|k| a[k * n + i])),
            );
            if !(column.is_finite() && row.is_finite()) {
                continue;
            }
            let larger = column.max(row);
            let sum = |up: f64| (column + up - larger).exp2() + (row - up - larger).exp2();
            let is_worth = |up: f64| sum(up) < WORTH * sum(0.0);
            let half = ((row - column) / 2.0).round();
            if !is_worth(half) {
                continue;
            }
            // Rows above and columns beyond the block follow.
            let above = log_largest((0..high).map(|k| a[i * n + k]));
            let beyond = log_largest((low..n).map(|k| a[k * n + i]));
            let half = half.clamp((beyond - LARGEST).min(0.0), (LARGEST - above).max(0.0));
            // No scale leaves the range in which its reciprocal is exact.
            let total = (scales[i].log2() + half.round()).clamp(-500.0, 500.0);
            let half = total - scales[i].log2();
            if !is_worth(half) {
                continue;
            }
            let factor = half.exp2();
            changed = true;
            scales[i] *= factor;
            (0..n).for_each(|k| a[k * n + i] /= factor);
            (0..n).for_each(|k| a[i * n + k] *= factor);
        }
        if !changed {
            return;
        }
    }
}

/// The logarithm of the largest magnitude.
fn log_largest(x: impl Iterator<Item = f64>) -> f64 {
    x.fold(0.0, |largest: f64, x| largest.max(x.abs())).log2()
}

/// The logarithm of the 2-norm, which may be out of range.
fn log_norm(x: impl Iterator<Item = f64> + Clone) -> f64 {
    let square: f64 = x.clone().map(|x| x * x).sum();
    if (1e-280..1e280).contains(&square) {
        return square.log2() / 2.0;
    }
    let largest = x.clone().fold(0.0, |largest: f64, x| largest.max(x.abs()));
    if largest == 0.0 {
        return f64::NEG_INFINITY;
    }
    largest.log2() + x.map(|x| (x / largest).powi(2)).sum::<f64>().log2() / 2.0
}

impl Balance {
    /// Vectors of the matrix from those of the balanced one, in columns of `v`. Each of the two
    /// columns of a complex vector is one here.
    ///
    /// Columns are scaled so that nothing overflows: `pairs[j]` says that columns j and j + 1
    /// belong together.
    pub(crate) fn restore(&self, v: &mut [f64], pairs: &[bool]) -> Result<()> {
        let n = self.order.len();
        let mut moved = filled(n, 0.0)?;
        if self.scales.iter().all(|s| *s == 1.0) {
            for column in v.chunks_exact_mut(n) {
                column
                    .iter()
                    .zip(&self.order)
                    .for_each(|(x, &to)| moved[to] = *x);
                column.copy_from_slice(&moved);
            }
            return Ok(());
        }
        let mut j = 0;
        while j < n {
            let width = if pairs[j] { 2 } else { 1 };
            let columns = &mut v[j * n..(j + width) * n];
            // The largest entry after the scaling is made one of order 1 before it.
            let largest = columns
                .chunks_exact(n)
                .flat_map(|c| c.iter().zip(&self.scales))
                .filter(|(x, _)| **x != 0.0)
                .map(|(x, s)| x.abs().log2() + s.log2())
                .fold(f64::NEG_INFINITY, f64::max);
            let shift = if largest.is_finite() {
                -largest.round()
            } else {
                0.0
            };
            for column in columns.chunks_exact_mut(n) {
                for (i, x) in column.iter().enumerate() {
                    // In two steps, since one factor may overflow.
                    let power = self.scales[i].log2() + shift;
                    let half = (power / 2.0).floor();
                    moved[self.order[i]] = x * half.exp2() * (power - half).exp2();
                }
                column.copy_from_slice(&moved);
            }
            j += width;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_any_size_are_balanced() {
        for (large, small) in [(1e162, 1e-162), (1e300, 1e-300), (1e-162, 1e162)] {
            let mut a = [1.0, large, small, 1.0];
            let done = balance(&mut a, 2).unwrap();
            let product = a[1] * a[2];
            assert!((product - 1.0).abs() < 1e-14, "{a:?}");
            assert!(a.iter().all(|x| (0.1..10.0).contains(x)), "{a:?}");
            let mut v = [1.0, 1.0, 1.0, -1.0];
            done.restore(&mut v, &[false; 2]).unwrap();
            let ratio = v[1] / v[0] / large;
            assert!((0.1..10.0).contains(&ratio), "{v:?}");
        }
    }

    #[test]
    fn nothing_overflows() {
        // Row 0 is separate, and follows the scaling of the block.
        let n = 3;
        let mut a = [1.0, 0.0, 0.0, 1e300, 1.0, 1e300, 1e300, 1e-300, 1.0];
        balance(&mut a, n).unwrap();
        assert!(a.iter().all(|x| x.is_finite()), "{a:?}");
    }
}
