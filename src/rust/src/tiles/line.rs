//! A plan carried out by several threads: some load tiles, some store them, and one computes.
//!
//! Every step waits for the earlier ones that used its slots: one that fills or changes a slot for all who looked at it, one that looks at it for the one
//! who changed it. Steps wait for earlier ones alone, and each kind is begun in order, so that the earliest unfinished step can always go on.

use std::cell::UnsafeCell;
use std::mem::size_of;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::buffer::{Buffer, PAGE};
use super::layout::Layout;
use super::plan::{Op, Plan, Request, Use};
use crate::error::{Error, Result};
use crate::scalar::Scalar;

/// Where tiles come from and go to.
pub trait Store<T>: Sync {
    fn load(&self, tile: usize, into: &mut Buffer<T>) -> Result<()>;
    /// `request` changed the tile last.
    fn store(&self, tile: usize, from: &Buffer<T>, request: usize) -> Result<()>;
}

/// Memory for some tiles.
pub struct Slots<T> {
    buffers: Vec<UnsafeCell<Buffer<T>>>,
    addresses: Vec<*mut T>,
}

// SAFETY: who may use a slot is decided by the order of steps, see above.
unsafe impl<T: Send> Sync for Slots<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for Slots<T> {}

impl<T: Scalar> Slots<T> {
    /// For tiles of this layout.
    pub fn new(count: usize, layout: &Layout) -> Result<Self> {
        let mut slots = Slots {
            buffers: Vec::with_capacity(count),
            addresses: Vec::with_capacity(count),
        };
        for _ in 0..count {
            let mut buffer = Buffer::new(layout)?;
            slots.addresses.push(buffer.as_mut_ptr());
            slots.buffers.push(UnsafeCell::new(buffer));
        }
        Ok(slots)
    }

    /// The address of a slot's memory.
    pub fn address(&self, slot: usize) -> *mut T {
        self.addresses[slot]
    }

    pub fn count(&self) -> usize {
        self.buffers.len()
    }

    /// Has the system give all pages, by several threads: to pin memory without takes one thread's time for them.
    pub fn touch(&mut self, threads: usize) {
        let share = self.buffers.len().div_ceil(threads.max(1)).max(1);
        std::thread::scope(|scope| {
            for buffers in self.buffers.chunks_mut(share) {
                let touch = move || {
                    for buffer in buffers {
                        let step = PAGE / size_of::<T>();
                        buffer.get_mut().iter_mut().step_by(step).for_each(|x| {
                            // SAFETY: a number of the buffer's. Volatile, since it is zero already.
                            unsafe { std::ptr::write_volatile(x, T::from_f64(0.0)) }
                        });
                    }
                };
                // Who cannot be started is not missed: pages come later, too.
                let _ = std::thread::Builder::new().spawn_scoped(scope, touch);
            }
        });
    }
}

pub struct Line<'a, T, S> {
    plan: &'a Plan,
    /// For each step, the earlier ones it waits for.
    before: Vec<Vec<usize>>,
    done: Vec<AtomicBool>,
    /// Steps that load, and that store.
    loads: Vec<usize>,
    stores: Vec<usize>,
    next: [AtomicUsize; 2],
    slots: &'a Slots<T>,
    store: &'a S,
    stop: AtomicBool,
    failed: Mutex<Option<Error>>,
    /// Something is done.
    moved: (Mutex<()>, Condvar),
}

/// For each step of a plan, the earlier ones it waits for.
fn before(plan: &Plan, requests: &[Request], slots: usize) -> Vec<Vec<usize>> {
    let mut changed: Vec<Option<usize>> = vec![None; slots];
    let mut used: Vec<Vec<usize>> = vec![Vec::new(); slots];
    let mut all = Vec::with_capacity(plan.ops.len());
    for (x, op) in plan.ops.iter().enumerate() {
        let mut wait = Vec::new();
        let mut touch = |slot: usize, how: Use| {
            wait.extend(changed[slot]);
            if how == Use::Read {
                used[slot].push(x);
            } else {
                wait.append(&mut used[slot]);
                changed[slot] = Some(x);
            }
        };
        match op {
            Op::Load { slot, .. } => touch(*slot, Use::Replace),
            Op::Store { slot, .. } => touch(*slot, Use::Read),
            Op::Run { request, slots } => {
                for ((_, how), slot) in requests[*request].tiles.iter().zip(slots) {
                    touch(*slot, *how);
                }
            }
        }
        all.push(wait);
    }
    all
}

impl<'a, T: Scalar, S: Store<T>> Line<'a, T, S> {
    pub fn new(plan: &'a Plan, requests: &[Request], slots: &'a Slots<T>, store: &'a S) -> Self {
        let which = |load: bool| {
            let ops = plan.ops.iter().enumerate();
            ops.filter(move |(_, op)| match op {
                Op::Load { .. } => load,
                Op::Store { .. } => !load,
                Op::Run { .. } => false,
            })
            .map(|(x, _)| x)
            .collect()
        };
        Line {
            plan,
            before: before(plan, requests, slots.count()),
            done: plan.ops.iter().map(|_| AtomicBool::new(false)).collect(),
            loads: which(true),
            stores: which(false),
            next: [AtomicUsize::new(0), AtomicUsize::new(0)],
            slots,
            store,
            stop: AtomicBool::new(false),
            failed: Mutex::new(None),
            moved: (Mutex::new(()), Condvar::new()),
        }
    }

    /// Carries everything out: `compute` is called on this thread, and does the requests by means of [`Line::ready`] and [`Line::finish`].
    /// `threads` load, and as many store.
    pub fn run(&self, threads: usize, compute: impl FnOnce() -> Result<()>) -> Result<()> {
        let computed = std::thread::scope(|scope| {
            // Whatever happens here, nobody is waited for in vain.
            let _over = Over(self);
            for kind in 0..2 {
                let steps = if kind == 0 { &self.loads } else { &self.stores };
                let next = &self.next[kind];
                for _ in 0..threads.max(1).min(steps.len()) {
                    let work = move || {
                        let _over = OverIfPanicking(self);
                        if let Err(e) = self.work(steps, next) {
                            self.fail(e);
                        }
                    };
                    let spawned = std::thread::Builder::new().spawn_scoped(scope, work);
                    if let Err(e) = spawned {
                        return Err(Error::Internal {
                            what: format!("no thread can be started: {e}"),
                        });
                    }
                }
            }
            compute()?;
            self.await_all()
        });
        let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.clone().map_or(computed, Err)
    }

    /// Whether all is done that step x waits for. The first failure of a thread is an error here.
    pub fn ready(&self, x: usize) -> Result<bool> {
        if self.stop.load(Ordering::Acquire) {
            // The thread's own error takes this one's place.
            return Err(Error::Interrupted);
        }
        Ok(self.before[x].iter().all(|y| self.is_done(*y)))
    }

    /// Sleeps until something is done, or for so long.
    pub fn pause(&self, most: Duration) {
        let guard = self.moved.0.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = self.moved.1.wait_timeout(guard, most);
    }

    pub fn finish(&self, x: usize) {
        self.done[x].store(true, Ordering::Release);
        let _guard = self.moved.0.lock().unwrap_or_else(PoisonError::into_inner);
        self.moved.1.notify_all();
    }

    fn is_done(&self, x: usize) -> bool {
        self.done[x].load(Ordering::Acquire)
    }

    fn await_all(&self) -> Result<()> {
        for x in self.loads.iter().chain(&self.stores) {
            while !self.is_done(*x) {
                self.ready(*x)?;
                crate::interrupt::poll()?;
                self.pause(Duration::from_millis(20));
            }
        }
        Ok(())
    }

    fn fail(&self, e: Error) {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.get_or_insert(e);
        drop(failed);
        self.halt();
    }

    fn halt(&self) {
        self.stop.store(true, Ordering::Release);
        let _guard = self.moved.0.lock().unwrap_or_else(PoisonError::into_inner);
        self.moved.1.notify_all();
    }

    fn work(&self, steps: &[usize], next: &AtomicUsize) -> Result<()> {
        loop {
            let Some(&x) = steps.get(next.fetch_add(1, Ordering::AcqRel)) else {
                return Ok(());
            };
            let start = Instant::now();
            loop {
                if self.stop.load(Ordering::Acquire) {
                    return Ok(());
                }
                if self.before[x].iter().all(|y| self.is_done(*y)) {
                    break;
                }
                // Seldom long: the computation is waited for.
                let waited = start.elapsed() / 8;
                self.pause(waited.clamp(Duration::from_micros(50), Duration::from_millis(20)));
            }
            match &self.plan.ops[x] {
                Op::Load { tile, slot } => {
                    // SAFETY: all who used the slot are done, and whoever comes next waits for this step.
                    let buffer = unsafe { &mut *self.slots.buffers[*slot].get() };
                    self.store.load(*tile, buffer)?;
                }
                Op::Store {
                    tile,
                    slot,
                    request,
                } => {
                    // SAFETY: who changed the slot is done, and whoever changes it next waits for this step.
                    let buffer = unsafe { &*self.slots.buffers[*slot].get() };
                    self.store.store(*tile, buffer, *request)?;
                }
                Op::Run { .. } => {}
            }
            self.finish(x);
        }
    }
}

/// Stops the threads when it is dropped. After all is done there are none.
struct Over<'a, 'b, T: Scalar, S: Store<T>>(&'b Line<'a, T, S>);

impl<T: Scalar, S: Store<T>> Drop for Over<'_, '_, T, S> {
    fn drop(&mut self) {
        self.0.halt();
    }
}

struct OverIfPanicking<'a, 'b, T: Scalar, S: Store<T>>(&'b Line<'a, T, S>);

impl<T: Scalar, S: Store<T>> Drop for OverIfPanicking<'_, '_, T, S> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.halt();
        }
    }
}
