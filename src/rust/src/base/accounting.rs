//! Counts the bytes that `gpu_matrix` objects and other kept matrices hold on each device, and asks
//! R to collect garbage.
//!
//! R frees such a matrix when its garbage collector meets the handle. The collector does not know
//! how much memory stands behind a handle, so [`relieve`] starts it when memory is short.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::base::processor::Processor;

/// How to collect garbage: among young objects, or among all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Search {
    Light,
    Full,
}

/// Bytes held, and by how many objects.
#[derive(Debug, Default)]
struct Tally {
    bytes: AtomicU64,
    objects: AtomicU64,
}

/// GPUs with a separate count; further ones are counted with the last.
const GPUS: usize = 64;

static TALLIES: [Tally; 1 + GPUS] = [const {
    Tally {
        bytes: AtomicU64::new(0),
        objects: AtomicU64::new(0),
    }
}; 1 + GPUS];

fn tally(place: Processor) -> &'static Tally {
    match place {
        Processor::Cpu => &TALLIES[0],
        Processor::Cuda(i) => &TALLIES[1 + i.min(GPUS - 1)],
    }
}

/// Bytes and number of the matrices held on a device.
pub fn held(place: Processor) -> (u64, u64) {
    let t = tally(place);
    (t.bytes.load(Relaxed), t.objects.load(Relaxed))
}

/// One matrix's part of the count, for as long as it lives.
#[derive(Debug)]
pub struct MemoryShare {
    place: Processor,
    bytes: u64,
}

impl MemoryShare {
    /// Counts a matrix of `bytes` bytes. On the CPU this may start a garbage collection, see
    /// [`after_span`].
    pub fn new(place: Processor, bytes: u64) -> MemoryShare {
        let t = tally(place);
        t.bytes.fetch_add(bytes, Relaxed);
        t.objects.fetch_add(1, Relaxed);
        if place == Processor::Cpu
            && SINCE.fetch_add(bytes, Relaxed).saturating_add(bytes) >= span()
        {
            SINCE.store(0, Relaxed);
            after_span();
        }
        MemoryShare { place, bytes }
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Drop for MemoryShare {
    fn drop(&mut self) {
        let t = tally(self.place);
        t.bytes.fetch_sub(self.bytes, Relaxed);
        t.objects.fetch_sub(1, Relaxed);
    }
}

/// Least and largest number of bytes of host memory handed out between two garbage collections.
/// Filling that many bytes takes longer than a collection.
const SPANS: (u64, u64) = (1 << 28, 1 << 30);

/// As many bytes as were held after the last collection, within [`SPANS`]: garbage then takes no
/// more than what is in use.
fn span() -> u64 {
    AFTER.load(Relaxed).clamp(SPANS.0, SPANS.1)
}

/// Bytes held on the CPU after the last collection.
static AFTER: AtomicU64 = AtomicU64::new(0);

static SINCE: AtomicU64 = AtomicU64::new(0);

/// Bytes held on the CPU after the last full collection.
static KEPT: AtomicU64 = AtomicU64::new(0);

/// Collects garbage after every [`span`] of bytes of host memory. A GPU refuses a request that does
/// not fit, and garbage is collected then. Host memory gives no such signal. The collection is
/// light, and full if twice as much is held as after the last full one. So the bytes held are at
/// most twice those in use, plus two of the shortest spans.
fn after_span() {
    relieve(Search::Light);
    let kept = KEPT.load(Relaxed);
    if held(Processor::Cpu).0 > kept.saturating_mul(2).max(SPANS.0) {
        relieve(Search::Full);
        KEPT.store(held(Processor::Cpu).0, Relaxed);
    }
    AFTER.store(held(Processor::Cpu).0, Relaxed);
}

thread_local! {
    static RELIEF: Cell<Option<fn(Search)>> = const { Cell::new(None) };
}

/// Sets the garbage collector of this thread.
pub fn install(relief: fn(Search)) {
    RELIEF.with(|r| r.set(Some(relief)));
}

/// Frees matrices that nobody refers to. The caller must hold no lock that freeing takes.
pub fn relieve(search: Search) {
    if let Some(relief) = RELIEF.with(Cell::get) {
        relief(search);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    thread_local! {
        static ASKED: Cell<(u32, u32)> = const { Cell::new((0, 0)) };
    }

    #[test]
    fn shares_are_counted_while_they_live() {
        // A separate device, because other tests hold matrices too.
        let place = Processor::Cuda(GPUS - 2);
        assert_eq!(held(place), (0, 0));
        let one = MemoryShare::new(place, 100);
        let two = MemoryShare::new(place, 0);
        assert_eq!(held(place), (100, 2));
        drop(one);
        assert_eq!(held(place), (0, 1));
        drop(two);
        assert_eq!(held(place), (0, 0));
        // Also far beyond the last one.
        let far = MemoryShare::new(Processor::Cuda(usize::MAX), 8);
        assert_eq!(held(Processor::Cuda(GPUS)), (8, 1));
        drop(far);
    }

    #[test]
    fn host_memory_handed_out_calls_for_a_look() {
        install(|search| {
            ASKED.with(|a| {
                let (light, full) = a.get();
                a.set(match search {
                    Search::Light => (light + 1, full),
                    Search::Full => (light, full + 1),
                });
            });
        });
        for _ in 0..8 {
            drop(MemoryShare::new(Processor::Cpu, SPANS.0 / 2));
        }
        assert_eq!(ASKED.with(Cell::get), (4, 0));
        // The distance of collections grows with the memory held. They are full each time that has
        // doubled.
        let kept: Vec<MemoryShare> = (0..16)
            .map(|_| MemoryShare::new(Processor::Cpu, SPANS.0))
            .collect();
        assert_eq!(ASKED.with(Cell::get), (10, 2));
        drop(kept);
        drop(MemoryShare::new(Processor::Cuda(0), 2 * SPANS.1));
        assert_eq!(ASKED.with(Cell::get), (10, 2));
    }
}
