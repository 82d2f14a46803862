//! Cholesky factorization of a matrix of tiles that memory holds a part of: `A = R'R` in the upper
//! triangle, tile by tile.
//!
//! The work is [`schedule`](crate::tiles::schedule)d first and what lies where is
//! [`plan`](crate::tiles::plan::plan)ned twice: for the device's memory, and then for the host's,
//! of which the device's copies are the requests. On a device that computes in host memory the
//! second plan alone is needed. Then several threads load and store while this one gives the device
//! its work, see [`plan_executor`](crate::tiles::plan_executor).
//!
//! Tiles at the edges are filled up to whole ones, with ones on the diagonal and zeros elsewhere;
//! the factor's tiles are then filled up likewise, or with what nobody reads.

use std::sync::PoisonError;
use std::time::Duration;

use faer::{MatMut, MatRef};

use crate::algo::tiled::engine::device::{on_device, ResidentTile, ResidentTiles};
use crate::algo::tiled::engine::factor_plan::FactorPlan;
use crate::algo::tiled::engine::peers::Peers;
use crate::algo::tiled::engine::slots::HostSlots;
use crate::algo::tiled::engine::task::compute;
use crate::algo::tiled::engine::tiles::Tiles;
use crate::base::error::{Error, Result};
use crate::base::interrupt;
use crate::base::progress;
use crate::base::scalar::Scalar;
use crate::device::async_copy::AsyncCopy;
use crate::tiles::memory::Slots;
use crate::tiles::meter::Meters;
use crate::tiles::plan::{Op, LEAST_SLOTS};
use crate::tiles::plan_executor::{Driver, PlanExecutor, Store};
use crate::tiles::Buffer;

/// Threads that have the system give host memory, at most.
const TOUCHING: usize = 16;

/// Loads and stores by a plan.
struct Carrier<'a, M> {
    matrix: &'a M,
    work: &'a FactorPlan,
}

impl<T: Scalar, M: Tiles<T>> Store<T> for Carrier<'_, M> {
    fn load(&self, strip: usize, into: &mut Buffer<T>) -> Result<()> {
        let (tile, columns) = self.work.strips.position(strip);
        self.matrix.load(tile, columns.clone(), into)?;
        let layout = &self.work.layout;
        let (i, j) = layout.position(tile);
        let (rows, _) = layout.dimensions(i, j);
        if i == j {
            for k in columns.clone().filter(|k| *k >= rows) {
                into[(k - columns.start) * layout.tile() + k] = T::from_f64(1.0);
            }
        }
        Ok(())
    }

    fn store(&self, strip: usize, from: &Buffer<T>, request: usize) -> Result<()> {
        // The device's copy back was the request, on behalf of a task.
        let task = self.work.task_of(request).ok_or_else(|| Error::Internal {
            what: "a tile is stored that nobody changed".into(),
        })?;
        let (tile, columns) = self.work.strips.position(strip);
        self.matrix.store(tile, columns, from, task.step())
    }
}

/// Carries the work out on the devices it was planned for. A leading minor that is not positive is
/// [`Error::NotPositiveDefinite`] with LAPACK's order. Gives how long what went on.
pub fn factor<T: Scalar, D: AsyncCopy<T>, M: Tiles<T>>(
    devs: &[D],
    matrix: &M,
    work: &FactorPlan,
    threads: usize,
) -> Result<Meters> {
    carry_out(devs, matrix, work, threads, None)
}

/// As [`factor`], of work for a factor that stays in the devices' memory: its tiles.
pub fn factor_staying<T: Scalar, D: AsyncCopy<T>, M: Tiles<T>>(
    devs: &[D],
    matrix: &M,
    work: &FactorPlan,
    threads: usize,
) -> Result<Vec<ResidentTile<D::Mat<'static>>>> {
    let kept = ResidentTiles::default();
    carry_out(devs, matrix, work, threads, Some(&kept))?;
    Ok(kept.into_inner().unwrap_or_else(PoisonError::into_inner))
}

fn carry_out<T: Scalar, D: AsyncCopy<T>, M: Tiles<T>>(
    devs: &[D],
    matrix: &M,
    work: &FactorPlan,
    threads: usize,
    kept: Option<&ResidentTiles<D::Mat<'static>>>,
) -> Result<Meters> {
    let Some((dev, others)) = devs.split_first() else {
        return Err(Error::Internal {
            what: "there is no device to factor a matrix".into(),
        });
    };
    progress::extend(work.operations() - progress::total());
    let count = work.room.host.max(LEAST_SLOTS);
    let slots = HostSlots::new(dev, count, &work.strips, (4 * threads).min(TOUCHING))?;
    let carrier = Carrier { matrix, work };
    let line = PlanExecutor::new(&work.host, &work.requests, &slots, &carrier, devs.len());
    let line = line.after(&work.after);
    let peers = Peers::new(devs);
    let (line_, peers, slots): (_, _, &Slots<T>) = (&line, &peers, &slots);
    let background = (0..matrix.background_threads()).map(|_| {
        Box::new(move || {
            matrix.background(&|| line_.go_on().is_ok());
            Ok(())
        }) as Driver<'_>
    });
    if work.devices.is_empty() {
        line.run(threads, Vec::new(), background.collect(), || {
            in_host(dev, work, slots, line_)
        })?;
    } else {
        let others = others.iter().zip(1..).map(|(dev, number)| {
            Box::new(move || on_device(dev, number, work, slots, line_, peers, kept)) as Driver<'_>
        });
        line.run(threads, others.collect(), background.collect(), || {
            on_device(dev, 0, work, slots, line_, peers, kept)
        })?;
    }
    Ok(line.into_meters())
}

fn in_host<T: Scalar, D: AsyncCopy<T>, S: Store<T>>(
    dev: &D,
    work: &FactorPlan,
    slots: &Slots<T>,
    line: &PlanExecutor<'_, T, S>,
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
        let mut _idle = None;
        loop {
            let seen = line.progress();
            interrupt::poll()?;
            if line.ready(x)? {
                break;
            }
            _idle.get_or_insert_with(|| line.meters.idle[0].run());
            line.pause(seen, Duration::from_millis(20));
        }
        drop(_idle);
        let task = work.tasks[*request];
        // SAFETY: a tile's memory, which nobody else uses until the step is finished, or only looks
        // at.
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
        let _counted = progress::part(task.operations(n));
        compute(dev, &work.layout, task, &mut target, &sources)?;
        line.finish(x);
    }
    Ok(())
}
