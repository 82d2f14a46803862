//! A memory reserve, so that a failed allocation ends a call and not the process.
//!
//! Most containers of Rust, and the libraries below, abort if an allocation fails, and R with them.
//! So the package's allocator reserves [`SIZE`] bytes of address space that nobody writes. If the
//! system refuses a request, the allocator returns parts of the reserve and asks again. The call
//! continues until [`check`], which every interrupt check begins with, ends it with an error.
//! Requests that may be larger than the reserve use the [`fallible`] functions, which return an
//! error.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering::Relaxed};

use crate::base::error::{Error, Result};

/// Bytes of one part of the reserve.
const PART: usize = 16 << 20;

const PARTS: usize = 4;

/// Bytes of the reserve: more than a call allocates infallibly between two checks for interrupts.
pub const SIZE: usize = PARTS * PART;

static RESERVE: [AtomicPtr<u8>; PARTS] = [const { AtomicPtr::new(null_mut()) }; PARTS];

/// Whether a call has used some of the reserve.
static SHORT: AtomicBool = AtomicBool::new(false);

/// Bytes of the request that was refused last.
static REFUSED: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static FALLIBLE: Cell<bool> = const { Cell::new(false) };
}

/// The flag of a mapping that does not count as memory in use. FreeBSD and DragonFly have none.
#[cfg(all(unix, not(any(target_os = "freebsd", target_os = "dragonfly"))))]
const UNRESERVED: libc::c_int = libc::MAP_NORESERVE;
#[cfg(any(target_os = "freebsd", target_os = "dragonfly"))]
const UNRESERVED: libc::c_int = 0;

/// Maps `bytes` bytes of address space, untouched; null if the system has none. If `counted`, they
/// count as memory in use on systems that limit promised memory.
#[cfg(unix)]
fn map(bytes: usize, counted: bool) -> *mut u8 {
    let unreserved = if counted { 0 } else { UNRESERVED };
    // SAFETY: a new mapping, where the system likes.
    let memory = unsafe {
        libc::mmap(
            null_mut(),
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANON | unreserved,
            -1,
            0,
        )
    };
    match memory {
        libc::MAP_FAILED => null_mut(),
        memory => memory.cast(),
    }
}

/// # Safety
/// The memory is a mapping of so many bytes, and nobody uses it.
#[cfg(unix)]
unsafe fn unmap(memory: *mut u8, bytes: usize) {
    libc::munmap(memory.cast(), bytes);
}

#[cfg(not(unix))]
const PAGE: usize = 4096;

#[cfg(not(unix))]
fn map(bytes: usize, _counted: bool) -> *mut u8 {
    match Layout::from_size_align(bytes, PAGE) {
        // SAFETY: the size is not zero.
        Ok(layout) if bytes > 0 => unsafe { System.alloc(layout) },
        _ => null_mut(),
    }
}

/// # Safety
/// The memory is one of [`map`]'s of so many bytes, and nobody uses it.
#[cfg(not(unix))]
unsafe fn unmap(memory: *mut u8, bytes: usize) {
    System.dealloc(memory, Layout::from_size_align_unchecked(bytes, PAGE));
}

/// Whether the system has `bytes` bytes of address space left, in one piece.
pub(crate) fn is_free(bytes: usize) -> bool {
    let memory = map(bytes, false);
    if memory.is_null() {
        return false;
    }
    // SAFETY: made above.
    unsafe { unmap(memory, bytes) };
    true
}

/// Refills the reserve at the beginning of a call; an error if the system has too little memory.
pub fn renew() -> Result<()> {
    for part in &RESERVE {
        if !part.load(Relaxed).is_null() {
            continue;
        }
        let memory = map(PART, true);
        if memory.is_null() {
            return Err(Error::HostMemory {
                needed: SIZE as u64,
            });
        }
        let others = part.compare_exchange(null_mut(), memory, Relaxed, Relaxed);
        if others.is_err() {
            // SAFETY: made above, and known to nobody.
            unsafe { unmap(memory, PART) };
        }
    }
    SHORT.store(false, Relaxed);
    Ok(())
}

/// Whether the present call has used some of the reserve.
pub fn is_short() -> bool {
    SHORT.load(Relaxed)
}

/// An error if the present call has used some of the reserve.
pub fn check() -> Result<()> {
    if is_short() {
        return Err(Error::HostMemory {
            needed: REFUSED.load(Relaxed) as u64,
        });
    }
    Ok(())
}

/// Runs an allocation that can return a failure, without use of the reserve.
pub(crate) fn fallible<R>(allocate: impl FnOnce() -> R) -> R {
    struct Before(bool);
    impl Drop for Before {
        fn drop(&mut self) {
            FALLIBLE.set(self.0);
        }
    }
    let _before = Before(FALLIBLE.replace(true));
    allocate()
}

/// Repeats a request that the system refused, after returning more and more of the reserve to it.
#[cold]
fn again(bytes: usize, ask: impl Fn() -> *mut u8) -> *mut u8 {
    if FALLIBLE.get() {
        return null_mut();
    }
    REFUSED.store(bytes, Relaxed);
    SHORT.store(true, Relaxed);
    for part in &RESERVE {
        let memory = part.swap(null_mut(), Relaxed);
        if memory.is_null() {
            continue;
        }
        // SAFETY: the reserve's own, which nobody else has after the swap.
        unsafe { unmap(memory, PART) };
        let got = ask();
        if !got.is_null() {
            return got;
        }
    }
    // Another thread may have returned the last part.
    ask()
}

/// The system's allocator with the reserve behind it.
pub struct Reserved;

// SAFETY: all memory is the system's allocator's, and none of this unwinds.
unsafe impl GlobalAlloc for Reserved {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let memory = System.alloc(layout);
        if memory.is_null() {
            return again(layout.size(), || System.alloc(layout));
        }
        memory
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let memory = System.alloc_zeroed(layout);
        if memory.is_null() {
            return again(layout.size(), || System.alloc_zeroed(layout));
        }
        memory
    }

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let memory = System.realloc(old, layout, size);
        if memory.is_null() {
            return again(size, || System.realloc(old, layout, size));
        }
        memory
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        System.dealloc(memory, layout);
    }
}

#[global_allocator]
static ALLOCATOR: Reserved = Reserved;
