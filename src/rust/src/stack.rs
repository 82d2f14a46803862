//! The stack of the main thread, mapped while there is memory.
//!
//! Linux maps a main thread's stack page by page as calls get deeper. Where it has no memory for a page the process gets a
//! segmentation fault. R answers it by a jump to its prompt past the frames of this library, which leaves locks held. So a call
//! begins by reaching [`ROOM`] below its own frame. Other threads have their whole stack from the beginning.

/// Bytes of stack that a call has on the main thread: R's frames and those of this library.
#[cfg(target_os = "linux")]
const ROOM: usize = 512 << 10;

/// Maps the main thread's stack as deep as a call will need. False where there is too little memory for that.
#[cfg(target_os = "linux")]
pub(crate) fn reach() -> bool {
    use crate::reserve::is_free;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    /// The lowest address that has been reached.
    static REACHED: AtomicUsize = AtomicUsize::new(usize::MAX);

    let frame = 0_u8;
    let here = std::ptr::from_ref(&frame) as usize;
    let lowest = here - ROOM;
    if lowest >= REACHED.load(Relaxed) || !is_main_thread() || !is_within(lowest) {
        return true;
    }
    if !is_free(2 * ROOM) {
        return false;
    }
    touch();
    REACHED.store(lowest, Relaxed);
    true
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn reach() -> bool {
    true
}

#[cfg(target_os = "linux")]
fn is_main_thread() -> bool {
    // SAFETY: both have no conditions.
    unsafe { libc::gettid() == libc::getpid() }
}

/// Whether the stack's limit leaves half of [`ROOM`] below an address. Else R's own check of its stack comes first.
#[cfg(target_os = "linux")]
fn is_within(lowest: usize) -> bool {
    use std::mem::MaybeUninit;

    let mut attributes = MaybeUninit::uninit();
    let mut end = std::ptr::null_mut();
    let mut size = 0;
    // SAFETY: `attributes` is written by the first call before the others read it, and is destroyed once.
    unsafe {
        if libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) != 0 {
            return false;
        }
        let got = libc::pthread_attr_getstack(attributes.as_ptr(), &mut end, &mut size);
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        got == 0 && lowest > end as usize + ROOM / 2
    }
}

/// Writes to each page of a frame of [`ROOM`].
#[cfg(target_os = "linux")]
#[inline(never)]
fn touch() {
    let mut room = [0_u8; ROOM];
    std::hint::black_box(&mut room);
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_thread_of_its_own_has_its_stack() {
        assert!(!is_main_thread());
        assert!(reach());
    }

    #[test]
    fn limits_of_the_stack_are_known() {
        let frame = 0_u8;
        let here = std::ptr::from_ref(&frame) as usize;
        assert!(is_within(here));
        assert!(!is_within(here - (1 << 40)));
    }
}
