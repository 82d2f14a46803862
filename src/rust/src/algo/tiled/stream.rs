//! A list of tiles that are read in turn.
//!
//! Threads load tiles ahead, as far as there are slots. A device with its own memory gets copies
//! ahead as well. The slots are [`plan`]ned for the whole list, so that a tile that is used again
//! stays while there are slots.

use std::rc::Rc;
use std::time::Duration;

use faer::MatRef;

use crate::algo::tiled::engine::device_slot::DeviceSlot;
use crate::algo::tiled::engine::queue::{Drained, Queue};
use crate::algo::tiled::engine::slot_budget::Traffic;
use crate::algo::tiled::engine::slots::HostSlots;
use crate::algo::tiled::memory::StreamSlots;
use crate::algo::tiled::tile_source::TileSource;
use crate::base::error::Result;
use crate::base::interrupt;
use crate::base::matrix::Block;
use crate::base::scalar::Scalar;
use crate::device::async_copy::AsyncCopy;
use crate::device::memory::Memory;
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

/// Memory for a stream of tiles.
pub(super) struct Stream<'a, T: Scalar, D: AsyncCopy<T>, S> {
    dev: &'a D,
    matrix: &'a S,
    host: (usize, &'a Slots<T>),
    /// `None` for a device that computes with tiles in host memory.
    copies: Option<Copies<D::Mat<'static>, D::Mark>>,
    traffic: Traffic,
}

/// Device memory for copies of tiles.
struct Copies<M, K> {
    slots: Vec<DeviceSlot<M, K>>,
    /// How many the plan uses.
    planned: usize,
    /// Matrices for the tiles at the edges, without their padding.
    edges: Vec<M>,
}

/// Host memory for a stream.
pub(crate) fn host_slots<'a, T: Scalar, D: AsyncCopy<T>>(
    dev: &'a D,
    matrix: &impl TileSource<T>,
    slots: StreamSlots,
) -> Result<HostSlots<'a, T, D>> {
    HostSlots::new(
        dev,
        slots.host.max(LEAST_SLOTS),
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

impl<'a, T: Scalar, D: AsyncCopy<T>, S: TileSource<T>> Stream<'a, T, D, S> {
    pub(crate) fn new(
        dev: &'a D,
        matrix: &'a S,
        slots: StreamSlots,
        host: &'a Slots<T>,
    ) -> Result<Self> {
        let copies = slots.device.map(|count| Copies::new(dev, matrix, count));
        Ok(Stream {
            dev,
            matrix,
            host: (slots.host, host),
            copies: copies.transpose()?,
            traffic: Traffic::default(),
        })
    }

    /// Copies that were made.
    pub(crate) fn traffic(&self) -> Traffic {
        self.traffic
    }

    /// Goes through the list. `step` gets each position in it and the tile without padding, and
    /// returns its number of operations.
    pub(crate) fn run(
        &mut self,
        tiles: &[usize],
        step: impl FnMut(usize, &D::Mat<'_>) -> Result<f64>,
    ) -> Result<()> {
        let done = match self.copies.take() {
            None => self.in_place(tiles, step),
            Some(mut copies) => {
                let done = self.by_copies(&mut copies, tiles, step);
                self.copies = Some(copies);
                done
            }
        };
        done.map_err(|e| self.matrix.told(e))
    }

    /// On a device that computes with tiles in host memory.
    fn in_place(
        &mut self,
        tiles: &[usize],
        step: impl FnMut(usize, &D::Mat<'_>) -> Result<f64>,
    ) -> Result<()> {
        let requests: Vec<Request> = tiles.iter().map(|tile| look_at(*tile)).collect();
        let (count, slots) = self.host;
        let host = plan(&requests, count)?;
        self.traffic.loaded += host.loads;
        let line = PlanExecutor::new(&host, &requests, slots, self.matrix, 1);
        line.run(THREADS, Vec::new(), Vec::new(), || {
            self.compute_in_place(&host, tiles, &line, step)
        })
    }

    fn compute_in_place(
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
                MatRef::<T>::from_raw_parts(self.host.1.address(slots[0]), rows, cols, 1, n)
            };
            step(*request, &self.dev.load(view)?)?;
            line.finish(x);
        }
        Ok(())
    }

    /// On a device that has copies of tiles in its own memory.
    fn by_copies(
        &mut self,
        copies: &mut Copies<D::Mat<'static>, D::Mark>,
        tiles: &[usize],
        step: impl FnMut(usize, &D::Mat<'_>) -> Result<f64>,
    ) -> Result<()> {
        let requests: Vec<Request> = tiles.iter().map(|tile| look_at(*tile)).collect();
        let device = plan(&requests, copies.planned)?;
        let asked = device.ops.iter().map(|op| match op {
            Op::Load { tile, .. } => look_at(*tile),
            _ => Request::none(),
        });
        let asked: Vec<Request> = asked.collect();
        let (count, slots) = self.host;
        let host = plan(&asked, count)?;
        self.traffic.loaded += host.loads;
        self.traffic.sent += device.loads;
        let line = PlanExecutor::new(&host, &asked, slots, self.matrix, 1);
        line.run(THREADS, Vec::new(), Vec::new(), || {
            // No copy is in flight when the threads end, after a panic either.
            let _drained = Drained::<T, D>::new(self.dev);
            self.compute_by_copies(copies, (&host, &device), tiles, &line, step)
        })
    }

    fn compute_by_copies(
        &self,
        copies: &mut Copies<D::Mat<'static>, D::Mark>,
        (host, device): (&Plan, &Plan),
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
                    let from = self.host.1.address(homes[0]);
                    // SAFETY: both have a tile; the host's slot is not filled again before this
                    // step is finished, nor the device's before the copy is waited for.
                    let mark = copies.slots[*slot]
                        .fill(|to, after| unsafe { dev.send(from, to, 0..entries, after) })?;
                    queue.copies(x, mark);
                }
                Op::Run { request, slots } => {
                    let slot = &mut copies.slots[slots[0]];
                    if let Some(mark) = slot.arriving() {
                        dev.follow(&mark)?;
                    }
                    let (i, j) = self.matrix.layout().position(tiles[*request]);
                    let (rows, cols) = self.matrix.part(i, j);
                    let mut edges = copies.edges.iter_mut();
                    let operations = match edges.find(|edge| dev.shape(edge) == (rows, cols)) {
                        None => step(*request, &slot.matrix)?,
                        Some(edge) => {
                            let part = Block::leading(rows, cols);
                            dev.copy_block(&slot.matrix, part, edge, (0, 0))?;
                            step(*request, edge)?
                        }
                    };
                    let used = Rc::new(dev.mark()?);
                    slot.used(used.clone());
                    queue.computes(used, operations);
                    line.finish(x);
                    queue.await_some()?;
                }
                Op::Store { .. } => {}
            }
        }
        queue.await_copies()
    }
}

impl<M, K> Copies<M, K> {
    fn new<T, D, S>(dev: &D, matrix: &S, planned: usize) -> Result<Self>
    where
        T: Scalar,
        D: AsyncCopy<T, Mark = K> + Memory<T, Mat<'static> = M>,
        S: TileSource<T>,
    {
        let n = matrix.layout().tile();
        let mut slots = Vec::new();
        for _ in 0..planned.max(LEAST_SLOTS) {
            interrupt::poll()?;
            let matrix = dev.zeros(n, n)?;
            // Copies to it come after its making.
            slots.push(DeviceSlot::new(matrix, Rc::new(dev.mark()?)));
        }
        let edges = matrix.edges().into_iter();
        let edges = edges.map(|(rows, cols)| dev.zeros(rows, cols));
        Ok(Copies {
            slots,
            planned,
            edges: edges.collect::<Result<_>>()?,
        })
    }
}
