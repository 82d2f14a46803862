//! Copies large blocks within host memory, and asks the system for huge pages.

use std::ops::Range;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

/// A copy that does not read what it overwrites.
///
/// # Safety
/// As for `copy_nonoverlapping`.
#[cfg(target_arch = "x86_64")]
pub(crate) unsafe fn copy_past_cache(from: *const u8, to: *mut u8, bytes: usize) {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_sfence, _mm_stream_si128};
    let head = to.align_offset(16).min(bytes);
    std::ptr::copy_nonoverlapping(from, to, head);
    let (from, to, bytes) = (from.add(head), to.add(head), bytes - head);
    let lines = bytes / 64;
    for i in 0..lines {
        let (f, t) = (from.add(i * 64), to.add(i * 64));
        let v: [__m128i; 4] = std::array::from_fn(|k| _mm_loadu_si128(f.add(k * 16).cast()));
        for (k, v) in v.into_iter().enumerate() {
            _mm_stream_si128(t.add(k * 16).cast(), v);
        }
    }
    // Other threads see the copy before any signal that it is done.
    _mm_sfence();
    std::ptr::copy_nonoverlapping(from.add(lines * 64), to.add(lines * 64), bytes - lines * 64);
}

#[cfg(not(target_arch = "x86_64"))]
pub(crate) unsafe fn copy_past_cache(from: *const u8, to: *mut u8, bytes: usize) {
    std::ptr::copy_nonoverlapping(from, to, bytes);
}

/// Bytes of a huge page.
pub(crate) const HUGE_PAGE: usize = 2 << 20;

/// Asks for huge pages where whole ones fit into this memory. The system hands them out faster than
/// small ones, and sequential reads need fewer address translations.
///
/// # Safety
/// The memory exists.
pub(crate) unsafe fn want_huge_pages(memory: *mut u8, bytes: usize) {
    let from = memory as usize;
    let (start, end) = (
        from.next_multiple_of(HUGE_PAGE),
        (from + bytes) / HUGE_PAGE * HUGE_PAGE,
    );
    #[cfg(target_os = "linux")]
    if end > start {
        // The advice does not change the contents.
        let _ = libc::madvise(start as *mut _, end - start, libc::MADV_HUGEPAGE);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (start, end);
}

const PAGE: usize = 4096;

/// The pages of memory that will be written. The system hands them out at the first write, and one
/// thread takes longer for that than the bus takes to transfer the contents.
pub(crate) struct Pages {
    memory: usize,
    bytes: usize,
    next: AtomicUsize,
}

impl Pages {
    /// Pages of any memory, also of little; huge ones if the system has them.
    ///
    /// # Safety
    /// The memory must outlive the value.
    pub(crate) unsafe fn of_any(memory: *mut u8, bytes: usize) -> Pages {
        want_huge_pages(memory, bytes);
        Pages {
            memory: memory as usize,
            bytes,
            next: AtomicUsize::new(0),
        }
    }

    /// Touches the next page, each once, and returns its bytes: a huge page, or a part of one at
    /// the ends. The contents do not change, even if other threads write them meanwhile.
    pub(crate) fn touch_next(&self) -> Option<Range<usize>> {
        // Shares end where pages do, so that no two threads ask for the same one.
        let skew = self.memory % HUGE_PAGE;
        let end = (self.next.fetch_add(1, Ordering::Relaxed) + 1).saturating_mul(HUGE_PAGE);
        let (start, end) = ((end - HUGE_PAGE).saturating_sub(skew), end - skew);
        if start >= self.bytes {
            return None;
        }
        let end = end.min(self.bytes);
        for at in (start..end).step_by(PAGE) {
            // SAFETY: within the memory, which outlives this value; a byte may be used as an atomic
            // one. Whoever has written in between has touched the page.
            let byte = unsafe { AtomicU8::from_ptr((self.memory + at) as *mut u8) };
            let value = byte.load(Ordering::Relaxed);
            let _ = byte.compare_exchange(value, value, Ordering::Relaxed, Ordering::Relaxed);
        }
        Some(start..end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn touched_memory_keeps_its_contents_and_each_byte_is_told_once() {
        let bytes = (4 << 20) + 12345;
        let mut memory: Vec<u8> = (0..bytes).map(|i| (i % 253) as u8).collect();
        // SAFETY: the vector outlives it.
        let pages = unsafe { Pages::of_any(memory.as_mut_ptr(), bytes) };
        let mut last = 0;
        while let Some(some) = pages.touch_next() {
            assert_eq!(some.start, last);
            last = some.end;
        }
        assert_eq!(last, bytes);
        let mut all = memory.iter().enumerate();
        assert!(all.all(|(i, b)| *b == (i % 253) as u8));
    }
}
