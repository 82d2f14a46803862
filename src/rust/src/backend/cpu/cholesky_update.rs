//! Rank-k updates and downdates of Cholesky factors, by plane rotations.
//!
//! Of `R'R + V V'` and `R'R - V V'` each row of R takes each column of V into account by one rotation of the row and that column. One changes what follows in
//! both as (Golub & Van Loan, Matrix Computations, 4th ed., section 6.5.4)
//!
//! ```text
//! up:    r' = c r + s v,     v' = c v - s r       with c = r_ii / h, s = v_i / h, h^2 = r_ii^2 + v_i^2
//! down:  r' = (r - s v) / c, v' = c v - s r'      with c = h / r_ii, s = v_i / r_ii, h^2 = r_ii^2 - v_i^2
//! ```
//!
//! The second one is the mixed form of the hyperbolic rotation, in which errors do not grow from one to the next (Bojanczyk, Brent, Van Dooren & de Hoog 1987).
//! The rotations of a block of rows are found first, in the columns where these rows begin; then they go over the other columns, some at a time, of which
//! four columns of V at a time stay in the processor's registers.

use super::vector::vectorized;
use super::ColumnsMut;
use crate::error::{Error, Result};
use crate::interrupt;
use crate::matrix::Change;
use crate::scalar::Scalar;
use crate::threads::{join, pieces, share};

/// Rows whose rotations go over all other columns at once: enough that little time goes into finding where the columns are.
const BLOCK: usize = 128;
/// Rows of those whose rotations are found together.
const FOUND: usize = 16;
/// Columns of R that are changed together.
const LANES: usize = 16;
/// Columns of R that a thread changes, at least.
const PIECE: usize = 128;
/// Columns of V that are at once in registers.
const HELD: usize = 4;

/// A plane rotation: c and s, and 1 / c for a downdate.
#[derive(Clone, Copy)]
struct Rotation<T> {
    c: T,
    s: T,
    by: T,
}

/// The rotations of some rows, each with those of all columns of V, and with rotations by nothing up to a multiple of [`HELD`].
struct Rotations<T> {
    all: Vec<Rotation<T>>,
    /// Of each row.
    each: usize,
}

impl<T: Scalar> Rotations<T> {
    fn new(rows: usize, columns: usize) -> Result<Self> {
        let each = columns.next_multiple_of(HELD);
        let mut all = Vec::new();
        let room = rows * each;
        all.try_reserve_exact(room).map_err(|_| Error::HostMemory {
            needed: (room * size_of::<Rotation<T>>()) as u64,
        })?;
        Ok(Rotations { all, each })
    }

    fn end_row(&mut self) {
        let (one, zero) = (T::from_f64(1.0), T::from_f64(0.0));
        let none = Rotation {
            c: one,
            s: zero,
            by: one,
        };
        let end = self.all.len().next_multiple_of(self.each.max(1));
        self.all.resize(end, none);
    }

    /// Those of the rows from `row` on.
    fn from(&self, row: usize) -> &[Rotation<T>] {
        &self.all[row * self.each..]
    }
}

/// The factor of `R'R + V V'` or `R'R - V V'` in the upper triangle of `r`; the other one is neither read nor written, and `v` is lost. Its diagonal is
/// positive. Where there is no such factor that is an error with the order of the minor, and `r` is lost, too.
pub(crate) fn update<T: Scalar>(
    change: Change,
    mut r: ColumnsMut<'_, T>,
    mut v: ColumnsMut<'_, T>,
    threads: usize,
) -> Result<()> {
    let (n, k) = v.shape();
    if k == 0 {
        return Ok(());
    }
    let mut now = Rotations::new(BLOCK.min(n), k)?;
    let mut next = Rotations::new(BLOCK.min(n), k)?;
    let first = BLOCK.min(n);
    let corner = r.as_mut().submatrix_mut(0, 0, first, first);
    find(
        change,
        corner,
        v.as_mut().subrows_mut(0, first),
        0,
        &mut now,
    )?;
    for start in (0..n).step_by(BLOCK) {
        interrupt::poll()?;
        let end = (start + BLOCK).min(n);
        let (height, ahead) = (end - start, (n - end).min(BLOCK));
        let work = (n - end) as f64 * (height * k) as f64 * 4.0;
        let right = r.as_mut().subcols_mut(end, n - end);
        let (near, far) = right.split_at_col_mut(ahead);
        let below = v.as_mut().subrows_mut(end, n - end);
        let (mut near_v, far_v) = below.split_at_row_mut(ahead);
        let (mut near, far) = (near, far.subrows_mut(start, height));
        let threads = share(threads, work);
        let (beside, _) = pieces(threads);
        let (found, ()) = join(
            threads,
            // The next block's rotations, while others wait for this one's.
            |_| {
                let rows = near.as_mut().subrows_mut(start, height);
                turn(change, now.from(0), rows, near_v.as_mut());
                let corner = near.subrows_mut(end, ahead);
                find(change, corner, near_v, end, &mut next)
            },
            |_| turn_all(change, now.from(0), far, far_v, beside),
        );
        found?;
        std::mem::swap(&mut now, &mut next);
    }
    Ok(())
}

/// The rotations of the rows of a square block on the diagonal, which begins at so many rows; the block is changed by them.
fn find<T: Scalar>(
    change: Change,
    mut r: ColumnsMut<'_, T>,
    mut v: ColumnsMut<'_, T>,
    start: usize,
    rotations: &mut Rotations<T>,
) -> Result<()> {
    rotations.all.clear();
    let n = v.nrows();
    for first in (0..n).step_by(FOUND) {
        let end = (first + FOUND).min(n);
        let height = end - first;
        let corner = r.as_mut().submatrix_mut(first, first, height, height);
        let rows = v.as_mut().subrows_mut(first, height);
        find_few(change, corner, rows, start + first, rotations)?;
        let rest = r.as_mut().submatrix_mut(first, end, height, n - end);
        turn(
            change,
            rotations.from(first),
            rest,
            v.as_mut().subrows_mut(end, n - end),
        );
    }
    Ok(())
}

fn find_few<T: Scalar>(
    change: Change,
    mut r: ColumnsMut<'_, T>,
    mut v: ColumnsMut<'_, T>,
    start: usize,
    rotations: &mut Rotations<T>,
) -> Result<()> {
    let (n, k) = v.shape();
    for i in 0..n {
        for t in 0..k {
            let Some((rotation, diagonal)) = rotation(change, r[(i, i)], v[(i, t)]) else {
                let order = start + i + 1;
                return Err(Error::NotPositiveDefinite { order });
            };
            r[(i, i)] = diagonal;
            let column = v.as_mut().col_mut(t).as_slice_mut();
            for (j, v) in column.iter_mut().enumerate().skip(i + 1) {
                let r = &mut r[(i, j)];
                (*r, *v) = match change {
                    Change::Up => turned::<T, 0>(rotation, *r, *v),
                    Change::Down => turned::<T, 1>(rotation, *r, *v),
                };
            }
            rotations.all.push(rotation);
        }
        rotations.end_row();
    }
    Ok(())
}

/// Where nothing is lost of a sum of squares.
const NORMAL: std::ops::Range<f64> = 1e-280..1e300;

/// The rotation that takes v into r, and what becomes of r; none where nothing greater than zero does.
fn rotation<T: Scalar>(change: Change, r: T, v: T) -> Option<(Rotation<T>, T)> {
    let (r, v): (f64, f64) = (r.into(), v.into());
    let h = match change {
        Change::Up => {
            let squares = r * r + v * v;
            if NORMAL.contains(&squares) {
                squares.sqrt()
            } else {
                r.hypot(v)
            }
        }
        Change::Down => {
            let (less, more) = (r.abs() - v.abs(), r.abs() + v.abs());
            if NORMAL.contains(&(less * more)) {
                (less * more).sqrt()
            } else {
                less.sqrt() * more.sqrt()
            }
        }
    };
    if !(h > 0.0 && h < f64::INFINITY) {
        return None;
    }
    let (c, s) = match change {
        Change::Up => (r / h, v / h),
        Change::Down => (h / r, v / r),
    };
    let of = T::from_f64;
    let rotation = Rotation {
        c: of(c),
        s: of(s),
        by: of(1.0 / c),
    };
    Some((rotation, of(h)))
}

#[inline(always)]
fn turned<T: Scalar, const DOWN: usize>(rotation: Rotation<T>, r: T, v: T) -> (T, T) {
    let Rotation { c, s, by } = rotation;
    if DOWN == 0 {
        (s.fused(v, c * r), (-s).fused(r, c * v))
    } else {
        let r = (-s).fused(v, r) * by;
        (r, (-s).fused(r, c * v))
    }
}

/// In so many pieces, for several threads.
fn turn_all<T: Scalar>(
    change: Change,
    rotations: &[Rotation<T>],
    r: ColumnsMut<'_, T>,
    v: ColumnsMut<'_, T>,
    pieces: usize,
) {
    let half = (r.ncols() / 2).next_multiple_of(PIECE);
    if pieces < 2 || half >= r.ncols() {
        return turn(change, rotations, r, v);
    }
    let (r, others) = r.split_at_col_mut(half);
    let (v, of_others) = v.split_at_row_mut(half);
    rayon::join(
        || turn_all(change, rotations, r, v, pieces / 2),
        || turn_all(change, rotations, others, of_others, pieces - pieces / 2),
    );
}

/// Turns rows, and the columns of V, beyond where the rotations were found.
fn turn<T: Scalar>(
    change: Change,
    rotations: &[Rotation<T>],
    r: ColumnsMut<'_, T>,
    v: ColumnsMut<'_, T>,
) {
    match change {
        Change::Up => turn_rows([], rotations, r, v),
        Change::Down => turn_rows([()], rotations, r, v),
    }
}

vectorized! {
    /// `down` has no elements or one.
    fn turn_rows<'a, T, const DOWN>(
        _down: [(); DOWN],
        rotations: &'a [Rotation<T>],
        r: ColumnsMut<'a, T>,
        v: ColumnsMut<'a, T>,
    ) {
        let (rows, columns) = r.shape();
        let k = v.ncols();
        let each = k.next_multiple_of(HELD);
        let (mut r, mut v) = (r, v);
        let zero = T::from_f64(0.0);
        let mut block = [[zero; LANES]; BLOCK];
        for first in (0..columns).step_by(LANES) {
            let width = LANES.min(columns - first);
            let mut r = r.as_mut().subcols_mut(first, width);
            for l in 0..width {
                for (row, x) in block.iter_mut().zip(r.as_ref().col(l).as_slice()) {
                    row[l] = *x;
                }
            }
            for t in (0..k).step_by(HELD) {
                let mut held = [[zero; LANES]; HELD];
                for (u, held) in held.iter_mut().enumerate().take(k - t) {
                    held[..width].copy_from_slice(&v.as_ref().col(t + u).as_slice()[first..first + width]);
                }
                let [mut a, mut b, mut c, mut d] = held;
                for (row, rotations) in block[..rows].iter_mut().zip(rotations.chunks_exact(each)) {
                    if let [q, s, t, u] = rotations[t..t + HELD] {
                        let mut x = *row;
                        for l in 0..LANES {
                            (x[l], a[l]) = turned::<T, DOWN>(q, x[l], a[l]);
                        }
                        for l in 0..LANES {
                            (x[l], b[l]) = turned::<T, DOWN>(s, x[l], b[l]);
                        }
                        for l in 0..LANES {
                            (x[l], c[l]) = turned::<T, DOWN>(t, x[l], c[l]);
                        }
                        for l in 0..LANES {
                            (x[l], d[l]) = turned::<T, DOWN>(u, x[l], d[l]);
                        }
                        *row = x;
                    }
                }
                for (u, held) in [a, b, c, d].iter().enumerate().take(k - t) {
                    v.as_mut().col_mut(t + u).as_slice_mut()[first..first + width].copy_from_slice(&held[..width]);
                }
            }
            for l in 0..width {
                for (row, x) in block.iter().zip(r.as_mut().col_mut(l).as_slice_mut()) {
                    *x = row[l];
                }
            }
        }
    }
}
