//! The plans of several devices as one list of requests to the host's memory.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;

use crate::algo::tiled::engine::peers::Peer;
use crate::algo::tiled::engine::share::Share;
use crate::algo::tiled::engine::slot_budget::SlotBudget;
use crate::tiles::plan::{Op, Request, LEAST_SLOTS};
use crate::tiles::schedule::Task;
use crate::tiles::{Layout, Strips};

/// The devices' plans while they are merged to one list of requests to the host's memory.
pub(super) struct Merged<'a> {
    shares: &'a [Share],
    tasks: &'a [Task],
    strips: Strips,
    /// Tasks between one and the copy back of its tile.
    lag: usize,
    /// The first step of each plan that is not in the list, but for tiles that come ahead of time;
    /// and the first that was not looked ahead to.
    next: Vec<usize>,
    ahead: Vec<usize>,
    /// The steps of each plan that are in the list.
    listed: Vec<Vec<bool>>,
    /// The devices that make tiles, until they have.
    makers: HashMap<usize, usize>,
    /// Copies back that are put off, the oldest first: since which task, whose, the step, tile and
    /// place.
    late: VecDeque<Late>,
    done: usize,
    /// The contents of each device's slots.
    places: Vec<Vec<SlotContent>>,
    /// The slot of a tile of the factor, and the requests that copied it there or computed it.
    /// `None` if the devices do not reach one another.
    made: Option<HashMap<usize, (Peer, Range<usize>)>>,
    pub(crate) requests: Vec<Request>,
    pub(crate) by: Vec<(usize, usize)>,
    pub(crate) peers: HashMap<usize, Peer>,
    pub(crate) after: Vec<(usize, usize)>,
}

/// The tile in a device's slot, and the requests that copy it to other devices.
#[derive(Default, Clone)]
struct SlotContent {
    tile: Option<usize>,
    copied: Vec<usize>,
}

pub(crate) struct Late {
    since: usize,
    device: usize,
    step: usize,
    tile: usize,
    slot: usize,
}

impl<'a> Merged<'a> {
    pub(crate) fn new(
        shares: &'a [Share],
        tasks: &'a [Task],
        strips: Strips,
        room: &SlotBudget,
        lag: usize,
    ) -> Self {
        let listed = shares.iter().map(|share| vec![false; share.plan.ops.len()]);
        let slots = room.devices.iter().map(|slots| (*slots).max(LEAST_SLOTS));
        Merged {
            shares,
            tasks,
            strips,
            lag,
            next: vec![0; shares.len()],
            ahead: vec![0; shares.len()],
            listed: listed.collect(),
            makers: makers(shares, tasks),
            late: VecDeque::new(),
            done: 0,
            places: slots
                .map(|slots| vec![SlotContent::default(); slots])
                .collect(),
            made: room.peers.then(HashMap::new),
            requests: Vec::new(),
            by: Vec::new(),
            peers: HashMap::new(),
            after: Vec::new(),
        }
    }

    /// What the step asks of the host's memory; the numbers of these requests.
    fn push(&mut self, device: usize, step: usize) -> Range<usize> {
        let share = &self.shares[device];
        let asked = share.requests_by(self.tasks, &self.strips, &share.plan.ops[step]);
        self.push_all(device, step, asked)
    }

    fn push_all(&mut self, device: usize, step: usize, asked: Vec<Request>) -> Range<usize> {
        let first = self.requests.len();
        self.by.extend(asked.iter().map(|_| (device, step)));
        self.requests.extend(asked);
        self.listed[device][step] = true;
        first..self.requests.len()
    }

    /// The place of another device that has the finished tile, and the requests that finished it.
    fn peer_with(&self, tile: usize, device: usize) -> Option<(Peer, Range<usize>)> {
        let (peer, requests) = self.made.as_ref()?.get(&tile)?;
        let there = self.places[peer.device][peer.slot].tile == Some(tile);
        (there && peer.device != device).then(|| (*peer, requests.clone()))
    }

    /// A tile comes to a device, from another or from the host's memory.
    fn bring(&mut self, device: usize, step: usize, tile: usize, slot: usize) {
        let requests = match self.peer_with(tile, device) {
            Some((peer, made)) => {
                // The place is free.
                self.flush(|late| late.device == device && late.slot == slot);
                let requests = self.push_all(device, step, vec![Request::none()]);
                let request = requests.start;
                self.places[peer.device][peer.slot].copied.push(request);
                self.peers.insert(request, peer);
                self.after.extend(made.map(|made| (request, made)));
                requests
            }
            None => {
                // What another device, or this one, has made is there first, and a place is free.
                self.flush(|late| late.tile == tile || late.device == device && late.slot == slot);
                self.push(device, step)
            }
        };
        let place = &mut self.places[device][slot];
        place.tile = Some(tile);
        for copy in place.copied.drain(..) {
            self.after.extend(requests.clone().map(|r| (r, copy)));
        }
        self.is_here(tile, Peer { device, slot }, requests);
    }

    /// A tile of the factor that is no longer where it was known to be is known to be here.
    fn is_here(&mut self, tile: usize, here: Peer, requests: Range<usize>) {
        let finished = !self.makers.contains_key(&tile);
        let Some(made) = self.made.as_mut().filter(|_| finished) else {
            return;
        };
        let (peer, made) = made.entry(tile).or_insert((here, requests.clone()));
        let there = self.places[peer.device][peer.slot].tile == Some(tile);
        if !there || *peer == here {
            (*peer, *made) = (here, requests);
        }
    }

    /// Puts copies back into the list: all up to the last that this is true of.
    pub(super) fn flush(&mut self, of: impl Fn(&Late) -> bool) {
        let count = self.late.iter().rposition(of).map_or(0, |at| at + 1);
        for late in self.late.drain(..count).collect::<Vec<_>>() {
            self.push(late.device, late.step);
        }
    }

    /// Lists what the plans load before anything else, in the order in which tiles are to come.
    pub(super) fn bring_first(&mut self, layout: &Layout, arrivals: &[(usize, usize)]) {
        let mut place = vec![usize::MAX; layout.tiles()];
        for (at, number) in arrivals.iter().zip(0..) {
            if let Some(tile) = layout.index(at.0, at.1) {
                place[tile] = number;
            }
        }
        let mut first = Vec::new();
        for (device, share) in self.shares.iter().enumerate() {
            for (step, op) in share.plan.ops.iter().enumerate() {
                let Op::Load { tile, slot } = op else {
                    break;
                };
                // After the device's own tiles come those of others that its first task needs.
                if self.makers.get(tile).is_some_and(|maker| *maker != device) {
                    break;
                }
                first.push((place[*tile], device, step, *tile, *slot));
            }
        }
        first.sort_unstable();
        for (_, device, step, tile, slot) in first {
            self.bring(device, step, tile, slot);
        }
    }

    /// Lists the tiles that come for the next task of a device that was not looked ahead to, as far
    /// as there are places for them, and they are there to be had.
    pub(super) fn look_ahead(&mut self, device: usize) {
        let share = &self.shares[device];
        while let Some(op) = share.plan.ops.get(self.ahead[device]) {
            let step = self.ahead[device];
            self.ahead[device] += 1;
            match op {
                Op::Load { tile, slot } => {
                    let maker = self.makers.get(tile);
                    let is_there = maker.is_none_or(|maker| *maker == device);
                    let free = share.before[step].iter().all(|y| self.listed[device][*y]);
                    if is_there && free && !self.listed[device][step] {
                        self.bring(device, step, *tile, *slot);
                    }
                }
                Op::Run { .. } => return,
                Op::Store { .. } => {}
            }
        }
    }

    /// The steps of a device up to its next task, and what is stored after it.
    pub(super) fn up_to_next_run(&mut self, device: usize) {
        self.done += 1;
        let done = self.done;
        let lag = self.lag;
        self.flush(|late| late.since + lag < done);
        let mut ran = false;
        while let Some(op) = self.shares[device].plan.ops.get(self.next[device]) {
            let step = self.next[device];
            match op {
                Op::Store { tile, slot, .. } => {
                    let late = Late {
                        since: done,
                        device,
                        step,
                        tile: *tile,
                        slot: *slot,
                    };
                    self.late.push_back(late);
                }
                _ if ran => return,
                Op::Load { .. } if self.listed[device][step] => {}
                Op::Load { tile, slot } => self.bring(device, step, *tile, *slot),
                Op::Run { request, slots } => {
                    let changed = slots.first().copied();
                    self.flush(|late| late.device == device && Some(late.slot) == changed);
                    let made = self.push(device, step);
                    let task = self.tasks[self.shares[device].tasks[*request]];
                    let tile =
                        changed.and_then(|slot| Some((slot, self.places[device][slot].tile?)));
                    if let (Some((slot, tile)), true) = (tile, task.is_last()) {
                        self.makers.remove(&tile);
                        if let Some(all) = &mut self.made {
                            all.insert(tile, (Peer { device, slot }, made));
                        }
                    }
                    ran = true;
                }
            }
            self.next[device] += 1;
        }
    }
}

/// For each tile that a task finishes, the device that does it.
fn makers(shares: &[Share], tasks: &[Task]) -> HashMap<usize, usize> {
    let mut all = HashMap::new();
    for (device, share) in shares.iter().enumerate() {
        // Tiles by what their places hold.
        let mut places = HashMap::new();
        for op in &share.plan.ops {
            match op {
                Op::Load { tile, slot } => {
                    places.insert(slot, *tile);
                }
                Op::Run { request, slots } if tasks[share.tasks[*request]].is_last() => {
                    let tile = slots.first().and_then(|slot| places.get(slot));
                    all.extend(tile.map(|tile| (*tile, device)));
                }
                _ => {}
            }
        }
    }
    all
}

#[cfg(test)]
#[path = "merge_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "simulation_tests.rs"]
mod simulation;
