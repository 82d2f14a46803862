//! Starts threads, or returns an error if the system has hardly any memory for them.
//!
//! The C library allocates this library's thread-local data when a thread first uses it, and ends
//! the process if that fails. So a thread is started only if there is memory beyond its stack.

use std::thread::{Builder, JoinHandle, Scope, ScopedJoinHandle};

use crate::base::error::{Error, Result, STACK};
use crate::base::reserve::is_free;

/// Bytes beyond a thread's stack.
const SLACK: usize = 8 << 20;

/// A thread that ends before `scope` does.
///
/// # Errors
/// [`Error::HostMemory`] where the system has no room for it.
pub(crate) fn scoped<'s, 'e, R: Send + 's>(
    scope: &'s Scope<'s, 'e>,
    work: impl FnOnce() -> R + Send + 's,
) -> Result<ScopedJoinHandle<'s, R>> {
    started(|builder| builder.spawn_scoped(scope, work))
}

/// A thread that owns its data.
///
/// # Errors
/// [`Error::HostMemory`] where the system has no room for it.
pub(crate) fn owned<R: Send + 'static>(
    work: impl FnOnce() -> R + Send + 'static,
) -> Result<JoinHandle<R>> {
    started(|builder| builder.spawn(work))
}

fn started<H>(start: impl FnOnce(Builder) -> std::io::Result<H>) -> Result<H> {
    let refused = Error::HostMemory {
        needed: STACK as u64,
    };
    if !is_free(STACK + SLACK) {
        return Err(refused);
    }
    start(Builder::new()).map_err(|_| refused)
}
