//! One device's part of a plan: copies of tiles and computations with them at the same time.

mod computing;
mod copies;

use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::algo::tiled::engine::device_slot::DeviceSlot;
use crate::algo::tiled::engine::factor_plan::FactorPlan;
use crate::algo::tiled::engine::peers::{DeviceGuard, Peers};
use crate::algo::tiled::engine::share::Share;
use crate::algo::tiled::engine::task::unknown;
use crate::base::error::Result;
use crate::base::interrupt;
use crate::base::scalar::Scalar;
use crate::device::async_copy::AsyncCopy;
use crate::tiles::memory::Slots;
use crate::tiles::meter::Running;
use crate::tiles::plan::Op;
use crate::tiles::plan_executor::{PlanExecutor, Store};
use crate::tiles::schedule::Task;

/// The first of so many steps of a kind whose inputs are ready is begun: a tile that was planned
/// first may arrive late.
const WINDOW: usize = 256;

/// Kinds of steps of a device: copies of tiles from other devices, uploads of strips of tiles,
/// tasks, and downloads of strips.
const KINDS: usize = 4;
const ACROSS: usize = 0;
const UP: usize = 1;
const RUN: usize = 2;
const DOWN: usize = 3;

/// A tile of a factor that stays in a device's memory.
pub struct ResidentTile<M> {
    /// Its number.
    pub tile: usize,
    /// The place of its device among those that worked.
    pub device: usize,
    pub matrix: M,
}

// SAFETY: it is an address in the device's memory; one thread at a time has it.
unsafe impl<M> Send for ResidentTile<M> {}

/// Where devices leave the tiles of a factor that stays.
pub(crate) type ResidentTiles<M> = Mutex<Vec<ResidentTile<M>>>;

/// The state of one device's part.
struct Driver<'a, 'l, T: Scalar, D: AsyncCopy<T>, S> {
    dev: &'a D,
    number: usize,
    work: &'a FactorPlan,
    share: &'a Share,
    slots: &'a Slots<T>,
    line: &'l PlanExecutor<'a, T, S>,
    peers: &'l Peers<'a, D>,
    places: Vec<DeviceSlot<D::Mat<'static>, D::Mark>>,
    /// Copies of each kind, with the steps of the host's plan that they are. Those of a kind end in
    /// the order of their beginning.
    under_way: [VecDeque<(usize, Rc<D::Mark>)>; KINDS],
    /// While there are any.
    copying: Option<Running<'l>>,
    computing: VecDeque<Computing<D::Mark, D::Outcome>>,
}

struct Computing<K, O> {
    /// The step of the host's plan.
    step: usize,
    task: Task,
    end: Rc<K>,
    outcome: Option<O>,
}

/// Carries out the plan of device `number`. Each device has a thread.
pub(crate) fn on_device<'a, T: Scalar, D: AsyncCopy<T>, S: Store<T>>(
    dev: &'a D,
    number: usize,
    work: &'a FactorPlan,
    slots: &'a Slots<T>,
    line: &PlanExecutor<'a, T, S>,
    peers: &Peers<'a, D>,
    kept: Option<&ResidentTiles<D::Mat<'static>>>,
) -> Result<()> {
    let Some(share) = work.devices.get(number) else {
        return Ok(());
    };
    if share.tasks.is_empty() {
        return Ok(());
    }
    let mut driver = Driver {
        dev,
        number,
        work,
        share,
        slots,
        line,
        peers,
        places: Vec::new(),
        under_way: Default::default(),
        copying: None,
        computing: VecDeque::new(),
    };
    // Dropped before the places.
    let at_work = DeviceGuard::new(dev, line, peers);
    driver.make_places()?;
    driver.run()?;
    at_work.finished();
    if let Some(kept) = kept {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend(driver.made());
    }
    Ok(())
}

impl<T: Scalar, D: AsyncCopy<T>, S: Store<T>> Driver<'_, '_, T, D, S> {
    fn make_places(&mut self) -> Result<()> {
        let tile = self.work.layout.tile();
        let mut matrices = Vec::new();
        for _ in 0..self.work.room.devices[self.number] {
            interrupt::poll()?;
            self.line.go_on()?;
            matrices.push(self.dev.zeros(tile, tile)?);
        }
        // Copies to them come after their making.
        let made = Rc::new(self.dev.mark()?);
        let places = matrices
            .into_iter()
            .map(|m| DeviceSlot::new(m, made.clone()));
        self.places = places.collect();
        if !self.work.peers.is_empty() {
            let places = self.places.iter_mut();
            let places = places.map(|place| self.dev.place(&mut place.matrix));
            self.peers.tell(self.number, places.collect::<Result<_>>()?);
        }
        Ok(())
    }

    fn run(&mut self) -> Result<()> {
        // Steps of each kind are begun in their order, as far as their inputs are ready. A step
        // waits for one of another kind only if it needs its result.
        let mut queues = self.queues();
        // A tile has been copied when all of its strips have.
        let mut left = vec![0; self.share.plan.ops.len()];
        for (_, step) in queues.iter().flatten() {
            left[*step] += 1;
        }
        while queues.iter().any(|queue| !queue.is_empty()) {
            let seen = self.line.progress();
            let mut any = false;
            for queue in &mut queues {
                let mut at = 0;
                while let Some(&(x, step)) = queue.get(at).filter(|_| at < WINDOW) {
                    let is_task = matches!(self.share.plan.ops[step], Op::Run { .. });
                    if is_task && self.are_many() {
                        break;
                    }
                    let first = self.share.before[step].iter().all(|y| left[*y] == 0);
                    if !first || !self.line.ready(x)? {
                        at += 1;
                        continue;
                    }
                    self.begin(x, step)?;
                    left[step] -= 1;
                    queue.remove(at);
                    any = true;
                    interrupt::poll()?;
                    self.retire()?;
                    // It may have waited for the device.
                    if is_task {
                        break;
                    }
                }
            }
            if !any {
                self.pause(seen)?;
            }
        }
        let copied = self.copied_by_others();
        loop {
            self.retire()?;
            if !self.is_busy() && copied.iter().all(|x| self.line.is_done(*x)) {
                return Ok(());
            }
            interrupt::poll()?;
            self.line.go_on()?;
            std::thread::sleep(Duration::from_micros(50));
        }
    }

    /// Steps in which other devices copy from this one's memory.
    fn copied_by_others(&self) -> Vec<usize> {
        let from_here = |request: &usize| {
            let peer = self.work.peers.get(request);
            peer.is_some_and(|peer| peer.device == self.number)
        };
        let steps = self.work.host.ops.iter().enumerate();
        let copies = steps.filter(|(_, op)| match op {
            Op::Run { request, .. } => from_here(request),
            _ => false,
        });
        copies.map(|(x, _)| x).collect()
    }

    /// The tiles that the device has computed, if all are in its memory.
    fn made(&mut self) -> Vec<ResidentTile<D::Mat<'static>>> {
        let layout = &self.work.layout;
        let mut own = vec![false; layout.tiles()];
        for task in &self.share.tasks {
            let (i, j) = self.work.tasks[*task].target();
            layout
                .index(i, j)
                .into_iter()
                .for_each(|tile| own[tile] = true);
        }
        let mut holds = vec![None; self.places.len()];
        for op in &self.share.plan.ops {
            if let Op::Load { tile, slot } = op {
                holds[*slot] = Some(*tile);
            }
        }
        let places = self.places.drain(..).zip(holds);
        let made = places.filter_map(|(place, tile)| {
            let tile = tile.filter(|tile| own[*tile])?;
            Some(ResidentTile {
                tile,
                device: self.number,
                matrix: place.matrix,
            })
        });
        made.collect()
    }

    /// The device's steps by kind: their numbers in the host's plan and in the device's.
    fn queues(&self) -> [VecDeque<(usize, usize)>; KINDS] {
        let mut queues = [const { VecDeque::new() }; KINDS];
        for (x, op) in self.work.host.ops.iter().enumerate() {
            let Op::Run { request, .. } = op else {
                continue;
            };
            let (device, step) = self.work.by[*request];
            if device == self.number {
                let kind = match self.share.plan.ops[step] {
                    Op::Load { .. } if self.work.peers.contains_key(request) => ACROSS,
                    Op::Load { .. } => UP,
                    Op::Run { .. } => RUN,
                    Op::Store { .. } => DOWN,
                };
                queues[kind].push_back((x, step));
            }
        }
        queues
    }

    fn begin(&mut self, x: usize, step: usize) -> Result<()> {
        let Op::Run {
            request,
            slots: homes,
        } = &self.work.host.ops[x]
        else {
            return unknown();
        };
        match &self.share.plan.ops[step] {
            Op::Load { slot, .. } => match self.work.peers.get(request) {
                Some(peer) => self.copy(x, *slot, *peer),
                None => self.send(x, *slot, homes[0], self.entries(*request)),
            },
            Op::Store { slot, .. } => self.fetch(x, *slot, homes[0], self.entries(*request)),
            Op::Run { request, slots } => {
                self.compute(x, self.work.tasks[self.share.tasks[*request]], slots)
            }
        }
    }

    /// Waits until more steps are done than `seen`, or for a short time.
    fn pause(&mut self, seen: usize) -> Result<()> {
        interrupt::poll()?;
        self.retire()?;
        self.line.go_on()?;
        let _idle = self
            .computing
            .is_empty()
            .then(|| self.line.meters.idle[self.number].run());
        let most = if self.is_busy() { 50 } else { 20_000 };
        self.line.pause(seen, Duration::from_micros(most));
        Ok(())
    }
}
