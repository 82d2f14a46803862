//! Products of a matrix compressed by rows with columns of numbers.

use std::ops::Range;

use super::csc::Csc;
use crate::base::threads::join;

/// A matrix whose compressed columns are taken as rows.
impl Csc<i32> {
    /// Calls `f` with row, column and inner product, of rows and columns of x. A sum is in the
    /// order of its row's entries; some columns at once go through a row together.
    pub(crate) fn each_product(
        &self,
        rows: Range<usize>,
        x: &[&[f64]],
        mut f: impl FnMut(usize, usize, f64),
    ) {
        for (k, x) in x.chunks(4).enumerate() {
            let f = |i, c, sum| f(i, 4 * k + c, sum);
            match *x {
                [a] => self.some_products(rows.clone(), [a], f),
                [a, b] => self.some_products(rows.clone(), [a, b], f),
                [a, b, c] => self.some_products(rows.clone(), [a, b, c], f),
                [a, b, c, d] => self.some_products(rows.clone(), [a, b, c, d], f),
                _ => (),
            }
        }
    }

    fn some_products<const K: usize>(
        &self,
        rows: Range<usize>,
        x: [&[f64]; K],
        mut f: impl FnMut(usize, usize, f64),
    ) {
        for i in rows {
            let (index, values) = self.column(i);
            let mut sums = [0.0; K];
            for (j, v) in index.iter().zip(values) {
                for (sum, x) in sums.iter_mut().zip(&x) {
                    *sum += v * x[*j as usize];
                }
            }
            let sums = sums.into_iter().enumerate();
            sums.for_each(|(c, sum)| f(i, c, sum));
        }
    }

    /// Columns of `out` become inner products of all rows with those of x, by so many threads. No
    /// bit depends on their number, or on other columns.
    pub(crate) fn multiply_rows(&self, x: &[&[f64]], out: Vec<&mut [f64]>, threads: usize) {
        self.part(0, x, out, threads);
    }

    /// Rows from `first` on.
    fn part(&self, first: usize, x: &[&[f64]], mut out: Vec<&mut [f64]>, threads: usize) {
        let rows = out.first().map_or(0, |o| o.len());
        if threads > 1 && rows > 1 {
            // As many entries for each of the threads.
            let starts = &self.starts;
            let (from, to) = (starts[first], starts[first + rows]);
            let middle = from + (to - from) * (threads / 2) / threads;
            let at = starts[first..first + rows].partition_point(|s| *s < middle);
            let at = at.clamp(1, rows - 1);
            let (top, bottom) = out.into_iter().map(|o| o.split_at_mut(at)).unzip();
            join(
                threads,
                |t| self.part(first, x, top, t),
                |t| self.part(first + at, x, bottom, t),
            );
            return;
        }
        let all = first..first + rows;
        self.each_product(all, x, |i, c, product| out[c][i - first] = product);
    }
}
