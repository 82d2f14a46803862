//! Host memory for strips of tiles, from and to which a device copies by itself.

use std::ops::Deref;

use crate::base::error::Result;
use crate::base::interrupt;
use crate::base::scalar::Scalar;
use crate::device::async_copy::AsyncCopy;
use crate::tiles::buffer::Buffer;
use crate::tiles::memory::Slots;
use crate::tiles::Strips;

/// Slots that are pinned where the device is not the host. Afterwards the device may keep their
/// memory for the next call: to have so many pages from the system and to pin them takes longer
/// than many a factorization.
pub(crate) struct HostSlots<'a, T: Scalar, D: AsyncCopy<T>> {
    dev: &'a D,
    slots: Slots<T>,
}

impl<'a, T: Scalar, D: AsyncCopy<T>> HostSlots<'a, T, D> {
    /// For these strips; `threads` have the system give their memory.
    pub(crate) fn new(dev: &'a D, count: usize, strips: &Strips, threads: usize) -> Result<Self> {
        let mut slots = HostSlots {
            dev,
            slots: Slots::none(),
        };
        if dev.is_host() {
            slots.slots = Slots::new(count, strips)?;
            return Ok(slots);
        }
        let bytes = Buffer::<T>::strip(strips)?.bytes().len();
        while slots.count() < count {
            let Some(pages) = dev.kept(bytes) else {
                break;
            };
            let mut buffer = Buffer::of(pages);
            // Of the rest each user says what it is.
            buffer[strips.entries()..].fill(T::from_f64(0.0));
            slots.slots.push(buffer);
        }
        let mut new = Slots::<T>::new(count - slots.count(), strips)?;
        new.touch(threads)?;
        for buffer in new.into_buffers() {
            interrupt::poll()?;
            let pages = dev.pin(buffer.into_pages())?;
            slots.slots.push(Buffer::of(pages));
        }
        Ok(slots)
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
        if self.dev.is_host() {
            return;
        }
        // After a panic, too. Other devices' threads have drained them.
        self.dev.drain();
        let slots = std::mem::replace(&mut self.slots, Slots::none());
        for buffer in slots.into_buffers() {
            // SAFETY: the device does nothing any more.
            unsafe { self.dev.keep(buffer.into_pages()) };
        }
    }
}
