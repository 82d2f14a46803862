//! What is to be done for a factorization by tiles, before anything is: the steps, who does which,
//! and what lies where when.

use std::collections::HashMap;
use std::ops::Range;

use crate::algo::tiled::engine::merge::Merged;
use crate::algo::tiled::engine::orders::{compared, costs, owners, room_for_all, row_by_row, ways};
use crate::algo::tiled::engine::peers::Peer;
use crate::algo::tiled::engine::room::{request_of, Room, Share, Traffic};
use crate::base::error::{Error, Result};
use crate::base::interrupt;
use crate::tiles::list_schedule::list;
use crate::tiles::plan::{plan, Op, Plan, Request, Use, LEAST_SLOTS};
use crate::tiles::schedule::{cholesky, Blocking, Task};
use crate::tiles::{Buffer, Layout, Strips};

/// A matrix of which tiles are loaded and stored, with how far each of them is.
pub trait Tiles<T>: Sync {
    fn layout(&self) -> Layout;
    /// Steps of the factorization that the tile has had.
    fn step(&self, tile: usize) -> u32;
    /// Parts of tiles that are loaded and stored one by one, where devices compute.
    fn strips(&self) -> Strips {
        Strips::whole(self.layout())
    }
    /// These columns of a tile, of one strip or all.
    fn load(&self, tile: usize, columns: Range<usize>, into: &mut Buffer<T>) -> Result<()>;
    fn store(&self, tile: usize, columns: Range<usize>, from: &Buffer<T>, step: u32) -> Result<()>;
    /// Whether loading and storing are quick, so that a good order matters less.
    fn is_in_memory(&self) -> bool {
        false
    }
    /// Threads for what is to be done beside, and what each of them does, which share it; they may
    /// end when they are told not to go on.
    fn threads_beside(&self) -> usize {
        0
    }
    fn beside(&self, _go_on: &dyn Fn() -> bool) {}
}

/// Rows of tiles that can be planned: the plan of more takes gigabytes.
pub const MOST_ROWS: usize = 256;
/// When tiles travel between the host's memory and the devices'.
#[derive(Clone)]
pub(super) struct Pace {
    /// Where a device's own columns come before all else, all tiles in the order in which they
    /// come.
    first: Option<Vec<(usize, usize)>>,
    /// Whether the factor stays where it is made.
    stays: bool,
    /// Tasks between one and the copy back of its tile, so that the tile's place in host memory is
    /// not held while the task still waits for the device.
    pub(super) lag: usize,
}

const STEADY: Pace = Pace {
    first: None,
    stays: false,
    lag: 16,
};
/// Tasks before which a tile may come to a device's memory, where there is room.
const AHEAD: usize = 1024;

impl Pace {
    /// Where the devices have room for everything it all comes first. In memory it goes later: the
    /// host then has fewer tiles to read, and has got pages to write them to.
    fn all_fits(in_memory: bool, tasks: usize, arrivals: Vec<(usize, usize)>) -> Pace {
        Pace {
            first: Some(arrivals),
            stays: false,
            lag: if in_memory { tasks / 2 } else { STEADY.lag },
        }
    }
}

/// What is to be done, before anything is.
pub struct Work {
    pub(crate) layout: Layout,
    pub(crate) strips: Strips,
    pub(crate) tasks: Vec<Task>,
    /// None where the host computes.
    pub(crate) devices: Vec<Share>,
    /// What is asked of the host's memory, and by which device and step of its plan.
    pub(crate) requests: Vec<Request>,
    pub(crate) by: Vec<(usize, usize)>,
    /// What comes from another device's memory and asks nothing of the host's; and pairs of
    /// requests, of which the first waits for the second besides.
    pub(super) peers: HashMap<usize, Peer>,
    pub(crate) after: Vec<(usize, usize)>,
    pub(crate) host: Plan,
    pub(crate) room: Room,
}

/// Where the host computes a tile is in one piece.
fn strips_for<T>(matrix: &impl Tiles<T>, room: &Room) -> Strips {
    if room.devices.is_empty() {
        Strips::whole(matrix.layout())
    } else {
        matrix.strips()
    }
}

fn gave_way() -> Error {
    Error::Internal {
        what: "a tile that should stay was to give way".into(),
    }
}

impl Work {
    /// The best of some ways to go through the matrix: that with the fewest copies to and from
    /// where it lies, then to and from the devices. `speeds` are those of the devices, in any unit.
    pub fn new<T>(matrix: &impl Tiles<T>, room: &Room, speeds: &[f64]) -> Result<Work> {
        let layout = matrix.layout();
        let count = layout.block_rows();
        if count > MOST_ROWS {
            return Err(Error::Argument {
                argument: "tile",
                what: format!(
                    "a matrix of {count} rows of tiles needs larger tiles: {MOST_ROWS} \
                     rows of them at most"
                ),
            });
        }
        let owners = owners(count, speeds);
        if let Some(room) = room_for_all(&layout, room, &owners) {
            return Work::where_all_fits(matrix, &room, &owners, speeds, false);
        }
        let mut best: Option<Work> = None;
        let strips = strips_for(matrix, room);
        for blocking in ways(count, room, strips.each())
            .into_iter()
            .take(compared(&layout, matrix.is_in_memory()))
        {
            interrupt::poll()?;
            let work = Work::in_order(matrix, blocking, room, &owners, &STEADY)?;
            if best.as_ref().is_none_or(|b| work.cost() < b.cost()) {
                best = Some(work);
            }
        }
        best.ok_or_else(|| Error::Internal {
            what: "there is no way through a matrix".into(),
        })
    }

    /// For a factor that stays in the devices' memory. `None` where they have too little, or do not
    /// reach one another.
    pub fn staying<T>(matrix: &impl Tiles<T>, room: &Room, speeds: &[f64]) -> Result<Option<Work>> {
        let layout = matrix.layout();
        let count = layout.block_rows();
        let owners = owners(count, speeds);
        let Some(room) = room_for_all(&layout, room, &owners) else {
            return Ok(None);
        };
        Work::where_all_fits(matrix, &room, &owners, speeds, true).map(Some)
    }

    /// Nothing travels twice, whatever the order.
    fn where_all_fits<T>(
        matrix: &impl Tiles<T>,
        room: &Room,
        owners: &[usize],
        speeds: &[f64],
        stays: bool,
    ) -> Result<Work> {
        let layout = matrix.layout();
        let strips = strips_for(matrix, room);
        let count = layout.block_rows();
        let had = |i, j| layout.index(i, j).map_or(0, |tile| matrix.step(tile));
        let in_memory = matrix.is_in_memory();
        let pace = |tasks: usize, arrivals: Vec<_>| Pace {
            stays,
            ..Pace::all_fits(in_memory, tasks, arrivals)
        };
        if in_memory && speeds.len() > 1 {
            let costs = costs::<T>(layout.tile());
            let listed = list(count, owners, speeds, costs, had)?;
            let pace = pace(listed.tasks.len(), listed.arrivals);
            if let Some(work) = Work::by(strips, listed.tasks, room, owners, &pace)? {
                return Ok(work);
            }
        }
        // What comes slowly is done as it comes, and what has little room, too.
        let tasks = cholesky(count, row_by_row(count, room), had);
        let rows = (0..count).flat_map(|i| (i..count).map(move |j| (i, j)));
        let pace = pace(tasks.len(), rows.collect());
        Work::by(strips, tasks, room, owners, &pace)?.ok_or_else(gave_way)
    }

    fn in_order<T>(
        matrix: &impl Tiles<T>,
        blocking: Blocking,
        room: &Room,
        owners: &[usize],
        pace: &Pace,
    ) -> Result<Work> {
        let layout = matrix.layout();
        let had = |i, j| layout.index(i, j).map_or(0, |tile| matrix.step(tile));
        let tasks = cholesky(layout.block_rows(), blocking, had);
        Work::by(strips_for(matrix, room), tasks, room, owners, pace)?.ok_or_else(gave_way)
    }

    /// `None` where a tile that is to stay would have to give way.
    fn by(
        strips: Strips,
        tasks: Vec<Task>,
        room: &Room,
        owners: &[usize],
        pace: &Pace,
    ) -> Result<Option<Work>> {
        let layout = *strips.layout();
        let own = tasks.iter().map(|task| request_of(&layout, task));
        let own: Vec<Request> = own.collect::<Result<_>>()?;
        let mut work = Work {
            layout,
            strips,
            tasks,
            devices: Vec::new(),
            requests: own,
            by: Vec::new(),
            peers: HashMap::new(),
            after: Vec::new(),
            host: Plan::default(),
            room: room.clone(),
        };
        if !room.devices.is_empty() && !work.share(owners, pace)? {
            return Ok(None);
        }
        work.host = plan(&work.requests, room.host)?;
        Ok(Some(work))
    }

    /// Requests for the tiles of a device's own columns, in the order in which it needs them.
    fn columns_of(&self, device: usize, owners: &[usize], requests: &[Request]) -> Vec<Request> {
        let mut seen = vec![false; self.layout.tiles()];
        let tiles = requests.iter().flat_map(|request| &request.tiles);
        let own = tiles.filter(|(tile, _)| {
            let (_, column) = self.layout.position(*tile);
            owners[column] == device && !std::mem::replace(&mut seen[*tile], true)
        });
        let read = |(tile, _): &(usize, Use)| Request {
            tiles: vec![(*tile, Use::Read)],
            store: false,
        };
        own.map(read).collect()
    }

    /// Gives each device its tasks, and makes the steps of the devices' plans the requests to the
    /// host's memory, in an order in which what one needs of another comes later. False where a
    /// tile that is to stay would have to give way.
    fn share(&mut self, owners: &[usize], pace: &Pace) -> Result<bool> {
        let own = std::mem::take(&mut self.requests);
        let owner = |task: &Task| owners[task.target().1];
        for (d, slots) in self.room.devices.iter().enumerate() {
            let numbers: Vec<usize> = (0..own.len())
                .filter(|t| owner(&self.tasks[*t]) == d)
                .collect();
            let mut requests: Vec<Request> = numbers.iter().map(|t| own[*t].clone()).collect();
            if pace.stays {
                requests
                    .iter_mut()
                    .for_each(|request| request.store = false);
            }
            let first = match pace.first {
                Some(_) => self.columns_of(d, owners, &requests),
                None => Vec::new(),
            };
            let last = if pace.stays { &first[..] } else { &[] };
            let plan = plan(&[&first[..], &requests, last].concat(), *slots)?;
            let mut plan = plan.without(first.len(), requests.len());
            if pace.stays {
                match plan.staying() {
                    Some(staying) => plan = staying,
                    None => return Ok(false),
                }
            }
            self.devices.push(Share {
                before: plan.before(&requests, (*slots).max(LEAST_SLOTS)),
                plan,
                tasks: numbers,
            });
        }
        let mut merged = Merged::new(
            &self.devices,
            &self.tasks,
            self.strips,
            &self.room,
            pace.lag,
        );
        if let Some(arrivals) = &pace.first {
            merged.bring_first(&self.layout, arrivals);
        }
        let mut coming = self.tasks.iter();
        coming
            .by_ref()
            .take(AHEAD)
            .for_each(|task| merged.look_ahead(owner(task)));
        for (t, task) in self.tasks.iter().enumerate() {
            if t % 1024 == 0 {
                interrupt::poll()?;
            }
            if let Some(task) = coming.next() {
                merged.look_ahead(owner(task));
            }
            merged.up_to_next_run(owner(task));
        }
        merged.flush(|_| true);
        (self.requests, self.by) = (merged.requests, merged.by);
        (self.peers, self.after) = (merged.peers, merged.after);
        Ok(true)
    }

    pub fn traffic(&self) -> Traffic {
        let loads: usize = self.devices.iter().map(|d| d.plan.loads).sum();
        Traffic {
            loaded: self.host.loads.div_ceil(self.strips.each()),
            stored: self.host.stores.div_ceil(self.strips.each()),
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
    pub(crate) fn task_of(&self, request: usize) -> Option<Task> {
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
