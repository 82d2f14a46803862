//! Host memory for strips of tiles, from and to which a device copies without waiting.

use std::ops::Deref;

use crate::base::error::Result;
use crate::base::scalar::Scalar;
use crate::device::async_copy::AsyncCopy;
use crate::tiles::buffer::Buffer;
use crate::tiles::memory::Slots;
use crate::tiles::Strips;

/// Slots in a device's [`AsyncCopy::pages`], which it may keep for the next call. A GPU pins them,
/// and that takes longer than many a factorization.
pub(crate) struct HostSlots<'a, T: Scalar, D: AsyncCopy<T>> {
    dev: &'a D,
    slots: Slots<T>,
}

impl<'a, T: Scalar, D: AsyncCopy<T>> HostSlots<'a, T, D> {
    /// For these strips. `threads` have the system provide the memory.
    pub(crate) fn new(dev: &'a D, count: usize, strips: &Strips, threads: usize) -> Result<Self> {
        let bytes = strips.entries() * size_of::<T>();
        let mut slots = Slots::none();
        for pages in dev.pages(count, bytes, threads)? {
            let mut buffer = Buffer::of(pages);
            // Beyond the strip a buffer is zero. A strip's user writes all of it.
            buffer[strips.entries()..].fill(T::from_f64(0.0));
            slots.push(buffer);
        }
        Ok(HostSlots { dev, slots })
    }
}

impl<T: Scalar, D: AsyncCopy<T>> Deref for HostSlots<'_, T, D> {
    type Target = Slots<T>;

    fn deref(&self) -> &Slots<T> {
        &self.slots
    }
}

impl<T: Scalar, D: AsyncCopy<T>> Drop for HostSlots<'_, T, D> {
    fn drop(&mut self) {
        // This runs after a panic as well. Other devices' threads have drained those.
        self.dev.drain();
        let slots = std::mem::replace(&mut self.slots, Slots::none());
        for buffer in slots.into_buffers() {
            // SAFETY: the device does nothing any more.
            unsafe { self.dev.keep(buffer.into_pages()) };
        }
    }
}
