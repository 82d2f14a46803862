//! How memory is shared between tiles of a factor and what is solved for.

use crate::algo::tiled_factor::Factor;
use crate::error::{Error, Result};
use crate::scalar::Scalar;
use crate::tiles::machine::TileMachine;
use crate::tiles::plan::LEAST_SLOTS;

/// Bytes of memory that may be used: of the host for tiles, and of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    pub host: u64,
    pub device: u64,
}

/// Tiles that there is room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    pub host: usize,
    pub device: usize,
}

/// Tiles' worth of a device's memory that solutions and products take besides.
const BESIDE: u64 = 2;
/// Tiles on a device with which copies are well ahead of what is computed.
const COMFORTABLE: u64 = 6;

/// Bytes of host memory as tiles, and of the device's what is left for tiles and all else.
pub(super) struct Memory {
    pub(super) tile_bytes: u64,
    /// Tiles that the host has room for.
    pub(super) host: usize,
    pub(super) device: u64,
    /// Tiles of the factor; more are of no use.
    pub(super) most: u64,
}

/// An error of a budget.
pub(super) fn too_few(argument: &'static str, bytes: u64, least: u64) -> Error {
    Error::Argument {
        argument,
        what: format!("{bytes} bytes are too few: {least} are needed"),
    }
}

impl Memory {
    /// An error where there is not enough for [`LEAST_SLOTS`] tiles.
    pub(super) fn new<T: Scalar>(
        factor: &Factor<'_, T>,
        budget: Budget,
        in_host: bool,
    ) -> Result<Self> {
        let tile_bytes = factor.tile_bytes()?;
        let least = LEAST_SLOTS as u64 * tile_bytes;
        if budget.host < least {
            return Err(too_few("host_memory", budget.host, least));
        }
        let count = factor.count() as u64;
        let most = (count * (count + 1) / 2).max(LEAST_SLOTS as u64);
        // The parts of the last column of tiles.
        let last = factor.extent(factor.count().saturating_sub(1));
        let edges = if last < factor.tile() {
            ((factor.tile() + last) * last * size_of::<T>()) as u64
        } else {
            0
        };
        let beside = BESIDE * tile_bytes + edges;
        if !in_host && budget.device < least + beside {
            return Err(too_few("gpu_memory", budget.device, least + beside));
        }
        Ok(Memory {
            tile_bytes,
            host: (budget.host / tile_bytes).min(most) as usize,
            device: budget.device.saturating_sub(beside),
            most,
        })
    }
}

/// Room for tiles, and the columns of a chunk: as many as fit, since fewer chunks are fewer copies of everything.
pub(super) fn room<T: Scalar, D: TileMachine<T>>(
    dev: &D,
    factor: &Factor<'_, T>,
    budget: Budget,
    q: usize,
) -> Result<(Room, usize)> {
    let memory = Memory::new(factor, budget, dev.is_host())?;
    if dev.is_host() {
        let room = Room {
            host: memory.host,
            device: memory.host,
        };
        return Ok((room, q));
    }
    let column = (factor.order() * size_of::<T>()) as u64;
    let columns = |tiles: u64| {
        let left = memory.device.saturating_sub(tiles * memory.tile_bytes);
        (left / column).min(q as u64)
    };
    let least = LEAST_SLOTS as u64;
    let mut fit = columns(least);
    if fit < q as u64 {
        let fewer = columns(COMFORTABLE.min(memory.most));
        fit = if fewer > 0 { fewer } else { fit };
    }
    if fit == 0 {
        let more = least * memory.tile_bytes + column - memory.device;
        return Err(too_few("gpu_memory", budget.device, budget.device + more));
    }
    // All of about one width.
    let width = q.div_ceil(q.div_ceil(fit as usize));
    let left = memory.device - width as u64 * column;
    let room = Room {
        host: memory.host,
        device: (left / memory.tile_bytes).min(memory.most) as usize,
    };
    Ok((room, width))
}
