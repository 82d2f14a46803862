//! How tiles of a matrix in host memory are cut and moved, and how many devices have room for.

use crate::algo::tiled::cholesky_file::LEAST_ROOM;
use crate::algo::tiled::engine::factor_plan::MOST_ROWS;
use crate::algo::tiled::engine::orders::{owners, room_for_all};
use crate::algo::tiled::engine::peers::reach_all;
use crate::algo::tiled::engine::slot_budget::SlotBudget;
use crate::base;
use crate::base::error::{Error, Result};
use crate::base::scalar::Scalar;
use crate::base::threads::wanted;
use crate::cost::plan::size;
use crate::device::async_copy::AsyncCopy;
use crate::tiles::plan::LEAST_SLOTS;
use crate::tiles::{Layout, Shape, Strips};

/// Bytes in host memory on their way, which a server's cache between the processor and the devices
/// holds; and whole tiles, for any number of devices and for each, at most and at least.
const CACHE: usize = 256 << 20;
const WAITING: (usize, usize) = (12, 4);
const LEAST_WAITING: (usize, usize) = (6, 1);

/// Threads that load, and as many that store, at least: one for each device, and each has the
/// pool's threads to help.
const THREADS: usize = 2;

/// From so many devices on, which then share the host's memory, tiles come and go in strips, where
/// each does once: strips of so many bytes, that stay in the cache on their way, so many at most,
/// and so many threads for each device that load, and that store.
const MANY: usize = 3;
const STRIP: usize = 4 << 20;
const STRIPS: usize = 64;
const COPIERS: usize = 8;

/// How tiles are cut on their way to so many devices, which each makes `once` or more often.
pub(super) fn strips<T>(layout: &Layout, devices: usize, once: impl Fn() -> bool) -> Strips {
    if devices >= MANY && once() {
        Strips::new(*layout, STRIP / (layout.tile() * size_of::<T>()))
    } else {
        Strips::whole(*layout)
    }
}

/// Places in host memory for strips.
pub(super) fn waiting<T>(strips: &Strips, devices: usize) -> usize {
    let for_all = |(any, each): (usize, usize)| any + each * devices;
    let bytes = strips.entries() * size_of::<T>();
    let (least, most) = match strips.each() {
        1 => (for_all(LEAST_WAITING), for_all(WAITING)),
        _ => (LEAST_SLOTS, STRIPS),
    };
    let count = (CACHE / bytes.max(1)).clamp(least, most);
    count.min(strips.count().max(LEAST_SLOTS))
}

pub(super) fn copiers(strips: &Strips, devices: usize) -> usize {
    match strips.each() {
        1 => devices.max(THREADS),
        _ => (COPIERS * devices).min(wanted() / 2).max(THREADS),
    }
}

/// The tiles of a matrix of order `n` for devices with so many bytes of memory at most, and how
/// many bytes the one with the least has.
pub(crate) fn tiles<T: Scalar, D: AsyncCopy<T>>(
    devs: &[D],
    memory: f64,
    n: usize,
) -> Result<(Layout, u64)> {
    let free = free_bytes(devs, memory)?;
    let least = free.into_iter().min().unwrap_or(0);
    let bounds = (LEAST_ROOM, MOST_ROWS);
    let tile = size::tile_order(n, size_of::<T>(), devs.len(), least, bounds);
    Ok((Layout::new(n, n, tile, Shape::Triangle)?, least as u64))
}

fn tile_bytes<T>(tile: usize) -> usize {
    tile.pow(2) * size_of::<T>()
}

fn free_bytes<T: Scalar, D: AsyncCopy<T>>(devs: &[D], memory: f64) -> Result<Vec<usize>> {
    let free = devs
        .iter()
        .map(|dev| Ok(size::usable(dev.free()?, memory) as usize));
    free.collect()
}

/// Slots for tiles of this layout on devices with so many bytes of each one's memory at most.
pub(super) fn room<T: Scalar, D: AsyncCopy<T>>(
    devs: &[D],
    memory: f64,
    layout: &Layout,
) -> Result<SlotBudget> {
    let free = free_bytes(devs, memory)?;
    let bytes = tile_bytes::<T>(layout.tile());
    let rooms = free.iter().map(|free| {
        let all = free / bytes;
        if all < LEAST_ROOM {
            return Err(Error::Argument {
                argument: "cudafactor.gpu_memory",
                what: format!(
                    "{free} bytes of a GPU's memory are too few: {LEAST_ROOM} tiles of {bytes} \
                     bytes are needed"
                ),
            });
        }
        let room = all + LEAST_SLOTS - LEAST_ROOM;
        Ok(room.min(layout.tiles().max(LEAST_SLOTS)))
    });
    Ok(SlotBudget {
        host: waiting::<T>(&Strips::whole(*layout), devs.len()),
        devices: rooms.collect::<Result<_>>()?,
        peers: reach_all::<T, D>(devs)?,
    })
}

/// Whether devices that reach one another have room for all tiles, so that none travels twice.
pub(super) fn all_fits<T: Scalar, D: AsyncCopy<T>>(
    devs: &[D],
    memory: f64,
    n: usize,
) -> Result<bool> {
    let (layout, _) = tiles::<T, D>(devs, memory, n)?;
    let speeds: Vec<f64> = devs.iter().map(AsyncCopy::speed).collect();
    let owners = owners(layout.block_rows(), &speeds);
    match room::<T, D>(devs, memory, &layout) {
        Ok(room) => Ok(room_for_all(&layout, &room, &owners).is_some()),
        Err(Error::Argument { .. }) => Ok(false),
        Err(e) => Err(e),
    }
}

/// Looks for matrices that nobody refers to, which hold memory that is lacking. False where there
/// are none at all.
pub(super) fn found_garbage<T: Scalar, D: AsyncCopy<T>>(devs: &[D]) -> bool {
    let holds = devs.iter().any(|dev| dev.held() > 0);
    if holds {
        base::accounting::relieve(base::accounting::Search::Full);
    }
    holds
}
