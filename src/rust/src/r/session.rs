//! What a session remembers between calls: whether R runs, the device of the last computation, a
//! failed GPU.

use std::cell::{Cell, RefCell};

use crate::base::error::Error;
use crate::base::processor::Processor;
use crate::base::threads;
use crate::cost::plan::call as plan;

thread_local! {
    static IN_R: Cell<bool> = const { Cell::new(false) };
}

/// Calls R, which comes back without a jump. It may run finalizers and event handlers meanwhile.
pub fn in_r<V>(call: impl FnOnce() -> V) -> V {
    let (before, threads) = (IN_R.replace(true), threads::want(0));
    let plan = plan::take();
    let value = call();
    plan::put_back(plan);
    threads::want(threads);
    IN_R.set(before);
    value
}

/// Whether the native routine that runs was called in the middle of another one, by R code of a
/// finalizer or of an event handler. Such code finds the other routine's operands, the GPU's
/// streams and the threads of the pool in use.
pub fn is_reentrant() -> bool {
    IN_R.get()
}

thread_local! {
    static LAST: Cell<Option<Processor>> = const { Cell::new(None) };
}

/// Remembers the device that ran the last computation.
pub fn set_last(target: Processor) {
    LAST.with(|l| l.set(Some(target)));
    plan::refine(|plan| plan.settle(target));
}

/// None before the first computation.
pub fn last_target() -> Option<Processor> {
    LAST.with(Cell::get)
}

/// `""` before the first computation.
pub fn last() -> String {
    last_target().map(Processor::name).unwrap_or_default()
}

thread_local! {
    static TOLD: Cell<bool> = const { Cell::new(false) };
    static FAILURE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Notes that the CPU takes the place of a GPU. A lack of memory passes; of a GPU that fails the
/// user is told, once.
pub fn note_fallback(e: &Error) {
    plan::refine(|plan| plan.fall_back(e.to_string()));
    if matches!(e, Error::DeviceFailed { .. }) && !TOLD.replace(true) {
        FAILURE.set(Some(e.to_string()));
    }
}

/// What the user is to be told of a failed GPU, if anything.
pub fn take_failure() -> Option<String> {
    FAILURE.take()
}
