//! What a GPU does apart from computing: memory, copies, interrupts, the code it is given.
#![cfg(feature = "cuda")]

#[path = "../common/mod.rs"]
mod common;

mod device;
mod host_to_host;
mod memory;
mod ptx;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// One test of a GPU at a time: some leave no memory to others, and some count what copies take.
fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}
