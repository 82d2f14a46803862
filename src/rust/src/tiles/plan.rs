//! Which tile lies in memory when: a cache that knows all that will be asked of it.
//!
//! Since every request is known beforehand, the tile that gives way is the one that is not needed
//! for longest (Belady 1966), which makes the fewest copies that any rule can. The plan is made
//! before anything moves: it is a list of loads, stores and requests in which nothing is left to
//! chance, and says how many bytes will have moved.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use crate::base::error::{Error, Result};
use crate::base::interrupt;

/// What a request does with a tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// Looks at it.
    Read,
    /// Changes it.
    Change,
    /// Writes all of it, so that it need not be loaded.
    Replace,
}

/// A request for some tiles at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Different tiles, at most three.
    pub tiles: Vec<(usize, Use)>,
    /// The changed tile is stored at once: nobody changes it any more.
    pub store: bool,
}

impl Request {
    /// For nothing.
    pub fn none() -> Self {
        Request {
            tiles: Vec::new(),
            store: false,
        }
    }
}

/// What is done with the memory's slots, in this order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Op {
    Load {
        tile: usize,
        slot: usize,
    },
    /// `request` is the one that changed the tile last.
    Store {
        tile: usize,
        slot: usize,
        request: usize,
    },
    /// The request, and the slots of its tiles, in its order.
    Run {
        request: usize,
        slots: Vec<usize>,
    },
}

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Plan {
    pub ops: Vec<Op>,
    pub loads: usize,
    pub stores: usize,
}

/// Slots that every plan can do with.
pub const LEAST_SLOTS: usize = 3;

/// Not needed again.
const NEVER: usize = usize::MAX - 1;
/// Nor is what it holds.
const REPLACED: usize = usize::MAX;

/// The next use, the last one, and the tile.
type Latest = BinaryHeap<(usize, Reverse<usize>, usize)>;

struct Held {
    slot: usize,
    /// The request that used it last.
    used: usize,
    /// The request that needs it next.
    next: usize,
    /// The request that changed it last, where that is not stored yet.
    changed: Option<usize>,
}

/// A plan for so many slots, at least [`LEAST_SLOTS`]. At its end all that was changed is stored.
pub fn plan(requests: &[Request], slots: usize) -> Result<Plan> {
    let slots = slots.max(LEAST_SLOTS);
    let next = next_uses(requests);
    let mut plan = Plan::default();
    let mut held: HashMap<usize, Held> = HashMap::new();
    let mut free: Vec<usize> = (0..slots).rev().collect();
    // With the next use of each tile and its last one; entries that are no longer true are passed
    // over. Of tiles that are not needed again the one that was used first gives way, so that
    // whoever carries the plan out has to wait for as little as can be.
    let mut latest: Latest = BinaryHeap::new();
    for (r, request) in requests.iter().enumerate() {
        if r % 1024 == 0 {
            interrupt::poll()?;
        }
        let wanted = |tile: usize| request.tiles.iter().any(|(t, _)| *t == tile);
        for &(tile, how) in &request.tiles {
            if held.contains_key(&tile) {
                continue;
            }
            let slot = match free.pop() {
                Some(slot) => slot,
                None => {
                    let (old, h) = give_way(&mut held, &mut latest, wanted)?;
                    plan.store(old, &h);
                    h.slot
                }
            };
            if how != Use::Replace {
                plan.loads += 1;
                plan.ops.push(Op::Load { tile, slot });
            }
            let new = Held {
                slot,
                used: r,
                next: r,
                changed: None,
            };
            latest.push((r, Reverse(r), tile));
            held.insert(tile, new);
        }
        let mut places = Vec::with_capacity(request.tiles.len());
        for (k, &(tile, how)) in request.tiles.iter().enumerate() {
            if let Some(h) = held.get_mut(&tile) {
                places.push(h.slot);
                h.next = next[r][k];
                h.used = r;
                latest.push((h.next, Reverse(r), tile));
                if how != Use::Read {
                    h.changed = Some(r);
                }
                if h.next == REPLACED {
                    h.changed = None;
                }
            }
        }
        plan.ops.push(Op::Run {
            request: r,
            slots: places,
        });
        for &(tile, how) in &request.tiles {
            if let Some(h) = held.get_mut(&tile) {
                if request.store && how != Use::Read {
                    plan.store(tile, h);
                    h.changed = None;
                }
            }
        }
    }
    let mut rest: Vec<_> = held.iter().filter(|(_, h)| h.changed.is_some()).collect();
    rest.sort_by_key(|(_, h)| h.changed);
    for (tile, h) in rest {
        plan.store(*tile, h);
    }
    Ok(plan)
}

/// The tile that is not needed for longest, and is not wanted now.
fn give_way(
    held: &mut HashMap<usize, Held>,
    latest: &mut Latest,
    wanted: impl Fn(usize) -> bool,
) -> Result<(usize, Held)> {
    let mut kept = Vec::new();
    let found = loop {
        let Some((next, used, tile)) = latest.pop() else {
            return Err(Error::Internal {
                what: "a step needs more tiles than there is room for".into(),
            });
        };
        match held.get(&tile) {
            Some(h) if (h.next, h.used) != (next, used.0) => {}
            Some(_) if wanted(tile) => kept.push((next, used, tile)),
            Some(_) => {
                if let Some(h) = held.remove(&tile) {
                    break (tile, h);
                }
            }
            None => {}
        }
    };
    latest.extend(kept);
    Ok(found)
}

impl Plan {
    /// For each step, the earlier ones it waits for, so that they may be carried out side by side.
    pub fn before(&self, requests: &[Request], slots: usize) -> Vec<Vec<usize>> {
        let mut changed: Vec<Option<usize>> = vec![None; slots];
        let mut used: Vec<Vec<usize>> = vec![Vec::new(); slots];
        // Where a tile was stored last: it is loaded again from there.
        let mut stored: HashMap<usize, usize> = HashMap::new();
        let mut all = Vec::with_capacity(self.ops.len());
        for (x, op) in self.ops.iter().enumerate() {
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
                Op::Load { tile, slot } => {
                    touch(*slot, Use::Replace);
                    wait.extend(stored.get(tile));
                }
                Op::Store { tile, slot, .. } => {
                    touch(*slot, Use::Read);
                    wait.extend(stored.insert(*tile, x));
                }
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

    /// The plan of `count` requests, where the `first` before them and those after do nothing but
    /// have tiles loaded and kept.
    pub fn without(mut self, first: usize, count: usize) -> Plan {
        self.ops.retain_mut(|op| match op {
            Op::Run { request, .. } | Op::Store { request, .. } => {
                let inside = *request >= first && *request < first + count;
                *request = request.wrapping_sub(first);
                inside
            }
            Op::Load { .. } => true,
        });
        self
    }

    /// The plan where nothing is stored, if nothing had to give way that was changed.
    pub fn staying(mut self) -> Option<Plan> {
        let last = self.ops.iter().rposition(|op| matches!(op, Op::Run { .. }));
        let first = self
            .ops
            .iter()
            .position(|op| matches!(op, Op::Store { .. }));
        if first < last && first.is_some() {
            return None;
        }
        self.ops.retain(|op| !matches!(op, Op::Store { .. }));
        self.stores = 0;
        Some(self)
    }

    fn store(&mut self, tile: usize, held: &Held) {
        if let Some(request) = held.changed {
            self.stores += 1;
            self.ops.push(Op::Store {
                tile,
                slot: held.slot,
                request,
            });
        }
    }
}

/// For each tile of each request, the request that needs what it then holds.
fn next_uses(requests: &[Request]) -> Vec<Vec<usize>> {
    let mut next: HashMap<usize, usize> = HashMap::new();
    let mut all = Vec::with_capacity(requests.len());
    for (r, request) in requests.iter().enumerate().rev() {
        let after = |(tile, _): &(usize, Use)| next.get(tile).copied().unwrap_or(NEVER);
        all.push(request.tiles.iter().map(after).collect());
        for (tile, how) in &request.tiles {
            next.insert(*tile, if *how == Use::Replace { REPLACED } else { r });
        }
    }
    all.reverse();
    all
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
