//! Large copies within the host's memory, and its pages.

/// A copy that does not read what it overwrites.
///
/// # Safety
/// As of `copy_nonoverlapping`.
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
    // Seen by others before whatever says that the copy is done.
    _mm_sfence();
    std::ptr::copy_nonoverlapping(from.add(lines * 64), to.add(lines * 64), bytes - lines * 64);
}

#[cfg(not(target_arch = "x86_64"))]
pub(crate) unsafe fn copy_past_cache(from: *const u8, to: *mut u8, bytes: usize) {
    std::ptr::copy_nonoverlapping(from, to, bytes);
}

/// Bytes of a huge page.
pub(crate) const HUGE_PAGE: usize = 2 << 20;

/// Asks for huge pages where whole ones lie in this memory: the system gives them sooner than as many small ones.
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
        // The advice changes nothing of the contents.
        let _ = libc::madvise(start as *mut _, end - start, libc::MADV_HUGEPAGE);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (start, end);
}
