//! The plans of several devices as one list of requests to the host's memory.

use std::collections::{HashMap, VecDeque};

use crate::algo::tiled_peers::Peer;
use crate::algo::tiled_work::{Room, Share};
use crate::tiles::plan::{Op, Request, LEAST_SLOTS};
use crate::tiles::schedule::Task;

/// Tasks between one and the copy back of its tile, so that the tile's place in host memory is not held while the task still waits for the device.
const LAG: usize = 16;

/// The devices' plans on their way to become one list of requests to the host's memory.
pub(super) struct Merged<'a> {
    shares: &'a [Share],
    tasks: &'a [Task],
    /// The first step of each plan that is not in the list.
    next: Vec<usize>,
    /// Copies back that are put off, the oldest first: since which task, whose, the step, tile and place.
    late: VecDeque<Late>,
    done: usize,
    /// What is in each device's places.
    places: Vec<Vec<Place>>,
    /// Where a tile of the factor is, and by which request it came there or was made. None where devices do not reach one another.
    made: Option<HashMap<usize, (Peer, usize)>>,
    pub(super) requests: Vec<Request>,
    pub(super) by: Vec<(usize, usize)>,
    pub(super) peers: HashMap<usize, Peer>,
    pub(super) after: Vec<(usize, usize)>,
}

/// A tile in a device's memory, and the requests that copy it to other devices.
#[derive(Default, Clone)]
struct Place {
    tile: Option<usize>,
    copied: Vec<usize>,
}

pub(super) struct Late {
    since: usize,
    device: usize,
    step: usize,
    tile: usize,
    slot: usize,
}

impl<'a> Merged<'a> {
    pub(super) fn new(shares: &'a [Share], tasks: &'a [Task], room: &Room) -> Self {
        let slots = room.devices.iter().map(|slots| (*slots).max(LEAST_SLOTS));
        Merged {
            shares,
            tasks,
            next: vec![0; shares.len()],
            late: VecDeque::new(),
            done: 0,
            places: slots.map(|slots| vec![Place::default(); slots]).collect(),
            made: room.peers.then(HashMap::new),
            requests: Vec::new(),
            by: Vec::new(),
            peers: HashMap::new(),
            after: Vec::new(),
        }
    }

    /// The number of the request.
    fn push(&mut self, device: usize, step: usize) -> usize {
        let share = &self.shares[device];
        let request = share.request_by(self.tasks, &share.plan.ops[step]);
        self.requests.push(request);
        self.by.push((device, step));
        self.requests.len() - 1
    }

    /// The place of another device that has the finished tile, and the request that finished it.
    fn peer_with(&self, tile: usize, device: usize) -> Option<(Peer, usize)> {
        let (peer, request) = *self.made.as_ref()?.get(&tile)?;
        let there = self.places[peer.device][peer.slot].tile == Some(tile);
        (there && peer.device != device).then_some((peer, request))
    }

    /// A tile comes to a device, from another or from the host's memory.
    fn bring(&mut self, device: usize, step: usize, tile: usize, slot: usize) {
        let request = match self.peer_with(tile, device) {
            Some((peer, made)) => {
                // The place is free.
                self.flush(|late| late.device == device && late.slot == slot);
                let request = self.push(device, step);
                self.requests[request].tiles.clear();
                self.places[peer.device][peer.slot].copied.push(request);
                self.peers.insert(request, peer);
                self.after.push((request, made));
                request
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
            self.after.push((request, copy));
        }
        self.is_here(tile, Peer { device, slot }, request);
    }

    /// A tile of the factor that is no longer where it was known to be is known to be here.
    fn is_here(&mut self, tile: usize, here: Peer, request: usize) {
        let known = self.made.as_mut().and_then(|made| made.get_mut(&tile));
        if let Some((peer, made)) = known {
            let there = self.places[peer.device][peer.slot].tile == Some(tile);
            if !there || *peer == here {
                (*peer, *made) = (here, request);
            }
        }
    }

    /// Puts copies back into the list: all up to the last that this is true of.
    pub(super) fn flush(&mut self, of: impl Fn(&Late) -> bool) {
        let count = self.late.iter().rposition(of).map_or(0, |at| at + 1);
        for late in self.late.drain(..count).collect::<Vec<_>>() {
            self.push(late.device, late.step);
        }
    }

    /// The steps of a device up to its next task, and what is stored after it.
    pub(super) fn up_to_next_run(&mut self, device: usize) {
        self.done += 1;
        let done = self.done;
        self.flush(|late| late.since + LAG < done);
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
                Op::Load { tile, slot } => self.bring(device, step, *tile, *slot),
                Op::Run { request, slots } => {
                    let changed = slots.first().copied();
                    self.flush(|late| late.device == device && Some(late.slot) == changed);
                    let made = self.push(device, step);
                    let task = self.tasks[self.shares[device].tasks[*request]];
                    if let (Some(slot), true) = (changed, task.is_last()) {
                        let peer = Peer { device, slot };
                        let tile = self.places[device][slot].tile;
                        if let (Some(all), Some(tile)) = (&mut self.made, tile) {
                            all.insert(tile, (peer, made));
                        }
                    }
                    ran = true;
                }
            }
            self.next[device] += 1;
        }
    }
}

#[cfg(test)]
#[path = "tiled_merge_tests.rs"]
mod tests;
