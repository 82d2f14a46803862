//! How a long computation learns that the user wants it to stop.
//!
//! Backends call [`poll`] between panels. It asks the host language at most twenty times a
//! second, only on the thread that installed the question, and only where one is installed.
//! On that occasion the user is told how far work on files has come, since a call polls wherever it waits for a disk.
//! What a GPU was given runs to its end, so that it stops between launches, of which none is
//! long: see "Interrupts" in `DESIGN.md`.

use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::progress;

const INTERVAL: Duration = Duration::from_millis(50);

thread_local! {
    static QUESTION: Cell<Option<fn() -> bool>> = const { Cell::new(None) };
    static LAST: Cell<Option<Instant>> = const { Cell::new(None) };
    static LATER: Cell<bool> = const { Cell::new(false) };
}

/// Sets, for this thread, the question that answers `true` when the user wants to stop.
pub fn install(question: fn() -> bool) {
    QUESTION.with(|q| q.set(Some(question)));
}

/// Does what is over in a moment and has to come to its end: nobody is asked meanwhile.
pub fn later<R>(f: impl FnOnce() -> R) -> R {
    struct Before(bool);
    impl Drop for Before {
        fn drop(&mut self) {
            LATER.with(|l| l.set(self.0));
        }
    }
    let _before = Before(LATER.with(|l| l.replace(true)));
    f()
}

/// `Err(Interrupted)` when the user asked to stop. Cheap enough for every panel.
pub fn poll() -> Result<()> {
    let Some(question) = QUESTION.with(Cell::get) else {
        return Ok(());
    };
    if LATER.with(Cell::get) {
        return Ok(());
    }
    let now = Instant::now();
    let due = LAST.with(|l| l.get().is_none_or(|t| now.duration_since(t) >= INTERVAL));
    if !due {
        return Ok(());
    }
    LAST.with(|l| l.set(Some(now)));
    progress::tick();
    if question() {
        Err(Error::Interrupted)
    } else {
        Ok(())
    }
}
