use crate::tiles::plan::*;
use crate::tiles::schedule::{cholesky, Blocking};

fn number((i, j): (usize, usize)) -> usize {
    j * (j + 1) / 2 + i
}

fn blocking(rows: usize, cols: usize) -> Blocking {
    Blocking {
        rows,
        cols,
        ahead: false,
    }
}

fn requests(count: usize, blocking: Blocking) -> Vec<Request> {
    let tasks = cholesky(count, blocking, |_, _| 0);
    let request = |task: &crate::tiles::schedule::Task| Request {
        tiles: std::iter::once((number(task.target()), Use::Change))
            .chain(task.sources().map(|at| (number(at), Use::Read)))
            .collect(),
        store: task.is_last(),
    };
    tasks.iter().map(request).collect()
}

/// Carries a plan out on versions of tiles, and compares with what is wanted.
fn check(requests: &[Request], slots: usize) -> Plan {
    let plan = plan(requests, slots).unwrap();
    let mut below: HashMap<usize, usize> = HashMap::new();
    let mut memory: Vec<Option<(usize, usize)>> = vec![None; slots.max(LEAST_SLOTS)];
    let mut truth: HashMap<usize, usize> = HashMap::new();
    let (mut loads, mut stores, mut asked) = (0, 0, 0);
    for op in &plan.ops {
        match op {
            Op::Load { tile, slot } => {
                memory[*slot] = Some((*tile, below.get(tile).copied().unwrap_or(0)));
                loads += 1;
            }
            Op::Store {
                tile,
                slot,
                request,
            } => {
                let (held, version) = memory[*slot].unwrap();
                assert_eq!((held, version), (*tile, request + 1));
                below.insert(*tile, version);
                stores += 1;
            }
            Op::Run { request, slots } => {
                assert_eq!(*request, asked);
                asked += 1;
                for ((tile, how), slot) in requests[*request].tiles.iter().zip(slots) {
                    if *how != Use::Replace {
                        let version = truth.get(tile).copied().unwrap_or(0);
                        assert_eq!(memory[*slot], Some((*tile, version)), "request {request}");
                    }
                    if *how != Use::Read {
                        memory[*slot] = Some((*tile, request + 1));
                        truth.insert(*tile, request + 1);
                    }
                }
            }
        }
    }
    assert_eq!(asked, requests.len());
    assert_eq!((loads, stores), (plan.loads, plan.stores));
    for (tile, version) in truth {
        assert_eq!(below.get(&tile), Some(&version), "tile {tile} at the end");
    }
    plan
}

#[test]
fn every_request_finds_its_tiles() {
    for count in [1, 2, 5, 9] {
        for blocking in [blocking(1, 1), blocking(2, 4)] {
            for slots in [0, 3, 4, 7, 20, 100] {
                check(&requests(count, blocking), slots);
            }
        }
    }
}

#[test]
fn with_room_for_all_each_tile_travels_once_each_way() {
    let plan = check(&requests(8, blocking(3, 5)), 36);
    assert_eq!((plan.loads, plan.stores), (36, 36));
}

#[test]
fn little_room_costs_little_more() {
    // 32 rows of tiles of which 240 of 528 fit: 689 loads, where each of 528 must be loaded once.
    let plan = check(&requests(32, blocking(8, 16)), 240);
    assert_eq!((plan.loads, plan.stores), (689, 528));
}

#[test]
fn what_is_replaced_is_neither_loaded_nor_stored() {
    let one = |tile, how, store| Request {
        tiles: vec![(tile, how)],
        store,
    };
    let all = [
        one(0, Use::Change, false),
        one(1, Use::Read, false),
        one(2, Use::Read, false),
        one(3, Use::Read, false),
        one(0, Use::Replace, true),
        one(0, Use::Read, false),
    ];
    let plan = plan(&all, 3).unwrap();
    assert_eq!((plan.loads, plan.stores), (4, 1));
}
