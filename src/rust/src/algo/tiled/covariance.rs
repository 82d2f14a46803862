//! Covariance matrices of points: in memory, on a device, or in a file of tiles.

use std::collections::VecDeque;
use std::mem::size_of;
use std::rc::Rc;
use std::time::Duration;

use faer::MatMut;

use crate::algo::tiled::engine::device_slot::DeviceSlot;
use crate::algo::tiled::engine::queue::Drained;
use crate::algo::tiled::engine::slots::HostSlots;
use crate::base::error::{Error, Result};
use crate::base::interrupt;
use crate::base::matrix::Block;
use crate::base::progress;
use crate::base::scalar::Scalar;
use crate::device::async_copy::AsyncCopy;
use crate::device::covariance::{Covariance, CovarianceMatrix, Points};
use crate::device::memory::Memory;
use crate::tiles::memory::Slots;
use crate::tiles::plan::{plan, Op, Plan, Request, Use, LEAST_SLOTS};
use crate::tiles::plan_executor::{PlanExecutor, Store};
use crate::tiles::{Buffer, Layout, Strips, TileFile};

/// Bytes of a result that are on the device at a time.
const PANEL: usize = 1 << 30;

/// The covariances of the points of x with those of y in `out`, or with one another, and then with
/// the nugget on the diagonal.
pub fn matrix<T: Scalar, D: CovarianceMatrix<T>>(
    dev: &D,
    function: &Covariance,
    x: Points<'_>,
    y: Option<Points<'_>>,
    mut out: MatMut<'_, T>,
) -> Result<()> {
    let function = of(function, y.is_some());
    let x = dev.points(x)?;
    let y = y.map(|y| dev.points(y)).transpose()?;
    let (rows, cols) = out.shape();
    let together = (PANEL / (rows * size_of::<T>()).max(1)).max(1);
    for col in (0..cols).step_by(together) {
        interrupt::poll()?;
        let cols = together.min(cols - col);
        let mut panel = dev.output(out.as_mut().subcols_mut(col, cols))?;
        let block = Block {
            row: 0,
            col,
            rows,
            cols,
        };
        dev.covariance(&function, &x, y.as_ref().unwrap_or(&x), block, &mut panel)?;
        dev.store(panel)?;
    }
    Ok(())
}

/// As [`matrix`], in a new matrix on the device.
pub fn matrix_resident<T: Scalar, D: CovarianceMatrix<T>>(
    dev: &D,
    function: &Covariance,
    x: Points<'_>,
    y: Option<Points<'_>>,
) -> Result<D::Mat<'static>> {
    let function = of(function, y.is_some());
    let rows = x.coordinates.nrows();
    let cols = y.map_or(rows, |y| y.coordinates.nrows());
    let x = dev.points(x)?;
    let y = y.map(|y| dev.points(y)).transpose()?;
    let mut out = dev.zeros(rows, cols)?;
    let block = Block::leading(rows, cols);
    dev.covariance(&function, &x, y.as_ref().unwrap_or(&x), block, &mut out)?;
    Ok(out)
}

/// The function without its nugget for two sets of points: a point of one is never one of the
/// other, whatever their coordinates.
fn of(function: &Covariance, cross: bool) -> Covariance {
    Covariance {
        nugget: if cross { 0.0 } else { function.nugget },
        ..*function
    }
}

/// Threads that store.
const THREADS: usize = 4;
/// Slots in host memory: one for each thread that stores, and as many that are filled meanwhile.
const SLOTS: usize = 2 * THREADS;
/// Tiles in the device's memory: one is computed while others are copied to the host.
const PLACES: usize = 3;

struct Written<'a, T>(&'a TileFile<T>);

impl<T: Scalar> Store<T> for Written<'_, T> {
    fn load(&self, _: usize, _: &mut Buffer<T>) -> Result<()> {
        Err(Error::Internal {
            what: "a tile that is computed was to be loaded".into(),
        })
    }

    fn store(&self, tile: usize, from: &Buffer<T>, _: usize) -> Result<()> {
        self.0.write(tile, from, 0)
    }
}

/// The rows and columns of a tile.
fn block(layout: &Layout, tile: usize) -> Block {
    let (i, j) = layout.position(tile);
    let (rows, cols) = layout.dimensions(i, j);
    Block {
        row: i * layout.tile(),
        col: j * layout.tile(),
        rows,
        cols,
    }
}

/// Operations for all tiles of a file.
pub fn operations(layout: &Layout, dimensions: usize) -> f64 {
    (0..layout.tiles())
        .map(|tile| operations_of(layout, tile, dimensions))
        .sum()
}

fn operations_of(layout: &Layout, tile: usize, dimensions: usize) -> f64 {
    let block = block(layout, tile);
    Covariance::operations(block.rows as f64 * block.cols as f64, dimensions)
}

/// Writes the covariances of points with one another to a file of tiles; tiles are computed while
/// others are written. Beyond the matrix's edges tiles have zeros.
pub fn write<T: Scalar, D: AsyncCopy<T>>(
    dev: &D,
    function: &Covariance,
    x: Points<'_>,
    file: &TileFile<T>,
) -> Result<()> {
    let layout = *file.layout();
    let n = x.coordinates.nrows();
    if (layout.rows(), layout.cols()) != (n, n) {
        return Err(Error::Dimension {
            what: "a file has as many rows and columns as there are points".into(),
        });
    }
    let replaced = |tile| Request {
        tiles: vec![(tile, Use::Replace)],
        store: true,
    };
    let requests: Vec<Request> = (0..layout.tiles()).map(replaced).collect();
    let count = SLOTS.min(layout.tiles()).max(LEAST_SLOTS);
    let plan = plan(&requests, count)?;
    let slots = HostSlots::<T, D>::new(dev, count, &Strips::whole(layout), THREADS)?;
    let dimensions = x.coordinates.ncols();
    let x = dev.points(x)?;
    let written = Written(file);
    let writer = TileWriter {
        dev,
        function,
        points: &x,
        layout,
        dimensions,
        plan: &plan,
    };
    let tile_bytes = (layout.tile().pow(2) * size_of::<T>()) as u64;
    let mut copies = match dev.own_memory(PLACES as u64 * tile_bytes) {
        None => None,
        Some(bytes) => Some(writer.device_slots((bytes / tile_bytes) as usize)?),
    };
    let line = PlanExecutor::new(&plan, &requests, &slots, &written, 1);
    line.run(THREADS, Vec::new(), Vec::new(), || match &mut copies {
        None => writer.in_place(&slots, &line),
        Some(copies) => {
            // No copy is in flight when the threads end.
            let _drained = Drained::<T, D>::new(dev);
            writer.by_copies(copies, &slots, &line)
        }
    })
}

/// Computes tiles and has them written.
struct TileWriter<'a, 'p, T: Scalar, D: AsyncCopy<T>> {
    dev: &'a D,
    function: &'a Covariance,
    points: &'a D::Points<'p>,
    layout: Layout,
    dimensions: usize,
    plan: &'a Plan,
}

type DeviceSlots<T, D> = Vec<DeviceSlot<<D as Memory<T>>::Mat<'static>, <D as AsyncCopy<T>>::Mark>>;

impl<T: Scalar, D: AsyncCopy<T>> TileWriter<'_, '_, T, D> {
    /// At most so many, and no more than there are tiles.
    fn device_slots(&self, count: usize) -> Result<DeviceSlots<T, D>> {
        let tile = self.layout.tile();
        let slots = (0..count.min(self.layout.tiles())).map(|_| {
            let matrix = self.dev.zeros(tile, tile)?;
            Ok(DeviceSlot::new(matrix, Rc::new(self.dev.mark()?)))
        });
        slots.collect()
    }

    /// Each step that computes a tile, with the tile and the host's slot that it goes to.
    fn steps(&self) -> impl Iterator<Item = (usize, usize, usize)> + '_ {
        let ops = self.plan.ops.iter().enumerate();
        ops.filter_map(|(x, op)| match op {
            Op::Run { request, slots } => slots.first().map(|slot| (x, *request, *slot)),
            _ => None,
        })
    }

    fn evaluate(&self, tile: usize, out: &mut D::Mat<'_>) -> Result<()> {
        let (dev, points) = (self.dev, self.points);
        dev.covariance(
            self.function,
            points,
            points,
            block(&self.layout, tile),
            out,
        )
    }

    fn done(&self, tile: usize) {
        progress::advance(operations_of(&self.layout, tile, self.dimensions));
    }

    /// On a device that computes with tiles in host memory.
    fn in_place<S: Store<T>>(&self, slots: &Slots<T>, line: &PlanExecutor<'_, T, S>) -> Result<()> {
        let n = self.layout.tile();
        for (x, tile, slot) in self.steps() {
            loop {
                let seen = line.progress();
                interrupt::poll()?;
                if line.ready(x)? {
                    break;
                }
                line.pause(seen, Duration::from_millis(20));
            }
            // SAFETY: a tile's memory, which nobody else uses until the step is finished.
            let home =
                unsafe { MatMut::from_raw_parts_mut(slots.address(slot), n, n, 1, n as isize) };
            self.evaluate(tile, &mut self.dev.in_place(home)?)?;
            line.finish(x);
            self.done(tile);
        }
        Ok(())
    }

    /// On a device that has copies of tiles in its own memory.
    fn by_copies<S: Store<T>>(
        &self,
        copies: &mut DeviceSlots<T, D>,
        slots: &Slots<T>,
        line: &PlanExecutor<'_, T, S>,
    ) -> Result<()> {
        let dev = self.dev;
        let entries = self.layout.tile().pow(2);
        // Copies in flight, with their steps and tiles, the oldest first.
        let mut under_way: VecDeque<(usize, usize, Rc<D::Mark>)> = VecDeque::new();
        let retire = |under_way: &mut VecDeque<(usize, usize, Rc<D::Mark>)>| -> Result<bool> {
            while let Some((x, tile, mark)) = under_way.front() {
                if !dev.is_past(mark)? {
                    break;
                }
                line.finish(*x);
                self.done(*tile);
                under_way.pop_front();
            }
            Ok(under_way.is_empty())
        };
        let count = copies.len().max(1);
        for (k, (x, tile, slot)) in self.steps().enumerate() {
            loop {
                interrupt::poll()?;
                let idle = retire(&mut under_way)?;
                let seen = line.progress();
                if line.ready(x)? {
                    break;
                }
                let most = if idle { 20_000 } else { 50 };
                line.pause(seen, Duration::from_micros(most));
            }
            let Some(copy) = copies.get_mut(k % count) else {
                continue;
            };
            if let Some(mark) = copy.leaving() {
                dev.follow(&mark)?;
            }
            self.evaluate(tile, &mut copy.matrix)?;
            copy.used(Rc::new(dev.mark()?));
            let to = slots.address(slot);
            // SAFETY: both slots have a tile. The device's is written again after the copy, and
            // whoever uses the host's waits for this step.
            let mark =
                copy.read(|from, after| unsafe { dev.fetch(from, 0..entries, to, after) })?;
            under_way.push_back((x, tile, mark));
        }
        while !retire(&mut under_way)? {
            interrupt::poll()?;
            line.ready(0)?;
            std::thread::sleep(Duration::from_micros(50));
        }
        Ok(())
    }
}
