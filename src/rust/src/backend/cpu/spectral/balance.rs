//! Balancing: a permutation and a diagonal scaling that make eigenvalues less sensitive.
//!
//! LAPACK's `gebal` and `gebak`; James, Langou & Lowery (2014), with 2-norms. Scales are powers of
//! two, so that nothing is rounded.

use crate::base::error::Result;
use crate::base::scalar::filled;

/// What was done to a matrix of order n.
pub(super) struct Balance {
    /// Row and column `order[i]` of the matrix became row and column i.
    order: Vec<usize>,
    /// Row i was divided by `scales[i]` and column i multiplied by it.
    scales: Vec<f64>,
}

/// A scaling must lower the sum of the norms by this factor to be made.
const WORTH: f64 = 0.95;

/// Balances a matrix of order n, by columns.
pub(super) fn balance(a: &mut [f64], n: usize) -> Result<Balance> {
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
            let square = |x: f64| x * x;
            let column = (low..high)
                .map(|k| square(a[i * n + k]))
                .sum::<f64>()
                .sqrt();
            let row = (low..high)
                .map(|k| square(a[k * n + i]))
                .sum::<f64>()
                .sqrt();
            if !(column > 0.0 && row > 0.0 && column.is_finite() && row.is_finite()) {
                continue;
            }
            let half = ((row / column).log2() / 2.0).round();
            // No scale leaves the range in which its reciprocal is exact.
            let total = (scales[i].log2() + half).clamp(-500.0, 500.0);
            let factor = (total - scales[i].log2()).exp2();
            if column * factor + row / factor >= WORTH * (column + row) {
                continue;
            }
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

impl Balance {
    /// Vectors of the matrix from those of the balanced one, in columns of `v`. Each of the two
    /// columns of a complex vector is one here.
    ///
    /// Columns are scaled so that nothing overflows: `pairs[j]` says that columns j and j + 1
    /// belong together.
    pub(super) fn restore(&self, v: &mut [f64], pairs: &[bool]) -> Result<()> {
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
