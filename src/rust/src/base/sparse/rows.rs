//! Products of a matrix compressed by rows with columns of numbers.

use std::ops::Range;

use super::csc::Csc;
use crate::base::scalar::room;
use crate::base::threads::join;

/// Columns whose rows are woven together.
const WOVEN: usize = 4;

/// Rows of some columns.
trait Rows: Sync {
    /// As [`Csc::each_product`].
    fn products(&self, a: &Csc<i32>, rows: Range<usize>, f: impl FnMut(usize, usize, f64));
}

struct Separate<'x>(&'x [&'x [f64]]);
struct Woven<'x>(&'x [[f64; WOVEN]]);

impl Rows for Separate<'_> {
    fn products(&self, a: &Csc<i32>, rows: Range<usize>, f: impl FnMut(usize, usize, f64)) {
        a.each_product(rows, self.0, f);
    }
}

impl Rows for Woven<'_> {
    fn products(&self, a: &Csc<i32>, rows: Range<usize>, mut f: impl FnMut(usize, usize, f64)) {
        for i in rows {
            let (index, values) = a.column(i);
            let mut sums = [0.0; WOVEN];
            for (j, v) in index.iter().zip(values) {
                for (sum, x) in sums.iter_mut().zip(&self.0[*j as usize]) {
                    *sum += v * x;
                }
            }
            let sums = sums.into_iter().enumerate();
            sums.for_each(|(c, sum)| f(i, c, sum));
        }
    }
}

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
        let mut out = out.into_iter();
        for x in x.chunks(WOVEN) {
            let out: Vec<_> = out.by_ref().take(x.len()).collect();
            match self.woven(x) {
                Some(x) => self.part(0, &Woven(&x), out, threads),
                None => self.part(0, &Separate(x), out, threads),
            }
        }
    }

    /// The rows of some columns: an entry then meets one line of the cache. None where that costs
    /// more than it saves, or memory is missing.
    fn woven(&self, x: &[&[f64]]) -> Option<Vec<[f64; WOVEN]>> {
        let [a, b, c, d] = *x else { return None };
        if self.index.len() < 2 * a.len() {
            return None;
        }
        let mut rows = room(a.len()).ok()?;
        let all = a.iter().zip(b).zip(c).zip(d);
        rows.extend(all.map(|(((a, b), c), d)| [*a, *b, *c, *d]));
        Some(rows)
    }

    /// Rows from `first` on.
    fn part(&self, first: usize, x: &impl Rows, mut out: Vec<&mut [f64]>, threads: usize) {
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
        x.products(self, all, |i, c, product| out[c][i - first] = product);
    }
}
