//! Tiles of a matrix that pass by: a list of them, of which each is looked at in its turn.
//!
//! Threads load them ahead, as far as there is room, and on a device of its own memory they are
//! copied ahead, too. What lies where is [`plan`]ned for the whole list, so that a tile that stands
//! in it more than once stays where there is room.

use std::marker::PhantomData;
use std::rc::Rc;
use std::time::Duration;

use faer::MatRef;

use crate::algo::tiled::engine::queue::Queue;
use crate::algo::tiled::engine::room::Traffic;
use crate::algo::tiled::engine::slots::HostSlots;
use crate::algo::tiled::memory::Room;
use crate::algo::tiled::source::Passing;
use crate::base::error::Result;
use crate::base::interrupt;
use crate::base::matrix::Block;
use crate::base::scalar::Scalar;
use crate::device::async_copy::AsyncCopy;
use crate::tiles::memory::Slots;
use crate::tiles::plan::{plan, Op, Plan, Request, Use, LEAST_SLOTS};
use crate::tiles::plan_executor::PlanExecutor;
use crate::tiles::Strips;

/// Threads that load.
const THREADS: usize = 4;
/// Tiles that memory is for where none is needed again: some are loaded, some wait, and one is
/// looked at.
pub(crate) const AHEAD: usize = 4 * THREADS;
/// Tiles in a list for which a plan is made at once: its memory is some hundred bytes for each.
pub(crate) const AT_ONCE: usize = 200_000;

/// A tile's place in the device's memory.
struct Place<M, K> {
    matrix: M,
    /// The end of what was computed with it last.
    used: Rc<K>,
    /// The copy that fills it, not yet waited for by what is computed.
    arriving: Option<Rc<K>>,
}

/// Memory that tiles pass through, on a device.
pub(super) struct Stream<'a, T: Scalar, D: AsyncCopy<T>, S> {
    dev: &'a D,
    matrix: &'a S,
    room: Room,
    slots: &'a Slots<T>,
    /// None where tiles are computed with in host memory.
    places: Vec<Place<D::Mat<'static>, D::Mark>>,
    /// On a device, the parts of tiles that are of the matrix where these are not whole tiles.
    edges: Vec<D::Mat<'static>>,
    traffic: Traffic,
}

/// Host memory for a stream.
pub(crate) fn slots<'a, T: Scalar, D: AsyncCopy<T>>(
    dev: &'a D,
    matrix: &impl Passing<T>,
    room: Room,
) -> Result<HostSlots<'a, T, D>> {
    HostSlots::new(
        dev,
        room.host.max(LEAST_SLOTS),
        &Strips::whole(*matrix.layout()),
        4 * THREADS,
    )
}

fn look_at(tile: usize) -> Request {
    Request {
        tiles: vec![(tile, Use::Read)],
        store: false,
    }
}

impl<'a, T: Scalar, D: AsyncCopy<T>, S: Passing<T>> Stream<'a, T, D, S> {
    pub(crate) fn new(dev: &'a D, matrix: &'a S, room: Room, slots: &'a Slots<T>) -> Result<Self> {
        let (mut places, mut edges) = (Vec::new(), Vec::new());
        if !dev.is_host() {
            let n = matrix.layout().tile();
            for _ in 0..room.device.max(LEAST_SLOTS) {
                interrupt::poll()?;
                let place = dev.zeros(n, n)?;
                // Copies to it come after its making.
                let used = Rc::new(dev.mark()?);
                places.push(Place {
                    matrix: place,
                    used,
                    arriving: None,
                });
            }
            for (rows, cols) in matrix.edges() {
                edges.push(dev.zeros(rows, cols)?);
            }
        }
        Ok(Stream {
            dev,
            matrix,
            room,
            slots,
            places,
            edges,
            traffic: Traffic::default(),
        })
    }

    /// Copies that were made.
    pub(crate) fn traffic(&self) -> Traffic {
        self.traffic
    }

    /// Goes through the list. `step` is given each place in it and the tile, without what fills it
    /// up at the edges; its answer is how many operations that was.
    pub(crate) fn run(
        &mut self,
        tiles: &[usize],
        step: impl FnMut(usize, &D::Mat<'_>) -> Result<f64>,
    ) -> Result<()> {
        let own: Vec<Request> = tiles.iter().map(|tile| look_at(*tile)).collect();
        let done = if self.dev.is_host() {
            let host = plan(&own, self.room.host)?;
            self.traffic.loaded += host.loads;
            let line = PlanExecutor::new(&host, &own, self.slots, self.matrix, 1);
            line.run(THREADS, Vec::new(), Vec::new(), || {
                self.in_host(&host, tiles, &line, step)
            })
        } else {
            let device = plan(&own, self.room.device)?;
            let asked = device.ops.iter().map(|op| match op {
                Op::Load { tile, .. } => look_at(*tile),
                _ => Request {
                    tiles: Vec::new(),
                    store: false,
                },
            });
            let asked: Vec<Request> = asked.collect();
            let host = plan(&asked, self.room.host)?;
            self.traffic.loaded += host.loads;
            self.traffic.sent += device.loads;
            let line = PlanExecutor::new(&host, &asked, self.slots, self.matrix, 1);
            line.run(THREADS, Vec::new(), Vec::new(), || {
                // Nothing is copied any more when the threads end, after a panic, too.
                let _drained = Drained::<T, D>(self.dev, PhantomData);
                self.on_device(&host, &device, tiles, &line, step)
            })
        };
        done.map_err(|e| self.matrix.told(e))
    }

    fn in_host(
        &self,
        host: &Plan,
        tiles: &[usize],
        line: &PlanExecutor<'_, T, S>,
        mut step: impl FnMut(usize, &D::Mat<'_>) -> Result<f64>,
    ) -> Result<()> {
        let n = self.matrix.layout().tile() as isize;
        for (x, op) in host.ops.iter().enumerate() {
            let Op::Run { request, slots } = op else {
                continue;
            };
            loop {
                let seen = line.progress();
                interrupt::poll()?;
                if line.ready(x)? {
                    break;
                }
                line.pause(seen, Duration::from_millis(20));
            }
            let (i, j) = self.matrix.layout().position(tiles[*request]);
            let (rows, cols) = self.matrix.part(i, j);
            // SAFETY: the tile's memory, which others only look at until the step is finished.
            let view = unsafe {
                MatRef::<T>::from_raw_parts(self.slots.address(slots[0]), rows, cols, 1, n)
            };
            step(*request, &self.dev.load(view)?)?;
            line.finish(x);
        }
        Ok(())
    }

    fn on_device(
        &mut self,
        host: &Plan,
        device: &Plan,
        tiles: &[usize],
        line: &PlanExecutor<'_, T, S>,
        mut step: impl FnMut(usize, &D::Mat<'_>) -> Result<f64>,
    ) -> Result<()> {
        let dev = self.dev;
        let entries = self.matrix.layout().tile().pow(2);
        let mut queue = Queue::<T, D, S>::new(dev, line);
        for (x, op) in host.ops.iter().enumerate() {
            let Op::Run {
                request,
                slots: homes,
            } = op
            else {
                continue;
            };
            queue.await_step(x)?;
            match &device.ops[*request] {
                Op::Load { slot, .. } => {
                    let place = &mut self.places[*slot];
                    // SAFETY: both have a tile; the host's slot is not filled again before this
                    // step is finished, nor the device's before the copy is waited for.
                    let mark = unsafe {
                        dev.send(
                            self.slots.address(homes[0]),
                            &mut place.matrix,
                            0..entries,
                            &[&place.used],
                        )
                    }?;
                    let mark = Rc::new(mark);
                    place.arriving = Some(mark.clone());
                    queue.copies(x, mark);
                }
                Op::Run { request, slots } => {
                    let place = &mut self.places[slots[0]];
                    if let Some(mark) = place.arriving.take() {
                        dev.follow(&mark)?;
                    }
                    let (i, j) = self.matrix.layout().position(tiles[*request]);
                    let (rows, cols) = self.matrix.part(i, j);
                    let mut edges = self.edges.iter_mut();
                    let operations = match edges.find(|edge| dev.shape(edge) == (rows, cols)) {
                        None => step(*request, &place.matrix)?,
                        Some(edge) => {
                            let part = Block::leading(rows, cols);
                            dev.copy_block(&place.matrix, part, edge, (0, 0))?;
                            step(*request, edge)?
                        }
                    };
                    place.used = Rc::new(dev.mark()?);
                    queue.computes(place.used.clone(), operations);
                    line.finish(x);
                    queue.await_some()?;
                }
                Op::Store { .. } => {}
            }
        }
        queue.await_copies()
    }
}

/// Waits for the device when it is dropped.
struct Drained<'a, T: Scalar, D: AsyncCopy<T>>(&'a D, PhantomData<T>);

impl<T: Scalar, D: AsyncCopy<T>> Drop for Drained<'_, T, D> {
    fn drop(&mut self) {
        self.0.drain();
    }
}
