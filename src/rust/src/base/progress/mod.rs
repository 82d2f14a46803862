//! Shows the user how far a long computation is.
//!
//! A call says how many operations it has ([`begin`]). Backends add what they have done
//! ([`advance`]); operations of a GPU count when an event behind them has passed ([`mark`],
//! [`reached`]). A call may return before that, and the rest is then not reported. Only the thread
//! that began counts; it also adds the work of other threads. R is told at most five times a
//! second, and not before a delay.
//!
//! A call that works on tiles has a [`phase`], and is reported even while nothing is computed.
//! Bytes that any thread [`Moved`] count by themselves, and [`tick`] is called wherever the thread
//! waits.

mod tiles;

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::{Duration, Instant};

pub use self::tiles::{begin_copy, phase, tick, watch, Moved, OnTiles, Paused};

const INTERVAL: Duration = Duration::from_millis(200);

/// A progress report.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Report {
    /// The share of all operations that is done, from 0 to 1.
    pub share: f64,
    /// Operations per second.
    pub rate: f64,
    /// Estimated seconds to the end; infinite if nothing is done yet.
    pub left: f64,
    /// For a call that works on tiles.
    pub tiles: Option<OnTiles>,
}

/// Shows a report; `None` erases what was shown.
pub type Show = fn(Option<Report>);

struct State {
    show: Show,
    /// Number of the call, different from those before it.
    call: u64,
    total: f64,
    queued: f64,
    done: f64,
    /// Whether queued operations are done later, as on a GPU.
    later: bool,
    /// Whether a [`CountedPart`] counts.
    in_part: bool,
    started: Instant,
    delay: Duration,
    told: Option<Instant>,
    /// None if the call does not work on tiles.
    phase: Option<&'static str>,
    /// The counters that are watched, and the bytes that each had before.
    watched: Vec<(Arc<Moved>, u64)>,
    /// Whether the work is to copy bytes; `total` is then their number.
    copies: bool,
}

impl State {
    fn mark(&self) -> ProgressMark {
        ProgressMark {
            call: self.call,
            queued: self.queued,
        }
    }

    fn bytes(&self) -> u64 {
        let each = self.watched.iter();
        each.map(|(moved, before)| moved.sum() - before).sum()
    }

    /// The report that is due now, if any.
    fn report(&mut self) -> Option<(Show, Report)> {
        let now = Instant::now();
        let elapsed = now.duration_since(self.started);
        let due = self.told.is_none_or(|t| now.duration_since(t) >= INTERVAL);
        if !due || elapsed < self.delay || self.total <= 0.0 {
            return None;
        }
        let bytes = self.bytes();
        let done = if self.copies { bytes as f64 } else { self.done };
        if done <= 0.0 && self.phase.is_none() {
            return None;
        }
        self.told = Some(now);
        let (share, elapsed) = ((done / self.total).min(1.0), elapsed.as_secs_f64());
        let left = if share > 0.0 {
            elapsed * (1.0 - share) / share
        } else {
            f64::INFINITY
        };
        let report = Report {
            share,
            rate: done / elapsed.max(1e-9),
            left,
            tiles: self.phase.map(|phase| OnTiles {
                phase,
                bytes,
                copies: self.copies,
            }),
        };
        Some((self.show, report))
    }

    /// Erases what was shown.
    fn hide(&mut self) {
        if self.told.take().is_some() {
            (self.show)(None);
        }
    }
}

/// Shows a report if one is due.
fn tell(state: impl FnOnce(&mut State) -> Option<(Show, Report)>) {
    if let Some(Some((show, report))) = with(state) {
        show(Some(report));
    }
}

thread_local! {
    static STATE: RefCell<Option<State>> = const { RefCell::new(None) };
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

fn with<R>(f: impl FnOnce(&mut State) -> R) -> Option<R> {
    STATE.with(|s| s.borrow_mut().as_mut().map(f))
}

/// A running call. When it is dropped, its progress is erased, and the progress of the call around
/// it continues.
pub struct Call {
    around: Option<State>,
}

/// Begins a call of `total` operations on this thread. `later`: they are queued first and done
/// afterwards. Nothing is counted if `delay`, in seconds, or `total` is not finite.
pub fn begin(total: f64, later: bool, delay: f64, show: Show) -> Call {
    let delay = Duration::try_from_secs_f64(delay)
        .ok()
        .filter(|_| total.is_finite());
    let call = CALLS.get() + 1;
    CALLS.set(call);
    let state = delay.map(|delay| State {
        show,
        call,
        total,
        queued: 0.0,
        done: 0.0,
        later,
        in_part: false,
        started: Instant::now(),
        delay,
        told: None,
        phase: None,
        watched: Vec::new(),
        copies: false,
    });
    Call {
        around: STATE.replace(state),
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if let Some(mut state) = STATE.replace(self.around.take()) {
            state.hide();
        }
    }
}

/// Adds operations to the total.
pub fn extend(flops: f64) {
    with(|s| s.total += flops);
}

/// Counts `flops` more operations as done, or as queued.
pub fn advance(flops: f64) {
    let at = with(|s| {
        if !s.in_part {
            s.queued += flops;
        }
        (s.mark(), s.later)
    });
    if let Some((mark, false)) = at {
        reached(mark);
    }
}

/// The number of operations of the call, as known now.
pub fn total() -> f64 {
    with(|s| s.total).unwrap_or(0.0)
}

/// A position in the operations that a call has queued.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProgressMark {
    call: u64,
    queued: f64,
}

/// The number of operations queued up to now.
pub fn queued() -> f64 {
    with(|s| s.queued).unwrap_or(0.0)
}

/// The present position, for [`reached`].
pub fn mark() -> ProgressMark {
    let nothing = ProgressMark {
        call: 0,
        queued: 0.0,
    };
    with(|s| s.mark()).unwrap_or(nothing)
}

/// Reports that all operations queued up to the mark are done.
pub fn reached(mark: ProgressMark) {
    tell(|s| {
        // Marks of a call that was stopped, or returned early, may still arrive.
        if mark.call != s.call {
            return None;
        }
        s.done = s.done.max(mark.queued);
        s.report()
    });
}

/// A part of a call whose operations are counted as a whole, because its steps do more operations
/// than its formula says: [`advance`] does not count within it. At its end all of it is done, or
/// queued.
pub struct CountedPart {
    /// Its first operation and their number; `None` inside another part.
    span: Option<(f64, f64)>,
}

/// Begins a part of `flops` operations.
pub fn part(flops: f64) -> CountedPart {
    let span = with(|s| {
        if s.in_part {
            return None;
        }
        s.in_part = true;
        Some((s.queued, flops))
    });
    CountedPart {
        span: span.flatten(),
    }
}

impl CountedPart {
    /// Sets the number of operations of this part that are left.
    pub fn left(&self, flops: f64) {
        let Some((start, all)) = self.span else {
            return;
        };
        let at = with(|s| {
            s.queued = s.queued.max(start + (all - flops).clamp(0.0, all));
            (s.mark(), s.later)
        });
        if let Some((mark, false)) = at {
            reached(mark);
        }
    }
}

impl Drop for CountedPart {
    fn drop(&mut self) {
        if self.span.is_some() {
            self.left(0.0);
            with(|s| s.in_part = false);
        }
    }
}

#[cfg(test)]
mod tests;
