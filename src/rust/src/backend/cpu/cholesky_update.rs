//! Rank-k updates and downdates of Cholesky factors, by reflections.
//!
//! Of `R'R + V V'` and `R'R - V V'` each row of R takes some columns of V into account by one reflection of the row and these columns. With w the row's part of V and
//! d its diagonal entry without its sign it changes what follows in both as
//!
//! ```text
//! h^2 = d^2 + w'w        up
//! h^2 = d^2 - w'w        down
//! r'  = (d r +- w'v) / h
//! v'  = v - w (r + r') / (d + h)
//! ```
//!
//! an orthogonal or a hyperbolic Householder reflection. As v' is made from r' it is for downdates the mixed form, in which errors do not grow from one to the next (Bojanczyk, Brent, Van
//! Dooren & de Hoog 1987). Of eight columns of V or more eight at a time are one reflection, or four where the processor has few registers.
//!
//! A panel of columns follows the reflections of all rows above, and makes its own, which later panels wait for; each thread takes the next panel when it is done with
//! one. Threads take panels in the order of their columns, so a panel waits only for what some thread is at. Each column is read and written once, from its first
//! row down to its diagonal; see `reflect.rs`.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use super::reflect::{follow, lead};
use super::reflections::each_row;
use super::tile::ROWS;
use super::vector::vectorized;
use super::{Columns, ColumnsMut};
use crate::error::{Error, Result};
use crate::interrupt;
use crate::matrix::Change;
use crate::scalar::Scalar;
use crate::threads::share;

/// The factor of `R'R + V V'` or `R'R - V V'` in the upper triangle of `r`; the other one is of no account, and stays, and `v` is lost. Its diagonal is
/// positive. Where there is no such factor that is an error with the order of the minor, and `r` is lost, too.
pub(crate) fn update<T: Scalar>(
    change: Change,
    r: ColumnsMut<'_, T>,
    v: ColumnsMut<'_, T>,
    threads: usize,
) -> Result<()> {
    let mut all = Reflections::new(change, v.nrows(), v.ncols())?;
    change_columns(&mut all, 0, None, r, v, threads)
}

/// As [`update`], of the upper triangle of `from`; `r` gets it, and is zero below the diagonal. A number that is not finite, or a zero on the diagonal, is an error.
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
    order: usize,
    columns: usize,
    /// Coefficients, of each row as many.
    made: Vec<T>,
    each: usize,
}

impl<T: Scalar> Reflections<T> {
    pub(super) fn new(change: Change, order: usize, columns: usize) -> Result<Self> {
        let each = each_row::<T>(columns);
        let mut made = Vec::new();
        let room = order * each;
        made.try_reserve_exact(room)
            .map_err(|_| Error::HostMemory {
                needed: (room * size_of::<T>()) as u64,
            })?;
        Ok(Reflections {
            change,
            order,
            columns,
            made,
            each,
        })
    }

    /// Whether a panel comes next that has so many rows, and columns from `first` on, and so many columns of V.
    pub(super) fn expects(&self, first: usize, rows: usize, columns: usize) -> bool {
        let known = self.columns == 0 || self.made.len() == first * self.each;
        known && rows <= self.order && columns == self.columns
    }
}

/// Changes the columns of a factor from `first` on, down to the diagonal, and their rows of V: by the reflections of the rows above, which are there, then by their own, which
/// join them. As in [`update`] nothing is of use after an error.
pub(super) fn change_panel<T: Scalar>(
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
    let end = (first + columns) * each;
    all.made.resize(end, T::from_f64(0.0));
    let (before, new) = all.made.split_at_mut(first * each);
    let work = Work::new((all.change, each), before, new, from, r, v);
    let entries = (first + columns / 2) as f64 * columns as f64;
    let threads = share(threads, entries * (k as f64 + FIXED) * EACH);
    let threads = threads.min(work.panels.len());
    if threads < 2 {
        work.run()?;
    } else {
        rayon::in_place_scope(|scope| {
            for _ in 1..threads {
                // Only the user's own thread can be interrupted.
                scope.spawn(|_| drop(work.run()));
            }
            work.run()
        })?;
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

/// Some columns, from the first row down to their diagonal, their rows of V, and where the coefficients go.
struct Panel<'a, T> {
    from: Option<Columns<'a, T>>,
    r: ColumnsMut<'a, T>,
    v: ColumnsMut<'a, T>,
    made: &'a mut [T],
}

struct Work<'a, T> {
    change: Change,
    each: usize,
    /// Those of the rows above all panels.
    before: &'a [T],
    panels: Vec<Mutex<Option<Panel<'a, T>>>>,
    next: AtomicUsize,
    /// Those of panels that are done.
    done: Vec<OnceLock<&'a [T]>>,
    /// Whether somebody has given up.
    stop: AtomicBool,
    /// The first panel that cannot be changed, and why.
    failed: Mutex<Option<(usize, Error)>>,
}

/// Tells the others when its thread panics, for which they would wait.
struct Alarm<'a>(&'a AtomicBool);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

impl<'a, T: Scalar> Work<'a, T> {
    fn new(
        (change, each): (Change, usize),
        before: &'a [T],
        made: &'a mut [T],
        from: Option<Columns<'a, T>>,
        mut r: ColumnsMut<'a, T>,
        mut v: ColumnsMut<'a, T>,
    ) -> Self {
        let mut panels = Vec::new();
        let mut first = 0;
        for made in made.chunks_mut(ROWS * each) {
            let width = made.len() / each;
            let (own_r, rest_r) = r.split_at_col_mut(width);
            let (own_v, rest_v) = v.split_at_row_mut(width);
            (r, v) = (rest_r, rest_v);
            let (r, v) = (own_r, own_v);
            let from = from.map(|from| from.subcols(first, width));
            first += width;
            panels.push(Mutex::new(Some(Panel { from, r, v, made })));
        }
        Work {
            change,
            each,
            before,
            done: panels.iter().map(|_| OnceLock::new()).collect(),
            panels,
            next: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
            failed: Mutex::new(None),
        }
    }

    /// Panel after panel, until there are no more.
    fn run(&self) -> Result<()> {
        let _alarm = Alarm(&self.stop);
        loop {
            if let Err(e) = interrupt::poll() {
                self.stop.store(true, Ordering::Relaxed);
                return Err(e);
            }
            let t = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(panel) = self.panels.get(t) else {
                return Ok(());
            };
            let panel = panel.lock().unwrap_or_else(PoisonError::into_inner).take();
            if panel.and_then(|panel| self.change(t, panel)).is_none() {
                return Ok(());
            }
        }
    }

    /// None where somebody has given up.
    fn change(&self, t: usize, panel: Panel<'a, T>) -> Option<()> {
        let Panel {
            from,
            mut r,
            mut v,
            made,
        } = panel;
        if let Some(from) = from {
            if let Err(e) = copy(from, t * ROWS, r.as_mut()) {
                return self.fail(t, e);
            }
        }
        let mut row = 0;
        let mut above = |coefficients: &[T]| {
            let rows = coefficients.len() / self.each;
            let block = r.as_mut().subrows_mut(row, rows);
            follow(coefficients, self.each, block, v.as_mut());
            row += rows;
        };
        for coefficients in self.before.chunks(ROWS * self.each) {
            if self.stop.load(Ordering::Relaxed) {
                return None;
            }
            above(coefficients);
        }
        for earlier in 0..t {
            above(self.wait(earlier)?);
        }
        let corner = r.subrows_mut(row, v.nrows());
        match lead(self.change, corner, v, self.each, made) {
            Ok(()) => self.done[t].set(made).ok(),
            Err(row) => {
                let order = t * ROWS + row + 1;
                self.fail(t, Error::NotPositiveDefinite { order })
            }
        }
    }

    fn fail(&self, t: usize, e: Error) -> Option<()> {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        if failed.as_ref().is_none_or(|(first, _)| t < *first) {
            *failed = Some((t, e));
        }
        self.stop.store(true, Ordering::Relaxed);
        None
    }

    /// The coefficients of a panel that some thread is at.
    fn wait(&self, t: usize) -> Option<&'a [T]> {
        let mut turns = 0;
        loop {
            if let Some(made) = self.done[t].get() {
                return Some(made);
            }
            if self.stop.load(Ordering::Relaxed) {
                return None;
            }
            turns += 1;
            if turns % 256 == 0 {
                std::thread::yield_now();
            }
            std::hint::spin_loop();
        }
    }
}

/// The upper triangle's part of columns that begin with column `first` of the whole, and zeros below; an error unless it can be that of a factor.
fn copy<T: Scalar>(from: Columns<'_, T>, first: usize, mut to: ColumnsMut<'_, T>) -> Result<()> {
    let zero = T::from_f64(0.0);
    for j in 0..from.ncols() {
        let end = first + j + 1;
        let from = &from.col(j).as_slice()[..end];
        let (above, below) = to.as_mut().col_mut(j).as_slice_mut().split_at_mut(end);
        if !copy_finite(from, above) {
            return Err(Error::NonFiniteIn { argument: "r" });
        }
        if from[end - 1] == zero {
            return Err(Error::Singular { index: end });
        }
        below.fill(zero);
    }
    Ok(())
}

vectorized! {
    /// Whether all are finite: zero times a number is zero, and of all else it is NaN, which a sum keeps.
    fn copy_finite<'a, T>(from: &'a [T], to: &'a mut [T]) -> bool {
        const SIDE: usize = 32;
        let zero = T::from_f64(0.0);
        let mut sums = [zero; SIDE];
        let (parts, rest) = from.as_chunks::<SIDE>();
        let (to, to_rest) = to.as_chunks_mut::<SIDE>();
        for (from, to) in parts.iter().zip(to) {
            for ((sum, x), to) in sums.iter_mut().zip(from).zip(to) {
                *sum = x.fused(zero, *sum);
                *to = *x;
            }
        }
        to_rest.copy_from_slice(rest);
        let rest = rest.iter().fold(zero, |sum, x| x.fused(zero, sum));
        sums.iter().fold(rest, |all, sum| all + *sum) == zero
    }
}
