//! The devices that a call's settings choose, for drivers that choose themselves.

use crate::backend::cpu;
use crate::backend::dispatch::on_processor;
use crate::base::error::{Error, Result};
use crate::base::processor::Processor;
use crate::base::progress;
use crate::base::scalar::Scalar;
use crate::cost::work::Work;
use crate::device::dispatch::{Dispatch, Routine, TileRoutine};
use crate::r::reply::show_progress;
use crate::r::session::{note_fallback, set_last};
use crate::r::target::{check_free, on_device, How};

impl Dispatch for How {
    fn is_single(&self) -> bool {
        self.single
    }

    fn processor(&self, work: Work) -> Processor {
        self.plan(work)
    }

    fn run<R: Routine>(&self, work: Work, routine: &mut R) -> Result<R::Value> {
        on_device!(self, work, |dev, T| routine.run::<T, _>(dev))
    }

    fn run_on<R: Routine>(
        &self,
        processor: Processor,
        work: Option<Work>,
        routine: &mut R,
    ) -> Result<R::Value> {
        check_free(processor)?;
        if let (Processor::Cpu, Some(work)) = (processor, &work) {
            self.plan_on_cpu(work);
        }
        let later = processor != Processor::Cpu;
        let begin = |w: Work| progress::begin(w.flops, later, self.delay, show_progress);
        let _shown = work.map(begin);
        on_processor!(processor, self.threads, |dev| {
            set_last(processor);
            routine.run::<f64, _>(dev)
        })
    }

    fn run_tiles<T: Scalar, R: TileRoutine<T>>(
        &self,
        processor: Processor,
        operations: f64,
        routine: &mut R,
    ) -> Result<R::Value> {
        check_free(processor)?;
        let later = processor != Processor::Cpu;
        let _shown = progress::begin(operations, later, self.delay, show_progress);
        on_processor!(processor, self.threads, |dev| {
            set_last(processor);
            routine.run(dev)
        })
    }

    fn seconds_on_gpu(&self, work: &Work) -> Option<f64> {
        self.predicted_on_gpu(work)
    }

    fn free_memory(&self) -> Option<u64> {
        cpu::memory().map(|(free, _)| free)
    }

    fn recovers(&self, e: &Error) -> bool {
        let may = self.may_fall_back(e);
        if may {
            note_fallback(e);
        }
        may
    }
}
