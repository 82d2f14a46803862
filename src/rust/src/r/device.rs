//! `gpu_available`, `gpu_info`, `gpu_sitrep`, `gpu_last_device`.

use extendr_api::prelude::*;

use crate::backend::cuda::driver::probe;
use crate::base::error::Error;
use crate::base::processor::Processor;
use crate::cost::work::{Verb, Work};
use crate::device::report::ProbeStep;
use crate::r::args;
use crate::r::reply::reply;
use crate::r::target::How;
use crate::r::{session, target};

/// The number of GPUs that can be used
#[extendr]
fn native_gpu_count() -> Robj {
    reply(|| Ok(list!(count = target::cuda_count() as i32)))
}

/// One element a GPU
#[extendr]
fn native_gpu_info() -> Robj {
    reply(|| {
        let all = probe::info();
        let text = |f: fn(&_) -> String| all.iter().map(f).collect::<Vec<String>>();
        let number = |f: fn(&_) -> f64| all.iter().map(f).collect::<Vec<f64>>();
        Ok(list!(
            device = text(|g| Processor::Cuda(g.ordinal).name()),
            name = text(|g| g.name.clone()),
            compute_capability = text(|g| g.compute_capability.clone()),
            memory_total = number(|g| g.memory_total as f64),
            memory_free = number(|g| g.memory_free as f64),
            driver = text(|g| g.driver.clone()),
            multiprocessors = all
                .iter()
                .map(|g| g.multiprocessors as i32)
                .collect::<Vec<i32>>(),
            single_per_double = number(|g| g.single_per_double),
            integers_from = number(|g| g.integers_from)
        ))
    })
}

/// Every probe for a GPU, in order
#[extendr]
fn native_gpu_probe() -> Robj {
    reply(|| {
        let steps = probe::probe();
        let text =
            |f: fn(&ProbeStep) -> &String| steps.iter().map(|s| f(s).clone()).collect::<Vec<_>>();
        Ok(list!(
            step = text(|s| &s.step),
            ok = steps.iter().map(|s| s.ok).collect::<Vec<_>>(),
            detail = text(|s| &s.detail),
            fix = text(|s| &s.fix)
        ))
    })
}

/// The device that a verb with square operands of order n would run on
#[extendr]
fn native_device_for(verb: Robj, n: Robj, how: Robj) -> Robj {
    reply(|| {
        let (how, n) = (How::parse(&how)?, args::size(&n)?);
        let named = |(name, _): &&(&str, Verb)| verb.as_str() == Some(*name);
        let Some((_, verb)) = Verb::NAMED.iter().find(named) else {
            return Err(Error::Internal {
                what: "a native routine was called for a verb that it does not know".to_owned(),
            });
        };
        Ok(list!(device = how.target(Work::square(*verb, n)).name()))
    })
}

/// The device that ran the last computation
#[extendr]
fn native_last_device() -> Robj {
    reply(|| Ok(list!(device = session::last())))
}

/// The CPU threads in force
#[extendr]
fn native_threads(how: Robj) -> Robj {
    reply(|| {
        let dev = crate::backend::cpu::CpuDevice::new(How::parse(&how)?.threads);
        Ok(list!(threads = dev.threads() as i32))
    })
}

/// Panics, so that the tests can see what becomes of a panic
#[extendr]
fn native_panic() -> Robj {
    #[allow(clippy::panic)]
    reply::<()>(|| panic!("50% done %d %s"))
}

extendr_module! {
    mod device;
    fn native_panic;
    fn native_gpu_count;
    fn native_gpu_info;
    fn native_gpu_probe;
    fn native_device_for;
    fn native_last_device;
    fn native_threads;
}
