//! What is to be done for a factorization by tiles, before anything is: the steps, and what lies where when.

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
}

/// Tiles that fit in memory, at least [`LEAST_SLOTS`](crate::tiles::plan::LEAST_SLOTS) each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    pub host: usize,
    pub device: usize,
}

/// Numbers of tiles that are copied.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Traffic {
    pub loaded: usize,
    pub stored: usize,
    pub sent: usize,
    pub fetched: usize,
}

/// Rows of tiles that can be planned: the plan of more takes gigabytes.
const MOST_ROWS: usize = 256;
/// Steps in all plans that are compared, but for one.
const STEPS: usize = 2_000_000;

/// What is to be done, before anything is.
pub struct Work {
    pub(super) layout: Layout,
    pub(super) tasks: Vec<Task>,
    /// What lies where in the device's memory, unless that is the host's.
    pub(super) device: Option<Plan>,
    pub(super) requests: Vec<Request>,
    pub(super) host: Plan,
    pub(super) room: Room,
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

/// What a step of the device's plan asks of the host's memory.
fn request_by(tasks: &[Task], op: &Op) -> Request {
    match op {
        Op::Load { tile, .. } => Request {
            tiles: vec![(*tile, Use::Read)],
            store: false,
        },
        Op::Store { tile, request, .. } => Request {
            tiles: vec![(*tile, Use::Replace)],
            store: tasks[*request].is_last(),
        },
        Op::Run { .. } => Request {
            tiles: Vec::new(),
            store: false,
        },
    }
}

impl Work {
    /// The best of some ways to go through the matrix: that with the fewest copies to and from where it lies, then to and from the device.
    pub fn new<T>(matrix: &impl Tiles<T>, room: Room, in_host: bool) -> Result<Work> {
        let layout = matrix.layout();
        let count = layout.block_rows();
        if count > MOST_ROWS {
            return Err(Error::Argument {
                argument: "tile",
                what: format!("a matrix of {count} rows of tiles needs larger tiles: {MOST_ROWS} rows of them at most"),
            });
        }
        let mut best: Option<Work> = None;
        // Planning is to take a second or so.
        let steps = (count.pow(3) / 6).max(1);
        for blocking in ways(count, room).into_iter().take((STEPS / steps).max(1)) {
            interrupt::poll()?;
            let had = |i, j| layout.index(i, j).map_or(0, |tile| matrix.step(tile));
            let tasks = cholesky(count, blocking, had);
            let work = Work::by(layout, tasks, room, in_host)?;
            if best.as_ref().is_none_or(|b| work.cost() < b.cost()) {
                best = Some(work);
            }
        }
        best.ok_or_else(|| Error::Internal {
            what: "there is no way through a matrix".into(),
        })
    }

    fn by(layout: Layout, tasks: Vec<Task>, room: Room, in_host: bool) -> Result<Work> {
        let own = tasks.iter().map(|task| request_of(&layout, task));
        let own: Vec<Request> = own.collect::<Result<_>>()?;
        let (device, requests) = if in_host {
            (None, own)
        } else {
            let device = plan(&own, room.device)?;
            let requests = device.ops.iter().map(|op| request_by(&tasks, op)).collect();
            (Some(device), requests)
        };
        let host = plan(&requests, room.host)?;
        Ok(Work {
            layout,
            tasks,
            device,
            requests,
            host,
            room,
        })
    }

    pub fn traffic(&self) -> Traffic {
        let device = self.device.as_ref();
        Traffic {
            loaded: self.host.loads,
            stored: self.host.stores,
            sent: device.map_or(0, |d| d.loads),
            fetched: device.map_or(0, |d| d.stores),
        }
    }

    /// Disks are some ten times slower than the bus.
    fn cost(&self) -> usize {
        let t = self.traffic();
        10 * (t.loaded + t.stored) + t.sent + t.fetched
    }

    pub fn operations(&self) -> f64 {
        let each = self.tasks.iter().map(|t| t.operations(self.layout.tile()));
        each.sum()
    }
}

/// Panels and chunks of which one fits in the host's memory or the device's, of several shapes; those first that tend to be good: two or three times as
/// wide as high.
fn ways(count: usize, room: Room) -> Vec<Blocking> {
    let mut all = Vec::new();
    for slots in [room.host, room.device] {
        for rows in [1, 2, 3, 4, 6, 8, 11, 16, 23, 32] {
            // What passes by needs room, too.
            for share in [0.5, 0.75, 0.95] {
                let cols = (share * slots as f64) as usize / rows;
                let way = Blocking {
                    rows,
                    cols: cols.min(count.max(1)),
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
        all.push(Blocking { rows: 1, cols: 1 });
    }
    all
}
