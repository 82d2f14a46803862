//! Copies within host memory, and threads that touch fresh pages of a result before it is written.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Arc;

use crate::backend::cuda::driver::chunks::CopyChunk;
use crate::base::host_memory::{copy_past_cache, Pages, HUGE_PAGE};

/// Memory smaller than this is touched by the copy itself.
const LARGE: usize = 4 << 20;

/// The pages of a result that will be written, huge ones if the system has them.
///
/// # Safety
/// The memory outlives the value.
pub(crate) unsafe fn pages_of(memory: *mut u8, bytes: usize) -> Option<Pages> {
    (bytes >= LARGE).then(|| Pages::of_any(memory, bytes))
}

/// Copies from R's memory to a slot; optionally past the processor's cache, which the GPU does not
/// read.
///
/// # Safety
/// The piece's host columns are readable, and the slot has room for its bytes.
pub(crate) unsafe fn gather(piece: &CopyChunk, slot: *mut u8, past_cache: bool) {
    for j in 0..piece.columns {
        let from = (piece.host + j * piece.pitch) as *const u8;
        let to = slot.add(j * piece.width);
        if past_cache {
            copy_past_cache(from, to, piece.width);
        } else {
            std::ptr::copy_nonoverlapping(from, to, piece.width);
        }
    }
}

/// Copies from a slot to R's memory, optionally past the processor's cache; entries outside the
/// triangle become zero.
///
/// # Safety
/// The piece's host columns are writable, and the slot holds its bytes.
pub(crate) unsafe fn scatter(piece: &CopyChunk, slot: *const u8, past_cache: bool) {
    for j in 0..piece.columns {
        let to = (piece.host + j * piece.pitch) as *mut u8;
        let from = slot.add(j * piece.width);
        match piece.triangle {
            None if past_cache => copy_past_cache(from, to, piece.width),
            None => std::ptr::copy_nonoverlapping(from, to, piece.width),
            Some(t) => {
                let kept = (t.first + j * t.element).min(t.whole);
                copy_past_cache(from, to, kept);
                std::ptr::write_bytes(to.add(kept), 0, t.whole - kept);
            }
        }
    }
}

/// Threads that touch pages during other work. When this is dropped they stop, and it waits for
/// them.
pub(crate) struct FirstTouch {
    shared: Arc<Shared>,
}

struct Shared {
    pages: Pages,
    stop: AtomicBool,
    at_work: AtomicUsize,
}

impl FirstTouch {
    /// Starts on this number of the pool's threads.
    ///
    /// # Safety
    /// The memory must outlive the value, which must be dropped.
    pub(crate) unsafe fn begin(memory: *mut u8, bytes: usize, threads: usize) -> Option<Self> {
        if threads < 2 {
            return None;
        }
        let shared = Arc::new(Shared {
            // SAFETY: the caller's.
            pages: unsafe { pages_of(memory, bytes) }?,
            stop: AtomicBool::new(false),
            at_work: AtomicUsize::new(0),
        });
        for _ in 0..threads.min(bytes / HUGE_PAGE + 1) {
            let shared = Arc::clone(&shared);
            rayon::spawn(move || {
                shared.at_work.fetch_add(1, Ordering::SeqCst);
                while !shared.stop.load(Ordering::SeqCst) && shared.pages.touch_next().is_some() {
                    // Copies have priority, since the GPU waits for them.
                    rayon::yield_now();
                }
                shared.at_work.fetch_sub(1, Ordering::SeqCst);
            });
        }
        Some(FirstTouch { shared })
    }
}

impl Drop for FirstTouch {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        while self.shared.at_work.load(Ordering::SeqCst) > 0 {
            std::thread::yield_now();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::cuda::driver::chunks::Triangle;

    #[test]
    fn copies_past_the_cache_copy_every_byte() {
        let from: Vec<u8> = (0..5000).map(|i| (i % 251) as u8).collect();
        for (start, bytes) in [
            (0, 0),
            (0, 1),
            (3, 15),
            (1, 64),
            (5, 130),
            (16, 4096),
            (7, 4900),
        ] {
            let mut to = vec![255u8; 5000];
            // SAFETY: both slices have these bytes.
            unsafe { copy_past_cache(from[start..].as_ptr(), to[start + 1..].as_mut_ptr(), bytes) };
            assert_eq!(to[start + 1..start + 1 + bytes], from[start..start + bytes]);
            assert!(to[..=start].iter().all(|b| *b == 255));
            assert!(to[start + 1 + bytes..].iter().all(|b| *b == 255));
        }
    }

    #[test]
    fn a_triangle_comes_home_with_zeros_beside_it() {
        let n = 5;
        let mut home = vec![f64::NAN; n * n];
        let slot: Vec<f64> = (0..n * n).map(|i| i as f64).collect();
        let piece = CopyChunk {
            host: home.as_mut_ptr() as usize,
            pitch: n * 8,
            device: 0,
            device_pitch: n * 8,
            width: n * 8,
            columns: n,
            triangle: Some(Triangle {
                first: 8,
                element: 8,
                whole: n * 8,
            }),
        };
        // SAFETY: both have n columns of n numbers.
        unsafe { scatter(&piece, slot.as_ptr().cast(), true) };
        for j in 0..n {
            for i in 0..n {
                let want = if i <= j { slot[i + j * n] } else { 0.0 };
                assert_eq!(home[i + j * n], want, "{i} {j}");
            }
        }
    }

    #[test]
    fn memory_touched_by_threads_keeps_its_contents() {
        let bytes = (8 << 20) + 12345;
        let mut memory: Vec<u8> = (0..bytes).map(|i| (i % 253) as u8).collect();
        // SAFETY: the vector outlives it.
        let touch = unsafe { FirstTouch::begin(memory.as_mut_ptr(), bytes, 3) };
        assert!(touch.is_some());
        drop(touch);
        let mut all = memory.iter().enumerate();
        assert!(all.all(|(i, b)| *b == (i % 253) as u8));
    }

    #[test]
    fn little_memory_has_no_pages_to_touch() {
        let mut memory = [0u8; 100];
        // SAFETY: nothing is touched.
        assert!(unsafe { pages_of(memory.as_mut_ptr(), memory.len()) }.is_none());
    }
}
