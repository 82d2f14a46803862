//! Tiles in a device's memory: copies beside what is computed, by a plan.

use std::collections::VecDeque;
use std::ops::Range;
use std::rc::Rc;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::algo::tiled::engine::device_slot::DeviceSlot;
use crate::algo::tiled::engine::peers::{DeviceGuard, Peer, Peers};
use crate::algo::tiled::engine::room::Share;
use crate::algo::tiled::engine::task::unknown;
use crate::algo::tiled::engine::task::{compute, minor};
use crate::algo::tiled::engine::work::Work;
use crate::base::error::Result;
use crate::base::interrupt;
use crate::base::progress;
use crate::base::scalar::Scalar;
use crate::device::async_copy::AsyncCopy;
use crate::tiles::memory::Slots;
use crate::tiles::meter::Running;
use crate::tiles::plan::Op;
use crate::tiles::plan_executor::{PlanExecutor, Store};
use crate::tiles::schedule::Task;

/// Tasks that may wait for the device, and their operations where there are more than two: an
/// interrupt waits for all of them.
const TASKS_AHEAD: usize = 24;
const OPERATIONS_AHEAD: f64 = 4e12;

/// Steps of a kind of which the first that can be begun is: what was planned to come first may come
/// late.
const WINDOW: usize = 256;

/// Kinds of steps of a device: tiles that come from other devices, strips of tiles that come from
/// the host, tasks, and strips that go there.
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

/// Where devices leave what stays.
pub(crate) type Kept<M> = Mutex<Vec<ResidentTile<M>>>;

/// What one device has been given.
struct Driver<'a, 'l, T: Scalar, D: AsyncCopy<T>, S> {
    dev: &'a D,
    number: usize,
    work: &'a Work,
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

/// Does what is planned for device `number`, on a thread of its own.
pub(crate) fn on_device<'a, T: Scalar, D: AsyncCopy<T>, S: Store<T>>(
    dev: &'a D,
    number: usize,
    work: &'a Work,
    slots: &'a Slots<T>,
    line: &PlanExecutor<'a, T, S>,
    peers: &Peers<'a, D>,
    kept: Option<&Kept<D::Mat<'static>>>,
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
        // Tiles that come from the host, those from other devices, tasks, and tiles that go, each
        // in their order as far as that can be; none waits for one of another kind but where it
        // needs what that gives.
        let mut queues = self.queues();
        // A tile is there, or gone, when all strips of it are.
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

    /// The tiles that the device has made, where all are in its memory.
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

    /// The device's steps as steps of the host's plan and of its own.
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

    /// Waits until more is done than was seen, or may be.
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

    fn is_busy(&self) -> bool {
        !self.computing.is_empty() || self.under_way.iter().any(|copies| !copies.is_empty())
    }

    /// Those of a tile that a request for a strip of it is about.
    fn entries(&self, request: usize) -> Range<usize> {
        let strip = self.work.requests[request].tiles.first();
        let (_, columns) = self
            .work
            .strips
            .position(strip.map_or(0, |(strip, _)| *strip));
        let rows = self.work.layout.tile();
        columns.start * rows..columns.end * rows
    }

    fn send(&mut self, x: usize, slot: usize, home: usize, part: Range<usize>) -> Result<()> {
        let from = self.slots.address(home);
        // SAFETY: the host's slot has a strip, and the device's the tile; steps that change either
        // wait for the end of the copy.
        let copy =
            self.places[slot].fill(|to, after| unsafe { self.dev.send(from, to, part, after) })?;
        self.is_under_way(UP, x, copy);
        Ok(())
    }

    fn copy(&mut self, x: usize, slot: usize, peer: Peer) -> Result<()> {
        let (from, place) = self.peers.find(peer)?;
        // SAFETY: the other device has computed the tile, and changes its place only after this
        // step; it gives no memory back before this one has left.
        let copy =
            self.places[slot].fill(|to, after| unsafe { self.dev.copy(from, place, to, after) })?;
        self.is_under_way(ACROSS, x, copy);
        Ok(())
    }

    fn fetch(&mut self, x: usize, slot: usize, home: usize, part: Range<usize>) -> Result<()> {
        let to = self.slots.address(home);
        // SAFETY: as of `send`.
        let copy = self.places[slot]
            .read(|from, after| unsafe { self.dev.fetch(from, part, to, after) })?;
        self.is_under_way(DOWN, x, copy);
        Ok(())
    }

    fn is_under_way(&mut self, kind: usize, x: usize, copy: Rc<D::Mark>) {
        self.under_way[kind].push_back((x, copy));
        let line = self.line;
        self.copying
            .get_or_insert_with(|| line.meters.copying.run());
    }

    fn compute(&mut self, step: usize, task: Task, used: &[usize]) -> Result<()> {
        for slot in used {
            if let Some(mark) = self.places[*slot].arriving() {
                self.dev.follow(&mark)?;
            }
        }
        let Some((first, others)) = used.split_first() else {
            return Ok(());
        };
        if let Some(mark) = self.places[*first].leaving() {
            self.dev.follow(&mark)?;
        }
        let (before, rest) = self.places.split_at_mut(*first);
        let Some((target, after)) = rest.split_first_mut() else {
            return Ok(());
        };
        let sources: Vec<&D::Mat<'_>> = others
            .iter()
            .filter_map(|s| match s.checked_sub(*first + 1) {
                Some(s) => after.get(s),
                None => before.get(*s),
            })
            .map(|place| &place.matrix)
            .collect();
        // What is done is counted when it is.
        let _uncounted = progress::part(0.0);
        let outcome = match task {
            Task::Factor { .. } => {
                let started = self.dev.start_potrf(&mut target.matrix);
                Some(started.map_err(|e| minor(&self.work.layout, task, e))?)
            }
            _ => {
                compute(
                    self.dev,
                    &self.work.layout,
                    task,
                    &mut target.matrix,
                    &sources,
                )?;
                None
            }
        };
        let end = Rc::new(self.dev.mark()?);
        for slot in used {
            self.places[*slot].used(end.clone());
        }
        self.computing.push_back(Computing {
            step,
            task,
            end,
            outcome,
        });
        Ok(())
    }

    /// Whether too much is queued.
    fn are_many(&self) -> bool {
        let tile = self.work.layout.tile();
        let operations: f64 = self.computing.iter().map(|c| c.task.operations(tile)).sum();
        let few = self.computing.len() <= TASKS_AHEAD && operations <= OPERATIONS_AHEAD;
        !few && self.computing.len() > 2
    }

    /// Finishes the steps whose copies are done, and counts the tasks that are. A copy comes after
    /// the tasks before it: what became of them is looked at first, so that no tile is stored that
    /// a failure has made.
    fn retire(&mut self) -> Result<()> {
        let mut copied = Vec::new();
        for copies in &mut self.under_way {
            while let Some((x, copy)) = copies.front() {
                if !self.dev.is_past(copy)? {
                    break;
                }
                copied.push(*x);
                copies.pop_front();
            }
        }
        if self.under_way.iter().all(VecDeque::is_empty) {
            self.copying = None;
        }
        while let Some(first) = self.computing.front() {
            if !self.dev.is_past(&first.end)? {
                break;
            }
            if let Some(outcome) = &first.outcome {
                let done = self.dev.outcome(outcome);
                done.map_err(|e| minor(&self.work.layout, first.task, e))?;
            }
            let operations = first.task.operations(self.work.layout.tile());
            self.line.count(operations);
            self.line.finish(first.step);
            self.computing.pop_front();
        }
        for x in copied {
            self.line.finish(x);
        }
        if self.number == 0 {
            self.line.show();
        }
        Ok(())
    }
}
