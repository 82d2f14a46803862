//! Copies chunks of matrices between host and GPU through staging memory, with several threads.
//!
//! Each worker takes the next chunk to upload, or else the next chunk that may be downloaded, into
//! a slot of its lane. So both directions of the bus and the copies within the host run at the same
//! time. Meanwhile the caller's thread starts each computation as soon as its operands are on the
//! way, releases finished chunks for download, and checks for interrupts.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::host_copy::{gather, scatter};
use crate::backend::cuda::driver::chunks::CopyChunk;
use crate::backend::cuda::driver::context::{lock, Context};
use crate::backend::cuda::driver::staging::{Lane, Slot};
use crate::backend::cuda::driver::streams::Event;
use crate::backend::cuda::transfer::stage::Stage;
use crate::base::error::{Error, Result};
use crate::base::host_memory::Pages;
use crate::base::interrupt;

/// This many chunks exceed the processor's cache.
const MANY: usize = 64;

/// Waits up to this long poll without sleeping.
const EAGER: Duration = Duration::from_micros(200);

/// A transfer: chunks to upload, in stages, and chunks to download.
pub(crate) struct CopyEngine {
    ctx: &'static Context,
    up: Vec<CopyChunk>,
    /// The end of each stage in `up`, and the number of its chunks not yet in the stream.
    stages: Vec<(usize, AtomicUsize)>,
    down: Vec<CopyChunk>,
    threads: usize,
    /// Touched by workers that have nothing else to do.
    pages: Option<Pages>,
    next_up: AtomicUsize,
    next_down: AtomicUsize,
    /// Number of chunks of `down` that may be downloaded.
    ready: AtomicUsize,
    /// For each release, the end of its chunks in `down` and the event that they wait for.
    marks: Mutex<Vec<(usize, Event)>>,
    at_work: AtomicUsize,
    stop: AtomicBool,
    failed: Mutex<Option<Error>>,
}

impl CopyEngine {
    /// `up` has the chunks of each stage. At most `threads` threads copy. `pages` are those of the
    /// host memory that `down` is written to, which must outlive this value.
    pub(crate) fn new(
        ctx: &'static Context,
        up: Vec<Vec<CopyChunk>>,
        down: Vec<CopyChunk>,
        threads: usize,
        pages: Option<Pages>,
    ) -> CopyEngine {
        let mut end = 0;
        let stages = up
            .iter()
            .map(|stage| {
                end += stage.len();
                (end, AtomicUsize::new(stage.len()))
            })
            .collect();
        CopyEngine {
            ctx,
            up: up.into_iter().flatten().collect(),
            stages,
            down,
            threads,
            pages,
            next_up: AtomicUsize::new(0),
            next_down: AtomicUsize::new(0),
            ready: AtomicUsize::new(0),
            marks: Mutex::default(),
            at_work: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
            failed: Mutex::new(None),
        }
    }

    /// Copies all chunks while `drive` runs on this thread. Returns when both are done, and all of
    /// `down` is on the host.
    ///
    /// # Safety
    /// The memory of every chunk exists, on the host and on the device, until this returns. Nobody
    /// else writes the host memory of `down`.
    pub(crate) unsafe fn run(
        &self,
        staging: &mut Stage,
        drive: impl FnOnce(&CopyEngine) -> Result<()>,
    ) -> Result<()> {
        let lanes = staging.as_mut().map_or(&mut [][..], |s| &mut s.lanes);
        let pieces = self.up.len() + self.down.len();
        let count = lanes.len().min(pieces).min(self.threads);
        self.at_work.store(count, Ordering::SeqCst);
        // Waits for copies in flight before their memory is released, also after a panic.
        let _drained = OnDrop(|| {
            if std::thread::panicking() {
                let _ = self.ctx.or_drain::<()>(Err(Error::Interrupted));
            }
        });
        let driven = rayon::in_place_scope(|scope| {
            for lane in &mut lanes[..count] {
                scope.spawn(|_| {
                    let _gone = OnDrop(|| {
                        if std::thread::panicking() {
                            self.stop.store(true, Ordering::SeqCst);
                        }
                        self.at_work.fetch_sub(1, Ordering::SeqCst);
                    });
                    if let Err(e) = self.work(lane) {
                        lock(&self.failed).get_or_insert(e);
                        self.stop.store(true, Ordering::SeqCst);
                    }
                });
            }
            // The workers stop, however this scope ends.
            let _over = OnDrop(|| self.stop.store(true, Ordering::SeqCst));
            drive(self).and_then(|()| self.finish())
        });
        let failed = lock(&self.failed).take();
        for (_, mark) in lock(&self.marks).drain(..) {
            self.ctx.forget(mark);
        }
        // The first failure explains the others. Copies may still be in flight after one.
        self.ctx.or_drain(failed.map_or(driven, Err))
    }

    /// Waits until all chunks of a stage are in the upload stream.
    pub(crate) fn await_stage(&self, stage: usize) -> Result<()> {
        self.wait_until(|| self.stages[stage].1.load(Ordering::Acquire) == 0)
    }

    /// Releases the first `pieces` chunks for download, once everything queued now in the compute
    /// stream is done.
    pub(crate) fn release(&self, pieces: usize) -> Result<()> {
        let mark = self.ctx.mark()?;
        lock(&self.marks).push((pieces, mark));
        self.ready.fetch_max(pieces, Ordering::Release);
        Ok(())
    }

    /// Makes the next download wait for the computation of chunk `i`.
    fn await_mark(&self, i: usize) -> Result<()> {
        let marks = lock(&self.marks);
        let at = marks.partition_point(|(end, _)| *end <= i);
        match marks.get(at) {
            Some((_, mark)) => self.ctx.wait_in(self.ctx.down, mark),
            None => Ok(()),
        }
    }

    fn finish(&self) -> Result<()> {
        self.wait_until(|| self.at_work.load(Ordering::Acquire) == 0)
    }

    fn wait_until(&self, done: impl Fn() -> bool) -> Result<()> {
        let start = Instant::now();
        while !done() {
            if self.stop.load(Ordering::Relaxed) {
                // The error of the worker replaces this one.
                return Err(Error::Interrupted);
            }
            if start.elapsed() < EAGER {
                std::hint::spin_loop();
                continue;
            }
            interrupt::poll()?;
            std::thread::sleep(Duration::from_micros(50));
        }
        Ok(())
    }

    fn work(&self, lane: &mut Lane) -> Result<()> {
        self.ctx.bind()?;
        let mut coming: VecDeque<(Slot, CopyChunk)> = VecDeque::new();
        while !self.stop.load(Ordering::Relaxed) {
            // A slot is not reused while its chunk is not yet copied to the host.
            if coming.front().is_none_or(|(slot, _)| *slot != lane.peek()) {
                if let Some(i) = claim(&self.next_up, self.up.len()) {
                    self.send(lane.next(), i)?;
                    continue;
                }
                if let Some(i) = claim(&self.next_down, self.ready.load(Ordering::Acquire)) {
                    let slot = lane.next();
                    slot.wait(self.ctx)?;
                    self.await_mark(i)?;
                    // SAFETY: as in `send`.
                    unsafe { slot.copy(self.ctx, &self.down[i], self.ctx.down, false) }?;
                    coming.push_back((slot, self.down[i]));
                    continue;
                }
            }
            if let Some((slot, piece)) = coming.pop_front() {
                slot.wait(self.ctx)?;
                // SAFETY: the caller of `run` vouches for the host's memory; the slot holds the
                // piece.
                unsafe { scatter(&piece, slot.memory, true) };
                continue;
            }
            if self.next_down.load(Ordering::Relaxed) >= self.down.len() {
                break;
            }
            if self.pages.as_ref().and_then(Pages::touch_next).is_none() {
                std::thread::sleep(Duration::from_micros(20));
            }
        }
        Ok(())
    }

    fn send(&self, slot: Slot, i: usize) -> Result<()> {
        let piece = &self.up[i];
        slot.wait(self.ctx)?;
        // SAFETY: the caller of `run` vouches for the memory on both sides; the slot is free, and
        // no piece is longer.
        unsafe {
            gather(piece, slot.memory, self.up.len() < MANY);
            slot.copy(self.ctx, piece, self.ctx.up, true)?;
        }
        let stage = self.stages.partition_point(|(end, _)| *end <= i);
        self.stages[stage].1.fetch_sub(1, Ordering::AcqRel);
        Ok(())
    }
}

/// Runs a function at the end of a scope, also after a panic.
struct OnDrop<F: Fn()>(F);

impl<F: Fn()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Claims the next index below `end` for one worker.
fn claim(next: &AtomicUsize, end: usize) -> Option<usize> {
    next.fetch_update(Ordering::AcqRel, Ordering::Acquire, |i| {
        (i < end).then_some(i + 1)
    })
    .ok()
}
