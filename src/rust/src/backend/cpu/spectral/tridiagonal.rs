//! Householder reduction of a symmetric matrix to tridiagonal form.
//!
//! ```text
//! for each column j:
//!     subtract v w' + w v' of the previous step from column j
//!     x = the vector of the reflection of its rows j + 1 and below
//!     subtract v w' + w v' from the other columns, and y = their product with x, in one pass
//!     v, w = x, tau y - tau^2 (y'x) x / 2
//! ```
//!
//! A pass reads and writes each entry of the lower triangle once, for eight operations. LAPACK's
//! panels do not write, but correct each product. Up to order 2048 that took longer on one thread.

use faer::{MatMut, MatRef};

use super::columns::{add, finish_pair, reflector, subtract_two};
use super::lines::{line_of, padded, Lines};
use super::tridiagonal_pass::{UpdateTimes, GROUP};
use crate::backend::cpu::matrix::views::{columns_mut, not_column_major};
use crate::backend::cpu::qr::factor::ormqr;
use crate::base::error::Result;
use crate::base::interrupt;
use crate::base::matrix::Trans;
use crate::base::scalar::{try_zeroed, Scalar};
use crate::base::simd::dispatch;
use crate::base::threads::{join, share};

/// Steps between two checks for interrupts.
const BATCH: usize = 8;

/// Orders of the trailing matrix from which a pass has two, four or eight parts. Each part has a
/// sum of products; they cost less than a hundredth of the pass.
const PART: usize = 384;
const MOST_PARTS: usize = 8;

/// The order of the trailing matrix from which a pass keeps two threads busy for longer than it
/// takes to wake one.
const SHARED: usize = 768;

/// `A = Q T Q'` with a tridiagonal T.
#[derive(Debug)]
pub(super) struct Reduced<T> {
    pub diagonal: Vec<T>,
    pub off: Vec<T>,
    /// The vectors of the reflections of Q, with first entry one in row j + 1 of column j, if they
    /// were wanted.
    v: Lines<T>,
    tau: Vec<T>,
}

impl<T: Scalar> Reduced<T> {
    /// `Z <- Q Z`.
    pub(super) fn turn_back(&self, z: MatMut<'_, T>, threads: usize) -> Result<()> {
        let (n, below) = (self.diagonal.len(), self.tau.len());
        let all = MatRef::from_column_major_slice_with_stride(self.v.all(), n, n, self.v.stride());
        let v = all.try_as_col_major().ok_or_else(not_column_major)?;
        let z = columns_mut(z)?.subrows_mut(n - below, below);
        ormqr(
            Trans::No,
            v.submatrix(n - below, 0, below, below),
            &self.tau,
            z,
            threads,
        )
    }
}

/// Reduces `a`, whose lower triangle is read, and keeps the reflections if they are `wanted`. The
/// number of threads does not change a bit.
pub(super) fn reduce<T: Scalar>(
    a: MatRef<'_, T>,
    threads: usize,
    wanted: bool,
) -> Result<Reduced<T>> {
    let (n, zero) = (a.ncols(), T::from_f64(0.0));
    let rows = padded::<T>(n);
    let threads = share(threads, (n as f64).powi(3));
    let (mut diagonal, mut off) = (try_zeroed(n)?, try_zeroed(n.saturating_sub(1))?);
    let mut tau = try_zeroed(n.saturating_sub(1))?;
    let mut work = copied(a)?;
    let mut v = Lines::<T>::zeroed(n, 1)?;
    let mut w = Lines::<T>::zeroed(n, 1)?;
    let mut x = Lines::<T>::zeroed(n, 1)?;
    let mut sums = Lines::<T>::zeroed(n, parts(n))?;
    for j in 0..n {
        if j % BATCH == 0 {
            interrupt::poll()?;
        }
        let top = line_of::<T>(j);
        let active = top..rows;
        let (vj, wj) = (v.at(j, 0), w.at(j, 0));
        let column = work.part_mut(j, active.clone());
        subtract_two(
            column,
            wj,
            v.part(0, active.clone()),
            vj,
            w.part(0, active.clone()),
        );
        diagonal[j] = column[j - top];
        if j + 1 == n {
            break;
        }
        let next = x.part_mut(0, active.clone());
        next.copy_from_slice(column);
        next[..=j - top].fill(zero);
        (off[j], tau[j]) = reflector(&mut next[j + 1 - top..n - top]);
        let parts = parts(n - j);
        for k in 0..parts {
            sums.part_mut(k, active.clone()).fill(zero);
        }
        let (stride, each) = (work.stride(), sums.stride());
        let first = j + 1 - (j + 1) % GROUP;
        let pass = Pass {
            stride,
            each,
            v: v.part(0, 0..rows),
            w: w.part(0, 0..rows),
            x: x.part(0, 0..rows),
            backward: j % 2 == 1,
        };
        pass.run(
            &mut work.all_mut()[first * stride..],
            (first, rows),
            &mut sums.all_mut()[..parts * each],
            if n - j < SHARED { 1 } else { threads },
        );
        // The pair of this step replaces that of the previous one.
        let y = w.part_mut(0, active.clone());
        y.copy_from_slice(sums.part(0, active.clone()));
        for k in 1..parts {
            add(y, sums.part(k, active.clone()));
        }
        y[..=j - top].fill(zero);
        finish_pair(tau[j], x.part(0, active.clone()), y);
        if wanted {
            // No later step changes the column, since its pair is zero there.
            work.part_mut(j, active.clone())
                .copy_from_slice(x.part(0, active));
        }
        std::mem::swap(&mut v, &mut x);
    }
    Ok(Reduced {
        diagonal,
        off,
        v: work,
        tau,
    })
}

/// The parts of a pass over a trailing matrix of this order. They depend on nothing else, so that
/// any number of threads gives the same bits.
fn parts(order: usize) -> usize {
    match order / PART {
        0 | 1 => 1,
        several => (several.next_power_of_two()).min(MOST_PARTS),
    }
}

/// The lower triangle, and both triangles of the diagonal blocks.
fn copied<T: Scalar>(a: MatRef<'_, T>) -> Result<Lines<T>> {
    let n = a.ncols();
    let mut to = Lines::zeroed(n, padded::<T>(n))?;
    for j in 0..n {
        for (i, x) in (j..n).zip(to.part_mut(j, j..n)) {
            *x = a[(i, j)];
        }
        for i in line_of::<T>(j)..j {
            let mirrored = to.at(j, i);
            to.part_mut(j, i..i + 1)[0] = mirrored;
        }
    }
    Ok(to)
}

/// What one step gives to all parts of its pass.
struct Pass<'a, T> {
    /// Entries from one column of the matrix to the next, and from one sum to the next.
    stride: usize,
    each: usize,
    v: &'a [T],
    w: &'a [T],
    x: &'a [T],
    backward: bool,
}

impl<T: Scalar> Pass<'_, T> {
    /// Updates some columns, with which `a` begins, and adds their products to the sums.
    fn run(&self, a: &mut [T], (first, last): (usize, usize), sums: &mut [T], threads: usize) {
        let parts = sums.len() / self.each;
        if parts == 1 {
            return dispatch::<T, _>(UpdateTimes {
                a,
                stride: self.stride,
                columns: (first, last),
                v: self.v,
                w: self.w,
                x: self.x,
                y: &mut sums[..self.x.len()],
                backward: self.backward,
            });
        }
        // Halves of equal area.
        let kept = (last - first) as f64 * 0.5_f64.sqrt();
        let middle = last - (kept as usize).next_multiple_of(GROUP).min(last - first);
        let (a1, a2) = a.split_at_mut((middle - first) * self.stride);
        let (sums1, sums2) = sums.split_at_mut(parts / 2 * self.each);
        let front = |threads| self.run(a1, (first, middle), sums1, threads);
        let back = |threads| self.run(a2, (middle, last), sums2, threads);
        if self.backward {
            join(threads, back, front);
        } else {
            join(threads, front, back);
        }
    }
}
