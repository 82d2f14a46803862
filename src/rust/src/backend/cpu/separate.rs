//! Products and triangular systems whose columns are computed separately: no bit of a column
//! depends on how many there are, or on the number of threads.
//!
//! The kernels of `gemm` and `triangular` sum in an order that depends on the number of columns.
//! Here all columns meet a block of the matrix while it is in the cache.

use std::ops::Range;

use faer::{ContiguousFwd, MatMut, MatRef};

use super::matrix::views::{columns, require};
use super::vector::{dot, four_dots};
use crate::base::error::{Error, Result};
use crate::base::interrupt;
use crate::base::matrix::{Trans, Uplo};
use crate::base::progress;
use crate::base::scalar::Scalar;
use crate::base::simd::vectorized;
use crate::base::threads::{batch, join, share};

/// A matrix whose columns have no gaps.
type Dense<'a, T> = MatRef<'a, T, usize, usize, ContiguousFwd>;

/// Entries of a column of the matrix that a product takes at once.
const DEPTH: usize = 1024;
/// Columns of X that meet all rows before others do: with [`DEPTH`] they stay in the cache.
const ABREAST: usize = 24;
/// Rows and columns of a block of a triangle.
const BLOCK: usize = 128;
/// Columns of a block that are taken off a right-hand side together.
const TOGETHER: usize = 4;

/// The columns of a matrix.
fn slices<T: Scalar>(x: MatMut<'_, T>) -> Result<Vec<&mut [T]>> {
    let mut all = Vec::with_capacity(x.ncols());
    for column in x.col_iter_mut() {
        let column = column
            .try_as_col_major_mut()
            .ok_or_else(|| Error::Internal {
                what: "a column of a matrix has gaps".into(),
            })?;
        all.push(column.as_slice_mut());
    }
    Ok(all)
}

/// `out <- A X` for a symmetric matrix, both of whose triangles are read.
pub(crate) fn multiply<T: Scalar>(
    a: MatRef<'_, T>,
    x: MatRef<'_, T>,
    out: MatMut<'_, T>,
    threads: usize,
) -> Result<()> {
    let (n, k) = x.shape();
    let fits = a.shape() == (n, n) && out.shape() == (n, k);
    require(fits, "the shapes of a product do not agree")?;
    if n == 0 || k == 0 {
        return Ok(());
    }
    let (a, x) = (columns(a)?, columns(x)?);
    let x: Vec<&[T]> = (0..k).map(|c| x.col(c).as_slice()).collect();
    let mut rest = slices(out)?;
    let (step, mut first) = (batch(threads, n * k), 0);
    while first < n {
        interrupt::poll()?;
        let rows = step.min(n - first);
        let (now, later): (Vec<_>, Vec<_>) = rest.into_iter().map(|o| o.split_at_mut(rows)).unzip();
        let work = rows as f64 * n as f64 * k as f64;
        part(a, &x, first, now, share(threads, work));
        progress::advance(2.0 * work);
        (rest, first) = (later, first + rows);
    }
    Ok(())
}

/// Rows from `first` on.
fn part<T: Scalar>(
    a: Dense<'_, T>,
    x: &[&[T]],
    first: usize,
    mut out: Vec<&mut [T]>,
    threads: usize,
) {
    let rows = out.first().map_or(0, |o| o.len());
    if threads > 1 && rows > 1 {
        let at = (rows * (threads / 2) / threads)
            .next_multiple_of(8)
            .min(rows);
        let (top, bottom) = out.into_iter().map(|o| o.split_at_mut(at)).unzip();
        join(
            threads,
            |t| part(a, x, first, top, t),
            |t| part(a, x, first + at, bottom, t),
        );
        return;
    }
    for (x, out) in x.chunks(ABREAST).zip(out.chunks_mut(ABREAST)) {
        products(a, x, first, out);
    }
}

vectorized! {
    /// Each entry is the sum of inner products of [`DEPTH`] entries, in their order.
    fn products<'a, 'b, T>(
        a: Dense<'a, T>,
        x: &'a [&'a [T]],
        first: usize,
        out: &'a mut [&'b mut [T]],
    ) {
        let (n, rows) = (a.nrows(), out[0].len());
        for from in (0..n).step_by(DEPTH) {
            let to = n.min(from + DEPTH);
            for top in (0..rows).step_by(4) {
                let four = 4.min(rows - top);
                let column = |q: usize| &a.col(first + top + q.min(four - 1)).as_slice()[from..to];
                let now = [column(0), column(1), column(2), column(3)];
                for (x, out) in x.iter().zip(out.iter_mut()) {
                    let sums = four_dots(&x[from..to], now);
                    for (out, sum) in out[top..top + four].iter_mut().zip(sums) {
                        *out = if from == 0 { sum } else { *out + sum };
                    }
                }
            }
        }
    }
}

/// `B <- op(A)^-1 B` for a triangle of A that has no zero on its diagonal.
pub(crate) fn solve<T: Scalar>(
    uplo: Uplo,
    trans: Trans,
    a: MatRef<'_, T>,
    b: MatMut<'_, T>,
    threads: usize,
) -> Result<()> {
    let (n, k) = b.shape();
    require(
        a.shape() == (n, n),
        "the shapes of a triangular system do not agree",
    )?;
    if n == 0 || k == 0 {
        return Ok(());
    }
    let a = columns(a)?;
    let mut b = slices(b)?;
    let forwards = (uplo == Uplo::Lower) == (trans == Trans::No);
    let blocks = n.div_ceil(BLOCK);
    for step in 0..blocks {
        interrupt::poll()?;
        let block = if forwards { step } else { blocks - 1 - step };
        let rows = block * BLOCK..n.min((block + 1) * BLOCK);
        let others = match (trans, forwards) {
            (Trans::Yes, true) | (Trans::No, false) => 0..rows.start,
            (Trans::Yes, false) | (Trans::No, true) => rows.end..n,
        };
        let work = rows.len() as f64 * (others.len() + rows.len() / 2) as f64 * k as f64;
        let step = Step {
            a,
            rows,
            others,
            forwards,
        };
        step.spread(trans, &mut b, share(threads, work));
        progress::advance(2.0 * work);
    }
    Ok(())
}

/// A block of rows that are solved for, and the rows that these meet in the rest of the triangle.
#[derive(Clone)]
struct Step<'a, T> {
    a: Dense<'a, T>,
    rows: Range<usize>,
    others: Range<usize>,
    forwards: bool,
}

impl<T: Scalar> Step<'_, T> {
    /// Some of the right-hand sides for each thread.
    fn spread(&self, trans: Trans, b: &mut [&mut [T]], threads: usize) {
        if threads > 1 && b.len() > 1 {
            let at = (b.len() * (threads / 2) / threads).max(1);
            let (left, right) = b.split_at_mut(at);
            join(
                threads,
                |t| self.spread(trans, left, t),
                |t| self.spread(trans, right, t),
            );
            return;
        }
        match trans {
            Trans::Yes => by_rows(self.clone(), b),
            Trans::No => by_columns(self.clone(), b),
        }
    }
}

vectorized! {
    /// Takes what is known off the rows of a block, then solves for these: A's columns are the
    /// rows.
    fn by_rows<'a, 'b, T>(s: Step<'a, T>, b: &'a mut [&'b mut [T]]) {
        let Step { a, rows, others, forwards } = s;
        for from in others.clone().step_by(BLOCK) {
            let to = others.end.min(from + BLOCK);
            for top in rows.clone().step_by(4) {
                let four = 4.min(rows.end - top);
                let column = |q: usize| &a.col(top + q.min(four - 1)).as_slice()[from..to];
                let four_columns = [column(0), column(1), column(2), column(3)];
                for b in b.iter_mut() {
                    let sums = four_dots(&b[from..to], four_columns);
                    for (b, sum) in b[top..top + four].iter_mut().zip(sums) {
                        *b -= sum;
                    }
                }
            }
        }
        for b in b.iter_mut() {
            for step in 0..rows.len() {
                let i = if forwards { rows.start + step } else { rows.end - 1 - step };
                let known = if forwards { rows.start..i } else { i + 1..rows.end };
                let column = a.col(i).as_slice();
                let sum = dot(&column[known.clone()], &b[known]);
                b[i] = (b[i] - sum) / column[i];
            }
        }
    }
}

vectorized! {
    /// Solves for the rows of a block, then takes these off the others.
    fn by_columns<'a, 'b, T>(s: Step<'a, T>, b: &'a mut [&'b mut [T]]) {
        let Step { a, rows, others, forwards } = s;
        for b in b.iter_mut() {
            for step in 0..rows.len() {
                let j = if forwards { rows.start + step } else { rows.end - 1 - step };
                let rest = if forwards { j + 1..rows.end } else { rows.start..j };
                let column = a.col(j).as_slice();
                b[j] /= column[j];
                let known = b[j];
                for (b, a) in b[rest.clone()].iter_mut().zip(&column[rest]) {
                    *b -= known * *a;
                }
            }
        }
        for from in others.clone().step_by(BLOCK) {
            let to = others.end.min(from + BLOCK);
            for first in rows.clone().step_by(TOGETHER) {
                let some = TOGETHER.min(rows.end - first);
                let column = |q: usize| &a.col(first + q.min(some - 1)).as_slice()[from..to];
                let [c0, c1, c2, c3] = [column(0), column(1), column(2), column(3)];
                for b in b.iter_mut() {
                    // Columns that stand in for others count for nothing.
                    let known = |q: usize| if q < some { b[first + q] } else { T::from_f64(0.0) };
                    let [x0, x1, x2, x3] = [known(0), known(1), known(2), known(3)];
                    let entries = b[from..to].iter_mut();
                    for ((((b, c0), c1), c2), c3) in entries.zip(c0).zip(c1).zip(c2).zip(c3) {
                        *b -= (x0 * *c0 + x1 * *c1) + (x2 * *c2 + x3 * *c3);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use faer::Mat;

    fn made(n: usize, k: usize, seed: usize) -> Mat<f64> {
        Mat::from_fn(n, k, |i, j| {
            ((i * 7 + j * 13 + seed) % 19) as f64 / 19.0 - 0.4
        })
    }

    /// What is computed from some columns, with so many threads.
    fn each(of: &Mat<f64>, f: impl Fn(MatRef<'_, f64>, usize) -> Mat<f64>) -> Mat<f64> {
        let all = f(of.as_ref(), 1);
        assert!(f(of.as_ref(), 3) == all);
        for c in 0..of.ncols() {
            let one = f(of.as_ref().subcols(c, 1), 2);
            assert!(one.col(0) == all.col(c), "column {c} of {}", of.ncols());
        }
        all
    }

    #[test]
    fn columns_are_as_if_they_were_alone() {
        for n in [1, 3, 4, 129, 300, 1101] {
            let half = made(n, n, 1);
            let a = Mat::from_fn(n, n, |i, j| {
                half[(i.min(j), i.max(j))] + if i == j { n as f64 } else { 0.0 }
            });
            for k in [1, 2, 5, 9] {
                let x = made(n, k, 4);
                let product = each(&x, |x, threads| {
                    let mut out = Mat::zeros(n, x.ncols());
                    multiply(a.as_ref(), x, out.as_mut(), threads).unwrap();
                    out
                });
                let off = (&product - &a * &x).norm_max();
                assert!(off <= 1e-13 * n as f64, "{n}: {off:e}");
                for uplo in [Uplo::Lower, Uplo::Upper] {
                    for trans in [Trans::No, Trans::Yes] {
                        let solved = each(&x, |x, threads| {
                            let mut out = x.to_owned();
                            solve(uplo, trans, a.as_ref(), out.as_mut(), threads).unwrap();
                            out
                        });
                        let t = Mat::from_fn(n, n, |i, j| {
                            let read = if uplo == Uplo::Lower { i >= j } else { i <= j };
                            if read {
                                a[(i, j)]
                            } else {
                                0.0
                            }
                        });
                        let back = match trans {
                            Trans::No => &t * &solved,
                            Trans::Yes => t.transpose() * &solved,
                        };
                        let off = (&back - &x).norm_max();
                        assert!(off <= 1e-13 * n as f64, "{n} {uplo:?} {trans:?}: {off:e}");
                    }
                }
            }
        }
    }
}
