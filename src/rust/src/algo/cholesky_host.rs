//! Cholesky factorization of a matrix in host memory by tiles: where a device has too little memory for it, or several share the work.

use std::sync::atomic::{AtomicU32, Ordering};

use faer::{MatMut, MatRef};
use rayon::prelude::*;

use crate::algo::cholesky;
use crate::algo::cholesky_file::LEAST_ROOM;
use crate::algo::cholesky_tiled;
use crate::algo::tiled_work::{Room, Tiles, Work, MOST_ROWS};
use crate::error::{Error, Result};
use crate::footprint;
use crate::host_memory::{copy_past_cache, want_huge_pages};
use crate::scalar::Scalar;
use crate::threads::owns_pool;
use crate::tiles::machine::TileMachine;
use crate::tiles::plan::LEAST_SLOTS;
use crate::tiles::{Buffer, Layout, Shape};

/// A matrix and its factor, both whole in host memory. A tile comes from the matrix, and from the factor's place once it has been stored there.
struct HostTiles<'a, T> {
    layout: Layout,
    matrix: MatRef<'a, T>,
    factor: *mut T,
    /// Numbers from a column of the factor to the next.
    stride: usize,
    steps: Vec<AtomicU32>,
}

// SAFETY: tiles lie apart in the factor, and no two threads load or store the same one at a time.
unsafe impl<T: Sync> Sync for HostTiles<'_, T> {}

/// An address that threads may share.
#[derive(Clone, Copy)]
struct Address<T>(*mut T);
// SAFETY: what is done with it is the business of who makes it.
unsafe impl<T> Send for Address<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Address<T> {}

impl<T> Address<T> {
    /// # Safety
    /// It lies in what begins there.
    unsafe fn at(self, at: usize) -> *const T {
        self.0.add(at)
    }

    /// # Safety
    /// So many numbers from `at` on exist, and nobody else uses them.
    unsafe fn slice<'s>(self, at: usize, len: usize) -> &'s mut [T] {
        std::slice::from_raw_parts_mut(self.0.add(at), len)
    }
}

/// Columns that a thread copies at least.
const COLUMNS: usize = 64;

fn each_column(columns: usize, f: impl Fn(usize) + Sync + Send) {
    if owns_pool() {
        (0..columns)
            .into_par_iter()
            .with_min_len(COLUMNS)
            .for_each(f);
    } else {
        (0..columns).for_each(f);
    }
}

impl<'a, T: Scalar> HostTiles<'a, T> {
    /// `None` where columns are not contiguous.
    fn new(layout: Layout, matrix: MatRef<'a, T>, factor: MatMut<'a, T>) -> Option<Self> {
        let rows = layout.rows();
        let fits = (matrix.nrows(), factor.nrows()) == (rows, rows);
        let dense = matrix.row_stride() == 1 && factor.row_stride() == 1;
        let stride = usize::try_from(factor.col_stride()).ok()?;
        if fits && dense && rows > 0 {
            let numbers = (rows - 1) * stride + rows;
            // SAFETY: from the first entry to the last.
            unsafe { want_huge_pages(factor.as_ptr_mut().cast(), numbers * size_of::<T>()) };
        }
        (fits && dense).then(|| HostTiles {
            layout,
            matrix,
            factor: factor.as_ptr_mut(),
            stride,
            steps: (0..layout.tiles()).map(|_| AtomicU32::new(0)).collect(),
        })
    }

    fn start(&self, i: usize, j: usize) -> usize {
        (j * self.stride + i) * self.layout.tile()
    }

    /// How many rows of column `c` of a tile are at or above the diagonal of the matrix.
    fn height(&self, (i, j): (usize, usize), c: usize) -> usize {
        let (rows, _) = self.layout.extent(i, j);
        if i == j {
            rows.min(c + 1)
        } else {
            rows
        }
    }
}

impl<T: Scalar> Tiles<T> for HostTiles<'_, T> {
    fn layout(&self) -> Layout {
        self.layout
    }

    fn step(&self, tile: usize) -> u32 {
        self.steps[tile].load(Ordering::Acquire)
    }

    fn load(&self, tile: usize, into: &mut Buffer<T>) -> Result<()> {
        let (i, j) = self.layout.position(tile);
        let (size, (rows, cols)) = (self.layout.tile(), self.layout.extent(i, j));
        let stored = self.step(tile) > 0;
        let factor = Address(self.factor);
        let to = Address(into.as_mut_ptr());
        let zero = T::from_f64(0.0);
        each_column(size, |c| {
            // SAFETY: a column of the buffer.
            let to = unsafe { to.slice(c * size, size) };
            let height = if c < cols { self.height((i, j), c) } else { 0 };
            let (to, rest) = to.split_at_mut(height);
            if i == j || rows < size || c >= cols {
                rest.fill(zero);
            }
            if height == 0 {
                return;
            }
            if stored {
                let start = self.start(i, j) + c * self.stride;
                // SAFETY: a column of the tile in the factor, which nobody changes meanwhile.
                let from = unsafe { std::slice::from_raw_parts(factor.at(start), height) };
                to.copy_from_slice(from);
            } else {
                let from = self
                    .matrix
                    .get(.., j * size + c)
                    .get(i * size..i * size + height);
                // SAFETY: contiguous, see `new`.
                let from = unsafe { std::slice::from_raw_parts(from.as_ptr(), height) };
                to.copy_from_slice(from);
            }
        });
        Ok(())
    }

    fn store(&self, tile: usize, from: &Buffer<T>, step: u32) -> Result<()> {
        let (i, j) = self.layout.position(tile);
        let (size, (rows, cols)) = (self.layout.tile(), self.layout.extent(i, j));
        let factor = Address(self.factor);
        let zero = T::from_f64(0.0);
        each_column(cols, |c| {
            // SAFETY: a column of the tile in the factor, which nobody else uses meanwhile.
            let to = unsafe { factor.slice(self.start(i, j) + c * self.stride, rows) };
            let (to, below) = to.split_at_mut(self.height((i, j), c));
            let from = &from[c * size..c * size + to.len()];
            // SAFETY: as long as one another.
            unsafe {
                copy_past_cache(
                    from.as_ptr().cast(),
                    to.as_mut_ptr().cast(),
                    size_of_val(from),
                );
            }
            below.fill(zero);
        });
        self.steps[tile].store(step, Ordering::Release);
        Ok(())
    }

    fn threads_beside(&self) -> usize {
        BESIDE
    }

    /// Zeros below the tiles on the diagonal.
    fn beside(&self, thread: usize, go_on: &dyn Fn() -> bool) {
        let (n, size) = (self.layout.rows(), self.layout.tile());
        let factor = Address(self.factor);
        // Neighbours in huge pages are one thread's.
        for c in (0..n).filter(|c| c / size % BESIDE == thread) {
            if !go_on() {
                return;
            }
            let first = (c / size + 1) * size;
            if first < n {
                // SAFETY: nobody else writes below the tiles on the diagonal.
                let to = unsafe { factor.slice(c * self.stride + first, n - first) };
                to.fill(T::from_f64(0.0));
            }
        }
    }
}

/// Threads that write zeros.
const BESIDE: usize = 4;

/// Where the factorization may go.
pub struct Means<'m> {
    /// Numbers of devices that may work together, and whether they are to, wherever there is work for them.
    pub devices: &'m [usize],
    pub together: bool,
    /// Bytes of each one's memory; infinite for what is free.
    pub memory: f64,
}

/// Orders below which a device that has room is asked for nothing else.
const LARGE: usize = 8192;
/// Orders from which there is work for several devices.
const SHARED: usize = 16384;

/// The upper factor in `out`, zero below the diagonal. By tiles where that must be, or is faster.
pub fn factor<T: Scalar, D: TileMachine<T>>(
    dev: &D,
    means: &Means<'_>,
    x: MatRef<'_, T>,
    mut out: MatMut<'_, T>,
) -> Result<()> {
    let n = x.nrows();
    if dev.is_host() || n < LARGE && means.memory == f64::INFINITY {
        return cholesky::factor(dev, x, out);
    }
    let need = footprint::Task::Cholesky.on_gpu(n, size_of::<T>());
    let together = means.together && means.devices.len() > 1 && n >= SHARED;
    let mut lacking = None;
    if need <= means.memory && !together {
        // Where memory is short this has what nobody needs any more given back first.
        match cholesky::factor(dev, x, out.as_mut()) {
            Err(e @ Error::DeviceMemory { .. }) => lacking = Some(e),
            done => return done,
        }
    }
    let devs = means.open(dev)?;
    match (factor_by_tiles(&devs, means.memory, x, out), lacking) {
        (Err(Error::Argument { .. }), Some(lacking)) => Err(lacking),
        (done, _) => done,
    }
}

impl Means<'_> {
    /// The devices, this one first. Those that the user named must be there; of the others those with much less memory than the first are left out.
    pub(super) fn open<T: Scalar, D: TileMachine<T>>(&self, dev: &D) -> Result<Vec<D>> {
        let all = dev.with(self.devices, self.together)?;
        let mut devs = Vec::with_capacity(all.len());
        let mut first = 0.0;
        for dev in all {
            let free = self.memory.min(dev.free()? as f64);
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

/// Orders of tiles, the fastest first.
const TILES: [usize; 5] = [2048, 1024, 512, 256, 128];
/// Tiles that a device should have room for, and rows of tiles there should be for each device, so that there is something to do while others travel.
const ROOMY: usize = 14;
const ROWS: usize = 6;
/// Tiles in host memory on their way, for any number of devices and for each.
const WAITING: (usize, usize) = (8, 8);
/// Threads that load, and as many that store: each has the pool's threads to help.
const THREADS: usize = 2;

/// The tiles of a matrix of order `n` for devices with so many bytes of memory at most, and how many bytes the one with the least has.
pub(super) fn tiles<T: Scalar, D: TileMachine<T>>(
    devs: &[D],
    memory: f64,
    n: usize,
) -> Result<(Layout, u64)> {
    let free = free_bytes(devs, memory)?;
    let least = free.into_iter().min().unwrap_or(0);
    let rows = |tile: usize| n.div_ceil(tile);
    let room = |tile: usize| least / tile_bytes::<T>(tile);
    // Few rows would leave devices idle; what cannot be had is done without, as long as it can be planned.
    let good = |tile: &&usize| room(**tile) >= ROOMY && rows(**tile) >= ROWS * devs.len();
    let possible = |tile: &&usize| room(**tile) >= LEAST_ROOM && rows(**tile) <= MOST_ROWS;
    let smallest = &TILES[TILES.len() - 1];
    let mut of = TILES.iter().filter(|tile| rows(**tile) <= MOST_ROWS);
    let tile = of.find(good).or_else(|| TILES.iter().rev().find(possible));
    let tile = (*tile.unwrap_or(smallest)).min(n.max(1));
    Ok((Layout::new(n, n, tile, Shape::Triangle)?, least as u64))
}

fn tile_bytes<T>(tile: usize) -> usize {
    tile.pow(2) * size_of::<T>()
}

fn free_bytes<T: Scalar, D: TileMachine<T>>(devs: &[D], memory: f64) -> Result<Vec<usize>> {
    let free = devs.iter().map(|dev| {
        let free = dev.free()? as f64 * SAFE;
        Ok(free.min(memory) as usize)
    });
    free.collect()
}

/// On all of the devices, with so many bytes of each one's memory at most.
pub fn factor_by_tiles<T: Scalar, D: TileMachine<T>>(
    devs: &[D],
    memory: f64,
    x: MatRef<'_, T>,
    out: MatMut<'_, T>,
) -> Result<()> {
    let free = free_bytes(devs, memory)?;
    let (layout, _) = tiles::<T, D>(devs, memory, x.nrows())?;
    let bytes = tile_bytes::<T>(layout.tile());
    let rooms = free.iter().map(|free| {
        let all = free / bytes;
        if all < LEAST_ROOM {
            return Err(Error::Argument {
                argument: "cudafactor.gpu_memory",
                what: format!(
                    "{free} bytes of a GPU's memory are too few: {LEAST_ROOM} tiles of {bytes} bytes are needed"
                ),
            });
        }
        let room = all + LEAST_SLOTS - LEAST_ROOM;
        Ok(room.min(layout.tiles().max(LEAST_SLOTS)))
    });
    let room = Room {
        host: (WAITING.0 + WAITING.1 * devs.len()).min(layout.tiles().max(LEAST_SLOTS)),
        devices: rooms.collect::<Result<_>>()?,
    };
    let speeds: Vec<f64> = devs.iter().map(TileMachine::speed).collect();
    let Some(tiles) = HostTiles::new(layout, x, out) else {
        return Err(Error::Dimension {
            what: "a square matrix with contiguous columns is needed".into(),
        });
    };
    let work = Work::new(&tiles, &room, &speeds)?;
    cholesky_tiled::factor(devs, &tiles, &work, THREADS).map(|_| ())
}

/// Of the memory that is free: others take some meanwhile.
const SAFE: f64 = 0.9;
