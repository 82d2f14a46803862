//! How far a long computation has come, for a user who waits.
//!
//! A call says how many operations it has ([`begin`]). Backends add what they have done ([`advance`]); a GPU's are done when an event
//! behind them is ([`mark`], [`reached`]). A call may return before they are, and then nobody is told of the rest. Only the thread
//! that began counts, and what others do is counted by the step that gave it to them. The host language is told at most five times
//! a second, and not before a delay.

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

const INTERVAL: Duration = Duration::from_millis(200);

/// What the host language is told.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Report {
    /// Of all operations, from 0 to 1.
    pub share: f64,
    /// Operations per second.
    pub rate: f64,
    /// Seconds that are left if it goes on like this.
    pub left: f64,
}

/// Tells the user; `None` takes back what was shown.
pub type Show = fn(Option<Report>);

struct State {
    show: Show,
    /// Tells this call from those before it.
    call: u64,
    total: f64,
    queued: f64,
    done: f64,
    /// Whether what is queued is done later.
    later: bool,
    /// Whether a [`Part`] counts.
    in_part: bool,
    started: Instant,
    delay: Duration,
    told: Option<Instant>,
}

impl State {
    fn mark(&self) -> Mark {
        Mark {
            call: self.call,
            queued: self.queued,
        }
    }
}

thread_local! {
    static STATE: RefCell<Option<State>> = const { RefCell::new(None) };
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

fn with<R>(f: impl FnOnce(&mut State) -> R) -> Option<R> {
    STATE.with(|s| s.borrow_mut().as_mut().map(f))
}

/// A call under way; when it is dropped nothing is shown of it any more, and what it came in between goes on.
pub struct Call {
    around: Option<State>,
}

/// A call of so many operations begins on this thread; `later` where they are queued first and done afterwards. Nothing is
/// counted where `delay`, in seconds, or `total` is not finite.
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
    });
    Call {
        around: STATE.replace(state),
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let state = STATE.replace(self.around.take());
        if let Some(State {
            show,
            told: Some(_),
            ..
        }) = state
        {
            show(None);
        }
    }
}

/// There is more to do than was thought.
pub fn extend(flops: f64) {
    with(|s| s.total += flops);
}

/// So many operations more are done, or queued.
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

/// The operations of the call as far as they are known by now.
pub fn total() -> f64 {
    with(|s| s.total).unwrap_or(0.0)
}

/// A place in what a call has queued.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mark {
    call: u64,
    queued: f64,
}

/// The operations queued up to now.
pub fn queued() -> f64 {
    with(|s| s.queued).unwrap_or(0.0)
}

/// What is queued up to now, to be handed to [`reached`].
pub fn mark() -> Mark {
    let nothing = Mark {
        call: 0,
        queued: 0.0,
    };
    with(|s| s.mark()).unwrap_or(nothing)
}

/// All that was queued up to there is done.
pub fn reached(mark: Mark) {
    let told = with(|s| {
        // Those of a call that was stopped, or returned early, may still be about.
        if mark.call != s.call {
            return None;
        }
        s.done = s.done.max(mark.queued);
        let now = Instant::now();
        let elapsed = now.duration_since(s.started);
        let due = s.told.is_none_or(|t| now.duration_since(t) >= INTERVAL);
        if !due || elapsed < s.delay || s.done <= 0.0 || s.total <= 0.0 {
            return None;
        }
        s.told = Some(now);
        let (share, elapsed) = ((s.done / s.total).min(1.0), elapsed.as_secs_f64());
        let report = Report {
            share,
            rate: s.done / elapsed.max(1e-9),
            left: elapsed * (1.0 - share) / share,
        };
        Some((s.show, report))
    });
    if let Some(Some((show, report))) = told {
        show(Some(report));
    }
}

/// A part of a call that counts for itself, because its steps do more than the operations it is known by: what is [`advance`]d within
/// does not count. At its end all of it is done, or queued.
pub struct Part {
    /// Where it began and what it has; `None` in another part.
    span: Option<(f64, f64)>,
}

/// A part of so many operations begins.
pub fn part(flops: f64) -> Part {
    let span = with(|s| {
        if s.in_part {
            return None;
        }
        s.in_part = true;
        Some((s.queued, flops))
    });
    Part {
        span: span.flatten(),
    }
}

impl Part {
    /// So many of its operations are left.
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

impl Drop for Part {
    fn drop(&mut self) {
        if self.span.is_some() {
            self.left(0.0);
            with(|s| s.in_part = false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    thread_local! {
        static SEEN: RefCell<Vec<Option<Report>>> = const { RefCell::new(Vec::new()) };
    }

    fn seen() -> Vec<Option<Report>> {
        SEEN.with(|s| s.borrow_mut().drain(..).collect())
    }

    fn note(report: Option<Report>) {
        SEEN.with(|s| s.borrow_mut().push(report));
    }

    /// Lets the next report be due.
    fn later() {
        with(|s| s.told = None);
    }

    #[test]
    fn a_call_is_told_and_taken_back() {
        let call = begin(100.0, false, 0.0, note);
        advance(25.0);
        advance(25.0);
        drop(call);
        let all = seen();
        // The second comes less than a fifth of a second later.
        assert_eq!(all.len(), 2);
        assert_eq!(all[0].map(|r| r.share), Some(0.25));
        assert!(all[0].is_some_and(|r| r.rate > 0.0 && r.left >= 0.0));
        assert_eq!(all[1], None);
        advance(10.0);
        assert!(seen().is_empty() && queued() == 0.0);
    }

    #[test]
    fn a_call_in_between_counts_for_itself() {
        let outer = begin(100.0, false, 3600.0, note);
        advance(25.0);
        let inner = begin(10.0, false, 0.0, note);
        advance(10.0);
        drop(inner);
        assert_eq!(seen().len(), 2);
        assert_eq!((queued(), total()), (25.0, 100.0));
        drop(outer);
        assert_eq!((queued(), total()), (0.0, 0.0));
    }

    #[test]
    fn short_and_silent_calls_show_nothing() {
        for delay in [3600.0, f64::INFINITY, f64::NAN, -1.0] {
            let call = begin(100.0, false, delay, note);
            advance(50.0);
            drop(call);
        }
        for nothing in [0.0, f64::INFINITY] {
            let call = begin(nothing, false, 0.0, note);
            advance(1.0);
            drop(call);
        }
        assert!(seen().is_empty());
    }

    #[test]
    fn what_is_queued_counts_when_it_is_reached() {
        let _call = begin(100.0, true, 0.0, note);
        advance(40.0);
        let at = mark();
        advance(40.0);
        assert!(seen().is_empty());
        reached(at);
        assert_eq!(seen()[0].map(|r| r.share), Some(0.4));
        extend(100.0);
        later();
        reached(mark());
        assert_eq!(seen()[0].map(|r| r.share), Some(0.4));
    }

    #[test]
    fn a_part_counts_for_itself() {
        let _call = begin(100.0, false, 0.0, note);
        {
            let outer = part(60.0);
            let inner = part(10.0);
            advance(1000.0);
            inner.left(0.0);
            drop(inner);
            assert_eq!(queued(), 0.0);
            outer.left(45.0);
            assert_eq!(queued(), 15.0);
            outer.left(50.0);
            assert_eq!(queued(), 15.0);
        }
        assert_eq!(queued(), 60.0);
        advance(15.0);
        assert_eq!(queued(), 75.0);
    }

    #[test]
    fn other_threads_do_not_count() {
        let _call = begin(100.0, false, 0.0, note);
        std::thread::spawn(|| advance(50.0)).join().unwrap();
        assert_eq!(queued(), 0.0);
    }

    #[test]
    fn what_an_earlier_call_left_queued_does_not_count() {
        let first = begin(100.0, true, 0.0, note);
        advance(90.0);
        let left = mark();
        drop(first);
        assert_eq!(queued(), 0.0);
        let _second = begin(100.0, true, 0.0, note);
        advance(50.0);
        reached(left);
        assert!(seen().is_empty());
        reached(mark());
        assert_eq!(seen()[0].map(|r| r.share), Some(0.5));
    }
}
