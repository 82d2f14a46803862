//! A plan carried out by several threads: some load tiles, some store them, and one computes.
//!
//! Every step waits for the earlier ones that used its slots: one that fills or changes a slot for
//! all who looked at it, one that looks at it for the one who changed it. Steps wait for earlier
//! ones alone, and each kind is begun in order, so that the earliest unfinished step can always go
//! on.

mod steps;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread::{self, Thread};
use std::time::Duration;

use super::buffer::Buffer;
use super::memory::Slots;
use super::meter::{Meter, Meters};
use super::plan::{Op, Plan, Request};
use crate::base::error::{Error, Result};
use crate::base::interrupt;
use crate::base::scalar::Scalar;
use crate::base::spawn;

/// Where tiles come from and go to.
pub trait Store<T>: Sync {
    fn load(&self, tile: usize, into: &mut Buffer<T>) -> Result<()>;
    /// `request` changed the tile last.
    fn store(&self, tile: usize, from: &Buffer<T>, request: usize) -> Result<()>;
}

pub struct PlanExecutor<'a, T, S> {
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
    /// Threads that load or store, by the step that they wait for.
    waiting: Mutex<HashMap<usize, Vec<Thread>>>,
    failed: Mutex<Option<Error>>,
    /// How many steps are done, and that it has changed.
    moved: (Mutex<usize>, Condvar),
    pub meters: Meters,
    /// Operations that are done, and not yet shown.
    done_operations: Mutex<f64>,
}

/// The work of one thread: a device's part.
pub type Driver<'a> = Box<dyn FnOnce() -> Result<()> + Send + 'a>;

impl<'a, T: Scalar, S: Store<T>> PlanExecutor<'a, T, S> {
    /// For so many drivers.
    pub fn new(
        plan: &'a Plan,
        requests: &[Request],
        slots: &'a Slots<T>,
        store: &'a S,
        drivers: usize,
    ) -> Self {
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
        PlanExecutor {
            plan,
            before: plan.before(requests, slots.count()),
            done: plan.ops.iter().map(|_| AtomicBool::new(false)).collect(),
            loads: which(true),
            stores: which(false),
            next: [AtomicUsize::new(0), AtomicUsize::new(0)],
            slots,
            store,
            stop: AtomicBool::new(false),
            waiting: Mutex::default(),
            failed: Mutex::new(None),
            moved: (Mutex::new(0), Condvar::new()),
            meters: Meters {
                idle: (0..drivers).map(|_| Meter::default()).collect(),
                ..Meters::default()
            },
            done_operations: Mutex::new(0.0),
        }
    }

    /// Adds pairs of requests, of which the first waits for the second, which comes before it.
    pub fn after(mut self, pairs: &[(usize, usize)]) -> Self {
        if pairs.is_empty() {
            return self;
        }
        let runs = self.plan.ops.iter().enumerate();
        let step_of: HashMap<usize, usize> = runs
            .filter_map(|(x, op)| match op {
                Op::Run { request, .. } => Some((*request, x)),
                _ => None,
            })
            .collect();
        for (later, earlier) in pairs {
            if let (Some(x), Some(y)) = (step_of.get(later), step_of.get(earlier)) {
                self.before[*x].push(*y);
            }
        }
        self
    }

    /// Carries the plan out. `compute` runs on this thread and each of `others` on another one.
    /// They do the requests, between [`PlanExecutor::ready`] and [`PlanExecutor::finish`].
    /// `threads` load, and as many store. At least one of `helpers`, which share their work, gets a
    /// thread.
    pub fn run(
        &self,
        threads: usize,
        others: Vec<Driver<'_>>,
        helpers: Vec<Driver<'_>>,
        compute: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let computed = thread::scope(|scope| {
            // The threads stop when this ends for any reason.
            let _over = Over(self);
            for kind in 0..2 {
                let steps = if kind == 0 { &self.loads } else { &self.stores };
                let next = &self.next[kind];
                let mut started = 0;
                for _ in 0..threads.max(1).min(steps.len()) {
                    let work = move || {
                        let _over = OverIfPanicking(self);
                        if let Err(e) = self.work(steps, next) {
                            self.fail(e);
                        }
                    };
                    match spawn::scoped(scope, work) {
                        Ok(_) => started += 1,
                        // Fewer will do.
                        Err(_) if started > 0 => break,
                        Err(e) => return Err(e),
                    }
                }
            }
            let mut drivers = Vec::with_capacity(others.len() + helpers.len());
            let enough = others.len() + 1;
            for other in others.into_iter().chain(helpers) {
                let work = move || {
                    let _over = OverIfPanicking(self);
                    if let Err(e) = other() {
                        self.fail(e);
                    }
                };
                match spawn::scoped(scope, work) {
                    Ok(driver) => drivers.push(driver),
                    // Fewer helpers will do.
                    Err(_) if drivers.len() >= enough => break,
                    Err(e) => return Err(e),
                }
            }
            compute()?;
            self.await_all()?;
            // They are told to stop when this ends.
            while !drivers.iter().all(|driver| driver.is_finished()) {
                let seen = self.progress();
                interrupt::poll()?;
                self.go_on()?;
                self.pause(seen, Duration::from_millis(1));
            }
            Ok(())
        });
        let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.clone().map_or(computed, Err)
    }

    pub fn into_meters(self) -> Meters {
        self.meters
    }

    fn work(&self, steps: &[usize], next: &AtomicUsize) -> Result<()> {
        loop {
            let Some(&x) = steps.get(next.fetch_add(1, Ordering::AcqRel)) else {
                return Ok(());
            };
            if !self.before[x].iter().all(|y| self.await_step(*y)) || !self.goes_on() {
                return Ok(());
            }
            match &self.plan.ops[x] {
                Op::Load { tile, slot } => {
                    // SAFETY: all who used the slot are done, and whoever comes next waits for this
                    // step.
                    let buffer = unsafe { &mut *self.slots.buffer(*slot) };
                    let _running = self.meters.loading.run();
                    self.store.load(*tile, buffer)?;
                }
                Op::Store {
                    tile,
                    slot,
                    request,
                } => {
                    // SAFETY: who changed the slot is done, and whoever changes it next waits for
                    // this step.
                    let buffer = unsafe { &*self.slots.buffer(*slot) };
                    let _running = self.meters.storing.run();
                    self.store.store(*tile, buffer, *request)?;
                }
                Op::Run { .. } => {}
            }
            self.finish(x);
        }
    }
}

/// Stops the threads when it is dropped. After all is done there are none.
struct Over<'a, 'b, T: Scalar, S: Store<T>>(&'b PlanExecutor<'a, T, S>);

impl<T: Scalar, S: Store<T>> Drop for Over<'_, '_, T, S> {
    fn drop(&mut self) {
        self.0.halt();
    }
}

struct OverIfPanicking<'a, 'b, T: Scalar, S: Store<T>>(&'b PlanExecutor<'a, T, S>);

impl<T: Scalar, S: Store<T>> Drop for OverIfPanicking<'_, '_, T, S> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.halt();
        }
    }
}
