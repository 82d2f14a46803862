//! How memory is shared between tiles and what is computed with them.

use crate::algo::tiled::tile_source::TileSource;
use crate::base::error::{Error, Result};
use crate::base::scalar::Scalar;
use crate::device::async_copy::AsyncCopy;
use crate::tiles::plan::LEAST_SLOTS;
use crate::tiles::Shape;

/// Bytes of memory that a driver may use: of the host, for tiles, and of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    pub host: u64,
    pub device: u64,
}

/// Slots for tiles that fit in memory.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct StreamSlots {
    pub host: usize,
    /// In the device's memory. `None` for a device that computes with tiles in host memory.
    pub device: Option<usize>,
}

/// Device memory for the workspace of solutions and products, in tiles.
const BESIDE: u64 = 2;
/// Slots on a device with which copies are well ahead of computations.
const COMFORTABLE: u64 = 6;

/// A budget for the tiles of one matrix.
pub(crate) struct TileBudget {
    pub(crate) tile_bytes: u64,
    /// Tiles that fit in host memory.
    pub(crate) host: usize,
    /// Bytes of device memory for tiles and operands. `None` for a device that computes with tiles
    /// in host memory.
    pub(crate) device: Option<u64>,
    /// Tiles of the matrix; more are of no use.
    pub(crate) most: u64,
}

/// The error of a budget that is too small.
pub(crate) fn too_few(argument: &'static str, bytes: u64, least: u64) -> Error {
    Error::Argument {
        argument,
        what: format!("'{argument}' must be at least {least} bytes, but it is {bytes} bytes"),
    }
}

impl TileBudget {
    /// An error if it is too small for [`LEAST_SLOTS`] tiles.
    pub(crate) fn new<T: Scalar, D: AsyncCopy<T>>(
        dev: &D,
        matrix: &impl TileSource<T>,
        budget: Budget,
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
        let device = match dev.own_memory(budget.device) {
            Some(bytes) if bytes < least + beside => {
                return Err(too_few("gpu_memory", bytes, least + beside))
            }
            own => own.map(|bytes| bytes - beside),
        };
        Ok(TileBudget {
            tile_bytes,
            host: (budget.host / tile_bytes).min(most) as usize,
            device,
            most,
        })
    }
}

/// Slots for tiles, and how many of `q` columns of so many `numbers` a chunk has. As many as fit:
/// all tiles are copied once for each chunk.
pub(crate) fn stream_slots<T: Scalar, D: AsyncCopy<T>>(
    dev: &D,
    matrix: &impl TileSource<T>,
    budget: Budget,
    (numbers, q): (usize, usize),
) -> Result<(StreamSlots, usize)> {
    let memory = TileBudget::new(dev, matrix, budget)?;
    let Some(device) = memory.device else {
        let slots = StreamSlots {
            host: memory.host,
            device: None,
        };
        return Ok((slots, q));
    };
    let column = (numbers * size_of::<T>()) as u64;
    let columns = |tiles: u64| {
        let left = device.saturating_sub(tiles * memory.tile_bytes);
        (left / column).min(q as u64)
    };
    let least = LEAST_SLOTS as u64;
    let mut fit = columns(least);
    if fit < q as u64 {
        let fewer = columns(COMFORTABLE.min(memory.most));
        fit = if fewer > 0 { fewer } else { fit };
    }
    if fit == 0 {
        let more = least * memory.tile_bytes + column - device;
        return Err(too_few("gpu_memory", budget.device, budget.device + more));
    }
    // All of about one width.
    let width = q.div_ceil(q.div_ceil(fit as usize));
    let left = device - width as u64 * column;
    let slots = StreamSlots {
        host: memory.host,
        device: Some((left / memory.tile_bytes).min(memory.most) as usize),
    };
    Ok((slots, width))
}
