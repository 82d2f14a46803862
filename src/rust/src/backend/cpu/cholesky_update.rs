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
//! The rotations of a block of rows are found first, in the columns where these rows begin; then they go over the other columns, some at a time, transposed, so that
//! entries of one row lie beside one another, while four columns of V at a time stay in the processor's registers.

use super::rotations::{each_row, rotation, turn, turned, Rotation, Rotations, BLOCK, FEW};
use super::ColumnsMut;
use crate::error::{Error, Result};
use crate::interrupt;
use crate::matrix::Change;
use crate::scalar::Scalar;
use crate::threads::{batch, join, pieces, share};

/// So many where V has few columns, see [`block`].
const LONG: usize = 1024;
/// Rows of those whose rotations are found one by one.
const FOUND: usize = 16;
/// Columns of R that a thread changes, at least.
const PIECE: usize = 128;

/// The factor of `R'R + V V'` or `R'R - V V'` in the upper triangle of `r`; the other one is neither read nor written, and `v` is lost. Its diagonal is
/// positive. Where there is no such factor that is an error with the order of the minor, and `r` is lost, too.
pub(crate) fn update<T: Scalar>(
    change: Change,
    r: ColumnsMut<'_, T>,
    v: ColumnsMut<'_, T>,
    threads: usize,
) -> Result<()> {
    change_triangle(change, r, v, 0, None, threads)
}

/// The rotations of the rows of a factor whose columns are changed panel by panel.
pub struct Reflections<T> {
    change: Change,
    order: usize,
    columns: usize,
    rotations: Rotations<T>,
}

impl<T: Scalar> Reflections<T> {
    pub(super) fn new(change: Change, order: usize, columns: usize) -> Result<Self> {
        Ok(Reflections {
            change,
            order,
            columns,
            rotations: Rotations::new(order, columns)?,
        })
    }

    /// Whether a panel comes next that has so many rows, and columns from `first` on, and so many columns of V.
    pub(super) fn expects(&self, first: usize, rows: usize, columns: usize) -> bool {
        let known = self.columns == 0 || self.rotations.rows() == first;
        known && rows <= self.order && columns == self.columns
    }
}

/// Changes the columns of a factor from `first` on, down to the diagonal, and their rows of V: by the rotations of the rows above, which are there, then by their own, which
/// join them. As in [`update`] nothing is of use after an error.
pub(super) fn change_panel<T: Scalar>(
    all: &mut Reflections<T>,
    first: usize,
    mut panel: ColumnsMut<'_, T>,
    mut v: ColumnsMut<'_, T>,
    threads: usize,
) -> Result<()> {
    let (columns, k) = v.shape();
    if k == 0 || columns == 0 {
        return Ok(());
    }
    let change = all.change;
    let a_row = columns * k * 4;
    let together = batch(threads, a_row).next_multiple_of(LONG);
    for start in (0..first).step_by(together) {
        interrupt::poll()?;
        let height = together.min(first - start);
        let work = height as f64 * a_row as f64;
        let (_, all_pieces) = pieces(share(threads, work));
        let rows = panel.as_mut().subrows_mut(start, height);
        let rotations = all.rotations.from(start);
        turn_all(change, rotations, rows, v.as_mut(), all_pieces);
    }
    let corner = panel.subrows_mut(first, columns);
    change_triangle(change, corner, v, first, Some(&mut all.rotations), threads)
}

/// The rotations of a square block on the diagonal, which begins at row `from` of the factor; they join those to be kept.
fn change_triangle<T: Scalar>(
    change: Change,
    mut r: ColumnsMut<'_, T>,
    mut v: ColumnsMut<'_, T>,
    from: usize,
    mut kept: Option<&mut Rotations<T>>,
    threads: usize,
) -> Result<()> {
    let (n, k) = v.shape();
    if k == 0 {
        return Ok(());
    }
    let block = block(k);
    let first = block.min(n);
    let mut now = Rotations::new(first, k)?;
    let mut next = Rotations::new(first, k)?;
    let corner = r.as_mut().submatrix_mut(0, 0, first, first);
    find(
        change,
        corner,
        v.as_mut().subrows_mut(0, first),
        from,
        &mut now,
    )?;
    for start in (0..n).step_by(block) {
        interrupt::poll()?;
        if let Some(kept) = &mut kept {
            kept.append(&now);
        }
        let end = (start + block).min(n);
        let (height, ahead) = (end - start, (n - end).min(block));
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
                next.clear();
                find(change, corner, near_v, from + end, &mut next)
            },
            |_| turn_all(change, now.from(0), far, far_v, beside),
        );
        found?;
        std::mem::swap(&mut now, &mut next);
    }
    Ok(())
}

/// The rotations of the rows of a square block on the diagonal, which begins at so many rows; the block is changed by them. They come after those that are there.
fn find<T: Scalar>(
    change: Change,
    r: ColumnsMut<'_, T>,
    v: ColumnsMut<'_, T>,
    start: usize,
    rotations: &mut Rotations<T>,
) -> Result<()> {
    let n = v.nrows();
    if n <= FOUND {
        return find_few(change, r, v, start, rotations);
    }
    let half = (n / 2).next_multiple_of(FOUND);
    let first = rotations.rows();
    let (left, right) = r.split_at_col_mut(half);
    let (above, below) = right.split_at_row_mut(half);
    let (v, mut rest) = v.split_at_row_mut(half);
    find(change, left.subrows_mut(0, half), v, start, rotations)?;
    turn(change, rotations.from(first), above, rest.as_mut());
    find(change, below, rest, start + half, rotations)
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
            rotations.push(rotation);
        }
        rotations.end_row();
    }
    Ok(())
}

/// Rows whose rotations go over all other columns at once.
fn block(k: usize) -> usize {
    if k < FEW {
        LONG
    } else {
        BLOCK
    }
}

/// In so many pieces, for several threads, and the rows in blocks.
fn turn_all<T: Scalar>(
    change: Change,
    rotations: &[Rotation<T>],
    r: ColumnsMut<'_, T>,
    v: ColumnsMut<'_, T>,
    pieces: usize,
) {
    let half = (r.ncols() / 2).next_multiple_of(PIECE);
    if pieces < 2 || half >= r.ncols() {
        let (mut r, mut v) = (r, v);
        let (rows, k) = (r.nrows(), v.ncols());
        for start in (0..rows).step_by(block(k)) {
            let height = block(k).min(rows - start);
            let block = r.as_mut().subrows_mut(start, height);
            turn(change, &rotations[start * each_row(k)..], block, v.as_mut());
        }
        return;
    }
    let (r, others) = r.split_at_col_mut(half);
    let (v, of_others) = v.split_at_row_mut(half);
    rayon::join(
        || turn_all(change, rotations, r, v, pieces / 2),
        || turn_all(change, rotations, others, of_others, pieces - pieces / 2),
    );
}
