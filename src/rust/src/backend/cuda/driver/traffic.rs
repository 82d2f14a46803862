//! Counts the bytes copied to and from GPUs.

use std::sync::atomic::{AtomicU64, Ordering};

pub(super) static UP: AtomicU64 = AtomicU64::new(0);

pub(super) static DOWN: AtomicU64 = AtomicU64::new(0);

/// Bytes of matrices that this process has sent to GPUs, and fetched.
pub(crate) fn bytes_moved() -> (u64, u64) {
    (UP.load(Ordering::Relaxed), DOWN.load(Ordering::Relaxed))
}

/// Adds to the counts when a copy starts.
pub(crate) fn count(up: usize, down: usize) {
    UP.fetch_add(up as u64, Ordering::Relaxed);
    DOWN.fetch_add(down as u64, Ordering::Relaxed);
}
