//! Cholesky factorization of a matrix of tiles that memory holds a part of: `A = R'R` in the upper triangle, tile by tile.
//!
//! The work is [`schedule`](crate::tiles::schedule)d first and what lies where is [`plan`]ned twice: for the device's memory, and then for the host's, of
//! which the device's copies are the requests. On a device that computes in host memory the second plan alone is needed. Then several threads load
//! and store while this one gives the device its work, see [`line`](crate::tiles::line).
//!
//! Tiles at the edges are filled up to whole ones, with ones on the diagonal and zeros elsewhere; the factor's tiles are then filled up likewise,
//! or with what nobody reads.

use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

use faer::{MatMut, MatRef};

use crate::error::{Error, Result};
use crate::interrupt;
use crate::matrix::{Diag, Side, Trans, Uplo};

use crate::scalar::Scalar;
use crate::tiles::buffer::Buffer;
use crate::tiles::layout::Layout;
use crate::tiles::line::{Line, Slots, Store};
use crate::tiles::machine::TileMachine;
use crate::tiles::plan::{plan, Op, Plan, Request, Use, LEAST_SLOTS};
use crate::tiles::schedule::{cholesky, Blocking, Task};

/// A matrix of which tiles are loaded and stored, with how far each of them is.
pub trait Tiles<T>: Sync {
    fn layout(&self) -> Layout;
    /// Steps of the factorization that the tile has had.
    fn step(&self, tile: usize) -> u32;
    fn load(&self, tile: usize, into: &mut Buffer<T>) -> Result<()>;
    fn store(&self, tile: usize, from: &Buffer<T>, step: u32) -> Result<()>;
}

/// Tiles that fit in memory, at least [`LEAST_SLOTS`] each.
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

/// What is to be done, before anything is.
pub struct Work {
    layout: Layout,
    tasks: Vec<Task>,
    /// What lies where in the device's memory, unless that is the host's.
    device: Option<Plan>,
    requests: Vec<Request>,
    host: Plan,
    room: Room,
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
        let mut best: Option<Work> = None;
        for blocking in ways(count, room) {
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

/// Panels and chunks of which one fits in the host's memory or the device's, of several shapes.
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
    if all.is_empty() {
        all.push(Blocking { rows: 1, cols: 1 });
    }
    all
}

/// Loads and stores by a plan.
struct Carrier<'a, M> {
    matrix: &'a M,
    work: &'a Work,
}

impl<T: Scalar, M: Tiles<T>> Store<T> for Carrier<'_, M> {
    fn load(&self, tile: usize, into: &mut Buffer<T>) -> Result<()> {
        self.matrix.load(tile, into)?;
        let layout = &self.work.layout;
        let (i, j) = layout.position(tile);
        let (rows, _) = layout.extent(i, j);
        if i == j {
            for k in rows..layout.tile() {
                into[k * layout.tile() + k] = T::from_f64(1.0);
            }
        }
        Ok(())
    }

    fn store(&self, tile: usize, from: &Buffer<T>, request: usize) -> Result<()> {
        // The device's copy back was the request, on behalf of a task.
        let task = match &self.work.device {
            None => request,
            Some(device) => match device.ops[request] {
                Op::Store { request, .. } => request,
                _ => request,
            },
        };
        self.matrix.store(tile, from, self.work.tasks[task].step())
    }
}

/// Carries the work out. A leading minor that is not positive is [`Error::NotPositiveDefinite`] with LAPACK's order.
pub fn factor<T: Scalar, D: TileMachine<T>, M: Tiles<T>>(
    dev: &D,
    matrix: &M,
    work: &Work,
    threads: usize,
) -> Result<()> {
    let bytes = Buffer::<T>::new(&work.layout)?.len();
    let mut slots = Slots::<T>::new(work.room.host.max(LEAST_SLOTS), &work.layout)?;
    if work.device.is_some() {
        slots.touch(4 * threads);
    }
    let carrier = Carrier { matrix, work };
    let line = Line::new(&work.host, &work.requests, &slots, &carrier);
    match &work.device {
        None => line.run(threads, || in_host(dev, work, &slots, &line)),
        Some(device) => {
            let mut places = Vec::new();
            for _ in 0..work.room.device.max(LEAST_SLOTS) {
                places.push(Place::new(
                    dev.zeros(work.layout.tile(), work.layout.tile())?,
                ));
            }
            let _pinned = Pinned::new(dev, &slots, bytes)?;
            let done = line.run(threads, || {
                let done = on_device(dev, work, device, &mut places, &slots, &line);
                // The threads may go on with what was copied.
                dev.drain();
                done
            });
            dev.drain();
            done
        }
    }
}

/// The order of a minor of the whole matrix; none where it is one of what fills up the last tile.
fn minor(layout: &Layout, task: Task, e: Error) -> Result<()> {
    match (e, task) {
        (Error::NotPositiveDefinite { order }, Task::Factor { k }) => {
            let order = k * layout.tile() + order;
            if order > layout.rows() {
                return Ok(());
            }
            Err(Error::NotPositiveDefinite { order })
        }
        (e, _) => Err(e),
    }
}

/// One task on matrices of a device, the changed one first.
fn compute<'a, T: Scalar, D: TileMachine<T>>(
    dev: &D,
    layout: &Layout,
    task: Task,
    target: &mut D::Mat<'a>,
    sources: &[&D::Mat<'a>],
) -> Result<()> {
    let one = T::from_f64(1.0);
    let done = match (task, sources) {
        (Task::Update { .. }, [a]) => {
            dev.gemm(T::from_f64(-1.0), Trans::Yes, a, Trans::No, a, one, target)
        }
        (Task::Update { .. }, [a, b]) => {
            dev.gemm(T::from_f64(-1.0), Trans::Yes, a, Trans::No, b, one, target)
        }
        (Task::Factor { .. }, []) => dev.potrf(Uplo::Upper, target),
        (Task::Solve { .. }, [r]) => {
            let (left, upper, yes) = (Side::Left, Uplo::Upper, Trans::Yes);
            dev.trsm(left, upper, yes, Diag::NonUnit, layout.tile(), r, target)
        }
        _ => Err(Error::Internal {
            what: "a step has the wrong number of tiles".into(),
        }),
    };
    done.or_else(|e| minor(layout, task, e))
}

fn in_host<T: Scalar, D: TileMachine<T>, S: Store<T>>(
    dev: &D,
    work: &Work,
    slots: &Slots<T>,
    line: &Line<'_, T, S>,
) -> Result<()> {
    let n = work.layout.tile();
    for (x, op) in work.host.ops.iter().enumerate() {
        let Op::Run {
            request,
            slots: places,
        } = op
        else {
            continue;
        };
        while !line.ready(x)? {
            interrupt::poll()?;
            line.pause(Duration::from_millis(20));
        }
        let task = work.tasks[*request];
        // SAFETY: a tile's memory, which nobody else uses until the step is finished, or only looks at.
        let view = |slot: usize| unsafe {
            MatRef::<T>::from_raw_parts(slots.address(slot), n, n, 1, n as isize)
        };
        let Some((first, others)) = places.split_first() else {
            line.finish(x);
            continue;
        };
        let loaded = others.iter().map(|s| dev.load(view(*s)));
        let loaded: Vec<_> = loaded.collect::<Result<_>>()?;
        // SAFETY: as above; this slot is changed by nobody else.
        let home =
            unsafe { MatMut::from_raw_parts_mut(slots.address(*first), n, n, 1, n as isize) };
        let mut target = dev.in_place(home)?;
        let sources: Vec<_> = loaded.iter().collect();
        compute(dev, &work.layout, task, &mut target, &sources)?;
        line.finish(x);
    }
    Ok(())
}

/// Copies from and to memory of the slots run by themselves while this lives.
struct Pinned<'a, T: Scalar, D: TileMachine<T>> {
    dev: &'a D,
    slots: &'a Slots<T>,
    count: usize,
}

impl<'a, T: Scalar, D: TileMachine<T>> Pinned<'a, T, D> {
    fn new(dev: &'a D, slots: &'a Slots<T>, len: usize) -> Result<Self> {
        let mut pinned = Pinned {
            dev,
            slots,
            count: 0,
        };
        for slot in 0..slots.count() {
            // SAFETY: the slots outlive this, and are unpinned when it is dropped.
            unsafe { dev.pin(slots.address(slot), len) }?;
            pinned.count += 1;
        }
        Ok(pinned)
    }
}

impl<T: Scalar, D: TileMachine<T>> Drop for Pinned<'_, T, D> {
    fn drop(&mut self) {
        for slot in 0..self.count {
            // SAFETY: pinned above; the device was drained.
            unsafe { self.dev.unpin(self.slots.address(slot)) };
        }
    }
}

/// A tile's place in the device's memory, and what is on its way from or to it.
struct Place<M, K> {
    matrix: M,
    /// What was computed with it last.
    computed: Option<Rc<K>>,
    /// The copy that fills it, not yet waited for by what is computed.
    arriving: Option<Rc<K>>,
    /// The copy that it is read by.
    leaving: Option<Rc<K>>,
}

impl<M, K> Place<M, K> {
    fn new(matrix: M) -> Self {
        Place {
            matrix,
            computed: None,
            arriving: None,
            leaving: None,
        }
    }
}

fn on_device<T: Scalar, D: TileMachine<T>, S: Store<T>>(
    dev: &D,
    work: &Work,
    device: &Plan,
    places: &mut [Place<D::Mat<'static>, D::Mark>],
    slots: &Slots<T>,
    line: &Line<'_, T, S>,
) -> Result<()> {
    let mut under_way: VecDeque<(usize, Rc<D::Mark>)> = VecDeque::new();
    let mut computing: VecDeque<(Rc<D::Mark>, f64)> = VecDeque::new();
    for (x, op) in work.host.ops.iter().enumerate() {
        let Op::Run {
            request,
            slots: homes,
        } = op
        else {
            continue;
        };
        loop {
            retire(dev, line, &mut under_way)?;
            if line.ready(x)? {
                break;
            }
            interrupt::poll()?;
            let most = if under_way.is_empty() { 20_000 } else { 50 };
            line.pause(Duration::from_micros(most));
        }
        match &device.ops[*request] {
            Op::Load { slot, .. } => {
                let place = &mut places[*slot];
                let after: Vec<&D::Mark> = [&place.computed, &place.leaving]
                    .into_iter()
                    .filter_map(|mark| mark.as_deref())
                    .collect();
                // SAFETY: the host's slot and the device's have a tile, and steps that change either wait for the end of the copy.
                let mark = unsafe { dev.send(slots.address(homes[0]), &place.matrix, &after) }?;
                let mark = Rc::new(mark);
                place.leaving = None;
                place.arriving = Some(mark.clone());
                under_way.push_back((x, mark));
            }
            Op::Store { slot, .. } => {
                let place = &mut places[*slot];
                let after: Vec<&D::Mark> = place.computed.as_deref().into_iter().collect();
                // SAFETY: as above.
                let mark = unsafe { dev.fetch(&place.matrix, slots.address(homes[0]), &after) }?;
                let mark = Rc::new(mark);
                place.leaving = Some(mark.clone());
                under_way.push_back((x, mark));
            }
            Op::Run {
                request,
                slots: used,
            } => {
                for slot in used {
                    if let Some(mark) = places[*slot].arriving.take() {
                        dev.follow(&mark)?;
                    }
                }
                let task = work.tasks[*request];
                let Some((first, others)) = used.split_first() else {
                    continue;
                };
                if let Some(mark) = places[*first].leaving.take() {
                    dev.follow(&mark)?;
                }
                let (before, rest) = places.split_at_mut(*first);
                let Some((target, after)) = rest.split_first_mut() else {
                    continue;
                };
                let sources: Vec<&D::Mat<'_>> = others
                    .iter()
                    .filter_map(|s| match s.checked_sub(*first + 1) {
                        Some(s) => after.get(s),
                        None => before.get(*s),
                    })
                    .map(|place| &place.matrix)
                    .collect();
                compute(dev, &work.layout, task, &mut target.matrix, &sources)?;
                let mark = Rc::new(dev.mark()?);
                for slot in used {
                    places[*slot].computed = Some(mark.clone());
                }
                line.finish(x);
                computing.push_back((mark, task.operations(work.layout.tile())));
                await_some(dev, line, &mut under_way, &mut computing)?;
            }
        }
    }
    while !under_way.is_empty() {
        retire(dev, line, &mut under_way)?;
        interrupt::poll()?;
        line.ready(0)?;
        std::thread::sleep(Duration::from_micros(50));
    }
    Ok(())
}

/// Tasks that may wait for the device, and their operations where there are more than two: an interrupt waits for all of them.
const TASKS_AHEAD: usize = 64;
const OPERATIONS_AHEAD: f64 = 4e12;

/// Waits while too much is queued.
fn await_some<T: Scalar, D: TileMachine<T>, S: Store<T>>(
    dev: &D,
    line: &Line<'_, T, S>,
    under_way: &mut VecDeque<(usize, Rc<D::Mark>)>,
    computing: &mut VecDeque<(Rc<D::Mark>, f64)>,
) -> Result<()> {
    loop {
        let operations: f64 = computing.iter().map(|(_, operations)| operations).sum();
        let few = computing.len() <= TASKS_AHEAD && operations <= OPERATIONS_AHEAD;
        let Some((mark, _)) = computing.front() else {
            return Ok(());
        };
        if dev.is_past(mark)? {
            computing.pop_front();
        } else if few || computing.len() <= 2 {
            return Ok(());
        } else {
            retire(dev, line, under_way)?;
            interrupt::poll()?;
            std::thread::sleep(Duration::from_micros(20));
        }
    }
}

/// Finishes the steps whose copies are done.
fn retire<T: Scalar, D: TileMachine<T>, S: Store<T>>(
    dev: &D,
    line: &Line<'_, T, S>,
    under_way: &mut VecDeque<(usize, Rc<D::Mark>)>,
) -> Result<()> {
    let mut i = 0;
    // Copies up and copies down overtake each other.
    while i < under_way.len() {
        if dev.is_past(&under_way[i].1)? {
            if let Some((x, _)) = under_way.remove(i) {
                line.finish(x);
            }
        } else {
            i += 1;
        }
    }
    Ok(())
}
