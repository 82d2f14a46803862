//! Triangular systems.
//!
//! The triangle is halved down to small blocks, and all the rest is products. A small block is
//! solved in a buffer where the right-hand sides lie side by side, so that one instruction serves
//! several of them.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};

use super::gemm::gemm;
use super::vector::{axpy, dot};
use crate::base::error::Result;
use crate::base::interrupt;
use crate::base::matrix::{Diag, Side, Trans, Uplo};
use crate::base::progress;
use crate::base::scalar::Scalar;
use crate::base::simd::vectorized;
use crate::base::threads::{batch, join, share};

/// Order of the triangles solved between two questions to the user.
const OUTER: usize = 1024;
/// Order of the triangles that are solved for a strip of right-hand sides before the next strip,
/// and width of a strip: together they fit the second level of cache.
const INNER: usize = 256;
const STRIP: usize = 128;
/// Order of the blocks solved by substitution.
const BASE: usize = 16;
/// Right-hand sides in a full buffer, and in the one for few.
const WIDE: usize = 64;
const NARROW: usize = 8;

/// Solves with the square triangle `a`; B has at least its order of rows (left) or columns (right),
/// and only that many are used.
pub(crate) fn trsm<T: Scalar>(
    side: Side,
    uplo: Uplo,
    trans: Trans,
    diag: Diag,
    a: MatRef<'_, T>,
    b: MatMut<'_, T>,
    threads: usize,
) -> Result<()> {
    let k = a.nrows();
    // X A = B is A' X' = B'.
    let (b, transposed) = match side {
        Side::Left => (b.subrows_mut(0, k), trans == Trans::Yes),
        Side::Right => (b.subcols_mut(0, k).transpose_mut(), trans == Trans::No),
    };
    let (a, lower) = if transposed {
        (a.transpose(), uplo == Uplo::Upper)
    } else {
        (a, uplo == Uplo::Lower)
    };
    solve(Triangle { a, lower, diag }, b, threads)
}

/// What to divide by from the left.
#[derive(Clone, Copy)]
struct Triangle<'a, T> {
    a: MatRef<'a, T>,
    lower: bool,
    diag: Diag,
}

impl<'a, T: Scalar> Triangle<'a, T> {
    /// Where it is cut into the part solved first, the part solved second, and the block that
    /// couples them; the first index of each part.
    fn halves(self, at: usize) -> (Self, Self, MatRef<'a, T>) {
        let (a11, a12, a21, a22) = self.a.split_at(at, at);
        let part = |a| Triangle { a, ..self };
        if self.lower {
            (part(a11), part(a22), a21)
        } else {
            (part(a22), part(a11), a12)
        }
    }

    /// The rows of B that belong to the first and to the second part.
    fn rows<'b>(self, at: usize, b: MatMut<'b, T>) -> (MatMut<'b, T>, MatMut<'b, T>) {
        let (top, bottom) = b.split_at_row_mut(at);
        if self.lower {
            (top, bottom)
        } else {
            (bottom, top)
        }
    }
}

/// `B <- A^-1 B`, asking the user between large blocks.
fn solve<T: Scalar>(t: Triangle<'_, T>, mut b: MatMut<'_, T>, threads: usize) -> Result<()> {
    let (k, n) = b.shape();
    if k <= OUTER {
        let batch = batch(threads, k * k / 2);
        for j in (0..n).step_by(batch) {
            interrupt::poll()?;
            let some = batch.min(n - j);
            let work = k as f64 * k as f64 * some as f64 / 2.0;
            spread(t, b.as_mut().subcols_mut(j, some), share(threads, work));
            progress::advance(2.0 * work);
        }
        return Ok(());
    }
    let at = (k / 2).next_multiple_of(BASE);
    let (first, second, coupling) = t.halves(at);
    let (mut b1, mut b2) = t.rows(at, b);
    solve(first, b1.as_mut(), threads)?;
    let one = T::from_f64(1.0);
    gemm(-one, coupling, b1.as_ref(), one, b2.as_mut(), threads)?;
    solve(second, b2, threads)
}

/// Some of the right-hand sides for each thread.
fn spread<T: Scalar>(t: Triangle<'_, T>, b: MatMut<'_, T>, threads: usize) {
    let n = b.ncols();
    if threads < 2 || n < 2 * NARROW {
        if let Some(b) = single(t, b) {
            recurse(t, b);
        }
        return;
    }
    let at = (n * (threads / 2) / threads).next_multiple_of(8).min(n);
    let (b1, b2) = b.split_at_col_mut(at);
    join(threads, |p| spread(t, b1, p), |p| spread(t, b2, p));
}

/// Solves for one right-hand side without gaps, the triangle read once down its columns whichever
/// way it is stored. Gives anything else back.
fn single<'b, T: Scalar>(t: Triangle<'_, T>, mut b: MatMut<'b, T>) -> Option<MatMut<'b, T>> {
    let divide = t.diag == Diag::NonUnit;
    let by_column = t.a.try_as_col_major();
    let by_row = t.a.transpose().try_as_col_major();
    if b.ncols() != 1 || b.row_stride() != 1 || (by_column.is_none() && by_row.is_none()) {
        return Some(b);
    }
    let x = b.as_mut().col_mut(0).try_as_col_major_mut()?.as_slice_mut();
    if let Some(a) = by_column {
        by_columns(a, t.lower, divide, x);
    } else if let Some(a) = by_row {
        by_rows(a, t.lower, divide, x);
    }
    None
}

vectorized! {
    /// `x <- A^-1 x`; each entry is taken off the rest as soon as it is known.
    fn by_columns<'a, T>(
        a: MatRef<'a, T, usize, usize, faer::ContiguousFwd>,
        lower: bool,
        divide: bool,
        x: &'a mut [T],
    ) {
        let k = x.len();
        for step in 0..k {
            let j = if lower { step } else { k - 1 - step };
            let column = a.col(j).as_slice();
            if divide {
                x[j] /= column[j];
            }
            let known = x[j];
            if lower {
                axpy(-known, &column[j + 1..k], &mut x[j + 1..]);
            } else {
                axpy(-known, &column[..j], &mut x[..j]);
            }
        }
    }
}

vectorized! {
    /// `x <- A'^-1 x`; each entry has those known taken off it at once.
    fn by_rows<'a, T>(
        a: MatRef<'a, T, usize, usize, faer::ContiguousFwd>,
        lower: bool,
        divide: bool,
        x: &'a mut [T],
    ) {
        let k = x.len();
        for step in 0..k {
            let i = if lower { step } else { k - 1 - step };
            let row = a.col(i).as_slice();
            let known = if lower {
                dot(&row[..i], &x[..i])
            } else {
                dot(&row[i + 1..k], &x[i + 1..])
            };
            x[i] -= known;
            if divide {
                x[i] /= row[i];
            }
        }
    }
}

fn recurse<T: Scalar>(t: Triangle<'_, T>, mut b: MatMut<'_, T>) {
    let (k, n) = b.shape();
    if k <= BASE {
        return base(t, b);
    }
    if k <= INNER && n > STRIP {
        for j in (0..n).step_by(STRIP) {
            recurse(t, b.as_mut().subcols_mut(j, STRIP.min(n - j)));
        }
        return;
    }
    let at = (k / 2).next_multiple_of(BASE);
    let (first, second, coupling) = t.halves(at);
    let (mut b1, mut b2) = t.rows(at, b);
    recurse(first, b1.as_mut());
    let minus = T::from_f64(-1.0);
    matmul(
        b2.as_mut(),
        Accum::Add,
        coupling,
        b1.as_ref(),
        minus,
        Par::Seq,
    );
    recurse(second, b2);
}

fn base<T: Scalar>(t: Triangle<'_, T>, mut b: MatMut<'_, T>) {
    let (k, n) = b.shape();
    // The rows in the order they are solved in, so that every triangle is a lower one; a row holds
    // its multipliers and, last, its divisor.
    let place = |i: usize| if t.lower { i } else { k - 1 - i };
    let mut rows = [[T::from_f64(1.0); BASE]; BASE];
    for (i, row) in rows.iter_mut().enumerate().take(k) {
        let used = if t.diag == Diag::Unit { i } else { i + 1 };
        for (j, x) in row.iter_mut().enumerate().take(used) {
            *x = t.a[(place(i), place(j))];
        }
    }
    let mut j = 0;
    while j < n {
        let width = if n - j > 2 * NARROW { WIDE } else { NARROW }.min(n - j);
        let b = b.as_mut().subcols_mut(j, width);
        if n - j > 2 * NARROW {
            substitute::<T, WIDE>(&rows, k, t, b);
        } else {
            substitute::<T, NARROW>(&rows, k, t, b);
        }
        j += width;
    }
}

/// Solves for at most `W` right-hand sides in a buffer.
fn substitute<T: Scalar, const W: usize>(
    rows: &[[T; BASE]; BASE],
    k: usize,
    t: Triangle<'_, T>,
    mut b: MatMut<'_, T>,
) {
    let mut x = [[T::from_f64(0.0); W]; BASE];
    let divide = t.diag == Diag::NonUnit;
    transfer(&mut x, t.lower, b.as_mut(), false);
    substitute_rows(rows, k, divide, &mut x);
    transfer(&mut x, t.lower, b, true);
}

vectorized! {
    /// Copies B to the buffer, in the order of solution, or back.
    fn transfer<'a, T, const W>(
        x: &'a mut [[T; W]; BASE],
        lower: bool,
        b: MatMut<'a, T>,
        back: bool,
    ) {
        let mut b = b;
        let (k, n) = b.shape();
        let place = |i: usize| if lower { i } else { k - 1 - i };
        if b.col_stride() == 1 {
            if let Some(mut b) = b.as_mut().transpose_mut().try_as_col_major_mut() {
                for (i, x) in x.iter_mut().enumerate().take(k) {
                    let row = b.as_mut().col_mut(place(i)).as_slice_mut();
                    if back {
                        row.copy_from_slice(&x[..n]);
                    } else {
                        x[..n].copy_from_slice(row);
                    }
                }
            }
            return;
        }
        for j in 0..n {
            for (i, x) in x.iter_mut().enumerate().take(k) {
                if back {
                    b[(place(i), j)] = x[j];
                } else {
                    x[j] = b[(place(i), j)];
                }
            }
        }
    }
}

vectorized! {
    fn substitute_rows<'a, T, const W>(
        rows: &'a [[T; BASE]; BASE],
        k: usize,
        divide: bool,
        x: &'a mut [[T; W]; BASE],
    ) {
        for (i, row) in rows.iter().enumerate().take(k) {
            let (done, rest) = x.split_at_mut(i);
            let Some(now) = rest.first_mut() else {
                return;
            };
            let (fours, ones) = pulp::as_arrays::<4, _>(done);
            let (fours_by, ones_by) = pulp::as_arrays::<4, _>(&row[..i]);
            for (x, l) in fours.iter().zip(fours_by) {
                for (j, now) in now.iter_mut().enumerate() {
                    let first = l[0] * x[0][j] + l[1] * x[1][j];
                    let second = l[2] * x[2][j] + l[3] * x[3][j];
                    *now -= first + second;
                }
            }
            for (x, l) in ones.iter().zip(ones_by) {
                axpy(-*l, x, now);
            }
            if divide {
                for now in now.iter_mut() {
                    *now /= row[i];
                }
            }
        }
    }
}
