//! Host memory for some tiles, or strips of them, at once.

use std::cell::UnsafeCell;
use std::mem::size_of;

use super::buffer::Buffer;
use super::strips::Strips;
use crate::base::error::Result;
use crate::base::interrupt;
use crate::base::scalar::Scalar;
use crate::base::spawn;
use crate::tiles::bytes::PAGE;

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
    /// For strips of tiles.
    pub fn new(count: usize, strips: &Strips) -> Result<Self> {
        let mut slots = Slots::none();
        for _ in 0..count {
            interrupt::poll()?;
            slots.push(Buffer::strip(strips)?);
        }
        Ok(slots)
    }

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

    /// Has the system give all pages, by several threads: to pin memory without takes one thread's
    /// time for them.
    pub fn touch(&mut self, threads: usize) -> Result<()> {
        let each = self.buffers.first_mut().map_or(1, |b| b.get_mut().len());
        let at_once = (TOUCHED / (each * size_of::<T>()).max(1)).max(1);
        for some in self.buffers.chunks_mut(at_once) {
            interrupt::poll()?;
            let share = some.len().div_ceil(threads.max(1)).max(1);
            std::thread::scope(|scope| {
                for buffers in some.chunks_mut(share) {
                    let touch = move || {
                        for buffer in buffers {
                            let step = PAGE / size_of::<T>();
                            buffer.get_mut().iter_mut().step_by(step).for_each(|x| {
                                // SAFETY: a number of the buffer's. Volatile, since it is zero
                                // already.
                                unsafe { std::ptr::write_volatile(x, T::from_f64(0.0)) }
                            });
                        }
                    };
                    // Who cannot be started is not missed: pages come later, too.
                    let _ = spawn::scoped(scope, touch);
                }
            });
        }
        Ok(())
    }
}

/// Bytes of pages between two looks at the user's wish to stop.
const TOUCHED: usize = 2 << 30;
