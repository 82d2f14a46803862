//! Cholesky factorization of a matrix in host memory by tiles: where a device has too little memory
//! for it, or several share the work.

use crate::device::memory::Memory;
use faer::{MatMut, MatRef};

use super::cholesky;
use crate::algo::dense;
use crate::algo::tiled::engine::device::ResidentTile;
use crate::algo::tiled::engine::factor_plan::FactorPlan;
use crate::algo::tiled::engine::host_tiles::HostTiles;
use crate::algo::tiled::engine::orders::{owners, room_for_all};
use crate::algo::tiled::engine::peers::exchange_all;
use crate::algo::tiled::engine::slot_budget::SlotBudget;
use crate::algo::tiled::host_budget::{
    all_fits, copiers, found_garbage, room, strips, tiles, waiting,
};
use crate::base::error::{Error, Result};
use crate::base::progress;
use crate::base::scalar::Scalar;
use crate::cost::plan::call::{take_way, Way};
use crate::cost::plan::size::{self, GpuLimits, Several};
use crate::device::async_copy::AsyncCopy;
use crate::tiles::{Layout, Shape};

/// Where the factorization may go.
pub struct DevicePool<'m> {
    /// Tells the numbers of devices that may work together. To find out may start what small work
    /// does without.
    pub devices: Box<dyn Fn() -> Vec<usize> + 'm>,
    /// Whether they are to, wherever there is work for them.
    pub together: bool,
    /// Bytes of each one's memory; infinite for what is free.
    pub memory: f64,
}

/// The upper factor in `out`, zero below the diagonal. By tiles where that must be, or is faster.
pub fn factor<T: Scalar, D: AsyncCopy<T>>(
    dev: &D,
    means: &DevicePool<'_>,
    x: MatRef<'_, T>,
    mut out: MatMut<'_, T>,
) -> Result<()> {
    let n = x.nrows();
    let ways = size::cholesky(n, size_of::<T>(), means.limits(dev.has_own_memory()));
    let mut lacking = None;
    if let Some(several) = ways.several {
        if let Some(devs) = means.several(dev, n, several)? {
            match factor_by_tiles(&devs, means.memory, x, out.as_mut()) {
                Err(e) if !means.together && may_be_others(&e) => {}
                done => return done,
            }
        }
    }
    if ways.whole {
        // Where memory is short this has what nobody needs any more given back first.
        match dense::host_to_host::potrf(dev, x, out.as_mut()) {
            Err(e @ Error::DeviceMemory { .. }) if ways.tiles => lacking = Some(e),
            done => return done,
        }
    }
    let devs = means.open(dev)?;
    match (factor_by_tiles(&devs, means.memory, x, out), lacking) {
        (Err(Error::Argument { .. }), Some(lacking)) => Err(lacking),
        (done, _) => done,
    }
}

/// Whether one device may do what failed on several.
fn may_be_others(e: &Error) -> bool {
    !matches!(
        e,
        Error::NotPositiveDefinite { .. }
            | Error::Interrupted
            | Error::Dimension { .. }
            | Error::DeviceFailed { .. }
    )
}

impl DevicePool<'_> {
    /// What limits a call, as its plan asks.
    pub fn limits(&self, own_memory: bool) -> GpuLimits {
        GpuLimits {
            own_memory,
            memory: self.memory,
            together: self.together,
        }
    }

    /// Several devices as the plan wants them, where there are as many.
    fn several<T: Scalar, D: AsyncCopy<T>>(
        &self,
        dev: &D,
        n: usize,
        several: Several,
    ) -> Result<Option<Vec<D>>> {
        if (self.devices)().len() < 2 {
            return Ok(None);
        }
        let devs = self.open(dev)?;
        let good = devs.len() > 1
            && (several == Several::Asked
                || all_fits::<T, D>(&devs, self.memory, n)?
                || found_garbage(&devs) && all_fits::<T, D>(&devs, self.memory, n)?);
        Ok(good.then_some(devs))
    }

    /// The devices, this one first. Those that the user named must be there; of the others those
    /// with much less memory than the first are left out.
    pub fn open<T: Scalar, D: AsyncCopy<T>>(&self, dev: &D) -> Result<Vec<D>> {
        let all = dev.with(&(self.devices)(), self.together)?;
        let mut devs = Vec::with_capacity(all.len());
        let mut first = 0.0;
        for dev in all {
            let free = match dev.free() {
                Ok(free) => self.memory.min(free as f64),
                Err(e) if devs.is_empty() || self.together || e == Error::Interrupted => {
                    return Err(e)
                }
                Err(_) => continue,
            };
            if devs.is_empty() {
                first = free;
            }
            if devs.is_empty() || self.together || free > first / 4.0 {
                devs.push(dev);
            }
        }
        Ok(devs)
    }
}

/// Adds tiles to the plan of this call.
fn tell_way<T: Scalar, D: AsyncCopy<T>>(devs: &[D], tile: usize) {
    take_way(|| Way::Tiled {
        processors: devs.iter().map(Memory::<T>::processor).collect(),
        tile,
    });
}

fn not_dense() -> Error {
    Error::Dimension {
        what: "a square matrix with contiguous columns is needed".into(),
    }
}

/// On all of the devices, with so many bytes of each one's memory at most.
pub fn factor_by_tiles<T: Scalar, D: AsyncCopy<T>>(
    devs: &[D],
    memory: f64,
    x: MatRef<'_, T>,
    out: MatMut<'_, T>,
) -> Result<()> {
    let (layout, _) = tiles::<T, D>(devs, memory, x.nrows())?;
    tell_way::<T, D>(devs, layout.tile());
    let mut room = room::<T, D>(devs, memory, &layout)?;
    let speeds: Vec<f64> = devs.iter().map(AsyncCopy::speed).collect();
    let owners = owners(layout.block_rows(), &speeds);
    let once = || room_for_all(&layout, &room, &owners).is_some();
    let strips = strips::<T>(&layout, devs.len(), once);
    room.host = waiting::<T>(&strips, devs.len());
    let tiles = HostTiles::new(strips, x, out).ok_or_else(not_dense)?;
    progress::phase("factorizing");
    progress::watch(tiles.counter());
    let work = FactorPlan::new(&tiles, &room, &speeds)?;
    cholesky::factor(devs, &tiles, &work, copiers(&strips, devs.len())).map(|_| ())
}

/// The tiles of a factor that its devices keep.
pub type StayedTiles<T, D> = Vec<ResidentTile<<D as Memory<T>>::Mat<'static>>>;

/// [`factor_staying`] on the devices of a request, and these devices. Where the user named none,
/// the first one works alone if the group cannot, as devices that exchange no memory cannot.
pub fn factor_staying_by<T: Scalar, D: AsyncCopy<T>>(
    dev: &D,
    means: &DevicePool<'_>,
    tile: usize,
    x: MatRef<'_, T>,
) -> Result<(Vec<D>, StayedTiles<T, D>)> {
    let mut devs = means.open(dev)?;
    match factor_staying(&devs, means.memory, tile, x) {
        Err(e) if !means.together && devs.len() > 1 && may_be_others(&e) => {
            devs.truncate(1);
            let made = factor_staying(&devs, means.memory, tile, x).map_err(|_| e)?;
            Ok((devs, made))
        }
        made => Ok((devs, made?)),
    }
}

/// The tiles of the upper factor, each in the memory of the device that made it. What stands below
/// the diagonal of tiles on it is anything; those at the edges are filled up to whole ones with
/// ones on the diagonal and zeros elsewhere.
pub fn factor_staying<T: Scalar, D: AsyncCopy<T>>(
    devs: &[D],
    memory: f64,
    tile: usize,
    x: MatRef<'_, T>,
) -> Result<StayedTiles<T, D>> {
    let n = x.nrows();
    let layout = Layout::new(n, n, tile, Shape::Triangle)?;
    if n == 0 {
        return Ok(Vec::new());
    }
    tell_way::<T, D>(devs, tile);
    let speeds: Vec<f64> = devs.iter().map(AsyncCopy::speed).collect();
    let strips = strips::<T>(&layout, devs.len(), || true);
    let tiles = HostTiles::to_read(strips, x).ok_or_else(not_dense)?;
    progress::phase("factorizing");
    progress::watch(tiles.counter());
    let room = || {
        let room = room::<T, D>(devs, memory, &layout)?;
        Ok(SlotBudget {
            host: waiting::<T>(&strips, devs.len()),
            peers: exchange_all::<T, D>(devs)?,
            ..room
        })
    };
    let mut found: SlotBudget = room()?;
    let mut work = FactorPlan::staying(&tiles, &found, &speeds)?;
    if work.is_none() && found_garbage(devs) {
        found = room()?;
        work = FactorPlan::staying(&tiles, &found, &speeds)?;
    }
    let Some(work) = work else {
        return Err(if devs.len() == 1 || found.peers {
            Error::Argument {
                argument: "devices",
                what: format!(
                    "the GPUs have too little memory for a factor of order {n}, all together"
                ),
            }
        } else {
            Error::Argument {
                argument: "devices",
                what: "the GPUs do not reach one another's memory".into(),
            }
        });
    };
    cholesky::factor_staying(devs, &tiles, &work, copiers(&strips, devs.len()))
}
