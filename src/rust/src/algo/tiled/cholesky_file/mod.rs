//! Cholesky factorization of a matrix in a file of tiles, in place or into a second file. It can be
//! resumed after an interrupt or the end of the process.

mod checks;
mod files;

use std::thread;
use std::time::Instant;

use crate::algo::tiled::cholesky::factor;
use crate::algo::tiled::engine::factor_plan::FactorPlan;
use crate::algo::tiled::engine::peers::reach_all;
use crate::algo::tiled::engine::slot_budget::{SlotBudget, Traffic};
use crate::base::error::{Error, Result};
use crate::base::progress;
use crate::base::scalar::Scalar;
use crate::base::spawn;
use crate::device::async_copy::AsyncCopy;
use crate::tiles::meter::{Meter, Meters};
use crate::tiles::plan::LEAST_SLOTS;
use crate::tiles::{Layout, State};

pub use checks::has_matrix;
use checks::is_complete;
pub use files::Files;
use files::{Over, Telling};

/// Bytes of memory for tiles, of the host and of each device, and the devices' rates in any unit.
#[derive(Debug, Clone, PartialEq)]
pub struct Budget {
    pub host: u64,
    pub devices: Vec<u64>,
    pub speeds: Vec<f64>,
}

/// How a factorization was carried out.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// The devices' names.
    pub devices: Vec<String>,
    /// Tiles that were copied, and the bytes of one.
    pub traffic: Traffic,
    pub tile_bytes: u64,
    pub operations: f64,
    pub seconds: f64,
    pub times: Times,
    /// The slots for tiles.
    pub slots: SlotBudget,
}

/// Seconds during which any thread loaded or stored tiles, and the mean idle time of the devices.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub struct Times {
    pub loading: f64,
    pub storing: f64,
    pub idle: f64,
    /// During which tiles were copied to or from a device.
    pub copying: f64,
}

impl Times {
    fn of(meters: &Meters) -> Times {
        let idle: f64 = meters.idle.iter().map(Meter::seconds).sum();
        Times {
            loading: meters.loading.seconds(),
            storing: meters.storing.seconds(),
            idle: idle / meters.idle.len().max(1) as f64,
            copying: meters.copying.seconds(),
        }
    }
}

/// Device memory for the workspace of tasks, in tiles.
const BESIDE: usize = 2;
/// Tiles that must fit in the host's memory, and in each device's.
pub const LEAST_ROOM: usize = LEAST_SLOTS + BESIDE;

/// Threads that load, and as many that store.
const THREADS: usize = 4;

/// Factors the matrix on all of the devices together. `resume` continues an interrupted
/// factorization in the file. The matrix's file is not changed, unless it is the factor's.
pub fn factor_files<T: Scalar, D: AsyncCopy<T>>(
    devs: &[D],
    files: &Files<'_, T>,
    budget: &Budget,
    resume: bool,
) -> Result<Report> {
    let start = Instant::now();
    let layout = *files.to.layout();
    let tile_bytes = files.to.buffer()?.bytes().len() as u64;
    let names = devs.iter().map(D::name).collect();
    if is_complete(files, resume)? {
        return Ok(Report {
            devices: names,
            traffic: Traffic::default(),
            tile_bytes,
            operations: 0.0,
            seconds: 0.0,
            times: Times::default(),
            slots: SlotBudget {
                host: 0,
                devices: Vec::new(),
                peers: false,
            },
        });
    }
    progress::phase("planning");
    for file in [Some(files.to), files.from].into_iter().flatten() {
        progress::watch(file.counter());
    }
    let mut slots = slot_budget(devs, budget, tile_bytes, &layout)?;
    slots.peers = reach_all::<T, D>(devs)?;
    let plan = FactorPlan::new(files, &slots, &budget.speeds)?;
    progress::phase("factorizing");
    let over = Over::default();
    let made = thread::scope(|scope| {
        let _telling = Telling(&over);
        let keep = || files.keep(&over);
        spawn::scoped(scope, keep)?;
        factor(devs, files, &plan, THREADS)
    });
    let meters = match made {
        Ok(meters) => {
            progress::phase("finishing");
            files.to.set_state(State::Factor)?;
            meters
        }
        Err(Error::NotPositiveDefinite { order }) => {
            files.to.set_state(State::NotPositiveDefinite {
                order: order as u64,
            })?;
            return Err(Error::NotPositiveDefinite { order });
        }
        Err(e) => {
            // Tiles that are stored become durable if that is possible. The first failure is the
            // one that matters.
            let _ = files.to.commit();
            return Err(e);
        }
    };
    Ok(Report {
        devices: names,
        traffic: plan.traffic(),
        tile_bytes,
        operations: plan.operations(),
        seconds: start.elapsed().as_secs_f64(),
        times: Times::of(&meters),
        slots,
    })
}

/// Slots for tiles, no more than there are tiles. Fewer than [`LEAST_SLOTS`] are an error.
fn slot_budget<T: Scalar, D: AsyncCopy<T>>(
    devs: &[D],
    budget: &Budget,
    tile_bytes: u64,
    layout: &Layout,
) -> Result<SlotBudget> {
    let most = layout.tiles().max(LEAST_SLOTS) as u64;
    let of = |bytes: u64, argument: &'static str, beside: usize| {
        let all = (bytes / tile_bytes) as usize;
        let least = LEAST_SLOTS + beside;
        if all < least {
            return Err(Error::Argument {
                argument,
                what: format!(
                    "'{argument}' must be at least {} bytes, for {least} tiles of {tile_bytes} \
                     bytes, but it is {bytes} bytes",
                    least as u64 * tile_bytes
                ),
            });
        }
        Ok((all - beside).min(most as usize))
    };
    let own = |(dev, bytes): (&D, &u64)| dev.own_memory(*bytes);
    let devices = devs.iter().zip(&budget.devices).filter_map(own);
    Ok(SlotBudget {
        host: of(budget.host, "host_memory", 0)?,
        devices: devices
            .map(|bytes| of(bytes, "gpu_memory", BESIDE))
            .collect::<Result<_>>()?,
        peers: false,
    })
}
