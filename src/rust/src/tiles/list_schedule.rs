//! The steps of a Cholesky factorization by tiles on several devices that each make their own
//! columns, with memory for all they need.
//!
//! List scheduling (Graham 1969): whenever a device has nothing to do, it is given that of its
//! steps that can be done, and of which most depends. Which ones can be is found out by going
//! through everything as it would happen: tiles arrive a column after the other, so that of `t`
//! tiles that are there a leading block of order `sqrt(2 t)` can be factored, where as many in
//! whole rows would give the devices little to do; a finished tile takes a while to come to other
//! devices. A tile gets its terms in the order of [`schedule`](crate::tiles::schedule), so that the
//! factor is the same bit for bit.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::schedule::Task;
use crate::base::error::Result;
use crate::base::interrupt;

/// Nanoseconds that steps take on the fastest device, about.
#[derive(Debug, Clone, Copy)]
pub struct Costs {
    pub update: u64,
    pub solve: u64,
    pub factor: u64,
    /// From one tile that comes from the host's memory, to whichever device, to the next.
    pub arrival: u64,
    /// A finished tile's way to another device.
    pub passing: u64,
}

/// What a device can do at some time, the earliest first; and what it can do now, that first which
/// is wanted most.
#[derive(Default)]
struct Waiting {
    free: u64,
    later: BinaryHeap<Reverse<(u64, usize)>>,
    ready: BinaryHeap<Reverse<(u64, usize)>>,
}

impl Waiting {
    /// When it will begin its next step.
    fn start(&self) -> Option<u64> {
        if !self.ready.is_empty() {
            return Some(self.free);
        }
        let Reverse((time, _)) = self.later.peek()?;
        Some(self.free.max(*time))
    }
}

struct Tile {
    at: (usize, usize),
    /// Steps it has had, and when they were done.
    had: u32,
    time: u64,
    /// Tiles whose next step needs this one.
    awaited: Vec<usize>,
}

struct List<'a> {
    count: usize,
    owners: &'a [usize],
    costs: Costs,
    tiles: Vec<Tile>,
    devices: Vec<Waiting>,
}

/// How much slower than the fastest device one is taken to be at most.
const SLOWEST: f64 = 1e3;

/// Steps in the order in which devices would begin them, tiles by row and column in the order in
/// which they should arrive, and nanoseconds that all would take.
#[derive(Debug)]
pub struct Listed {
    pub tasks: Vec<Task>,
    pub arrivals: Vec<(usize, usize)>,
    pub time: u64,
}

/// Columns that arrive while one row does. Nothing but columns keeps devices busy at the beginning,
/// and leaves those that come last with the most to do.
const SLOPES: [usize; 4] = [0, 1, 2, 4];

/// All steps but for those that the tiles have had, `had` of them. `owners` are the devices that
/// make each of the `count` columns, `speeds` theirs.
pub fn list(
    count: usize,
    owners: &[usize],
    speeds: &[f64],
    costs: Costs,
    had: impl Fn(usize, usize) -> u32,
) -> Result<Listed> {
    let by = |slope: usize| {
        let tiles = (0..count).flat_map(|j| (0..=j).map(move |i| (i, j)));
        let mut arrivals: Vec<_> = tiles.collect();
        arrivals.sort_by_key(|(i, j)| (i + slope * j, *i));
        let mut list = List {
            count,
            owners,
            costs,
            tiles: Vec::new(),
            devices: speeds.iter().map(|_| Waiting::default()).collect(),
        };
        list.arrive(&arrivals, &had);
        let (tasks, time) = list.run(speeds);
        Listed {
            tasks,
            arrivals,
            time,
        }
    };
    let mut best = by(SLOPES[0]);
    for slope in &SLOPES[1..] {
        interrupt::poll()?;
        let other = by(*slope);
        if other.time < best.time {
            best = other;
        }
    }
    Ok(best)
}

impl List<'_> {
    fn arrive(&mut self, arrivals: &[(usize, usize)], had: impl Fn(usize, usize) -> u32) {
        let count = self.count;
        let tile = |x: usize| Tile {
            at: (x % count, x / count),
            had: 0,
            time: 0,
            awaited: Vec::new(),
        };
        self.tiles = (0..count * count).map(tile).collect();
        for (&(i, j), place) in arrivals.iter().zip(0..) {
            let x = self.number((i, j));
            (self.tiles[x].had, self.tiles[x].time) = (had(i, j), self.costs.arrival * place);
        }
        for at in arrivals {
            self.look(self.number(*at));
        }
    }

    fn run(&mut self, speeds: &[f64]) -> (Vec<Task>, u64) {
        let fastest = speeds.iter().fold(f64::MIN_POSITIVE, |a, b| a.max(*b));
        let (mut tasks, mut end) = (Vec::new(), 0);
        while let Some((x, start)) = self.next() {
            let task = self.task(x);
            let device = self.owners[self.tiles[x].at.1];
            let slower = (fastest / speeds[device].max(f64::MIN_POSITIVE)).min(SLOWEST);
            let time = start + (self.cost(task) as f64 * slower) as u64;
            self.devices[device].free = time;
            end = end.max(time);
            tasks.push(task);
            let tile = &mut self.tiles[x];
            (tile.had, tile.time) = (task.step(), time);
            self.look(x);
            if task.is_last() {
                let awaited = std::mem::take(&mut self.tiles[x].awaited);
                awaited.into_iter().for_each(|x| self.look(x));
            }
        }
        (tasks, end)
    }

    fn number(&self, (i, j): (usize, usize)) -> usize {
        j * self.count + i
    }

    fn is_finished(&self, tile: usize) -> bool {
        let tile = &self.tiles[tile];
        tile.had as usize > tile.at.0
    }

    /// The next step of a tile that is not finished.
    fn task(&self, tile: usize) -> Task {
        let ((i, j), l) = (self.tiles[tile].at, self.tiles[tile].had as usize);
        match (l < i, i < j) {
            (true, _) => Task::Update { i, j, l },
            (_, true) => Task::Solve { k: i, j },
            _ => Task::Factor { k: i },
        }
    }

    fn cost(&self, task: Task) -> u64 {
        match task {
            Task::Update { .. } => self.costs.update,
            Task::Solve { .. } => self.costs.solve,
            Task::Factor { .. } => self.costs.factor,
        }
    }

    /// The less, the more depends on the step: the longest chain of steps that come after it goes
    /// along its row and the diagonal.
    fn rank(&self, tile: usize) -> u64 {
        let (l, (i, j)) = (u64::from(self.tiles[tile].had), self.tiles[tile].at);
        let Costs {
            update,
            solve,
            factor,
            ..
        } = self.costs;
        l * update + i as u64 * solve + j as u64 * factor
    }

    /// Finds out when the tile's next step can be done, or which tile that depends on.
    fn look(&mut self, tile: usize) {
        if self.is_finished(tile) {
            return;
        }
        let device = self.owners[self.tiles[tile].at.1];
        let mut time = self.tiles[tile].time;
        for at in self.task(tile).sources() {
            let source = self.number(at);
            if !self.is_finished(source) {
                self.tiles[source].awaited.push(tile);
                return;
            }
            let way = match self.owners[at.1] == device {
                true => 0,
                false => self.costs.passing,
            };
            time = time.max(self.tiles[source].time + way);
        }
        self.devices[device].later.push(Reverse((time, tile)));
    }

    /// The step that is begun next, and when.
    fn next(&mut self) -> Option<(usize, u64)> {
        let starts = self.devices.iter().enumerate();
        let starts = starts.filter_map(|(d, device)| Some((device.start()?, d)));
        let (start, d) = starts.min()?;
        while let Some(&Reverse((time, tile))) = self.devices[d].later.peek() {
            if time > start {
                break;
            }
            let rank = self.rank(tile);
            self.devices[d].later.pop();
            self.devices[d].ready.push(Reverse((rank, tile)));
        }
        let Reverse((_, tile)) = self.devices[d].ready.pop()?;
        Some((tile, start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tiles::schedule::tests::check_steps;
    use std::collections::HashSet;

    const COSTS: Costs = Costs {
        update: 300,
        solve: 300,
        factor: 700,
        arrival: 600,
        passing: 400,
    };

    fn check(count: usize, devices: usize, costs: Costs, start: impl Fn(usize, usize) -> u32) {
        let owners: Vec<usize> = (0..count).map(|j| j % devices).collect();
        let listed = list(count, &owners, &vec![1.0; devices], costs, &start).unwrap();
        let arrivals: HashSet<_> = listed.arrivals.iter().collect();
        assert_eq!(arrivals.len(), listed.arrivals.len());
        assert_eq!(arrivals.len(), count * (count + 1) / 2);
        assert!(arrivals.iter().all(|(i, j)| i <= j && *j < count));
        check_steps(count, listed.tasks, start);
    }

    #[test]
    fn every_list_makes_the_whole_factor() {
        for count in [0, 1, 2, 3, 7, 12, 20] {
            for devices in [1, 2, 3, 5] {
                check(count, devices, COSTS, |_, _| 0);
                let late = Costs {
                    arrival: 100_000,
                    passing: 0,
                    ..COSTS
                };
                check(count, devices, late, |_, _| 0);
                check(count, devices, COSTS, |i, _| match i {
                    0..=3 => i as u32 + 1,
                    _ => 3.min(i as u32),
                });
            }
        }
    }

    #[test]
    fn devices_are_busy() {
        let (count, devices) = (32, 4);
        // Each device has its turn twice, there and back.
        let owners: Vec<usize> = (0..count)
            .map(|j| (j % (2 * devices)).min(2 * devices - 1 - j % (2 * devices)))
            .collect();
        let listed = |speeds: &[f64], costs| list(count, &owners, speeds, costs, |_, _| 0).unwrap();
        let one = list(count, &vec![0; count], &[1.0], COSTS, |_, _| 0).unwrap();
        let there = Costs {
            arrival: 0,
            ..COSTS
        };
        let four = listed(&[1.0; 4], there);
        let ratio = one.time as f64 / four.time as f64;
        assert!(ratio > 3.6 && ratio < 4.2, "{ratio}");
        // What arrives takes two thirds of the time that the devices compute.
        let four = listed(&[1.0; 4], COSTS);
        let ratio = one.time as f64 / four.time as f64;
        assert!(ratio > 3.3 && ratio < 4.2, "{ratio}");
        let slow = listed(&[1.0, 1.0, 1.0, 0.0], COSTS);
        assert!(slow.time > 100 * four.time);
        assert_eq!(slow.tasks.len(), four.tasks.len());
    }
}
