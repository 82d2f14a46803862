//! What streams through a matrix in a file: on which device, and in how much memory.

use std::marker::PhantomData;
use std::sync::Arc;

use super::cholesky_file::LEAST_ROOM;
use super::memory::Budget;
use crate::base::error::Result;
use crate::base::processor::Processor;
use crate::base::progress::{self, Moved};
use crate::base::scalar::Scalar;
use crate::cost::plan::call::{self, Way};
use crate::cost::plan::size::{FILE_ON_GPU, FILE_ON_HOST};
use crate::cost::work::{Operands, Work};
use crate::device::async_copy::AsyncCopy;
use crate::device::dispatch::{Dispatch, TileRoutine};

/// Bytes of host memory to use where the system does not tell what is free.
const MODEST: f64 = (1u64 << 30) as f64;

/// Bytes of memory for tiles that the user asks for; NaN where nothing was said.
#[derive(Debug, Clone, Copy)]
pub struct WantedMemory {
    pub host: f64,
    /// Of a GPU.
    pub device: f64,
}

/// Bytes, and at least what the work cannot do without where the user did not say how many.
fn bytes(wanted: f64, usual: f64, least: u64) -> u64 {
    if wanted.is_nan() {
        (usual as u64).max(least)
    } else {
        // An infinite number becomes the largest.
        wanted as u64
    }
}

impl WantedMemory {
    /// Bytes of host memory, by what is free there.
    pub fn of_host(&self, devices: &impl Dispatch, least: u64) -> u64 {
        let free = devices.free_memory();
        let free = free.map_or(2.0 * MODEST, |free| free as f64);
        bytes(self.host, FILE_ON_HOST * free, least)
    }

    /// Bytes of a GPU's memory, of which so many are free.
    pub fn of_device(&self, free: f64, least: u64) -> u64 {
        bytes(self.device, FILE_ON_GPU * free, least)
    }
}

/// What is done with a matrix in a file, on any device.
pub trait FileTask<T: Scalar> {
    fn operations(&self) -> f64;
    /// The operands, and the order of the file's tiles.
    fn dimensions(&self) -> (Operands, usize);
    /// What it is called while the user waits.
    fn phase(&self) -> &'static str;
    /// The bytes that are read.
    fn moved(&self) -> Arc<Moved>;
    /// Bytes of memory for a tile.
    fn tile_bytes(&self) -> Result<u64>;
    /// Whether `device = "auto"` takes a GPU that is faster.
    fn is_large(&self) -> bool;
    /// Bytes that are needed beside tiles, for a column.
    fn column(&self) -> u64;
    fn run<D: AsyncCopy<T>>(&mut self, dev: &D, budget: Budget) -> Result<()>;
}

/// Carries a task out on the device for it. The CPU replaces a GPU that fails, if the user did not
/// ask for that GPU.
///
/// # Errors
/// What the task and the device answer.
pub fn carry_out<T: Scalar>(
    devices: &impl Dispatch,
    wanted: &WantedMemory,
    task: &mut impl FileTask<T>,
) -> Result<()> {
    let operations = task.operations();
    let work = Work::from(if task.is_large() { operations } else { 0.0 });
    let processor = devices.processor(work.with(task.dimensions().0));
    let mut budgeted = Budgeted {
        task,
        wanted,
        devices,
        element: PhantomData,
    };
    match devices.run_tiles(processor, operations, &mut budgeted) {
        Err(e) if devices.recovers(&e) => {
            devices.run_tiles(Processor::Cpu, operations, &mut budgeted)
        }
        done => done,
    }
}

/// A task that gets its memory.
struct Budgeted<'t, T, K, S> {
    task: &'t mut K,
    wanted: &'t WantedMemory,
    devices: &'t S,
    element: PhantomData<T>,
}

impl<T: Scalar, K: FileTask<T>, S: Dispatch> TileRoutine<T> for Budgeted<'_, T, K, S> {
    type Value = ();

    fn run<D: AsyncCopy<T>>(&mut self, dev: &D) -> Result<()> {
        progress::phase(self.task.phase());
        progress::watch(self.task.moved());
        // The parts of tiles at the edge take two more on a device.
        let least = (2 + LEAST_ROOM as u64) * self.task.tile_bytes()? + self.task.column();
        let host = self.wanted.of_host(self.devices, least);
        call::take_way(|| Way::Tiled {
            processors: vec![dev.processor()],
            tile: self.task.dimensions().1,
        });
        if !dev.has_own_memory() {
            let device = host;
            return self.task.run(dev, Budget { host, device });
        }
        let free = dev.free()? as f64;
        call::refine(|plan| plan.free = Some(free));
        let device = self.wanted.of_device(free, least);
        self.task.run(dev, Budget { host, device })
    }
}
