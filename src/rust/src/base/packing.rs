//! Allocates the memory in which faer's product packs its operands.
//!
//! A thread's first product allocates twice the size of the last cache, keeps it, and aborts if
//! that fails. So each thread allocates it before its first product, after a check that the system
//! has as much.

use std::cell::Cell;
use std::sync::{Mutex, OnceLock, PoisonError};

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, Par};

use super::{accounting, caches};
use crate::base::accounting::Search;
use crate::base::error::{Error, Result};
use crate::base::reserve;

thread_local! {
    static MADE: Cell<bool> = const { Cell::new(false) };
}

/// Bytes beyond the buffers, for the rounding of an allocator and small workspace.
const SLACK: usize = 4 << 20;

/// Bytes that a thread's first product allocates, or more.
pub(crate) fn bytes() -> usize {
    static BYTES: OnceLock<usize> = OnceLock::new();
    *BYTES.get_or_init(|| 2 * caches::last() + SLACK)
}

/// Allocates this thread's memory; false if the system has too little.
pub(crate) fn make() -> bool {
    // One after the other, so that no two find the same memory free.
    static ONE: Mutex<()> = Mutex::new(());
    if MADE.get() {
        return true;
    }
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    if !reserve::is_free(bytes()) {
        return false;
    }
    // The least order that is not multiplied without packing.
    const ORDER: usize = 17;
    let a = Mat::<f64>::zeros(ORDER, ORDER);
    let mut c = Mat::<f64>::zeros(ORDER, ORDER);
    matmul(&mut c, Accum::Replace, &a, &a, 1.0, Par::Seq);
    MADE.set(true);
    true
}

/// Before this thread's first product: an error where the system has too little memory for it.
pub(crate) fn ready() -> Result<()> {
    if make() {
        return Ok(());
    }
    accounting::relieve(Search::Full);
    if make() {
        return Ok(());
    }
    Err(Error::HostMemory {
        needed: bytes() as u64,
    })
}
