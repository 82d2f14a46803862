//! The devices of a call, all of them the CPU. One may stand for a GPU, and have other memory.

use std::cell::{Cell, RefCell};

use cudafactor::backend::cpu::CpuDevice;
use cudafactor::base::error::{Error, Result};
use cudafactor::base::processor::Processor;
use cudafactor::base::scalar::Scalar;
use cudafactor::cost::work::Work;
use cudafactor::device::dispatch::{Dispatch, Routine, TileRoutine};

use super::apart::Apart;

/// What stands for a GPU.
pub const GPU: Processor = Processor::Cuda(0);

/// Which devices there are, and what the user asks for.
#[derive(Default)]
pub struct Devices {
    /// Operations from which work goes to a GPU: without it none does.
    pub gpu_from: Option<f64>,
    /// Whether the GPU fails.
    pub fails: bool,
    /// Whether the CPU may then replace it.
    pub recovers: bool,
    pub single: bool,
    /// Whether tiles go to other memory for the GPU.
    pub apart: bool,
    /// Where routines began, in order.
    pub ran: RefCell<Vec<Processor>>,
    /// How often the CPU replaced the GPU.
    pub recovered: Cell<usize>,
}

impl Devices {
    /// The CPU alone.
    pub fn cpu() -> Self {
        Devices::default()
    }

    /// As a user has it who names a GPU.
    pub fn gpu() -> Self {
        Devices {
            gpu_from: Some(0.0),
            ..Devices::default()
        }
    }

    /// As "auto" has it where there is a GPU, for work of no less than 1e9 operations.
    pub fn auto() -> Self {
        Devices {
            gpu_from: Some(1e9),
            recovers: true,
            ..Devices::default()
        }
    }

    /// Where routines began since this was asked last.
    pub fn ran(&self) -> Vec<Processor> {
        self.ran.take()
    }

    fn begin(&self, processor: Processor) -> Result<()> {
        self.ran.borrow_mut().push(processor);
        match self.fails && processor == GPU {
            true => Err(Error::DeviceFailed {
                call: "test".into(),
                code: 1,
                name: "unknown".into(),
                earlier: None,
            }),
            false => Ok(()),
        }
    }

    fn begin_in<R: Routine>(&self, processor: Processor, routine: &mut R) -> Result<R::Value> {
        self.begin(processor)?;
        let dev = CpuDevice::new(2);
        match self.single {
            true => routine.run::<f32, _>(&dev),
            false => routine.run::<f64, _>(&dev),
        }
    }
}

impl Dispatch for Devices {
    fn is_single(&self) -> bool {
        self.single
    }

    fn processor(&self, work: Work) -> Processor {
        match self.gpu_from {
            Some(from) if work.flops >= from => GPU,
            _ => Processor::Cpu,
        }
    }

    fn run<R: Routine>(&self, work: Work, routine: &mut R) -> Result<R::Value> {
        match self.begin_in(self.processor(work), routine) {
            Err(e) if self.recovers(&e) => self.begin_in(Processor::Cpu, routine),
            outcome => outcome,
        }
    }

    fn run_on<R: Routine>(
        &self,
        processor: Processor,
        _: Option<Work>,
        routine: &mut R,
    ) -> Result<R::Value> {
        self.begin(processor)?;
        routine.run::<f64, _>(&CpuDevice::new(2))
    }

    fn run_tiles<T: Scalar, R: TileRoutine<T>>(
        &self,
        processor: Processor,
        _: f64,
        routine: &mut R,
    ) -> Result<R::Value> {
        self.begin(processor)?;
        match processor == GPU && self.apart {
            true => routine.run(&Apart::<T>::new()),
            false => routine.run(&CpuDevice::new(2)),
        }
    }

    fn seconds_on_gpu(&self, _: &Work) -> Option<f64> {
        self.gpu_from.map(|_| 0.0)
    }

    fn free_memory(&self) -> Option<u64> {
        Some(1 << 30)
    }

    fn recovers(&self, e: &Error) -> bool {
        let may = self.recovers && matches!(e, Error::DeviceFailed { .. });
        self.recovered.set(self.recovered.get() + usize::from(may));
        may
    }
}
