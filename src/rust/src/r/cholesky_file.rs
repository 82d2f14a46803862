//! `chol_file`.

use extendr_api::prelude::*;

use crate::algo::tiled::factor_file::{factor_file, Request};
use crate::base::processor::Processor;
use crate::r::args;
use crate::r::reply::reply;
use crate::r::target::How;
use crate::r::tile_matrix::{by_element, path};
use crate::r::tile_task::wanted;
use crate::tiles::kind;

/// Makes the matrix of these dimensions in a file its factor, or makes a file of the factor where
/// `to` is its name; `memory` are bytes of the host and of the GPU
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
        let request = Request {
            resume: args::flag(&resume)?,
            memory: wanted(&memory)?,
            gpus: &|| how.gpus(),
            all: how.named(),
        };
        let (from, dim) = (path(&from)?, args::dims(&dim)?);
        let to = (!to.is_null()).then(|| path(&to)).transpose()?;
        let (report, target) = by_element!(kind(from)?.element, |T| factor_file::<T>(
            &how,
            (from, dim),
            to,
            &request
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
            host_memory = bytes(report.slots.host),
            gpu_memory = if on_gpu {
                bytes(report.slots.devices.iter().sum())
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
