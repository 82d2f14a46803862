//! `chol_gpus`.

use extendr_api::prelude::*;

use crate::algo::tiled::cholesky_host::{factor_staying_by, DevicePool};
use crate::base::error::{Error, Result};
use crate::base::scalar::Scalar;
use crate::cost::work::Work;
use crate::device::async_copy::AsyncCopy;
use crate::r::args;
use crate::r::handle::EmptyHandle;
use crate::r::reply::reply;
use crate::r::resident::{ResidentMatrix, ToResident};
use crate::r::target::{on_device, How};

/// The tiles of the upper factor of x behind `handles`, columns of tiles after one another, each on
/// the GPU that made it
#[extendr]
fn native_chol_gpus(x: Robj, n: Robj, tile: Robj, handles: Robj, how: Robj) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let (n, tile) = (args::size(&n)?, args::size(&tile)?);
        let x = args::matrix(&x, (n, n))?;
        let handles: Vec<Robj> = handles
            .as_list()
            .map(|all| all.values().collect())
            .unwrap_or_default();
        let mut slots = Vec::with_capacity(handles.len());
        for handle in &handles {
            slots.push(Some(EmptyHandle::new(handle)?));
        }
        let how = how.for_gpu();
        let means = how.means();
        let made: Vec<(usize, ResidentMatrix)> = on_device!(&how, Work::cholesky(n), |dev, T| {
            let x = T::borrow_host(x)?;
            on_gpus(dev, &means, tile, args::view(&x, (n, n)))
        })?;
        let mut devices = vec![String::new(); slots.len()];
        for (tile, held) in made {
            let slot = slots.get_mut(tile).and_then(Option::take);
            let slot = slot.ok_or_else(wrong_tiles)?;
            devices[tile] = held.target().name();
            slot.fill(held);
        }
        if slots.iter().any(Option::is_some) {
            return Err(wrong_tiles());
        }
        Ok(list!(devices = devices))
    })
}

fn wrong_tiles() -> Error {
    Error::Internal {
        what: "a factor has other tiles than there are handles".to_owned(),
    }
}

fn on_gpus<T: Scalar, D: AsyncCopy<T> + ToResident<T>>(
    dev: &D,
    means: &DevicePool<'_>,
    tile: usize,
    x: faer::MatRef<'_, T>,
) -> Result<Vec<(usize, ResidentMatrix)>> {
    if !dev.has_own_memory() {
        return Err(Error::Internal {
            what: "the CPU was asked for a factor on GPUs".to_owned(),
        });
    }
    let (devs, made) = factor_staying_by(dev, means, tile, x)?;
    let held = made
        .into_iter()
        .map(|made| (made.tile, devs[made.device].to_resident(made.matrix)));
    Ok(held.collect())
}

extendr_module! {
    mod chol_gpus;
    fn native_chol_gpus;
}
