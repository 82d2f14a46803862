//! Where a call runs: the choice that R's `how` argument asks for.

use std::sync::OnceLock;

use extendr_api::prelude::*;

use crate::algo::tiled::cholesky_host::DevicePool;
use crate::backend::cpu::CpuDevice;
use crate::backend::cuda;
use crate::base::error::{Error, Result};
use crate::base::processor::Processor;
use crate::cost;
use crate::cost::model::{Cpu, Gpu, MARGIN, TRIVIAL};
use crate::cost::work::{Verb, Work};
use crate::r::args;
use crate::r::session::in_between;

/// What the user asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Request {
    /// The device follows from the amount of work.
    Auto,
    /// `Auto` for work that is for GPUs: the first one starts it, all may share it.
    Gpus,
    Exactly(Processor),
}

/// R's `how`: `c(device, single, threads, min_flops, delay, gpu_memory, devices, breakeven)`, made
/// by `settings.c`.
pub struct How {
    request: Request,
    pub single: bool,
    /// 0 for the default number.
    pub threads: usize,
    /// Operations from which a GPU is taken; NaN where the model decides.
    min_flops: f64,
    /// Seconds before progress is shown; infinite where it is not.
    pub delay: f64,
    /// Bytes of a GPU's memory for matrices that are taken there by tiles; infinite for what is
    /// free.
    pub gpu_memory: f64,
    /// GPUs to be used, bit by bit; 0 for all.
    chosen: u64,
    /// For each of [`Verb::NAMED`] the order from which a GPU was measured to pay; NaN where it was
    /// not.
    breakeven: [f64; Verb::NAMED.len()],
}

impl How {
    pub fn parse(how: &Robj) -> Result<How> {
        let [device, single, threads, min_flops, delay, gpu_memory, chosen, ref measured @ ..] =
            *args::doubles(how)?
        else {
            return Err(Error::Internal {
                what: "a native routine was called without its settings".to_owned(),
            });
        };
        // The threads of the pool may all wait for the call that this one came in between.
        let threads = if in_between() { 1 } else { threads as usize };
        crate::base::threads::want(threads);
        let mut breakeven = [f64::NAN; Verb::NAMED.len()];
        breakeven
            .iter_mut()
            .zip(measured)
            .for_each(|(to, from)| *to = *from);
        Ok(How {
            request: match device {
                -1.0 => Request::Auto,
                -2.0 => Request::Exactly(Processor::Cpu),
                ordinal => Request::Exactly(Processor::Cuda(ordinal as usize)),
            },
            single: single != 0.0,
            threads,
            min_flops,
            delay,
            gpu_memory,
            chosen: chosen as u64,
            breakeven,
        })
    }

    /// The machine for some work. `auto` asks for a GPU only when the work is large enough, so that
    /// small work opens no driver. Infinitely many operations are for a GPU wherever there is one.
    pub fn target(&self, work: impl Into<Work>) -> Processor {
        match self.request {
            Request::Exactly(t) => t,
            Request::Gpus => Processor::Cuda(self.first()),
            Request::Auto if self.pays(&work.into()) => Processor::Cuda(self.first()),
            Request::Auto => Processor::Cpu,
        }
    }

    /// The GPU that `auto` takes for what one does alone. It may not be there, where the user chose
    /// it.
    fn first(&self) -> usize {
        if self.chosen == 0 {
            0
        } else {
            self.chosen.trailing_zeros() as usize
        }
    }

    /// Whether the user has named GPUs.
    pub fn named(&self) -> bool {
        self.chosen != 0
    }

    /// Whether the user has named several GPUs.
    pub fn together(&self) -> bool {
        self.chosen.count_ones() > 1
    }

    /// The same settings for work that belongs on GPUs, whatever its amount. The group of GPUs
    /// that may share the work stays as the user asked for it.
    pub fn for_gpu(self) -> How {
        let there = self.request == Request::Auto && self.pays(&f64::INFINITY.into());
        self.settled(there)
    }

    /// As [`How::for_gpu`], where the caller knows whether there is a GPU.
    fn settled(self, there: bool) -> How {
        let request = match self.request {
            Request::Auto if there => Request::Gpus,
            Request::Auto => Request::Exactly(Processor::Cpu),
            settled => settled,
        };
        How { request, ..self }
    }

    /// The numbers of GPUs that may share work that is for a GPU.
    pub fn gpus(&self) -> Vec<usize> {
        self.gpus_of(cuda_count())
    }

    /// As [`How::gpus`], on a machine with `count` GPUs.
    fn gpus_of(&self, count: usize) -> Vec<usize> {
        match self.request {
            _ if self.chosen != 0 => {
                let bits = 0..u64::BITS as usize;
                bits.filter(|d| self.chosen >> d & 1 == 1).collect()
            }
            Request::Exactly(Processor::Cuda(ordinal)) => vec![ordinal],
            Request::Exactly(Processor::Cpu) => Vec::new(),
            Request::Auto | Request::Gpus => (0..count).collect(),
        }
    }

    /// Where a factorization may go.
    pub fn means(&self) -> DevicePool<'_> {
        DevicePool {
            devices: Box::new(|| self.gpus()),
            together: self.together(),
            memory: self.gpu_memory,
        }
    }

    /// Whether the work is for a GPU, and there is one. See `docs/design/device-choice.md`.
    fn pays(&self, work: &Work) -> bool {
        // A matrix that is to stay, for work of which nobody knows yet.
        if work.flops == f64::INFINITY {
            return cuda_count() > 0;
        }
        if !self.min_flops.is_nan() {
            return work.flops >= self.min_flops && cuda_count() > 0;
        }
        if work.flops < TRIVIAL {
            return false;
        }
        if work.flops >= f64::MAX {
            return cuda_count() > 0;
        }
        let cpu = Cpu::here(CpuDevice::new(self.threads).threads());
        let measured = self.measured(work.verb);
        if measured.is_none() && !cost::model::pays(work, self.single, &cpu, &Gpu::BEST, 1.0) {
            return false;
        }
        let Some(gpu) = first_gpu() else {
            return false;
        };
        let margin = measured.map_or(MARGIN, |n| {
            cost::model::margin_at(n, work.verb, self.single, &cpu, &gpu)
        });
        cost::model::pays(work, self.single, &cpu, &gpu, margin)
    }

    /// The order at which a GPU begins to pay, if it was measured.
    fn measured(&self, verb: Verb) -> Option<f64> {
        let named = Verb::NAMED.iter().zip(self.breakeven);
        let mut found = named.filter(|((_, v), n)| *v == verb && !n.is_nan());
        found.next().map(|(_, n)| n)
    }

    /// Whether a failed GPU may be replaced by the CPU without the user having asked.
    pub fn may_fall_back(&self, e: &Error) -> bool {
        self.request == Request::Auto
            && match e {
                Error::DeviceMemory { .. } | Error::DeviceFailed { .. } => true,
                // One that the user has named is to be there.
                Error::DeviceUnavailable { .. } => !self.named(),
                _ => false,
            }
    }
}

pub fn cuda_count() -> usize {
    cuda::driver::probe::device_count()
}

/// How fast the GPU is that `auto` would take, if there is one.
fn first_gpu() -> Option<Gpu> {
    static FIRST: OnceLock<Option<Gpu>> = OnceLock::new();
    if cuda_count() == 0 {
        return None;
    }
    *FIRST.get_or_init(|| cuda::driver::speed::of(0).ok())
}

/// An error where a GPU is in use by the call that this one came in between.
pub fn check_free(target: Processor) -> Result<()> {
    if target == Processor::Cpu || !in_between() {
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
                    $body
                }
            )
        };
        match run(how.target(work)) {
            Err(e) if how.may_fall_back(&e) => {
                $crate::r::session::note_fallback(&e);
                run(Processor::Cpu)
            }
            outcome => outcome,
        }
    }};
}
pub(crate) use on_device;

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(request: Request, chosen: u64) -> How {
        How {
            request,
            single: false,
            threads: 1,
            min_flops: f64::NAN,
            delay: f64::INFINITY,
            gpu_memory: f64::INFINITY,
            chosen,
            breakeven: [f64::NAN; Verb::NAMED.len()],
        }
    }

    #[test]
    fn a_default_request_for_gpus_keeps_all_of_them() {
        let how = asked(Request::Auto, 0).settled(true);
        assert_eq!(how.target(1.0), Processor::Cuda(0));
        assert_eq!(how.gpus_of(3), [0, 1, 2]);
        assert!(!how.together());
    }

    #[test]
    fn named_gpus_are_kept() {
        let how = asked(Request::Auto, 0b110).settled(true);
        assert_eq!(how.target(1.0), Processor::Cuda(1));
        assert_eq!(how.gpus_of(3), [1, 2]);
        assert!(how.together());
    }

    #[test]
    fn one_device_stays_one() {
        let how = asked(Request::Exactly(Processor::Cuda(1)), 0).settled(true);
        assert_eq!(how.target(1.0), Processor::Cuda(1));
        assert_eq!(how.gpus_of(3), [1]);
        let how = asked(Request::Auto, 0).settled(false);
        assert_eq!(how.target(1.0), Processor::Cpu);
        assert!(how.gpus_of(0).is_empty());
    }
}
