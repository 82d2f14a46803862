//! `gpu_mem`, `gpu_free`, `gpu_max_n`.

use extendr_api::prelude::*;

use crate::backend::cpu;
use crate::backend::cuda::CudaDevice;
use crate::base::accounting::held;
use crate::base::error::{Error, Result};
use crate::base::processor::Processor;
use crate::cost::footprint::{largest, Task};
use crate::r::args;
use crate::r::reply::{reply, reply_even_if_short};
use crate::r::session::is_reentrant;
use crate::r::target::How;

/// One row of `gpu_mem()`: bytes, NaN where they are not known.
struct Row {
    device: String,
    total: f64,
    free: f64,
    held: (u64, u64),
    allocated: f64,
    pooled: f64,
    staging: f64,
}

fn host() -> Row {
    let (free, total) = host_memory();
    let held = held(Processor::Cpu);
    Row {
        device: Processor::Cpu.name(),
        total,
        free,
        held,
        allocated: held.0 as f64,
        pooled: 0.0,
        staging: 0.0,
    }
}

/// Bytes free and in all, NaN where the system does not tell.
fn host_memory() -> (f64, f64) {
    match cpu::memory() {
        Some((free, total)) => (free as f64, total as f64),
        None => (f64::NAN, f64::NAN),
    }
}

fn gpus() -> Result<Vec<Row>> {
    // The first GPU is shown before its first use, too.
    let _ = (crate::r::target::cuda_count() > 0).then(|| CudaDevice::open(0));
    let row = |gpu: CudaDevice| {
        let u = match gpu.usage() {
            Ok(u) => u,
            Err(Error::Interrupted) => return Some(Err(Error::Interrupted)),
            // It has failed, and is of no use any more.
            Err(_) => return None,
        };
        Some(Ok(Row {
            device: Processor::Cuda(gpu.ordinal()).name(),
            total: u.total as f64,
            free: u.free as f64,
            held: held(Processor::Cuda(gpu.ordinal())),
            allocated: u.allocated as f64,
            pooled: u.pooled as f64,
            staging: u.staging as f64,
        }))
    };
    CudaDevice::opened().into_iter().filter_map(row).collect()
}

/// Memory of each device, one element a device
#[extendr]
fn native_gpu_mem() -> Robj {
    reply_even_if_short(|| {
        let mut rows = vec![host()];
        rows.extend(gpus()?);
        let number = |f: fn(&Row) -> f64| rows.iter().map(f).collect::<Vec<f64>>();
        Ok(list!(
            device = rows.iter().map(|r| r.device.clone()).collect::<Vec<_>>(),
            total = number(|r| r.total),
            free = number(|r| r.free),
            held = number(|r| r.held.0 as f64),
            objects = number(|r| r.held.1 as f64),
            allocated = number(|r| r.allocated),
            pooled = number(|r| r.pooled),
            staging = number(|r| r.staging)
        ))
    })
}

/// Bytes of the host's memory that are free; NaN where the system does not tell
#[extendr]
fn native_free_memory() -> Robj {
    reply(|| Ok(list!(free = host_memory().0)))
}

/// Gives back all memory that no matrix holds
#[extendr]
fn native_gpu_release() -> Robj {
    reply_even_if_short(|| {
        // The workspace of a call that this one came in between is no surplus.
        if !is_reentrant() {
            let mut done = Ok(());
            for gpu in CudaDevice::opened() {
                // Each of them, whatever becomes of another.
                done = done.and(gpu.release());
            }
            return done;
        }
        Ok(())
    })
}

/// Bytes that a call on this device may use.
fn usable(target: Processor) -> Result<f64> {
    match target {
        Processor::Cpu => Ok(host_memory().0),
        Processor::Cuda(ordinal) => {
            let u = CudaDevice::open(ordinal)?.usage()?;
            Ok((u.free + u.pooled) as f64)
        }
    }
}

/// The largest order for which the memory that is free suffices, and where; NaN where that is not
/// known
#[extendr]
fn native_max_order(what: Robj, how: Robj) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let what = what.as_str().unwrap_or_default();
        let Some((_, task)) = Task::ALL.into_iter().find(|(name, _)| *name == what) else {
            return Err(Error::Internal {
                what: "a native routine was called with an unknown task".to_owned(),
            });
        };
        let target = how.target(f64::INFINITY);
        let free = usable(target)?;
        let size = if how.single { 4 } else { 8 };
        let order = match target {
            Processor::Cpu => largest(free, |n| task.on_cpu(n, size)),
            Processor::Cuda(_) => largest(free, |n| task.on_gpu(n, size)),
        };
        let order = if free.is_nan() {
            f64::NAN
        } else {
            order as f64
        };
        Ok(list!(order = order, device = target.name()))
    })
}

/// Lets a kernel on a GPU fail, so that the tests can see what becomes of the session
#[extendr]
fn native_gpu_fault(ordinal: Robj) -> Robj {
    reply(|| CudaDevice::open(args::size(&ordinal)?)?.fault())
}

extendr_module! {
    mod memory;
    fn native_gpu_mem;
    fn native_free_memory;
    fn native_gpu_release;
    fn native_max_order;
    fn native_gpu_fault;
}
