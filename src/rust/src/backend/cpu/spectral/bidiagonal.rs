//! Householder reduction of a matrix with no more columns than rows to upper bidiagonal form.
//!
//! ```text
//! for each column j:
//!     subtract v y' + x u' of the previous step from column j, and reflect it: v2, tau
//!     in one pass over the columns c to the right:
//!         subtract v y' + x u';  y2_c = tau a_c'v2;  r_c = a_jc - y2_c;  z += r_c a_c
//!     reflect the row r, which is r - beta e1 = (r_1 - beta) u2
//!     x2 = A u2 = (z - beta a_1) / (r_1 - beta) - v2 (y2'u2), times the factor of the reflection
//! ```
//!
//! The product with the row's reflection comes from that with the row, so that a step reads and
//! writes each entry once. Nothing cancels, since beta has the other sign than `r_1`: the error of
//! `z` is relative to `||A|| ||r||`, and `|r_1 - beta| >= ||r||`.

use faer::MatRef;

use super::bidiagonal_pass::{UpdateBoth, GROUP};
use super::columns::{add, finish_product, inner, reflector, subtract_two};
use super::lines::{line_of, padded, Lines};
use crate::base::error::Result;
use crate::base::interrupt;
use crate::base::scalar::{try_zeroed, Scalar};
use crate::base::simd::dispatch;
use crate::base::threads::{join, share};

/// Steps between two checks for interrupts.
const BATCH: usize = 8;

/// Entries of the trailing matrix from which a pass has two, four or eight parts, each with a sum
/// of products.
const PART: usize = 1 << 17;
const MOST_PARTS: usize = 8;

/// Entries of the trailing matrix from which a pass keeps two threads busy for longer than it takes
/// to wake one.
const SHARED: usize = 1 << 18;

/// The diagonal and the off-diagonal of a bidiagonal matrix with the singular values of `a`. The
/// number of threads does not change a bit of them.
pub(super) fn reduce<T: Scalar>(a: MatRef<'_, T>, threads: usize) -> Result<(Vec<T>, Vec<T>)> {
    let (m, n) = a.shape();
    let zero = T::from_f64(0.0);
    let (rows, columns) = (padded::<T>(m), padded::<T>(n));
    let threads = share(threads, m as f64 * (n as f64).powi(2));
    let (mut diagonal, mut off) = (try_zeroed(n)?, try_zeroed(n.saturating_sub(1))?);
    let mut work = copied(a)?;
    // Columns of length m and rows of length n: of the previous step, and of this one.
    let mut v = Lines::<T>::zeroed(m, 1)?;
    let mut v2 = Lines::<T>::zeroed(m, 1)?;
    let mut x = Lines::<T>::zeroed(m, 1)?;
    let mut sums = Lines::<T>::zeroed(m, parts(m, n))?;
    let mut y = Lines::<T>::zeroed(n, 1)?;
    let mut y2 = Lines::<T>::zeroed(n, 1)?;
    let mut u = Lines::<T>::zeroed(n, 1)?;
    let mut u2 = Lines::<T>::zeroed(n, 1)?;
    for j in 0..n {
        if j % BATCH == 0 {
            interrupt::poll()?;
        }
        let top = line_of::<T>(j);
        let active = top..rows;
        let column = v2.part_mut(0, active.clone());
        column.copy_from_slice(work.part(j, active.clone()));
        let (yj, uj) = (y.at(j, 0), u.at(j, 0));
        let (old_v, old_x) = (v.part(0, active.clone()), x.part(0, active.clone()));
        subtract_two(column, yj, old_v, uj, old_x);
        column[..j - top].fill(zero);
        let (alpha, tau) = reflector(&mut column[j - top..m - top]);
        diagonal[j] = alpha;
        if j + 1 == n {
            break;
        }
        let parts = parts(m - j, n - j);
        for k in 0..parts {
            sums.part_mut(k, active.clone()).fill(zero);
        }
        let (stride, each) = (work.stride(), sums.stride());
        let first = j + 1 - (j + 1) % GROUP;
        let pass = Pass {
            stride,
            each,
            rows: (top, rows),
            step: j,
            v: v.part(0, active.clone()),
            x: x.part(0, active.clone()),
            new: v2.part(0, active.clone()),
            tau,
            backward: j % 2 == 1,
        };
        pass.run(
            Part {
                a: &mut work.all_mut()[first * stride..columns * stride],
                y: y.part(0, first..columns),
                u: u.part(0, first..columns),
                new_y: y2.part_mut(0, first..columns),
                row: u2.part_mut(0, first..columns),
                sums: &mut sums.all_mut()[..parts * each],
                first,
            },
            if (m - j) * (n - j) < SHARED {
                1
            } else {
                threads
            },
        );
        let row = u2.part_mut(0, j + 1..n);
        let head = row[0];
        let (beta, factor) = reflector(row);
        off[j] = beta;
        let inner = inner(y2.part(0, j + 1..n), u2.part(0, j + 1..n));
        let z = x.part_mut(0, active.clone());
        z.copy_from_slice(sums.part(0, active.clone()));
        for k in 1..parts {
            add(z, sums.part(k, active.clone()));
        }
        if factor == zero {
            z.fill(zero);
        } else {
            let scale = factor / (head - beta);
            let first = work.part(j + 1, active.clone());
            let new = v2.part(0, active);
            finish_product(z, scale, -scale * beta, first, -factor * inner, new);
            z[..=j - top].fill(zero);
        }
        std::mem::swap(&mut v, &mut v2);
        std::mem::swap(&mut y, &mut y2);
        std::mem::swap(&mut u, &mut u2);
    }
    Ok((diagonal, off))
}

/// The parts of a pass over a trailing matrix of these dimensions. They depend on nothing else, so
/// that any number of threads gives the same bits.
fn parts(m: usize, n: usize) -> usize {
    match m * n / PART {
        0 | 1 => 1,
        several => several.next_power_of_two().min(MOST_PARTS),
    }
}

fn copied<T: Scalar>(a: MatRef<'_, T>) -> Result<Lines<T>> {
    let (m, n) = a.shape();
    let mut to = Lines::zeroed(m, padded::<T>(n))?;
    for j in 0..n {
        for (i, x) in to.part_mut(j, 0..m).iter_mut().enumerate() {
            *x = a[(i, j)];
        }
    }
    Ok(to)
}

/// What one step gives to all parts of its pass.
struct Pass<'a, T> {
    /// Entries from one column of the matrix to the next, and from one sum to the next.
    stride: usize,
    each: usize,
    /// The active rows, and the row to be reflected.
    rows: (usize, usize),
    step: usize,
    v: &'a [T],
    x: &'a [T],
    new: &'a [T],
    tau: T,
    backward: bool,
}

/// Some columns, from `first` on, with the entries of rows that belong to them.
struct Part<'a, T> {
    a: &'a mut [T],
    y: &'a [T],
    u: &'a [T],
    new_y: &'a mut [T],
    row: &'a mut [T],
    sums: &'a mut [T],
    first: usize,
}

impl<T: Scalar> Pass<'_, T> {
    fn run(&self, part: Part<'_, T>, threads: usize) {
        let parts = part.sums.len() / self.each;
        if parts == 1 {
            return dispatch::<T, _>(UpdateBoth {
                a: part.a,
                stride: self.stride,
                rows: self.rows,
                step: self.step,
                first: part.first,
                v: self.v,
                x: self.x,
                new: self.new,
                tau: self.tau,
                y: part.y,
                u: part.u,
                new_y: part.new_y,
                row: part.row,
                z: &mut part.sums[self.rows.0..self.rows.1],
                backward: self.backward,
            });
        }
        let count = part.y.len();
        let half = (count / 2).next_multiple_of(GROUP).min(count);
        let (a1, a2) = part.a.split_at_mut(half * self.stride);
        let (y1, y2) = part.y.split_at(half);
        let (u1, u2) = part.u.split_at(half);
        let (new_y1, new_y2) = part.new_y.split_at_mut(half);
        let (row1, row2) = part.row.split_at_mut(half);
        let (sums1, sums2) = part.sums.split_at_mut(parts / 2 * self.each);
        let first = Part {
            a: a1,
            y: y1,
            u: u1,
            new_y: new_y1,
            row: row1,
            sums: sums1,
            first: part.first,
        };
        let second = Part {
            a: a2,
            y: y2,
            u: u2,
            new_y: new_y2,
            row: row2,
            sums: sums2,
            first: part.first + half,
        };
        let front = |threads| self.run(first, threads);
        let back = |threads| self.run(second, threads);
        if self.backward {
            join(threads, back, front);
        } else {
            join(threads, front, back);
        }
    }
}
