//! What is to be done for a factorization by tiles, before anything is: the steps, who does which, and what lies where when.

use std::collections::HashMap;

use crate::algo::tiled_merge::Merged;
use crate::algo::tiled_peers::Peer;
use crate::error::{Error, Result};
use crate::interrupt;
use crate::tiles::plan::{plan, Op, Plan, Request, Use};
use crate::tiles::schedule::{cholesky, Blocking, Task};
use crate::tiles::{Buffer, Layout};

/// A matrix of which tiles are loaded and stored, with how far each of them is.
pub trait Tiles<T>: Sync {
    fn layout(&self) -> Layout;
    /// Steps of the factorization that the tile has had.
    fn step(&self, tile: usize) -> u32;
    fn load(&self, tile: usize, into: &mut Buffer<T>) -> Result<()>;
    fn store(&self, tile: usize, from: &Buffer<T>, step: u32) -> Result<()>;
    /// Threads for what is to be done beside, and the part of one of them, which may end when it is told not to go on.
    fn threads_beside(&self) -> usize {
        0
    }
    fn beside(&self, _thread: usize, _go_on: &dyn Fn() -> bool) {}
}

/// Tiles that fit in memory, at least [`LEAST_SLOTS`](crate::tiles::plan::LEAST_SLOTS) each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Room {
    pub host: usize,
    /// In the memory of each device; none where tiles are computed with in the host's.
    pub devices: Vec<usize>,
    /// Whether each of them reaches the others' memory.
    pub peers: bool,
}

/// Numbers of tiles that are copied.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Traffic {
    pub loaded: usize,
    pub stored: usize,
    pub sent: usize,
    pub fetched: usize,
    /// From one device to another.
    pub passed: usize,
}

/// Rows of tiles that can be planned: the plan of more takes gigabytes.
pub const MOST_ROWS: usize = 256;
/// Steps in all plans that are compared, but for one.
const STEPS: usize = 2_000_000;

/// What is to be done, before anything is.
pub struct Work {
    pub(super) layout: Layout,
    pub(super) tasks: Vec<Task>,
    /// None where the host computes.
    pub(super) devices: Vec<Share>,
    /// What is asked of the host's memory, and by which device and step of its plan.
    pub(super) requests: Vec<Request>,
    pub(super) by: Vec<(usize, usize)>,
    /// What comes from another device's memory and asks nothing of the host's; and pairs of requests, of which the first waits for the second besides.
    pub(super) peers: HashMap<usize, Peer>,
    pub(super) after: Vec<(usize, usize)>,
    pub(super) host: Plan,
    pub(super) room: Room,
}

/// What one device does.
pub(super) struct Share {
    /// The numbers of its tasks.
    pub(super) tasks: Vec<usize>,
    /// What lies where in its memory; requests are places in `tasks`.
    pub(super) plan: Plan,
}

/// What a task asks for.
fn request_of(layout: &Layout, task: &Task) -> Result<Request> {
    let number = |(i, j)| {
        layout.index(i, j).ok_or_else(|| Error::Internal {
            what: "a step needs a tile that there is not".into(),
        })
    };
    let mut tiles = vec![(number(task.target())?, Use::Change)];
    for at in task.sources() {
        tiles.push((number(at)?, Use::Read));
    }
    Ok(Request {
        tiles,
        store: task.is_last(),
    })
}

impl Share {
    /// What a step of the device's plan asks of the host's memory.
    pub(super) fn request_by(&self, tasks: &[Task], op: &Op) -> Request {
        match op {
            Op::Load { tile, .. } => Request {
                tiles: vec![(*tile, Use::Read)],
                store: false,
            },
            Op::Store { tile, request, .. } => Request {
                tiles: vec![(*tile, Use::Replace)],
                store: tasks[self.tasks[*request]].is_last(),
            },
            Op::Run { .. } => Request {
                tiles: Vec::new(),
                store: false,
            },
        }
    }
}

impl Work {
    /// The best of some ways to go through the matrix: that with the fewest copies to and from where it lies, then to and from the devices. `speeds` are
    /// those of the devices, in any unit.
    pub fn new<T>(matrix: &impl Tiles<T>, room: &Room, speeds: &[f64]) -> Result<Work> {
        let layout = matrix.layout();
        let count = layout.block_rows();
        if count > MOST_ROWS {
            return Err(Error::Argument {
                argument: "tile",
                what: format!("a matrix of {count} rows of tiles needs larger tiles: {MOST_ROWS} rows of them at most"),
            });
        }
        let owners = owners(count, speeds);
        let mut best: Option<Work> = None;
        // Planning is to take a second or so.
        let steps = (count.pow(3) / 6).max(1);
        for blocking in ways(count, room).into_iter().take((STEPS / steps).max(1)) {
            interrupt::poll()?;
            let had = |i, j| layout.index(i, j).map_or(0, |tile| matrix.step(tile));
            let tasks = cholesky(count, blocking, had);
            let work = Work::by(layout, tasks, room, &owners)?;
            if best.as_ref().is_none_or(|b| work.cost() < b.cost()) {
                best = Some(work);
            }
        }
        best.ok_or_else(|| Error::Internal {
            what: "there is no way through a matrix".into(),
        })
    }

    fn by(layout: Layout, tasks: Vec<Task>, room: &Room, owners: &[usize]) -> Result<Work> {
        let own = tasks.iter().map(|task| request_of(&layout, task));
        let own: Vec<Request> = own.collect::<Result<_>>()?;
        let mut work = Work {
            layout,
            tasks,
            devices: Vec::new(),
            requests: own,
            by: Vec::new(),
            peers: HashMap::new(),
            after: Vec::new(),
            host: Plan::default(),
            room: room.clone(),
        };
        if !room.devices.is_empty() {
            work.share(owners)?;
        }
        work.host = plan(&work.requests, room.host)?;
        Ok(work)
    }

    /// Gives each device its tasks, and makes the steps of the devices' plans the requests to the host's memory, in an order in which what one needs of another comes later.
    fn share(&mut self, owners: &[usize]) -> Result<()> {
        let own = std::mem::take(&mut self.requests);
        let owner = |task: &Task| owners[task.target().1];
        for (d, slots) in self.room.devices.iter().enumerate() {
            let numbers: Vec<usize> = (0..own.len())
                .filter(|t| owner(&self.tasks[*t]) == d)
                .collect();
            let requests: Vec<Request> = numbers.iter().map(|t| own[*t].clone()).collect();
            self.devices.push(Share {
                plan: plan(&requests, *slots)?,
                tasks: numbers,
            });
        }
        let mut merged = Merged::new(&self.devices, &self.tasks, &self.room);
        for task in &self.tasks {
            merged.up_to_next_run(owner(task));
        }
        merged.flush(|_| true);
        (self.requests, self.by) = (merged.requests, merged.by);
        (self.peers, self.after) = (merged.peers, merged.after);
        Ok(())
    }

    pub fn traffic(&self) -> Traffic {
        let loads: usize = self.devices.iter().map(|d| d.plan.loads).sum();
        Traffic {
            loaded: self.host.loads,
            stored: self.host.stores,
            sent: loads - self.peers.len(),
            fetched: self.devices.iter().map(|d| d.plan.stores).sum(),
            passed: self.peers.len(),
        }
    }

    /// Disks are some ten times slower than the bus, and that slower than what is between devices.
    fn cost(&self) -> usize {
        let t = self.traffic();
        10 * (t.loaded + t.stored) + t.sent + t.fetched + t.passed / 4
    }

    pub fn operations(&self) -> f64 {
        let each = self.tasks.iter().map(|t| t.operations(self.layout.tile()));
        each.sum()
    }

    /// The task on behalf of which the host's memory was asked for something.
    pub(super) fn task_of(&self, request: usize) -> Option<Task> {
        let task = match self.by.get(request) {
            None => request,
            Some(&(d, x)) => {
                let share = self.devices.get(d)?;
                match share.plan.ops.get(x)? {
                    Op::Store { request, .. } | Op::Run { request, .. } => {
                        *share.tasks.get(*request)?
                    }
                    Op::Load { .. } => return None,
                }
            }
        };
        self.tasks.get(task).copied()
    }
}

/// The device that makes each column of tiles: neighbours are different ones', and their work adds up to what the devices can do.
fn owners(count: usize, speeds: &[f64]) -> Vec<usize> {
    let mut given = vec![0.0; speeds.len()];
    let mut owners = vec![0; count];
    for j in (0..count).rev() {
        let work = ((j + 1) as f64).powi(2);
        let time = |d: usize| (given[d] + work) / speeds[d].max(f64::MIN_POSITIVE);
        let first = (0..speeds.len()).min_by(|a, b| time(*a).total_cmp(&time(*b)));
        owners[j] = first.unwrap_or(0);
        if let Some(given) = given.get_mut(owners[j]) {
            *given += work;
        }
    }
    owners
}

/// Panels and chunks of which one fits in the host's memory or the devices', of several shapes; those first that tend to be good: two or three times as
/// wide as high.
fn ways(count: usize, room: &Room) -> Vec<Blocking> {
    let mut all = Vec::new();
    let ahead = room.devices.len() > 1;
    let on_devices: usize = room.devices.iter().sum();
    let slots = [room.host, on_devices];
    for slots in slots.into_iter().filter(|slots| *slots > 0) {
        for rows in [1, 2, 3, 4, 6, 8, 11, 16, 23, 32] {
            // What passes by needs room, too.
            for share in [0.5, 0.75, 0.95] {
                let cols = (share * slots as f64) as usize / rows;
                let way = Blocking {
                    rows,
                    cols: cols.min(count.max(1)),
                    ahead,
                };
                if rows <= count.max(1) && cols >= rows && !all.contains(&way) {
                    all.push(way);
                }
            }
        }
    }
    let off = |way: &Blocking| (way.cols as f64 / (2.5 * way.rows as f64)).ln().abs();
    all.sort_by(|a, b| off(a).total_cmp(&off(b)));
    if all.is_empty() {
        all.push(Blocking {
            rows: 1,
            cols: 1,
            ahead,
        });
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_shared_by_speed() {
        assert_eq!(owners(3, &[]), [0, 0, 0]);
        assert_eq!(owners(4, &[2.0]), [0, 0, 0, 0]);
        for speeds in [vec![1.0, 1.0], vec![3.0, 1.0], vec![1.0, 2.0, 1.0, 4.0]] {
            let owners = owners(64, &speeds);
            let all: f64 = speeds.iter().sum();
            let work = |d: usize| -> f64 {
                let own = owners.iter().enumerate().filter(|(_, o)| **o == d);
                own.map(|(j, _)| ((j + 1) as f64).powi(2)).sum()
            };
            let whole: f64 = (0..speeds.len()).map(work).sum();
            for (d, speed) in speeds.iter().enumerate() {
                let share = work(d) / whole;
                assert!(
                    (share - speed / all).abs() < 0.02,
                    "{speeds:?} {d}: {share}"
                );
            }
        }
    }
}
