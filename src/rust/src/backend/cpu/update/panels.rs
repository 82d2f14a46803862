//! Panels of columns of a factor that is changed, as tasks of several threads; see
//! `update/factor.rs`.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use super::kernels::{follow, lead};
use crate::backend::cpu::matrix::transposed_rows::ROWS;
use crate::backend::cpu::matrix::views::{Columns, ColumnsMut};
use crate::base::error::{Error, Result};
use crate::base::interrupt;
use crate::base::matrix::Change;
use crate::base::scalar::Scalar;
use crate::base::simd::vectorized;

/// Some columns, from the first row down to their diagonal, their rows of V, and where the
/// coefficients go.
struct Panel<'a, T> {
    from: Option<Columns<'a, T>>,
    r: ColumnsMut<'a, T>,
    v: ColumnsMut<'a, T>,
    made: &'a mut [T],
}

/// A change of all panels, of which each thread runs as many as it can.
pub(crate) struct PanelQueue<'a, T> {
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
    pub(crate) failed: Mutex<Option<(usize, Error)>>,
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

impl<'a, T: Scalar> PanelQueue<'a, T> {
    pub(crate) fn new(
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
        PanelQueue {
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

    pub(crate) fn panels(&self) -> usize {
        self.panels.len()
    }

    /// Panel after panel, until there are no more. The user's own thread can be interrupted.
    pub(crate) fn run(&self) {
        let _alarm = Alarm(&self.stop);
        loop {
            let t = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(panel) = self.panels.get(t) else {
                return;
            };
            let panel = panel.lock().unwrap_or_else(PoisonError::into_inner).take();
            if panel.and_then(|panel| self.change(t, panel)).is_none() {
                return;
            }
        }
    }

    /// None where somebody has given up, and where the user asks to.
    fn goes_on(&self, t: usize) -> Option<()> {
        if self.stop.load(Ordering::Relaxed) {
            return None;
        }
        match interrupt::poll() {
            Ok(()) => Some(()),
            Err(e) => self.fail(t, e),
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
            self.goes_on(t)?;
            above(coefficients);
        }
        for earlier in 0..t {
            self.goes_on(t)?;
            above(self.wait(earlier)?);
        }
        self.goes_on(t)?;
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
        let mut turns = 0u8;
        loop {
            if let Some(made) = self.done[t].get() {
                return Some(made);
            }
            if self.stop.load(Ordering::Relaxed) {
                return None;
            }
            turns = turns.wrapping_add(1);
            if turns == 0 {
                std::thread::yield_now();
            }
            std::hint::spin_loop();
        }
    }
}

/// The upper triangle's part of columns that begin with column `first` of the whole, and zeros
/// below; an error unless it can be that of a factor.
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
    /// Whether all are finite: zero times a number is zero, and of all else it is NaN, which a sum
    /// keeps.
    fn copy_finite<'a, T>(from: &'a [T], to: &'a mut [T]) -> bool {
        const SIDE: usize = 32;
        let zero = T::from_f64(0.0);
        let mut sums = [zero; SIDE];
        let (parts, rest) = pulp::as_arrays::<SIDE, _>(from);
        let (to, to_rest) = pulp::as_arrays_mut::<SIDE, _>(to);
        for (from, to) in parts.iter().zip(to) {
            for ((sum, x), to) in sums.iter_mut().zip(from).zip(to) {
                *sum += *x * zero;
                *to = *x;
            }
        }
        to_rest.copy_from_slice(rest);
        let rest = rest.iter().fold(zero, |sum, x| sum + *x * zero);
        sums.iter().fold(rest, |all, sum| all + *sum) == zero
    }
}
