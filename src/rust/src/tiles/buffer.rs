//! Memory of whole pages, into which the disk is read without a copy.

use std::marker::PhantomData;
use std::mem::size_of;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use super::layout::Layout;
use super::strips::Strips;
use crate::base;
use crate::base::accounting::Search;
use crate::base::error::{Error, Result};
use crate::base::interrupt;
use crate::base::scalar::Scalar;
use crate::base::spawn;
use crate::tiles::bytes::PAGE;
use crate::tiles::layout::slot_bytes;

/// Whole pages of bytes, zeroed at first.
pub struct Pages {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the memory belongs to this object alone.
unsafe impl Send for Pages {}
// SAFETY: as above; a shared reference only reads.
unsafe impl Sync for Pages {}

impl Pages {
    /// The length of pages for so many bytes, if it is a number.
    pub fn length(bytes: usize) -> Option<usize> {
        bytes.max(1).checked_next_multiple_of(PAGE)
    }

    /// Pages for at least `bytes`; an error if the system has too few.
    pub fn new(bytes: usize) -> Result<Self> {
        let failed = Error::HostMemory {
            needed: bytes as u64,
        };
        let Some(bytes) = Pages::length(bytes) else {
            return Err(failed);
        };
        let start = system::obtain(bytes).or_else(|| {
            base::accounting::relieve(Search::Full);
            system::obtain(bytes)
        });
        start.map(|start| Pages { start, bytes }).ok_or(failed)
    }
}

/// Pages that the system gives when they are first touched. Rust's allocator would touch them here,
/// on one thread.
#[cfg(unix)]
mod system {
    use std::ptr::{null_mut, NonNull};

    use crate::base::host_memory::want_huge_pages;

    pub fn obtain(bytes: usize) -> Option<NonNull<u8>> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping, at an address that the system chooses.
        let start = unsafe { libc::mmap(null_mut(), bytes, access, kind, -1, 0) };
        if start == libc::MAP_FAILED {
            return None;
        }
        // SAFETY: the mapping is this one's.
        unsafe { want_huge_pages(start.cast(), bytes) };
        NonNull::new(start.cast())
    }

    /// # Safety
    /// `obtain` gave them, and nobody uses them any more.
    pub unsafe fn release(start: NonNull<u8>, bytes: usize) {
        let _ = libc::munmap(start.as_ptr().cast(), bytes);
    }
}

#[cfg(not(unix))]
mod system {
    use std::alloc::{alloc_zeroed, dealloc, Layout};
    use std::ptr::NonNull;

    pub fn obtain(bytes: usize) -> Option<NonNull<u8>> {
        let layout = Layout::from_size_align(bytes, super::PAGE).ok()?;
        // SAFETY: the size is not zero.
        NonNull::new(unsafe { alloc_zeroed(layout) })
    }

    /// # Safety
    /// `obtain` gave them, and nobody uses them any more.
    pub unsafe fn release(start: NonNull<u8>, bytes: usize) {
        // The layout was found good when they were obtained.
        dealloc(
            start.as_ptr(),
            Layout::from_size_align_unchecked(bytes, super::PAGE),
        );
    }
}

/// Bytes of pages between two looks at the user's wish to stop.
const TOUCHED: usize = 2 << 30;

/// Has the system provide all of these pages, by several threads. To pin memory before that takes
/// one thread's time for them.
pub fn touch(all: &mut [Pages], threads: usize) -> Result<()> {
    let each = all.first().map_or(1, |pages| pages.len());
    let at_once = (TOUCHED / each.max(1)).max(1);
    for some in all.chunks_mut(at_once) {
        interrupt::poll()?;
        let share = some.len().div_ceil(threads.max(1)).max(1);
        std::thread::scope(|scope| {
            for part in some.chunks_mut(share) {
                let touch = move || {
                    for pages in part {
                        pages.iter_mut().step_by(PAGE).for_each(|x| {
                            // SAFETY: a byte of the pages. Volatile, since it is zero already.
                            unsafe { std::ptr::write_volatile(x, 0) }
                        });
                    }
                };
                // Without the thread the pages are provided later.
                let _ = spawn::scoped(scope, touch);
            }
        });
    }
    Ok(())
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: obtained by `new`, and nobody else's.
        unsafe { system::release(self.start, self.bytes) };
    }
}

impl Deref for Pages {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: so many bytes begin there, zeroed when they were allocated.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.bytes) }
    }
}

impl DerefMut for Pages {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and nobody else holds them.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.bytes) }
    }
}

/// The contents of one tile, zero at first: column-major, columns as far apart as a tile has rows.
/// What lies outside of a smaller tile at the edge is zero, and so is the rest of the last page.
pub struct Buffer<T> {
    pages: Pages,
    element: PhantomData<T>,
}

impl<T: Scalar> Buffer<T> {
    /// For the tiles of this layout.
    pub fn new(layout: &Layout) -> Result<Self> {
        Pages::new(slot_bytes(layout, size_of::<T>())).map(Buffer::of)
    }

    /// For the strips of tiles.
    pub fn strip(strips: &Strips) -> Result<Self> {
        Pages::new(strips.entries() * size_of::<T>()).map(Buffer::of)
    }

    /// In memory that may hold something already, for a tile that is to be replaced whole.
    pub fn of(pages: Pages) -> Self {
        Buffer {
            pages,
            element: PhantomData,
        }
    }

    pub fn into_pages(self) -> Pages {
        self.pages
    }

    /// The bytes as they lie in the file.
    pub fn bytes(&self) -> &[u8] {
        &self.pages
    }

    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.pages
    }
}

impl<T: Scalar> Deref for Buffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        let len = self.pages.bytes / size_of::<T>();
        // SAFETY: a page is aligned for any number, and any bytes are one of the two types that are
        // `Scalar`.
        unsafe { std::slice::from_raw_parts(self.pages.start.as_ptr().cast::<T>(), len) }
    }
}

impl<T: Scalar> DerefMut for Buffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        let len = self.pages.bytes / size_of::<T>();
        // SAFETY: as above, and nobody else holds them.
        unsafe { std::slice::from_raw_parts_mut(self.pages.start.as_ptr().cast::<T>(), len) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tiles::Shape;

    #[test]
    fn buffers_are_whole_pages_of_zeros() {
        for (tile, pages) in [(1, 1), (22, 1), (23, 2), (32, 2)] {
            let layout = Layout::new(100, 100, tile, Shape::Full).unwrap();
            let buffer = Buffer::<f64>::new(&layout).unwrap();
            assert_eq!(buffer.len(), pages * PAGE / 8);
            assert_eq!(buffer.as_ptr() as usize % PAGE, 0);
            assert!(buffer.iter().all(|x| *x == 0.0));
        }
    }

    #[test]
    fn memory_that_nobody_has_is_an_error() {
        for bytes in [usize::MAX, isize::MAX as usize / 2] {
            assert!(matches!(Pages::new(bytes), Err(Error::HostMemory { .. })));
        }
    }
}
