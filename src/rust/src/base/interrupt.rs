//! Lets the user interrupt a long computation.
//!
//! Backends call [`poll`] between panels. It asks R at most twenty times a second whether the user
//! wants to stop, and only on the thread that installed the question. The same call updates the
//! progress of work on files, since calls also poll while they wait for a disk. Kernels that a GPU
//! was given run to their end, so a GPU stops between launches: see `docs/design/r-boundary.md`.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::base::error::{Error, Result};
use crate::base::packing;
use crate::base::progress;
use crate::base::reserve;
use crate::base::spawn;

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

/// Runs `f`, which is short and must be completed, without checks for interrupts.
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

/// A flag by which work on several threads learns that it must stop.
#[derive(Debug, Clone, Copy)]
pub struct Stop<'a>(Option<&'a AtomicBool>);

impl Stop<'_> {
    /// No flag: for work on the thread that began the call.
    pub const HERE: Stop<'static> = Stop(None);

    pub fn poll(&self) -> Result<()> {
        match self.0 {
            None => poll(),
            Some(wanted) if wanted.load(Ordering::Relaxed) => Err(Error::Interrupted),
            Some(_) => reserve::check(),
        }
    }
}

/// Runs long work on another thread, and polls on this one until that is done. Threads of the pool
/// do not poll, so a long wait for them would not notice an interrupt. An error if there is no
/// memory for a thread.
pub fn attended<R: Send>(work: impl FnOnce(Stop<'_>) -> Result<R> + Send) -> Result<R> {
    let wanted = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (done, over) = mpsc::channel();
        let stop = Stop(Some(&wanted));
        let worker = spawn::scoped(scope, move || {
            let result = packing::ready().and_then(|()| work(stop));
            // Nobody waits any more only where this thread has panicked.
            let _ = done.send(());
            result
        })?;
        let mut asked = Ok(());
        // An end without a message is a panic, which is passed on.
        while let Err(mpsc::RecvTimeoutError::Timeout) = over.recv_timeout(INTERVAL) {
            if asked.is_ok() {
                asked = poll();
                wanted.store(asked.is_err(), Ordering::Relaxed);
            }
        }
        match worker.join() {
            Ok(result) => asked.and(result),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// Runs work that cannot be stopped on another thread. After an interrupt this function returns,
/// and the thread ends by itself. The work owns its data, and takes some seconds at most.
pub fn aside<R: Send + 'static>(work: impl FnOnce() -> R + Send + 'static) -> Result<R> {
    let (done, over) = mpsc::channel();
    let worker = spawn::owned(move || {
        // Nobody waits any more where the user has stopped it.
        let _ = done.send(work());
    })?;
    loop {
        match over.recv_timeout(INTERVAL) {
            Ok(result) => return Ok(result),
            Err(mpsc::RecvTimeoutError::Timeout) => poll()?,
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
        }
    }
    match worker.join() {
        Err(panic) => std::panic::resume_unwind(panic),
        Ok(()) => Err(Error::Internal {
            what: "a thread has ended without a result".into(),
        }),
    }
}

/// `Err(Interrupted)` if the user asked to stop, and an error if memory is short. Cheap enough to
/// be called for every panel.
pub fn poll() -> Result<()> {
    if LATER.with(Cell::get) {
        return Ok(());
    }
    reserve::check()?;
    let Some(question) = QUESTION.with(Cell::get) else {
        return Ok(());
    };
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
