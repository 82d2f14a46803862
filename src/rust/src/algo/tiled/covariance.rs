//! Covariance matrices of points: in memory, on a device, or in a file of tiles.

use std::collections::VecDeque;
use std::mem::size_of;
use std::rc::Rc;
use std::time::Duration;

use faer::MatMut;

use crate::algo::tiled::engine::slots::HostSlots;
use crate::base::error::{Error, Result};
use crate::base::interrupt;
use crate::base::matrix::Block;
use crate::base::progress;
use crate::base::scalar::Scalar;
use crate::device::async_copy::AsyncCopy;
use crate::device::covariance::{Covariance, Points};
use crate::device::dense::Device;
use crate::tiles::memory::Slots;
use crate::tiles::plan::{plan, Op, Plan, Request, Use, LEAST_SLOTS};
use crate::tiles::plan_executor::{PlanExecutor, Store};
use crate::tiles::{Buffer, Layout, Strips, TileFile};

/// Bytes of a result that are on the device at a time.
const PANEL: usize = 1 << 30;

/// `out` becomes the covariances of the points of x with those of y, or with one another, and then
/// with the nugget on the diagonal.
pub fn matrix<T: Scalar, D: Device<T>>(
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

/// The same in a matrix that stays on the device.
pub fn matrix_resident<T: Scalar, D: Device<T>>(
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

/// Points of two sets are never the same one, wherever they are.
fn of(function: &Covariance, cross: bool) -> Covariance {
    Covariance {
        nugget: if cross { 0.0 } else { function.nugget },
        ..*function
    }
}

/// Threads that store.
const THREADS: usize = 4;
/// Tiles in the host's memory: one for each thread that stores, and as many that are filled
/// meanwhile.
const SLOTS: usize = 2 * THREADS;
/// Tiles in the device's memory: one is computed while others are on their way to the host.
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
    let (rows, cols) = layout.extent(i, j);
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
    let work = Work {
        dev,
        function,
        points: &x,
        layout,
        dimensions,
        plan: &plan,
    };
    if dev.is_host() {
        let line = PlanExecutor::new(&plan, &requests, &slots, &written, 1);
        return line.run(THREADS, Vec::new(), Vec::new(), || {
            work.in_host(&slots, &line)
        });
    }
    let mut places = Vec::with_capacity(PLACES);
    for _ in 0..PLACES.min(layout.tiles()) {
        places.push(Place {
            matrix: dev.zeros(layout.tile(), layout.tile())?,
            leaving: None,
        });
    }
    let line = PlanExecutor::new(&plan, &requests, &slots, &written, 1);
    line.run(THREADS, Vec::new(), Vec::new(), || {
        let done = work.on_device(&mut places, &slots, &line);
        // Nothing is copied any more when the threads end.
        dev.drain();
        done
    })
}

/// A tile's place in the device's memory, and the copy to the host that it is read by.
struct Place<M, K> {
    matrix: M,
    leaving: Option<Rc<K>>,
}

struct Work<'a, 'p, T: Scalar, D: AsyncCopy<T>> {
    dev: &'a D,
    function: &'a Covariance,
    points: &'a D::Points<'p>,
    layout: Layout,
    dimensions: usize,
    plan: &'a Plan,
}

impl<T: Scalar, D: AsyncCopy<T>> Work<'_, '_, T, D> {
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

    fn in_host<S: Store<T>>(&self, slots: &Slots<T>, line: &PlanExecutor<'_, T, S>) -> Result<()> {
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

    fn on_device<S: Store<T>>(
        &self,
        places: &mut [Place<D::Mat<'static>, D::Mark>],
        slots: &Slots<T>,
        line: &PlanExecutor<'_, T, S>,
    ) -> Result<()> {
        let dev = self.dev;
        let entries = self.layout.tile().pow(2);
        // Copies on their way, with their steps and tiles, the oldest first.
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
        let count = places.len().max(1);
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
            let Some(place) = places.get_mut(k % count) else {
                continue;
            };
            if let Some(mark) = place.leaving.take() {
                dev.follow(&mark)?;
            }
            self.evaluate(tile, &mut place.matrix)?;
            let computed = dev.mark()?;
            // SAFETY: slot and place have a tile each. The place is written again after the copy,
            // and whoever uses the slot waits for this step.
            let to = slots.address(slot);
            let mark = unsafe { dev.fetch(&mut place.matrix, 0..entries, to, &[&computed]) }?;
            let mark = Rc::new(mark);
            place.leaving = Some(mark.clone());
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
