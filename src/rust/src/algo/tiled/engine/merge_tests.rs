use crate::algo::tiled::engine::factor_plan::FactorPlan;
use crate::algo::tiled::engine::merge::*;
use crate::algo::tiled::engine::tiles::Tiles;
use crate::base::error::Result;
use crate::tiles::{Buffer, Layout, Shape};

/// A matrix of so many rows of tiles, of which some are finished.
struct Rows(usize, usize);

impl Tiles<f64> for Rows {
    fn layout(&self) -> Layout {
        Layout::new(self.0 * 8, self.0 * 8, 8, Shape::Triangle).unwrap()
    }

    fn step(&self, tile: usize) -> u32 {
        let (i, _) = self.layout().position(tile);
        i.min(self.1) as u32 + u32::from(i < self.1)
    }

    fn load(&self, _: usize, _: Range<usize>, _: &mut Buffer<f64>) -> Result<()> {
        Ok(())
    }

    fn store(&self, _: usize, _: Range<usize>, _: &Buffer<f64>, _: u32) -> Result<()> {
        Ok(())
    }
}

fn work(rows: Rows, slots: &[usize], peers: bool) -> FactorPlan {
    let room = SlotBudget {
        host: 12,
        devices: slots.to_vec(),
        peers,
    };
    FactorPlan::new(&rows, &room, &vec![1.0; slots.len()]).unwrap()
}

/// What is copied from a device is a finished tile that is there, and stays until the copy is done.
fn check(work: &FactorPlan) {
    let mut places: Vec<HashMap<usize, usize>> = vec![HashMap::new(); work.devices.len()];
    let mut made: HashMap<(usize, usize), usize> = HashMap::new();
    let mut copied: HashMap<(usize, usize), Vec<usize>> = HashMap::new();
    let mut changed: HashMap<usize, usize> = HashMap::new();
    let waits = |later: usize, earlier: usize| work.after.contains(&(later, earlier));
    let mut listed: Vec<Vec<bool>> = Vec::new();
    for share in &work.devices {
        listed.push(vec![false; share.plan.ops.len()]);
    }
    let mut stored: HashMap<usize, usize> = HashMap::new();
    for (r, &(device, step)) in work.by.iter().enumerate() {
        // Steps come after those of the device that they need, so that the first that is not done
        // can go on.
        let before = &work.devices[device].before[step];
        assert!(before.iter().all(|y| listed[device][*y]));
        listed[device][step] = true;
        match &work.devices[device].plan.ops[step] {
            Op::Load { tile, slot } => {
                if let Some(peer) = work.peers.get(&r) {
                    assert_ne!(peer.device, device);
                    assert_eq!(places[peer.device].get(&peer.slot), Some(tile));
                    assert!(waits(r, made[&(peer.device, *tile)]));
                    let of = copied.entry((peer.device, peer.slot)).or_default();
                    of.push(r);
                    assert!(work.requests[r].tiles.is_empty());
                } else {
                    assert_eq!(work.requests[r].tiles.len(), 1);
                    // What others, or itself, have made is in the host's memory.
                    let made = made.keys().any(|(_, made)| made == tile);
                    assert!(
                        !made
                            || *changed.get(tile).unwrap_or(&0) <= *stored.get(tile).unwrap_or(&0)
                    );
                }
                for copy in copied.remove(&(device, *slot)).unwrap_or_default() {
                    assert!(waits(r, copy));
                }
                places[device].insert(*slot, *tile);
                made.insert((device, *tile), r);
            }
            Op::Run { request, slots } => {
                let task = work.tasks[work.devices[device].tasks[*request]];
                changed.insert(places[device][&slots[0]], r);
                if task.is_last() {
                    made.insert((device, places[device][&slots[0]]), r);
                }
                // Nobody changes a finished tile.
                assert!(!copied.contains_key(&(device, slots[0])));
            }
            Op::Store { tile, .. } => {
                stored.insert(*tile, r);
            }
        }
    }
    assert!(listed.iter().flatten().all(|listed| *listed));
    assert!(work.after.iter().all(|(later, earlier)| earlier < later));
}

#[test]
fn finished_tiles_come_from_the_device_that_made_them() {
    let rows = 14;
    let all = rows * (rows + 1) / 2;
    for slots in [
        &[all, all][..],
        &[all, all, all],
        &[9, 9],
        &[5, 30, 7],
        &[3, 3, 3],
    ] {
        let through_host = work(Rows(rows, 0), slots, false);
        check(&through_host);
        assert_eq!(through_host.traffic().passed, 0);
        for finished in [1, 5, rows] {
            check(&work(Rows(rows, finished), slots, false));
            check(&work(Rows(rows, finished), slots, true));
        }
        let with_peers = work(Rows(rows, 0), slots, true);
        check(&with_peers);
        let traffic = with_peers.traffic();
        assert!(traffic.passed > 0);
        if slots.iter().all(|slots| *slots == all) {
            // With room for everything the host gives each tile once, and no device has one from
            // another twice.
            assert_eq!((traffic.loaded, traffic.sent), (all, all));
            assert_eq!(traffic.stored, all);
            assert!(traffic.passed <= all * (slots.len() - 1));
        }
    }
}
