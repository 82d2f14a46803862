//! The plan of a factorization by tiles: the steps, which device does which, and which tile is in
//! which slot when. It is complete before anything is computed.

use std::collections::HashMap;

use crate::algo::tiled::engine::merge::Merged;
use crate::algo::tiled::engine::orders::{compared, costs, owners, room_for_all, row_by_row, ways};
use crate::algo::tiled::engine::pace::{Pace, STEADY};
use crate::algo::tiled::engine::peers::Peer;
use crate::algo::tiled::engine::share::{request_of, Share};
use crate::algo::tiled::engine::slot_budget::{SlotBudget, Traffic};
use crate::algo::tiled::engine::tiles::Tiles;
use crate::base::error::{Error, Result};
use crate::base::interrupt;
use crate::tiles::list_schedule::list;
use crate::tiles::plan::{plan, Op, Plan, Request, Use, LEAST_SLOTS};
use crate::tiles::schedule::{cholesky, Blocking, Task};
use crate::tiles::{Layout, Strips};

/// Rows of tiles that can be planned: the plan of more takes gigabytes.
pub const MOST_ROWS: usize = 256;

/// Tasks before which a tile may come to a device's memory, where there is room.
const AHEAD: usize = 1024;

/// The plan of a factorization.
pub struct FactorPlan {
    pub(crate) layout: Layout,
    pub(crate) strips: Strips,
    pub(crate) tasks: Vec<Task>,
    /// Empty if tiles are computed with in host memory.
    pub(crate) devices: Vec<Share>,
    /// The requests to the host's memory, and the device and the step of its plan that each is of.
    pub(crate) requests: Vec<Request>,
    pub(crate) by: Vec<(usize, usize)>,
    /// The requests that copy from another device's memory and need no slot of the host's; and
    /// pairs of requests, of which the first waits for the second as well.
    pub(super) peers: HashMap<usize, Peer>,
    pub(crate) after: Vec<(usize, usize)>,
    pub(crate) host: Plan,
    pub(crate) room: SlotBudget,
}

/// One strip for each tile if tiles are computed with in host memory.
fn strips_for<T>(matrix: &impl Tiles<T>, room: &SlotBudget) -> Strips {
    if room.devices.is_empty() {
        Strips::whole(matrix.layout())
    } else {
        matrix.strips()
    }
}

fn gave_way() -> Error {
    Error::Internal {
        what: "a tile that must stay was to be replaced".into(),
    }
}

impl FactorPlan {
    /// The best of several orders: that with the fewest tiles loaded and stored, then the fewest
    /// copied to and from the devices. `speeds` are the rates of the devices in any unit.
    pub fn new<T>(matrix: &impl Tiles<T>, room: &SlotBudget, speeds: &[f64]) -> Result<FactorPlan> {
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
            return FactorPlan::where_all_fits(matrix, &room, &owners, speeds, false);
        }
        let mut best: Option<FactorPlan> = None;
        let strips = strips_for(matrix, room);
        for blocking in ways(count, room, strips.each())
            .into_iter()
            .take(compared(&layout, matrix.is_in_memory()))
        {
            interrupt::poll()?;
            let work = FactorPlan::in_order(matrix, blocking, room, &owners, &STEADY)?;
            if best.as_ref().is_none_or(|b| work.cost() < b.cost()) {
                best = Some(work);
            }
        }
        best.ok_or_else(|| Error::Internal {
            what: "there is no way through a matrix".into(),
        })
    }

    /// For a factor that stays in the devices' memory. `None` if they have too little, or do not
    /// reach one another.
    pub fn staying<T>(
        matrix: &impl Tiles<T>,
        room: &SlotBudget,
        speeds: &[f64],
    ) -> Result<Option<FactorPlan>> {
        let layout = matrix.layout();
        let count = layout.block_rows();
        let owners = owners(count, speeds);
        let Some(room) = room_for_all(&layout, room, &owners) else {
            return Ok(None);
        };
        FactorPlan::where_all_fits(matrix, &room, &owners, speeds, true).map(Some)
    }

    /// For devices that hold everything: nothing is copied twice in any order.
    fn where_all_fits<T>(
        matrix: &impl Tiles<T>,
        room: &SlotBudget,
        owners: &[usize],
        speeds: &[f64],
        stays: bool,
    ) -> Result<FactorPlan> {
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
            if let Some(work) = FactorPlan::by(strips, listed.tasks, room, owners, &pace)? {
                return Ok(work);
            }
        }
        // Tiles of a file, or with few slots, are computed with in the order of their arrival.
        let tasks = cholesky(count, row_by_row(count, room), had);
        let rows = (0..count).flat_map(|i| (i..count).map(move |j| (i, j)));
        let pace = pace(tasks.len(), rows.collect());
        FactorPlan::by(strips, tasks, room, owners, &pace)?.ok_or_else(gave_way)
    }

    fn in_order<T>(
        matrix: &impl Tiles<T>,
        blocking: Blocking,
        room: &SlotBudget,
        owners: &[usize],
        pace: &Pace,
    ) -> Result<FactorPlan> {
        let layout = matrix.layout();
        let had = |i, j| layout.index(i, j).map_or(0, |tile| matrix.step(tile));
        let tasks = cholesky(layout.block_rows(), blocking, had);
        FactorPlan::by(strips_for(matrix, room), tasks, room, owners, pace)?.ok_or_else(gave_way)
    }

    /// `None` if a tile that must stay would be replaced.
    fn by(
        strips: Strips,
        tasks: Vec<Task>,
        room: &SlotBudget,
        owners: &[usize],
        pace: &Pace,
    ) -> Result<Option<FactorPlan>> {
        let layout = *strips.layout();
        let own = tasks.iter().map(|task| request_of(&layout, task));
        let own: Vec<Request> = own.collect::<Result<_>>()?;
        let mut work = FactorPlan {
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
    /// host's memory. A step that needs the result of another one comes after it. False if a tile
    /// that must stay would be replaced.
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

    /// The cost of all copies. A disk is about ten times slower than the bus, and the bus slower
    /// than copies between devices.
    fn cost(&self) -> usize {
        let t = self.traffic();
        10 * (t.loaded + t.stored) + t.sent + t.fetched + t.passed / 4
    }

    pub fn operations(&self) -> f64 {
        let each = self.tasks.iter().map(|t| t.operations(self.layout.tile()));
        each.sum()
    }

    /// The task that a request to the host's memory is for.
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
