//! The plans of several devices as one list of requests to the host's memory.

use std::collections::VecDeque;

use crate::algo::tiled_work::Share;
use crate::tiles::plan::{Op, Request};
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
    pub(super) requests: Vec<Request>,
    pub(super) by: Vec<(usize, usize)>,
}

pub(super) struct Late {
    since: usize,
    device: usize,
    step: usize,
    tile: usize,
    slot: usize,
}

impl<'a> Merged<'a> {
    pub(super) fn new(shares: &'a [Share], tasks: &'a [Task]) -> Self {
        Merged {
            shares,
            tasks,
            next: vec![0; shares.len()],
            late: VecDeque::new(),
            done: 0,
            requests: Vec::new(),
            by: Vec::new(),
        }
    }

    fn push(&mut self, device: usize, step: usize) {
        let share = &self.shares[device];
        let request = share.request_by(self.tasks, &share.plan.ops[step]);
        self.requests.push(request);
        self.by.push((device, step));
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
                // What another device, or this one, has made is there first, and a place is free.
                Op::Load { tile, slot } => {
                    self.flush(|late| {
                        late.tile == *tile || late.device == device && late.slot == *slot
                    });
                    self.push(device, step);
                }
                Op::Run { slots, .. } => {
                    let changed = slots.first().copied();
                    self.flush(|late| late.device == device && Some(late.slot) == changed);
                    self.push(device, step);
                    ran = true;
                }
            }
            self.next[device] += 1;
        }
    }
}
