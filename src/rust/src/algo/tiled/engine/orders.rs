//! Orders of steps to compare, and which device computes which column of tiles.

use crate::algo::tiled::engine::slot_budget::SlotBudget;
use crate::tiles::list_schedule::Costs;
use crate::tiles::plan::LEAST_SLOTS;
use crate::tiles::schedule::Blocking;
use crate::tiles::Layout;

/// Steps in all plans that are compared, but for one: a second or so.
const STEPS: usize = 2_000_000;
/// Where the matrix is in memory, seconds that planning takes for a step, about, of those that a
/// GPU takes to compute it, and its operations per second.
const PLANNING: f64 = 1e-6;
const SHARE: f64 = 0.1;
const RATE: f64 = 5e13;
const LEAST_COMPARED: usize = 4;
/// Bytes per second from host memory to all devices together, with a copy in between.
const BUS: f64 = 5e10;

/// How many plans there is time to compare.
pub(crate) fn compared(layout: &Layout, in_memory: bool) -> usize {
    let steps = (layout.block_rows().pow(3) / 6).max(1);
    let all = (STEPS / steps).max(1);
    if !in_memory {
        return all;
    }
    let computing = 2.0 * (layout.tile() as f64).powi(3) / RATE;
    let pays = (SHARE * computing / PLANNING) as usize;
    pays.max(LEAST_COMPARED).min(all)
}

/// What steps on tiles of this order take on a GPU of which copies of a matrix in memory come and
/// go at [`BUS`].
pub(crate) fn costs<T>(tile: usize) -> Costs {
    let nanoseconds = |seconds: f64| (seconds * 1e9) as u64;
    let update = nanoseconds(2.0 * (tile as f64).powi(3) / RATE);
    let arrival = nanoseconds((tile.pow(2) * size_of::<T>()) as f64 / BUS);
    Costs {
        update,
        solve: update,
        factor: 2 * update,
        arrival,
        passing: arrival,
    }
}

/// As much room as is of use, where each device's memory holds its columns and, of those of others
/// that it reaches, all tiles that it needs for a few rows.
pub(crate) fn room_for_all(
    layout: &Layout,
    room: &SlotBudget,
    owners: &[usize],
) -> Option<SlotBudget> {
    let one = room.devices.len() == 1;
    let tiles_of = |d: usize| {
        let own = owners.iter().enumerate().filter(|(_, owner)| **owner == d);
        own.map(|(j, _)| j + 1).sum::<usize>()
    };
    let with = |d: usize, passing: usize| {
        let passing = if one { 0 } else { passing * owners.len() };
        (tiles_of(d) + passing).min(layout.tiles()).max(LEAST_SLOTS)
    };
    let devices = || room.devices.iter().enumerate();
    let fits = !room.devices.is_empty() && devices().all(|(d, has)| *has >= with(d, PASSING.0));
    (fits && (one || room.peers)).then(|| SlotBudget {
        devices: devices()
            .map(|(d, has)| with(d, PASSING.1).min(*has))
            .collect(),
        ..room.clone()
    })
}

/// Rows of tiles whose tiles of other devices a device has to have room for, and so many of which
/// there is use for it: some wait for what comes late.
const PASSING: (usize, usize) = (4, 12);

/// The device that makes each column of tiles: neighbours are different ones', and their work adds
/// up to what the devices can do.
pub(crate) fn owners(count: usize, speeds: &[f64]) -> Vec<usize> {
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

/// Each row of tiles whole, one after the other.
pub(super) fn row_by_row(count: usize, room: &SlotBudget) -> Blocking {
    Blocking {
        rows: 1,
        cols: count.max(1),
        ahead: room.devices.len() > 1,
    }
}

/// Panels and chunks of which one fits in the host's memory or the devices', of several shapes;
/// those first that tend to be good: two or three times as wide as high. Before them whole rows. So
/// many strips are a tile.
pub(crate) fn ways(count: usize, room: &SlotBudget, strips: usize) -> Vec<Blocking> {
    let mut all = Vec::new();
    let ahead = room.devices.len() > 1;
    let on_devices: usize = room.devices.iter().sum();
    let slots = [room.host / strips, on_devices];
    for slots in slots.into_iter().filter(|slots| *slots > 0) {
        for rows in [1, 2, 3, 4, 6, 8, 11, 16, 23, 32] {
            // Tiles that are only read need slots as well.
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
    all.insert(0, row_by_row(count, room));
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
