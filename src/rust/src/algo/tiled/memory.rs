//! How memory is shared between tiles that pass by and what is computed of them.

use crate::algo::tiled::source::Passing;
use crate::base::error::{Error, Result};
use crate::base::scalar::Scalar;
use crate::device::async_copy::AsyncCopy;
use crate::tiles::plan::LEAST_SLOTS;
use crate::tiles::Shape;

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
pub(crate) struct Memory {
    pub(crate) tile_bytes: u64,
    /// Tiles that the host has room for.
    pub(crate) host: usize,
    pub(crate) device: u64,
    /// Tiles of the matrix; more are of no use.
    pub(crate) most: u64,
}

/// An error of a budget.
pub(crate) fn too_few(argument: &'static str, bytes: u64, least: u64) -> Error {
    Error::Argument {
        argument,
        what: format!("{bytes} bytes are too few: {least} are needed"),
    }
}

impl Memory {
    /// An error where there is not enough for [`LEAST_SLOTS`] tiles.
    pub(crate) fn new<T: Scalar>(
        matrix: &impl Passing<T>,
        budget: Budget,
        in_host: bool,
    ) -> Result<Self> {
        let tile_bytes = matrix.tile_bytes()?;
        let least = LEAST_SLOTS as u64 * tile_bytes;
        if budget.host < least {
            return Err(too_few("host_memory", budget.host, least));
        }
        let (rows, cols) = matrix.blocks();
        let tiles = match matrix.layout().shape() {
            Shape::Triangle => cols * (cols + 1) / 2,
            Shape::Full => rows * cols,
        };
        let most = tiles.max(LEAST_SLOTS) as u64;
        let edges = matrix.edges().into_iter();
        let edges: usize = edges.map(|(m, n)| m * n * size_of::<T>()).sum();
        let beside = BESIDE * tile_bytes + edges as u64;
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

/// Room for tiles, and how many of `q` columns of what is computed a chunk has, each of so many
/// `numbers`: as many as fit, since fewer chunks are fewer copies of everything.
pub(crate) fn room<T: Scalar, D: AsyncCopy<T>>(
    dev: &D,
    matrix: &impl Passing<T>,
    budget: Budget,
    (numbers, q): (usize, usize),
) -> Result<(Room, usize)> {
    let memory = Memory::new(matrix, budget, dev.is_host())?;
    if dev.is_host() {
        let room = Room {
            host: memory.host,
            device: memory.host,
        };
        return Ok((room, q));
    }
    let column = (numbers * size_of::<T>()) as u64;
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
