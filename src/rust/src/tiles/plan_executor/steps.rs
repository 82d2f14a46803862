//! Which steps of a plan are done, and who waits for that.

use std::sync::atomic::Ordering;
use std::sync::PoisonError;
use std::thread::{self, Thread};
use std::time::Duration;

use super::{PlanExecutor, Store};
use crate::base::error::{Error, Result};
use crate::base::interrupt;
use crate::base::progress;
use crate::base::scalar::Scalar;

impl<T: Scalar, S: Store<T>> PlanExecutor<'_, T, S> {
    /// Whether all is done that step x waits for. The first failure of a thread is an error here.
    pub fn ready(&self, x: usize) -> Result<bool> {
        self.go_on()?;
        Ok(self.before[x].iter().all(|y| self.is_done(*y)))
    }

    pub fn is_done(&self, x: usize) -> bool {
        self.done[x].load(Ordering::Acquire)
    }

    pub fn finish(&self, x: usize) {
        self.done[x].store(true, Ordering::Release);
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let woken = waiting.remove(&x);
        drop(waiting);
        woken.iter().flatten().for_each(Thread::unpark);
        self.tell();
    }

    /// How much is done, for [`PlanExecutor::pause`].
    pub fn progress(&self) -> usize {
        *self.moved.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sleeps until more is done than `seen`, or for so long.
    pub fn pause(&self, seen: usize, most: Duration) {
        let guard = self.moved.0.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = self.moved.1.wait_timeout_while(guard, most, |n| *n == seen);
    }

    fn tell(&self) {
        let mut count = self.moved.0.lock().unwrap_or_else(PoisonError::into_inner);
        *count += 1;
        self.moved.1.notify_all();
    }

    /// Sleeps until a step is done. False if nothing new is to be begun.
    pub(super) fn await_step(&self, x: usize) -> bool {
        loop {
            let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            if !self.goes_on() {
                return false;
            }
            if self.is_done(x) {
                return true;
            }
            waiting.entry(x).or_default().push(thread::current());
            drop(waiting);
            thread::park();
        }
    }

    pub(super) fn await_all(&self) -> Result<()> {
        for x in self.loads.iter().chain(&self.stores) {
            loop {
                let seen = self.progress();
                if self.is_done(*x) {
                    break;
                }
                self.ready(*x)?;
                interrupt::poll()?;
                self.pause(seen, Duration::from_millis(20));
            }
        }
        Ok(())
    }

    pub(super) fn goes_on(&self) -> bool {
        !self.stop.load(Ordering::Acquire)
    }

    /// An error where another thread has failed.
    pub fn go_on(&self) -> Result<()> {
        if !self.goes_on() {
            // The thread's own error takes this one's place.
            return Err(Error::Interrupted);
        }
        Ok(())
    }

    pub(super) fn fail(&self, e: Error) {
        // A thread that was told to stop says nothing of why.
        if e != Error::Interrupted {
            let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
            failed.get_or_insert(e);
        }
        self.halt();
    }

    /// Nothing new is begun by anybody.
    pub fn halt(&self) {
        self.stop.store(true, Ordering::Release);
        let waiting = self.waiting.lock();
        let woken = std::mem::take(&mut *waiting.unwrap_or_else(PoisonError::into_inner));
        woken.values().flatten().for_each(Thread::unpark);
        self.tell();
    }

    /// So many operations more are done.
    pub fn count(&self, operations: f64) {
        let done = self.done_operations.lock();
        *done.unwrap_or_else(PoisonError::into_inner) += operations;
    }

    /// Tells the user, on the thread that waits for all.
    pub fn show(&self) {
        let done = self.done_operations.lock();
        let done = std::mem::take(&mut *done.unwrap_or_else(PoisonError::into_inner));
        if done > 0.0 {
            progress::advance(done);
            progress::reached(progress::mark());
        }
    }
}
