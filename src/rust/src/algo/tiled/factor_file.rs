//! The Cholesky factor of a matrix in a file, on the devices for it: which files are opened, made
//! and removed, and in how much memory.

use std::path::Path;

use super::cholesky_file::{factor_files, has_matrix, Budget, Files, Report, LEAST_ROOM};
use super::file_task::WantedMemory;
use super::known_file::{open_known, require_same};
use crate::base::error::{Error, Result};
use crate::base::processor::Processor;
use crate::base::scalar::Scalar;
use crate::cost::flops::cholesky_flops;
use crate::cost::plan::call::{self, Way};
use crate::cost::plan::device::suits_file;
use crate::cost::work::Work;
use crate::device::async_copy::AsyncCopy;
use crate::device::dispatch::{Dispatch, TileRoutine};
use crate::tiles::{Access, State, TileFile};

/// What the user asks for.
pub struct Request<'r> {
    /// Whether to go on with a factorization that ended early.
    pub resume: bool,
    pub memory: WantedMemory,
    /// The numbers of the GPUs that share the work, where a GPU does it.
    pub gpus: &'r dyn Fn() -> Vec<usize>,
    /// Whether all of these must be there.
    pub all: bool,
}

/// Makes the matrix of these dimensions in the file `from` its factor; or, if `to` is the name of
/// another file, makes the factor there. The report, and the machine.
///
/// A second file in which nothing was begun, or which has no factor, is removed again.
///
/// # Errors
/// As of [`open_known`] and [`factor_files`].
pub fn factor_file<T: Scalar>(
    devices: &impl Dispatch,
    (from, dim): (&str, (usize, usize)),
    to: Option<&str>,
    request: &Request<'_>,
) -> Result<(Report, Processor)> {
    let Some(to) = to else {
        let to = TileFile::<T>::open(from, Access::Write)?;
        require_same(&to, dim)?;
        return factor_open(devices, &Files::new(None, &to), request);
    };
    let from = open_known::<T>(from, dim)?;
    has_matrix(&from)?;
    let there = request.resume && Path::new(to).exists() && !from.remove_unmade(to)?;
    let to = if there {
        TileFile::<T>::open(to, Access::Write)?
    } else {
        TileFile::<T>::create_from(to, &from)?
    };
    let done = factor_open(devices, &Files::new(Some(&from), &to), request);
    // A file of another matrix stays.
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
    devices: &impl Dispatch,
    files: &Files<'_, T>,
    request: &Request<'_>,
) -> Result<(Report, Processor)> {
    let n = files.to.layout().rows();
    let work = Work::cholesky(n);
    let large = suits_file(n, usize::MAX);
    let processor = devices.processor(if large { work } else { work.counted_as(0.0) });
    let run = |processor, resume| {
        let mut factoring = Factoring {
            devices,
            files,
            request,
            resume,
        };
        let report = devices.run_tiles(processor, cholesky_flops(n), &mut factoring);
        report.map(|report| (report, processor))
    };
    match run(processor, request.resume) {
        // What the GPU has done stays done.
        Err(e) if devices.recovers(&e) => run(Processor::Cpu, request.resume || files.have_begun()),
        done => done,
    }
}

struct Factoring<'f, T, S> {
    devices: &'f S,
    files: &'f Files<'f, T>,
    request: &'f Request<'f>,
    resume: bool,
}

impl<T: Scalar, S: Dispatch> Factoring<'_, T, S> {
    /// `free` are the bytes that are free on each device, of which the host's are not asked.
    fn on<D: AsyncCopy<T>>(&self, devs: &[D], free: &[f64], speeds: Vec<f64>) -> Result<Report> {
        let to = self.files.to;
        call::take_way(|| Way::Tiled {
            processors: devs.iter().map(D::processor).collect(),
            tile: to.layout().tile(),
        });
        call::refine(|plan| plan.free = free.iter().copied().reduce(f64::min));
        let least = LEAST_ROOM as u64 * to.buffer()?.bytes().len() as u64;
        let memory = &self.request.memory;
        let on_device = |free: &f64| memory.of_device(*free, least);
        let budget = Budget {
            host: memory.of_host(self.devices, least),
            devices: free.iter().map(on_device).collect(),
            speeds,
        };
        factor_files(devs, self.files, &budget, self.resume)
    }
}

impl<T: Scalar, S: Dispatch> TileRoutine<T> for Factoring<'_, T, S> {
    type Value = Report;

    fn run<D: AsyncCopy<T>>(&mut self, dev: &D) -> Result<Report> {
        if !dev.has_own_memory() {
            return self.on(std::slice::from_ref(dev), &[], Vec::new());
        }
        let devs = dev.with(&(self.request.gpus)(), self.request.all)?;
        let free = devs.iter().map(|d| d.free().map(|bytes| bytes as f64));
        let free: Vec<f64> = free.collect::<Result<_>>()?;
        let speeds = devs.iter().map(AsyncCopy::<T>::speed).collect();
        self.on(&devs, &free, speeds)
    }
}
