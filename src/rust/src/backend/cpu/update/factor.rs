//! Rank-k updates and downdates of Cholesky factors, by reflections.
//!
//! Of `R'R + V V'` and `R'R - V V'` each row of R takes some columns of V into account by one
//! reflection of the row and these columns. With w the row's part of V and d its diagonal entry
//! without its sign it changes what follows in both as
//!
//! ```text
//! h^2 = d^2 + w'w        up
//! h^2 = d^2 - w'w        down
//! r'  = (d r +- w'v) / h
//! v'  = v - w (r + r') / (d + h)
//! ```
//!
//! an orthogonal or a hyperbolic Householder reflection. As v' is made from r' it is for downdates
//! the mixed form, in which errors do not grow from one to the next (Bojanczyk, Brent, Van Dooren &
//! de Hoog 1987). Of eight columns of V or more eight at a time are one reflection, or four where
//! the processor has few registers.
//!
//! A panel of columns follows the reflections of all rows above, and makes its own, which later
//! panels wait for; each thread takes the next panel when it is done with one. Threads take panels
//! in the order of their columns, so a panel waits only for what some thread is at. Each column is
//! read and written once, from its first row down to its diagonal; see `update/kernels.rs`.

use std::sync::PoisonError;

use super::panels::PanelQueue;
use super::reflections::each_row;
use crate::backend::cpu::matrix::views::{Columns, ColumnsMut};
use crate::base::error::{Error, Result};
use crate::base::matrix::Change;
use crate::base::scalar::{try_zeroed, Scalar};
use crate::base::threads::share;

/// The factor of `R'R + V V'` or `R'R - V V'` in the upper triangle of `r`; the other one is of no
/// account, and stays, and `v` is lost. Its diagonal is positive. Where there is no such factor
/// that is an error with the order of the minor, and `r` is lost, too.
pub(crate) fn update<T: Scalar>(
    change: Change,
    r: ColumnsMut<'_, T>,
    v: ColumnsMut<'_, T>,
    threads: usize,
) -> Result<()> {
    let mut all = Reflections::new(change, v.nrows(), v.ncols())?;
    change_columns(&mut all, 0, None, r, v, threads)
}

/// As [`update`], of the upper triangle of `from`; `r` gets it, and is zero below the diagonal. A
/// number that is not finite, or a zero on the diagonal, is an error.
pub(crate) fn update_from<T: Scalar>(
    change: Change,
    from: Columns<'_, T>,
    r: ColumnsMut<'_, T>,
    v: ColumnsMut<'_, T>,
    threads: usize,
) -> Result<()> {
    let mut all = Reflections::new(change, v.nrows(), v.ncols())?;
    change_columns(&mut all, 0, Some(from), r, v, threads)
}

/// The reflections of the rows of a factor whose columns are changed panel by panel.
pub struct Reflections<T> {
    change: Change,
    columns: usize,
    /// Coefficients, of each row as many, and room for those of all rows.
    made: Vec<T>,
    each: usize,
    /// Rows that have theirs.
    rows: usize,
}

impl<T: Scalar> Reflections<T> {
    pub(crate) fn new(change: Change, order: usize, columns: usize) -> Result<Self> {
        let each = each_row::<T>(columns);
        Ok(Reflections {
            change,
            columns,
            made: try_zeroed(order * each)?,
            each,
            rows: 0,
        })
    }

    /// Whether a panel comes next that has so many rows, and columns from `first` on, and so many
    /// columns of V.
    pub(crate) fn expects(&self, first: usize, rows: usize, columns: usize) -> bool {
        let known = self.columns == 0 || self.rows == first;
        known && rows * self.each <= self.made.len() && columns == self.columns
    }
}

/// Changes the columns of a factor from `first` on, down to the diagonal, and their rows of V: by
/// the reflections of the rows above, which are there, then by their own, which join them. As in
/// [`update`] nothing is of use after an error.
pub(crate) fn change_panel<T: Scalar>(
    all: &mut Reflections<T>,
    first: usize,
    r: ColumnsMut<'_, T>,
    v: ColumnsMut<'_, T>,
    threads: usize,
) -> Result<()> {
    change_columns(all, first, None, r, v, threads)
}

fn change_columns<T: Scalar>(
    all: &mut Reflections<T>,
    first: usize,
    from: Option<Columns<'_, T>>,
    r: ColumnsMut<'_, T>,
    v: ColumnsMut<'_, T>,
    threads: usize,
) -> Result<()> {
    let (columns, k) = v.shape();
    if k == 0 || columns == 0 {
        return Ok(());
    }
    let each = all.each;
    let (before, rest) = all.made.split_at_mut(first * each);
    let new = &mut rest[..columns * each];
    all.rows = first + columns;
    let work = PanelQueue::new((all.change, each), before, new, from, r, v);
    let entries = (first + columns / 2) as f64 * columns as f64;
    let threads = share(threads, entries * (k as f64 + FIXED) * EACH);
    let threads = threads.min(work.panels());
    if threads < 2 {
        work.run();
    } else {
        rayon::in_place_scope(|scope| {
            for _ in 1..threads {
                scope.spawn(|_| work.run());
            }
            work.run();
        });
    }
    let failed = work.failed.into_inner();
    match failed.unwrap_or_else(PoisonError::into_inner) {
        None => Ok(()),
        Some((_, Error::NotPositiveDefinite { order })) => Err(Error::NotPositiveDefinite {
            order: first + order,
        }),
        Some((_, e)) => Err(e),
    }
}

/// Multiplications for an entry and a column of V, and what an entry takes besides, in columns.
const EACH: f64 = 2.0;
const FIXED: f64 = 8.0;
