//! Host memory for several tiles, or strips of tiles.

use std::cell::UnsafeCell;

use super::buffer::Buffer;
use crate::base::scalar::Scalar;

/// Memory for some strips of tiles.
pub struct Slots<T> {
    buffers: Vec<UnsafeCell<Buffer<T>>>,
    addresses: Vec<*mut T>,
}

// SAFETY: who may use a slot is decided by the order of steps, see `plan_executor`.
unsafe impl<T: Send> Sync for Slots<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for Slots<T> {}

impl<T: Scalar> Slots<T> {
    pub fn none() -> Self {
        Slots {
            buffers: Vec::new(),
            addresses: Vec::new(),
        }
    }

    pub fn push(&mut self, mut buffer: Buffer<T>) {
        self.addresses.push(buffer.as_mut_ptr());
        self.buffers.push(UnsafeCell::new(buffer));
    }

    pub fn into_buffers(self) -> impl Iterator<Item = Buffer<T>> {
        self.buffers.into_iter().map(UnsafeCell::into_inner)
    }

    /// The slot itself.
    pub(super) fn buffer(&self, slot: usize) -> *mut Buffer<T> {
        self.buffers[slot].get()
    }

    /// The address of a slot's memory.
    pub fn address(&self, slot: usize) -> *mut T {
        self.addresses[slot]
    }

    pub fn count(&self) -> usize {
        self.buffers.len()
    }
}
