//! Plans of several devices carried out in random order, as far as drivers, queues and marks allow:
//! whatever comes first, each step finds what it needs, nothing is read while it is written, and
//! nothing waits for ever. SEED and ROUNDS make it another and a longer test.

use crate::algo::tiled::engine::factor_plan::FactorPlan;
use crate::algo::tiled::engine::merge::*;
use crate::algo::tiled::engine::tiles::Tiles;
use crate::base::error::Result;
use crate::tiles::{Buffer, Layout, Shape, Strips};
use std::collections::VecDeque;

#[path = "simulation_run.rs"]
mod run;
use run::simulate;

/// Of which steps take about as long as tiles travel.
const TILE: usize = 2048;

struct Rng(u64);
impl Rng {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
    fn below(&mut self, n: usize) -> usize {
        (self.next() >> 11) as usize % n.max(1)
    }
}

struct M {
    count: usize,
    finished: usize,
    memory: bool,
    /// Of each tile.
    strips: usize,
}
impl Tiles<f64> for M {
    fn layout(&self) -> Layout {
        Layout::new(self.count * TILE, self.count * TILE, TILE, Shape::Triangle).unwrap()
    }
    fn step(&self, tile: usize) -> u32 {
        let (i, _) = self.layout().position(tile);
        i.min(self.finished) as u32 + u32::from(i < self.finished)
    }
    fn load(&self, _: usize, _: Range<usize>, _: &mut Buffer<f64>) -> Result<()> {
        Ok(())
    }
    fn store(&self, _: usize, _: Range<usize>, _: &Buffer<f64>, _: u32) -> Result<()> {
        Ok(())
    }
    fn strips(&self) -> Strips {
        Strips::new(self.layout(), TILE.div_ceil(self.strips))
    }
    fn is_in_memory(&self) -> bool {
        self.memory
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
enum Loc {
    Host(usize),
    /// A device's place, and the strip of it.
    Dev(usize, usize, usize),
    Disk(usize),
}
/// A strip of the matrix, and the steps that it has had.
type Content = Option<(usize, u32)>;

#[derive(Clone, Debug)]
struct SOp {
    x: usize,
    deps: Vec<usize>,
    reads: Vec<Loc>,
    writes: Vec<Loc>,
    task: Option<Task>,
    event: usize,
    started: bool,
    values: Vec<Content>,
}

#[derive(Default, Clone)]
struct Marks {
    computed: Option<usize>,
    arriving: Option<usize>,
    leaving: Option<usize>,
}

struct Sim<'a> {
    work: &'a FactorPlan,
    before: Vec<Vec<usize>>,
    done: Vec<bool>,
    content: HashMap<Loc, Content>,
    reading: HashMap<Loc, usize>,
    writing: HashMap<Loc, bool>,
    events: Vec<bool>,
    streams: Vec<[VecDeque<SOp>; 4]>,
    marks: Vec<Vec<Marks>>,
    queues: Vec<[VecDeque<(usize, usize)>; 4]>,
    left: Vec<Vec<usize>>,
    under_way: Vec<Vec<(usize, usize)>>,
    computing: Vec<VecDeque<(usize, usize)>>,
    loads: Vec<usize>,
    stores: Vec<usize>,
    next: [usize; 2],
    threads: Vec<(usize, Option<(usize, bool)>)>,
    many: usize,
    window: usize,
}

impl<'a> Sim<'a> {
    fn start(&mut self, reads: &[Loc], writes: &[Loc]) -> Vec<Content> {
        for r in reads {
            assert!(
                !self.writing.get(r).copied().unwrap_or(false),
                "read of {r:?} while written"
            );
            *self.reading.entry(*r).or_default() += 1;
        }
        for write in writes {
            assert!(
                !self.writing.get(write).copied().unwrap_or(false),
                "write of {write:?} while written"
            );
            assert_eq!(
                self.reading.get(write).copied().unwrap_or(0),
                0,
                "write of {write:?} while read"
            );
            self.writing.insert(*write, true);
        }
        reads
            .iter()
            .map(|r| self.content.get(r).copied().flatten())
            .collect()
    }
    fn end(&mut self, reads: &[Loc], writes: &[Loc], values: &[Content]) {
        for r in reads {
            *self.reading.get_mut(r).unwrap() -= 1;
        }
        for (write, value) in writes.iter().zip(values) {
            self.writing.insert(*write, false);
            self.content.insert(*write, *value);
        }
    }
    fn first_ready(&self, d: usize, q: usize) -> Option<usize> {
        let many = q == 2 && self.computing[d].len() > self.many && self.computing[d].len() > 2;
        let ready = |(x, step): &(usize, usize)| {
            let share = &self.work.devices[d];
            let first = share.before[*step].iter().all(|y| self.left[d][*y] == 0);
            first && self.before[*x].iter().all(|y| self.done[*y])
        };
        let mut window = self.queues[d][q].iter().take(self.window);
        window.position(ready).filter(|_| !many)
    }
    fn event(&mut self) -> usize {
        self.events.push(false);
        self.events.len() - 1
    }
}

#[test]
fn random_work_is_right_in_any_order() {
    let seed = std::env::var("SEED")
        .ok()
        .and_then(|s| s.parse().ok())
        .unwrap_or(12345u64);
    let rounds = std::env::var("ROUNDS")
        .ok()
        .and_then(|s| s.parse().ok())
        .unwrap_or(400usize);
    let mut rng = Rng(seed | 1);
    let (mut stayed, mut fits, mut peers) = (0, 0, 0);
    for round in 0..rounds {
        let count = 1 + rng.below(if round % 50 == 0 { 24 } else { 11 });
        let nd = 1 + rng.below(4);
        let all = count * (count + 1) / 2;
        let finished = if rng.below(3) == 0 {
            rng.below(count + 1)
        } else {
            0
        };
        let m = M {
            count,
            finished,
            memory: rng.below(2) == 0,
            strips: 1 + rng.below(4),
        };
        let big = rng.below(2) == 0;
        let hr = if rng.below(2) == 0 { 5 } else { all + 3 };
        let room = SlotBudget {
            host: 3 + rng.below(hr),
            devices: (0..nd)
                .map(|_| {
                    if big {
                        all + 20
                    } else {
                        3 + rng.below(all + 3)
                    }
                })
                .collect(),
            peers: rng.below(3) > 0,
        };
        let speeds: Vec<f64> = (0..nd).map(|_| 1.0 + rng.below(4) as f64).collect();
        let stays = finished == 0 && rng.below(3) == 0;
        let work = if stays {
            FactorPlan::staying(&m, &room, &speeds).unwrap()
        } else {
            Some(FactorPlan::new(&m, &room, &speeds).unwrap())
        };
        let Some(work) = work else { continue };
        stayed += usize::from(stays);
        fits += usize::from(big);
        peers += usize::from(!work.peers.is_empty());
        let text = format!(
            "round {round} count {count} {room:?} finished {finished} stays {stays} memory {} \
             strips {}",
            m.memory, m.strips
        );
        let r = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            simulate(&m, &work, stays, &mut Rng(rng.next() | 1))
        }));
        if r.is_err() {
            panic!("{text}");
        }
    }
    eprintln!("rounds {rounds}: stayed {stayed} big {fits} with peers {peers}");
}
