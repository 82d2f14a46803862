//! What streams through a matrix in a file: where it is computed, and in how much memory.

use std::sync::Arc;

use extendr_api::prelude::*;

use crate::algo::tiled::cholesky_file::LEAST_ROOM;
use crate::algo::tiled::memory::Budget;
use crate::backend::cpu::CpuDevice;
use crate::backend::cuda::CudaDevice;
use crate::base::error::{Error, Result};
use crate::base::processor::Processor;
use crate::base::progress::{self, Moved};
use crate::base::scalar::Scalar;
use crate::cost::plan::call::{self, Way};
use crate::cost::plan::size::FILE_ON_GPU;
use crate::cost::work::{Operands, Work};
use crate::device::async_copy::AsyncCopy;
use crate::r::args;
use crate::r::cholesky_file::{bytes, host_bytes};
use crate::r::reply::show_progress;
use crate::r::session::{note_fallback, set_last};
use crate::r::target::{check_free, How};

/// Bytes of memory for tiles that the user asked for; NaN where nothing was said.
pub struct Wanted {
    host: f64,
    /// Of a GPU.
    device: f64,
}

pub fn wanted(memory: &Robj) -> Result<Wanted> {
    match *args::doubles(memory)? {
        [host, device] => Ok(Wanted { host, device }),
        _ => Err(Error::Internal {
            what: "a native routine was called without budgets of memory".to_owned(),
        }),
    }
}

/// What is done with a matrix in a file, on any device.
pub trait Task<T: Scalar> {
    fn operations(&self) -> f64;
    /// The operands, and the order of the file's tiles.
    fn dimensions(&self) -> (Operands, usize);
    /// What it is called while the user waits.
    fn phase(&self) -> &'static str;
    /// The bytes that are read.
    fn moved(&self) -> Arc<Moved>;
    /// Bytes of memory for a tile.
    fn tile_bytes(&self) -> Result<u64>;
    /// Whether a GPU is worth it with `device = "auto"`.
    fn is_large(&self) -> bool;
    /// Bytes that are needed beside tiles, for a column.
    fn column(&self) -> u64;
    fn run<D: AsyncCopy<T>>(&mut self, dev: &D, budget: Budget) -> Result<()>;
}

fn on<T: Scalar>(
    target: Processor,
    wanted: &Wanted,
    how: &How,
    task: &mut impl Task<T>,
) -> Result<()> {
    check_free(target)?;
    let later = target != Processor::Cpu;
    let _shown = progress::begin(task.operations(), later, how.delay, show_progress);
    progress::phase(task.phase());
    progress::watch(task.moved());
    // The parts of tiles at the edge take two more on a device.
    let least = (2 + LEAST_ROOM as u64) * task.tile_bytes()? + task.column();
    let host = host_bytes(wanted.host, least);
    let tiled = || Way::Tiled {
        processors: vec![target],
        tile: task.dimensions().1,
    };
    match target {
        Processor::Cpu => {
            set_last(target);
            call::take_way(tiled);
            let budget = Budget { host, device: host };
            task.run(&CpuDevice::new(how.threads), budget)
        }
        Processor::Cuda(ordinal) => {
            let dev = CudaDevice::open(ordinal)?;
            set_last(target);
            call::take_way(tiled);
            let usage = dev.usage()?;
            let free = (usage.free + usage.pooled) as f64;
            call::refine(|plan| plan.free = Some(free));
            let device = bytes(wanted.device, FILE_ON_GPU * free, least);
            task.run(&dev, Budget { host, device })
        }
    }
}

pub fn carry_out<T: Scalar>(wanted: &Wanted, how: &How, task: &mut impl Task<T>) -> Result<()> {
    let work = Work::from(if task.is_large() { f64::INFINITY } else { 0.0 });
    let work = work.with(task.dimensions().0);
    match on(how.plan(work), wanted, how, task) {
        Err(e) if how.may_fall_back(&e) => {
            note_fallback(&e);
            on(Processor::Cpu, wanted, how, task)
        }
        done => done,
    }
}
