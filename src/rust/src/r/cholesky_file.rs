//! `chol_file`.

use std::path::Path;

use extendr_api::prelude::*;

use crate::algo::tiled::cholesky_file::{
    factor_files, has_matrix, Budget, Files, Report, LEAST_ROOM,
};
use crate::backend::cpu::{self, CpuDevice};
use crate::backend::cuda::CudaDevice;
use crate::base::error::{Error, Result};
use crate::base::processor::Processor;
use crate::base::progress;
use crate::base::scalar::Scalar;
use crate::cost::plan::call::{self, Way};
use crate::cost::plan::device::suits_file;
use crate::cost::plan::size::{FILE_ON_GPU, FILE_ON_HOST};
use crate::cost::work::{cholesky_flops, Work};
use crate::device::async_copy::AsyncCopy;
use crate::device::memory::Memory;
use crate::r::args;
use crate::r::reply::{reply, show_progress};
use crate::r::session::{note_fallback, set_last};
use crate::r::target::{check_free, How};
use crate::r::tile_matrix::{by_element, open_known, path, same_extents};
use crate::tiles::{kind, Access, State, TileFile};

/// Bytes of host memory to use where the system does not tell what is free.
const MODEST: f64 = (1u64 << 30) as f64;

/// What the user asked for; NaN where nothing was said of memory.
struct Wanted {
    resume: bool,
    host: f64,
    device: f64,
}

/// Bytes, and at least what the work cannot do without where the user did not say how many.
pub fn bytes(wanted: f64, usual: f64, least: u64) -> u64 {
    if wanted.is_nan() {
        (usual as u64).max(least)
    } else {
        // An infinite number becomes the largest.
        wanted as u64
    }
}

pub fn host_bytes(wanted: f64, least: u64) -> u64 {
    let free = cpu::memory().map_or(2.0 * MODEST, |(free, _)| free as f64);
    bytes(wanted, FILE_ON_HOST * free, least)
}

/// `free` are the bytes that are free on each device.
fn run<T: Scalar, D: AsyncCopy<T>>(
    devs: &[D],
    files: &Files<'_, T>,
    wanted: &Wanted,
    resume: bool,
    free: &[f64],
    speeds: Vec<f64>,
) -> Result<Report> {
    call::take_way(|| Way::Tiled {
        processors: devs.iter().map(Memory::<T>::processor).collect(),
        tile: files.to.layout().tile(),
    });
    call::refine(|plan| plan.free = free.iter().copied().reduce(f64::min));
    let least = LEAST_ROOM as u64 * files.to.buffer()?.bytes().len() as u64;
    let devices = free
        .iter()
        .map(|free| bytes(wanted.device, FILE_ON_GPU * free, least));
    let budget = Budget {
        host: host_bytes(wanted.host, least),
        devices: devices.collect(),
        speeds,
    };
    factor_files(devs, files, &budget, resume)
}

/// The factorization, on one device.
fn on<T: Scalar>(
    target: Processor,
    files: &Files<'_, T>,
    wanted: &Wanted,
    resume: bool,
    how: &How,
) -> Result<Report> {
    check_free(target)?;
    let flops = cholesky_flops(files.to.layout().rows());
    let _shown = progress::begin(flops, target != Processor::Cpu, how.delay, show_progress);
    match target {
        Processor::Cpu => {
            set_last(target);
            let cpu = [CpuDevice::new(how.threads)];
            run(&cpu, files, wanted, resume, &[], Vec::new())
        }
        Processor::Cuda(ordinal) => {
            let dev = CudaDevice::open(ordinal)?;
            set_last(target);
            let devs = AsyncCopy::<T>::with(&dev, &how.gpus(), how.named())?;
            let free = devs
                .iter()
                .map(|d| AsyncCopy::<T>::free(d).map(|b| b as f64));
            let free: Vec<f64> = free.collect::<Result<_>>()?;
            let speeds = devs.iter().map(AsyncCopy::<T>::speed).collect();
            run(&devs, files, wanted, resume, &free, speeds)
        }
    }
}

/// Opens the files, the first of which is to hold a matrix of these extents, and makes the second
/// one where it is not to be gone on with.
fn factor<T: Scalar>(
    from: &str,
    dim: (usize, usize),
    to: Option<&str>,
    wanted: &Wanted,
    how: &How,
) -> Result<(Report, Processor)> {
    let Some(to) = to else {
        let to = TileFile::<T>::open(from, Access::Write)?;
        same_extents(&to, dim)?;
        return factor_open(&Files::new(None, &to), wanted, how);
    };
    let from = open_known::<T>(from, dim)?;
    has_matrix(&from)?;
    let there = wanted.resume && Path::new(to).exists() && !from.remove_unmade(to)?;
    let to = if there {
        TileFile::<T>::open(to, Access::Write)?
    } else {
        TileFile::<T>::create_from(to, &from)?
    };
    let done = factor_open(&Files::new(Some(&from), &to), wanted, how);
    // Nobody can go on with a file where nothing was begun, or which has no factor. What is said of
    // another matrix leaves it alone.
    let own = to.origin() == Some(from.fingerprint());
    let useless = match (&done, to.state()) {
        (Err(Error::NotPositiveDefinite { .. }), State::NotPositiveDefinite { .. }) => own,
        (Err(_), State::Matrix) => !there && !(0..to.layout().tiles()).any(|tile| to.has(tile)),
        _ => false,
    };
    if useless {
        to.remove();
    }
    done
}

fn factor_open<T: Scalar>(
    files: &Files<'_, T>,
    wanted: &Wanted,
    how: &How,
) -> Result<(Report, Processor)> {
    let n = files.to.layout().rows();
    let large = suits_file(n, usize::MAX);
    let work = Work::cholesky(n).counted_as(if large { f64::INFINITY } else { 0.0 });
    let target = how.plan(work);
    match on(target, files, wanted, wanted.resume, how) {
        Err(e) if how.may_fall_back(&e) => {
            note_fallback(&e);
            // What the GPU has done stays done.
            let resume = wanted.resume || files.have_begun();
            on(Processor::Cpu, files, wanted, resume, how).map(|report| (report, Processor::Cpu))
        }
        done => done.map(|report| (report, target)),
    }
}

/// Makes the matrix of these extents in a file its factor, or makes a file of the factor where `to`
/// is its name; `memory` are bytes of the host and of the GPU
#[extendr]
fn native_chol_file(
    from: Robj,
    dim: Robj,
    to: Robj,
    resume: Robj,
    memory: Robj,
    how: Robj,
) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let [host, device] = *args::doubles(&memory)? else {
            return Err(Error::Internal {
                what: "a native routine was called without budgets of memory".to_owned(),
            });
        };
        let wanted = Wanted {
            resume: args::flag(&resume)?,
            host,
            device,
        };
        let (from, dim) = (path(&from)?, args::dims(&dim)?);
        let to = (!to.is_null()).then(|| path(&to)).transpose()?;
        let (report, target) = by_element!(kind(from)?.element, |T| factor::<T>(
            from, dim, to, &wanted, &how
        ))?;
        let bytes = |tiles: usize| tiles as f64 * report.tile_bytes as f64;
        let on_gpu = target != Processor::Cpu;
        Ok(list!(
            device = report.devices,
            seconds = report.seconds,
            operations = report.operations,
            read = bytes(report.traffic.loaded),
            written = bytes(report.traffic.stored),
            sent = bytes(report.traffic.sent),
            fetched = bytes(report.traffic.fetched),
            passed = bytes(report.traffic.passed),
            host_memory = bytes(report.room.host),
            gpu_memory = if on_gpu {
                bytes(report.room.devices.iter().sum())
            } else {
                0.0
            },
            reading = report.times.loading,
            writing = report.times.storing,
            idle = report.times.idle,
            copying = report.times.copying
        ))
    })
}

extendr_module! {
    mod cholesky_file;
    fn native_chol_file;
}
