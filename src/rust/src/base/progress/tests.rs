//! When progress is reported, and what it counts.

use crate::base::progress::*;

thread_local! {
    static SEEN: RefCell<Vec<Option<Report>>> = const { RefCell::new(Vec::new()) };
}

fn seen() -> Vec<Option<Report>> {
    SEEN.with(|s| s.borrow_mut().drain(..).collect())
}

fn note(report: Option<Report>) {
    SEEN.with(|s| s.borrow_mut().push(report));
}

/// The reports about work on files.
fn on_tiles() -> Vec<OnTiles> {
    seen()
        .into_iter()
        .flatten()
        .filter_map(|r| r.tiles)
        .collect()
}

/// Waits until the next report is due.
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

#[test]
fn work_on_files_is_told_while_nothing_is_computed() {
    let moved = Arc::new(Moved::default());
    moved.has_read(7);
    let call = begin(100.0, false, 0.0, note);
    tick();
    assert!(seen().is_empty(), "not yet on files");
    phase("planning");
    watch(moved.clone());
    tick();
    tick();
    let first = seen();
    assert_eq!(first.len(), 1);
    let report = first[0].unwrap();
    assert_eq!(
        (report.share, report.rate, report.left),
        (0.0, 0.0, f64::INFINITY)
    );
    let told = |phase, bytes| OnTiles {
        phase,
        bytes,
        copies: false,
    };
    assert_eq!(report.tiles, Some(told("planning", 0)));
    phase("factorizing");
    std::thread::spawn({
        let moved = moved.clone();
        move || {
            moved.has_read(30);
            moved.has_written(12);
        }
    })
    .join()
    .unwrap();
    later();
    advance(50.0);
    assert_eq!(on_tiles(), [told("factorizing", 42)]);
    drop(call);
    assert_eq!((seen(), moved.bytes()), (vec![None], (37, 12)));
    tick();
    assert!(seen().is_empty());
}

#[test]
fn who_waits_tells_of_files_and_of_nothing_else() {
    crate::base::interrupt::install(|| false);
    let polled = || {
        std::thread::sleep(Duration::from_millis(60));
        crate::base::interrupt::poll().unwrap();
        seen().len()
    };
    let _call = begin(100.0, false, 0.0, note);
    assert_eq!(polled(), 0);
    phase("solving");
    assert_eq!(polled(), 1);
}

#[test]
fn copies_are_measured_in_bytes() {
    let moved = Arc::new(Moved::default());
    moved.has_written(1000);
    let call = begin_copy(200, moved.clone(), "writing", 0.0, note);
    moved.has_written(50);
    tick();
    let report = seen()[0].unwrap();
    assert!(report.share == 0.25 && report.rate > 0.0 && report.left < f64::INFINITY);
    assert!(report.tiles.is_some_and(|f| f.copies && f.bytes == 50));
    // Products of the same call are not what it waits for.
    later();
    advance(1e9);
    assert_eq!(seen()[0].map(|r| r.share), Some(0.25));
    drop(call);
    for delay in [f64::INFINITY, 3600.0] {
        let call = begin_copy(200, moved.clone(), "writing", delay, note);
        tick();
        let paused = call.pause();
        drop(paused.go_on());
    }
    assert_eq!(seen(), [None]);
}

#[test]
fn a_call_in_steps_stays_shown_between_them() {
    let moved = Arc::new(Moved::default());
    let outer = begin(10.0, false, 3600.0, note);
    let call = begin_copy(200, moved.clone(), "writing", 0.0, note);
    moved.has_written(50);
    tick();
    let mut paused = call.pause();
    assert_eq!((seen().len(), total()), (1, 10.0));
    paused.hide();
    paused.hide();
    assert_eq!(seen(), [None]);
    moved.has_written(50);
    let call = paused.go_on();
    assert_eq!(total(), 200.0);
    // An erased report is shown again at once.
    tick();
    assert_eq!(seen()[0].map(|r| r.share), Some(0.5));
    drop(call.pause());
    assert_eq!((seen(), total()), (vec![None], 10.0));
    drop(outer);
}
