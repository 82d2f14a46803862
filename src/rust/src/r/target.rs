//! Where a call runs: R's `how` argument, and the plan that follows from it.

use std::sync::OnceLock;

use extendr_api::prelude::*;

use crate::algo::tiled::cholesky_host::DevicePool;
use crate::backend::cpu::CpuDevice;
use crate::backend::cuda;
use crate::base::emulation::{self, Emulation};
use crate::base::error::{Error, Result};
use crate::base::processor::Processor;
use crate::base::scalar::Scalar;
use crate::cost::model::{Cpu, Gpu};
use crate::cost::plan::call::{self, CallPlan, Way};
use crate::cost::plan::device::{Choice, DeviceRequest, DeviceSettings, Hardware, Reason};
use crate::cost::work::{Verb, Work};
use crate::device::async_copy::AsyncCopy;
use crate::r::args;
use crate::r::session::is_reentrant;

/// R's `how`: `c(device, single, threads, min_flops, delay, gpu_memory, devices, verbose,
/// breakeven, emulation)`, made by `settings.c`.
pub struct How {
    settings: DeviceSettings,
    pub single: bool,
    /// 0 for the default number.
    pub threads: usize,
    /// Seconds before progress is shown; infinite where it is not.
    pub delay: f64,
    /// Bytes of a GPU's memory for matrices that are taken there by tiles; infinite for what is
    /// free.
    pub gpu_memory: f64,
    /// Whether the call shows its plan.
    verbose: bool,
    /// Whether the device is that of an operand, and not one that the user named.
    beside: bool,
}

/// The setting `verbose` of a call that shows its plan, and whose device is an operand's.
const VERBOSE_BESIDE: f64 = 2.0;

/// This machine, for calls with so many threads.
struct Here {
    threads: usize,
}

impl Hardware for Here {
    fn cpu(&self) -> Cpu {
        Cpu::here(threads_of(self.threads))
    }

    fn gpus(&self) -> usize {
        cuda_count()
    }

    fn first_gpu(&self) -> Option<Gpu> {
        static FIRST: OnceLock<Option<Gpu>> = OnceLock::new();
        if cuda_count() == 0 {
            return None;
        }
        *FIRST.get_or_init(|| cuda::driver::speed::of(0).ok())
    }
}

fn threads_of(requested: usize) -> usize {
    CpuDevice::new(requested).threads()
}

impl How {
    pub fn parse(how: &Robj) -> Result<How> {
        How::read(args::doubles(how)?)
    }

    /// As [`How::parse`], from the numbers themselves.
    pub fn read(how: &[f64]) -> Result<How> {
        let [device, single, threads, min_flops, ref others @ ..] = *how else {
            return Err(without_settings());
        };
        let [delay, gpu_memory, chosen, verbose, ref measured @ ..] = *others else {
            return Err(without_settings());
        };
        let (measured, [emulation]) = measured.split_at(measured.len().min(Verb::NAMED.len()))
        else {
            return Err(without_settings());
        };
        emulation::want(match *emulation {
            1.0 => Emulation::Never,
            2.0 => Emulation::Always,
            _ => Emulation::Auto,
        });
        // The threads of the pool may all wait for the call that this one came in between.
        let threads = if is_reentrant() { 1 } else { threads as usize };
        crate::base::threads::want(threads);
        let mut breakeven = [f64::NAN; Verb::NAMED.len()];
        breakeven
            .iter_mut()
            .zip(measured)
            .for_each(|(to, from)| *to = *from);
        let single = single != 0.0;
        Ok(How {
            settings: DeviceSettings {
                request: match device {
                    -1.0 => DeviceRequest::Auto,
                    -2.0 => DeviceRequest::Exactly(Processor::Cpu),
                    ordinal => DeviceRequest::Exactly(Processor::Cuda(ordinal as usize)),
                },
                single,
                min_flops,
                chosen: chosen as u64,
                breakeven,
            },
            single,
            threads,
            delay,
            gpu_memory,
            // What a function does that another call calls is part of that call.
            verbose: verbose != 0.0 && !is_reentrant(),
            beside: verbose == VERBOSE_BESIDE,
        })
    }

    fn here(&self) -> Here {
        Here {
            threads: self.threads,
        }
    }

    /// Seconds that the model predicts for this work on the first GPU, if one starts.
    pub fn predicted_on_gpu(&self, work: &Work) -> Option<f64> {
        let gpu = self.here().first_gpu()?;
        Some(gpu.seconds(work, self.single))
    }

    /// The processor for some work, as [`DeviceSettings::choose`] says.
    pub fn target(&self, work: impl Into<Work>) -> Processor {
        let choice = self.settings.choose(&work.into(), &self.here());
        choice.processor
    }

    /// As [`How::target`], for work that begins now: the call shows this plan where the user wants
    /// to see it.
    pub fn plan(&self, work: impl Into<Work>) -> Processor {
        let work = work.into();
        let choice = self.settings.choose(&work, &self.here());
        let processor = choice.processor;
        self.show(choice, &work);
        processor
    }

    /// The plan of work with an operand that is on a device.
    pub fn plan_there(&self, processor: Processor, single: bool, work: &Work) {
        let reason = Reason::Resident;
        self.show(Choice { processor, reason }, work);
        call::refine(|plan| {
            plan.single = single;
            plan.way = Way::Resident;
        });
    }

    /// The plan of work by a method that only the CPU has.
    pub fn plan_on_cpu(&self, work: &Work) {
        let processor = Processor::Cpu;
        let reason = match self.settings.request {
            DeviceRequest::Exactly(Processor::Cpu) => Reason::Asked,
            _ => Reason::OnlyCpu,
        };
        self.show(Choice { processor, reason }, work);
    }

    fn show(&self, mut choice: Choice, work: &Work) {
        if self.verbose {
            if self.beside && choice.reason == Reason::Asked {
                choice.reason = Reason::Resident;
            }
            let threads = threads_of(self.threads);
            call::begin(CallPlan::new(choice, work, self.single, threads));
        }
    }

    /// Whether the user has named GPUs.
    pub fn named(&self) -> bool {
        self.settings.named()
    }

    /// As [`DeviceSettings::for_gpu`].
    pub fn for_gpu(self) -> How {
        let settings = self.settings.for_gpu(&self.here());
        How { settings, ..self }
    }

    /// The numbers of GPUs that may share work that is for a GPU.
    pub fn gpus(&self) -> Vec<usize> {
        self.settings.shared_by(&self.here())
    }

    /// Where a factorization may go.
    pub fn means(&self) -> DevicePool<'_> {
        DevicePool {
            devices: Box::new(|| self.gpus()),
            together: self.settings.together(),
            memory: self.gpu_memory,
        }
    }

    /// Whether a failed GPU may be replaced by the CPU without the user having asked.
    pub fn may_fall_back(&self, e: &Error) -> bool {
        self.settings.request == DeviceRequest::Auto
            && match e {
                Error::DeviceMemory { .. }
                | Error::DeviceFailed { .. }
                | Error::NotConverged { .. } => true,
                // One that the user has named is to be there.
                Error::DeviceUnavailable { .. } => !self.named(),
                _ => false,
            }
    }
}

fn without_settings() -> Error {
    Error::Internal {
        what: "a native routine was called without its settings".to_owned(),
    }
}

pub fn cuda_count() -> usize {
    cuda::driver::probe::device_count()
}

/// Adds a device that was opened to the plan of this call: its memory that is free.
pub fn tell_memory<T: Scalar, D: AsyncCopy<T>>(dev: &D) {
    if call::is_kept() && dev.has_own_memory() {
        let free = dev.free().ok().map(|bytes| bytes as f64);
        call::refine(|plan| plan.free = free);
    }
}

/// An error where a GPU is in use by the call that this one came in between.
pub fn check_free(target: Processor) -> Result<()> {
    if target == Processor::Cpu || !is_reentrant() {
        return Ok(());
    }
    Err(Error::DeviceUnavailable {
        reason: "a finalizer or an event handler, which comes in between another computation, \
                 cannot use the GPU"
            .to_owned(),
    })
}

/// Runs `$body` with `$dev` a device and `$t` its element type, as `$how` asks for this `$work`,
/// and shows its progress. `$body` is a `Result`; it may run twice, on a GPU and then on the CPU.
macro_rules! on_device {
    ($how:expr, $work:expr, |$dev:ident, $t:ident| $body:expr) => {{
        use $crate::base::processor::Processor;
        use $crate::r::session::set_last;
        use $crate::r::target::check_free;
        let how: &$crate::r::target::How = $how;
        let work: $crate::cost::work::Work = $work.into();
        #[allow(unused_mut)]
        let mut run = |target: Processor| {
            check_free(target)?;
            let later = target != Processor::Cpu;
            let show = $crate::r::reply::show_progress;
            let _shown = $crate::base::progress::begin(work.flops, later, how.delay, show);
            $crate::backend::dispatch::on_typed_processor!(
                target,
                how.single,
                how.threads,
                |$dev, $t| {
                    set_last(target);
                    $crate::r::target::tell_memory::<$t, _>($dev);
                    $body
                }
            )
        };
        let target = how.plan(work);
        match run(target) {
            Err(e) if target != Processor::Cpu && how.may_fall_back(&e) => {
                $crate::r::session::note_fallback(&e);
                run(Processor::Cpu)
            }
            outcome => outcome,
        }
    }};
}
pub(crate) use on_device;
