//! The order of work on a GPU, and how the host waits for it.
//!
//! All work runs in one stream, in order. The exceptions are kernels of a second stream
//! ([`Context::beside`]) and copies from and to staging memory. The host waits by polling an event,
//! so that it notices a user's interrupt. At most a few fenced steps are queued ahead.

use std::cell::Cell;
use std::collections::VecDeque;
use std::thread::LocalKey;
use std::time::{Duration, Instant};

use cudarc::driver::sys::{self, CUresult};

use super::context::{lock, Context};
use crate::base::error::Result;
use crate::base::interrupt;
use crate::base::progress;

/// Steps that may be queued behind the one that runs: an interrupt waits for no more than these.
const FENCES_AHEAD: usize = 4;

/// Steps that may be queued, in units of the longest launch, if there is more than one step.
const LAUNCHES_AHEAD: f64 = 1.0;

/// Waits up to this long poll without sleeping: the shortest sleep takes longer than small
/// factorizations.
const EAGER: Duration = Duration::from_millis(4);

/// Events recorded in the stream, the oldest first, and those free for another use.
#[derive(Default)]
pub(crate) struct Fences {
    queued: VecDeque<Step>,
    free: Vec<Event>,
}

/// The work between two fences.
struct Step {
    end: Event,
    /// The operations that are done when it is.
    done: progress::ProgressMark,
    /// Its time, in units of the longest launch.
    launches: f64,
}

impl Fences {
    /// The oldest step if too many are queued.
    fn excess(&mut self) -> Option<Step> {
        let launches: f64 = self.queued.iter().map(|step| step.launches).sum();
        let many = self.queued.len() > FENCES_AHEAD;
        let long = self.queued.len() > 1 && launches > LAUNCHES_AHEAD;
        if many || long {
            self.queued.pop_front()
        } else {
            None
        }
    }
}

pub(crate) struct Event(sys::CUevent);
// SAFETY: an event handle is valid on any thread; events are never destroyed.
unsafe impl Send for Event {}

thread_local! {
    /// Whether this thread is in [`Context::beside`].
    static BESIDE: Cell<bool> = const { Cell::new(false) };
    /// Multiprocessors that [`Context::leaving`] leaves free.
    static LEFT: Cell<usize> = const { Cell::new(0) };
}

/// Restores a variable of this thread when it is dropped, also after a panic, which ends a call but
/// not the session.
struct Restored<V: Copy + 'static> {
    variable: &'static LocalKey<Cell<V>>,
    before: V,
}

impl<V: Copy> Restored<V> {
    fn replacing(variable: &'static LocalKey<Cell<V>>, value: V) -> Self {
        Restored {
            variable,
            before: variable.replace(value),
        }
    }
}

impl<V: Copy> Drop for Restored<V> {
    fn drop(&mut self) {
        self.variable.set(self.before);
    }
}

impl Context {
    /// Marks the end of a short step in the stream, and waits while too many are queued. Called
    /// between panels.
    pub(crate) fn fence(&self) -> Result<()> {
        self.fence_after(0.0)
    }

    /// Like [`Context::fence`], after a step that takes as long as `launches` of the longest
    /// launches.
    pub(crate) fn fence_after(&self, launches: f64) -> Result<()> {
        self.bind()?;
        let step = Step {
            end: self.record()?,
            done: progress::mark(),
            launches,
        };
        lock(&self.fences).queued.push_back(step);
        loop {
            // Not in the loop's head: the lock would be held while waiting.
            let oldest = lock(&self.fences).excess();
            let Some(step) = oldest else { break };
            self.await_event(step.end)?;
            progress::reached(step.done);
        }
        // Polls here as well, since nobody waits for steps that are shorter than the time to queue
        // them.
        self.or_drain(interrupt::poll())
    }

    /// Runs `f` with its kernels in the second stream. They start when everything queued now is
    /// done, and run at the same time as whatever is queued later. `f` may launch kernels and make
    /// buffers for them, but copies go to the first stream. [`Context::join`] makes the first
    /// stream wait for the second.
    pub(crate) fn beside<R>(&self, f: impl FnOnce() -> Result<R>) -> Result<R> {
        self.order(self.stream, self.side)?;
        let _before = Restored::replacing(&BESIDE, true);
        f()
    }

    /// Makes everything queued from now on wait for the second stream.
    pub(crate) fn join(&self) -> Result<()> {
        self.order(self.side, self.stream)
    }

    /// Copies from staging memory wait for all that is queued now.
    pub(crate) fn order_up(&self) -> Result<()> {
        self.order(self.stream, self.up)
    }

    /// What is queued from now on waits for the copies from staging memory that are.
    pub(crate) fn join_up(&self) -> Result<()> {
        self.order(self.up, self.stream)
    }

    /// An event that marks the end of everything queued now.
    pub(crate) fn mark(&self) -> Result<Event> {
        self.bind()?;
        self.record()
    }

    /// An event that marks the end of everything queued in that stream now.
    pub(crate) fn mark_in(&self, stream: sys::CUstream) -> Result<Event> {
        self.bind()?;
        self.record_in(stream)
    }

    /// Whether everything queued before a mark is done.
    pub(crate) fn is_past(&self, mark: &Event) -> Result<bool> {
        // SAFETY: the event was recorded in this context.
        match unsafe { sys::cuEventQuery(mark.0) } {
            CUresult::CUDA_ERROR_NOT_READY => Ok(false),
            code => self.check(code, "cuEventQuery").map(|()| true),
        }
    }

    /// Makes everything queued in a stream from now on wait for a mark.
    pub(crate) fn wait_in(&self, stream: sys::CUstream, mark: &Event) -> Result<()> {
        // SAFETY: event and stream belong to this context, which the caller made current.
        let code = unsafe { sys::cuStreamWaitEvent(stream, mark.0, 0) };
        self.check(code, "cuStreamWaitEvent")
    }

    /// Frees a mark for another use.
    pub(crate) fn forget(&self, mark: Event) {
        lock(&self.fences).free.push(mark);
    }

    /// Makes stream `second` wait for everything queued in `first`.
    fn order(&self, first: sys::CUstream, second: sys::CUstream) -> Result<()> {
        self.bind()?;
        let event = self.record_in(first)?;
        // SAFETY: event and stream belong to the current context.
        let code = unsafe { sys::cuStreamWaitEvent(second, event.0, 0) };
        lock(&self.fences).free.push(event);
        self.check(code, "cuStreamWaitEvent")
    }

    /// Whether kernels go to the second stream now.
    pub(crate) fn is_beside(&self) -> bool {
        BESIDE.get()
    }

    /// The second stream if `beside`, else the first.
    pub(super) fn stream_of(&self, beside: bool) -> sys::CUstream {
        if beside {
            self.side
        } else {
            self.stream
        }
    }

    /// The stream to which kernels go now.
    pub(crate) fn stream_now(&self) -> sys::CUstream {
        self.stream_of(BESIDE.get())
    }

    /// Runs `f` with products that leave some multiprocessors to kernels in the second stream.
    pub(crate) fn leaving<R>(&self, multiprocessors: usize, f: impl FnOnce() -> R) -> R {
        let _before = Restored::replacing(&LEFT, multiprocessors);
        f()
    }

    /// Multiprocessors that a product is planned for.
    pub(crate) fn multiprocessors(&self) -> usize {
        let all = self.properties.multiprocessors;
        all.saturating_sub(LEFT.get()).max(all.min(1))
    }

    /// Waits for everything queued.
    pub(crate) fn wait(&self) -> Result<()> {
        self.bind()?;
        {
            let mut fences = lock(&self.fences);
            let done: Vec<_> = fences.queued.drain(..).map(|step| step.end).collect();
            fences.free.extend(done);
        }
        let (event, done) = (self.record()?, progress::mark());
        self.await_event(event)?;
        progress::reached(done);
        Ok(())
    }

    fn record(&self) -> Result<Event> {
        self.record_in(self.stream)
    }

    fn record_in(&self, stream: sys::CUstream) -> Result<Event> {
        let event = lock(&self.fences).free.pop();
        let event = match event {
            Some(e) => e,
            None => {
                let mut e = std::ptr::null_mut();
                let flags = sys::CUevent_flags::CU_EVENT_DISABLE_TIMING as u32;
                // SAFETY: the context is current; the out-parameter is valid.
                self.check(
                    unsafe { sys::cuEventCreate(&mut e, flags) },
                    "cuEventCreate",
                )?;
                Event(e)
            }
        };
        // SAFETY: event and stream belong to the current context.
        self.check(
            unsafe { sys::cuEventRecord(event.0, stream) },
            "cuEventRecord",
        )?;
        Ok(event)
    }

    /// Polls the event, without pauses at first, then with pauses that are short compared with the
    /// time waited. Checks for interrupts now and then.
    fn await_event(&self, event: Event) -> Result<()> {
        let start = Instant::now();
        loop {
            // SAFETY: the event was recorded in this context.
            let code = unsafe { sys::cuEventQuery(event.0) };
            if code != CUresult::CUDA_ERROR_NOT_READY {
                lock(&self.fences).free.push(event);
                return self.check(code, "cuEventQuery");
            }
            let waited = start.elapsed();
            if waited < EAGER {
                std::hint::spin_loop();
                continue;
            }
            if let Err(e) = interrupt::poll() {
                lock(&self.fences).free.push(event);
                return self.or_drain(Err(e));
            }
            std::thread::sleep((waited / 64).min(Duration::from_millis(1)));
        }
    }

    /// On an error, leaves the device idle, so that memory can be given back.
    pub(crate) fn or_drain<R>(&self, result: Result<R>) -> Result<R> {
        if result.is_err() {
            for stream in [self.up, self.across, self.side, self.stream, self.down] {
                // SAFETY: the streams belong to this context, which the caller made current.
                let _ = unsafe { sys::cuStreamSynchronize(stream) };
            }
        }
        result
    }
}

#[cfg(test)]
#[path = "streams_tests.rs"]
mod tests;
