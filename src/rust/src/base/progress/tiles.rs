//! Progress of calls that work on tiles: the phase, and the bytes moved.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use super::{begin, tell, with, Call, Show, State, STATE};

/// What a progress report says about work on tiles.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OnTiles {
    /// The present phase of the call, in a word or two.
    pub phase: &'static str,
    /// Bytes of tiles that were copied between the memory for tiles and the file or matrix.
    pub bytes: u64,
    /// Whether the call only copies; the rate is then in bytes, not operations.
    pub copies: bool,
}

/// Counters of the bytes of tiles that all threads have read from a file or matrix and written to
/// it.
#[derive(Debug, Default)]
pub struct Moved {
    read: AtomicU64,
    written: AtomicU64,
}

impl Moved {
    pub fn has_read(&self, bytes: u64) {
        self.read.fetch_add(bytes, Ordering::Relaxed);
    }

    pub fn has_written(&self, bytes: u64) {
        self.written.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Bytes read, and written.
    pub fn bytes(&self) -> (u64, u64) {
        (
            self.read.load(Ordering::Relaxed),
            self.written.load(Ordering::Relaxed),
        )
    }

    pub(super) fn sum(&self) -> u64 {
        let (read, written) = self.bytes();
        read + written
    }
}

/// Begins a call that only copies `bytes` bytes to or from a file.
pub fn begin_copy(
    bytes: u64,
    moved: Arc<Moved>,
    phase: &'static str,
    delay: f64,
    show: Show,
) -> Call {
    let call = begin(bytes as f64, false, delay, show);
    with(|s| {
        s.copies = true;
        s.phase = Some(phase);
    });
    watch(moved);
    call
}

/// A call between two of its steps, which R starts one by one. What was shown stays until this is
/// dropped.
pub struct Paused(Option<State>);

impl Call {
    pub fn pause(mut self) -> Paused {
        let paused = Paused(STATE.replace(self.around.take()));
        std::mem::forget(self);
        paused
    }
}

impl Paused {
    pub fn go_on(mut self) -> Call {
        Call {
            around: STATE.replace(self.0.take()),
        }
    }

    /// Erases what was shown, until the next report.
    pub fn hide(&mut self) {
        if let Some(state) = &mut self.0 {
            state.hide();
        }
    }
}

impl Drop for Paused {
    fn drop(&mut self) {
        self.hide();
    }
}

/// Sets the phase of a call that works on tiles.
pub fn phase(name: &'static str) {
    with(|s| s.phase = Some(name));
}

/// Counts the bytes that are moved from now on.
pub fn watch(moved: Arc<Moved>) {
    with(|s| {
        let before = moved.sum();
        s.watched.push((moved, before));
    });
}

/// Reports the progress of a call on tiles again if enough time has passed.
pub fn tick() {
    tell(|s| s.phase.and_then(|_| s.report()));
}
