//! The second step of a plan: whether the matrices of a call go to an open device whole, streamed
//! or by tiles.
//!
//! Thresholds that choose between kernels of one device stay with the kernels:
//!
//! - single precision by way of double on a GPU: Cholesky factors up to order 5120, in one launch
//!   (`backend/cuda/cholesky/tiles.rs`, `LARGEST`), triangles up to order 4096
//!   (`backend/cuda/triangular/via_f64.rs`, `TRIANGLE`);
//! - shapes of a product's tiles (`backend/cuda/gemm/plan.rs`);
//! - reflections or another factorization for an update (`FactorUpdate::update_pays`).
//!
//! So do the sizes of copies on their way: strips and places in host memory
//! (`algo/tiled/cholesky_host.rs`), pieces of an update (`algo/update/host.rs`) and blocks of a
//! product in parts (`algo/dense/matmult_blocks.rs`).

use crate::base::matrix::Uplo;
use crate::cost::footprint::{Task, SLACK};

/// Orders below which a Cholesky factorization has room on every GPU: neither tiles nor several
/// GPUs are considered.
pub const CHOLESKY: usize = 8192;
/// Orders from which there is work for several GPUs, where the user names them.
pub const SEVERAL_ASKED: usize = 16_384;
/// Orders from which several GPUs that reach one another are faster than one, in double precision.
pub const SEVERAL_FASTER: usize = 40_000;
/// Orders below which a system with as many right-hand sides has room on every GPU.
pub const SOLVE: usize = 4096;
/// Bytes from which a matrix is copied in blocks of columns during the computation. Smaller
/// matrices are copied as one block: small blocks cost more than the overlap saves.
pub const STREAMED: usize = 64 << 20;
/// Bytes from which a product is returned by panels of columns, and the most bytes of a panel:
/// larger panels would start late and end late.
pub const PRODUCT_STREAMED: usize = 8 << 20;
const PRODUCT_PANEL: usize = 64 << 20;
/// Share of the free memory that tiles and panels take: others take some meanwhile.
pub const SAFE: f64 = 0.9;
/// Shares of the free memory of a GPU and of the host that tiles of a file take.
pub const FILE_ON_GPU: f64 = 0.75;
pub const FILE_ON_HOST: f64 = 0.5;
/// The share that is left for a product in parts after a lack of memory.
const AFTER_SHORTAGE: f64 = 0.5;

/// What limits a call with matrices in host memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GpuLimits {
    /// The device has its own memory. One that computes in host memory has no limits.
    pub own_memory: bool,
    /// Bytes of each GPU's memory, from option `cudafactor.gpu_memory`; infinite for what is free.
    pub memory: f64,
    /// Option `cudafactor.devices` names several GPUs.
    pub together: bool,
}

/// When several GPUs share a factorization that has room on one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Several {
    /// Always: the user named them.
    Asked,
    /// If they reach one another and have room for all tiles.
    IfAllFits,
}

/// The ways of a Cholesky factorization, in this order. Each follows on a lack of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CholeskyWays {
    /// By tiles on several GPUs, where there are as many.
    pub several: Option<Several>,
    pub whole: bool,
    pub tiles: bool,
}

/// How a Cholesky factorization of order `n` goes, for elements of `size` bytes.
pub fn cholesky(n: usize, size: usize, limits: GpuLimits) -> CholeskyWays {
    if !limits.own_memory || n < CHOLESKY && limits.memory == f64::INFINITY {
        return CholeskyWays {
            several: None,
            whole: true,
            tiles: false,
        };
    }
    let fits = Task::Cholesky.on_gpu(n, size) <= limits.memory;
    let several = if limits.together && n >= SEVERAL_ASKED {
        Some(Several::Asked)
    } else if n >= SEVERAL_FASTER && size == size_of::<f64>() {
        // One GPU factors in double precision what comes in single.
        Some(Several::IfAllFits)
    } else {
        None
    };
    CholeskyWays {
        several: several.filter(|_| fits),
        whole: fits,
        tiles: true,
    }
}

/// How systems with a matrix in host memory are solved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SolveWays {
    /// By LU.
    Whole,
    /// By LU; on a lack of memory by Cholesky tiles, if the matrix is symmetric.
    WholeThenTiles,
    /// By Cholesky tiles, if the matrix is symmetric; by LU if it is not positive definite.
    TilesThenWhole,
}

/// How systems with a matrix of order `n` are solved.
pub fn solve(n: usize, size: usize, limits: GpuLimits) -> SolveWays {
    if !limits.own_memory || n < SOLVE && limits.memory == f64::INFINITY {
        SolveWays::Whole
    } else if Task::Solve.on_gpu(n, size) > limits.memory {
        SolveWays::TilesThenWhole
    } else {
        SolveWays::WholeThenTiles
    }
}

/// For how many numbers there is room, where a product of so many in its operands and result goes
/// to the device in parts. `None` where it goes there whole.
pub fn product(numbers: f64, size: usize, limits: GpuLimits) -> Option<f64> {
    let bytes = numbers * size as f64;
    // Workspace of the product.
    let left = limits.memory - SLACK.min(limits.memory / 4.0);
    (limits.own_memory && bytes > left).then_some(left / size as f64)
}

/// The same after a lack of memory, with so many bytes free: less was to be had than was free.
pub fn product_after_shortage(free: f64, size: usize) -> f64 {
    AFTER_SHORTAGE * free / size as f64
}

/// Bytes of a device's memory that an update of a factor takes in one go: the factor, its transpose
/// where it is a lower one, and what has as many rows as V; more where it `factors` again.
pub fn update_bytes(uplo: Uplo, (n, k): (usize, usize), size: usize, factors: bool) -> f64 {
    let mut squares = match uplo {
        Uplo::Upper => 1.0,
        Uplo::Lower => 2.0,
    };
    if factors {
        // The matrix, and its factor without what is below the diagonal.
        squares += 2.0;
    }
    let (n, k) = (n as f64, k as f64);
    (squares * n * n + 8.0 * n * k) * size as f64 + SLACK
}

/// Widths of the panels by which a factor is updated, in multiples of `device::update::PANEL`, the
/// best first. A GPU has more to do with wide panels, and waits for rows less often.
pub const PANELS_ABREAST: [usize; 3] = [4, 2, 1];
/// The most bytes of such a panel, and the least number of panels: nothing is copied during the
/// computation with the last one.
pub const PANEL_BYTES: u64 = 512 << 20;
pub const PANELS: usize = 24;

/// Orders of tiles, the fastest first.
const TILES: [usize; 5] = [2048, 1024, 512, 256, 128];
/// Tiles that a device should have room for, and rows of tiles there should be for each device, so
/// that there is something to do while others travel.
const ROOMY: usize = 14;
const ROWS: usize = 6;

/// The order of the tiles of a matrix of order `n`, for so many devices of which the smallest has
/// `free` bytes.
///
/// Tiles that are `possible` have at least so many places, and the matrix at most so many rows of
/// them; few rows would leave devices idle, and what cannot be had is done without.
pub fn tile_order(
    n: usize,
    size: usize,
    devices: usize,
    free: usize,
    (least_places, most_rows): (usize, usize),
) -> usize {
    let rows = |tile: usize| n.div_ceil(tile);
    let places = |tile: usize| free / (tile.pow(2) * size);
    let good = |tile: &&usize| places(**tile) >= ROOMY && rows(**tile) >= ROWS * devices;
    let possible = |tile: &&usize| places(**tile) >= least_places && rows(**tile) <= most_rows;
    let smallest = &TILES[TILES.len() - 1];
    let mut of = TILES.iter().filter(|tile| rows(**tile) <= most_rows);
    let tile = of
        .find(good)
        .or_else(|| TILES.iter().rev().find(possible))
        .unwrap_or(smallest);
    (*tile).min(n.max(1))
}

/// Bytes that tiles and panels may take of those that are free.
pub fn usable(free: u64, limit: f64) -> f64 {
    (free as f64 * SAFE).min(limit)
}

/// For each block its first column and its number of columns.
pub type ColumnBlocks = Vec<(usize, usize)>;

/// What is computed while blocks of columns are on their way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Streamed {
    Cholesky,
    Lu,
    /// Right-hand sides of LU factors.
    LuSolve,
    Qr,
    Crossprod,
    /// The update of a Cholesky factor.
    Update,
}

impl Streamed {
    /// Number of blocks of columns. LU and QR halve the matrix. With more blocks, each launch of an
    /// update would have too few columns for the GPU. With fewer, the download of the last block
    /// overlaps with less.
    const fn count(self) -> usize {
        match self {
            Streamed::Lu | Streamed::Qr => 2,
            Streamed::Cholesky | Streamed::LuSolve | Streamed::Crossprod => 4,
            Streamed::Update => 8,
        }
    }

    /// The blocks of a matrix that is streamed; `None` for one that is loaded whole.
    pub fn blocks(self, (rows, cols): (usize, usize), size: usize) -> Option<ColumnBlocks> {
        let bytes = rows.saturating_mul(cols).saturating_mul(size);
        Some(column_blocks(cols, self.count())).filter(|b| bytes >= STREAMED && b.len() > 1)
    }
}

/// All columns as `count` blocks, in whole tiles.
pub fn column_blocks(cols: usize, count: usize) -> ColumnBlocks {
    let width = cols.div_ceil(count.max(1)).max(1).next_multiple_of(128);
    (0..cols)
        .step_by(width)
        .map(|first| (first, width.min(cols - first)))
        .collect()
}

/// Columns of a panel of a product with a result of this shape: some eight panels, in whole tiles.
/// `None` where the result is returned whole.
pub fn product_panel((rows, cols): (usize, usize), size: usize) -> Option<usize> {
    if rows * cols * size < PRODUCT_STREAMED {
        return None;
    }
    let column = (rows * size).max(1);
    let bytes = (column * cols / 8).clamp(PRODUCT_STREAMED, PRODUCT_PANEL);
    // At least some columns, even long ones: every panel reads the whole of the other operand.
    let columns = (bytes / column).max(1).next_multiple_of(128);
    Some(columns.clamp(1, cols))
}

#[cfg(test)]
#[path = "size_tests.rs"]
mod tests;
