//! The first step of a plan: the CPU or a GPU, and which GPUs may share the work.

use crate::base::processor::Processor;
use crate::cost::model::{margin_at, pays, Cpu, Gpu, MARGIN, TRIVIAL};
use crate::cost::work::{Verb, Work};

/// Rows of a matrix in a file from which `auto` takes a GPU that is faster.
const FILE_ORDER: usize = 2048;
/// Columns of the other operand from which `auto` does so for solving, products and updates with a
/// matrix in a file: with fewer, reading the file takes longer than computing with it.
const FILE_COLUMNS: usize = 64;
/// Rows from which `auto` takes a GPU for a sparse matrix, and entries from which it does not. A
/// GPU counts both triangles in 31 bits.
const SPARSE_ROWS: usize = 50_000;
const SPARSE_ENTRIES: usize = 1 << 30;
/// Entries of a covariance matrix from which `auto` takes a GPU that is there: of 2048 points.
pub const COVARIANCE_ENTRIES: f64 = (1u64 << 22) as f64;
/// Pixels of an image from which `auto` iterates on a GPU that is there.
pub const PIXELS: usize = 100_000;

/// Whether `auto` takes a GPU that is faster for a matrix in a file, of this order, with so many
/// other columns.
pub fn suits_file(order: usize, columns: usize) -> bool {
    order >= FILE_ORDER && columns >= FILE_COLUMNS
}

/// Whether `auto` takes a GPU for a sparse matrix of so many rows and stored entries.
pub fn suits_sparse(rows: usize, entries: usize) -> bool {
    rows >= SPARSE_ROWS && entries < SPARSE_ENTRIES
}

/// What the user asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceRequest {
    /// The device follows from the amount of work.
    Auto,
    /// `Auto` for work that is for GPUs: the first one starts it, all may share it.
    Gpus,
    Exactly(Processor),
}

/// The user's settings that decide about the device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DeviceSettings {
    pub request: DeviceRequest,
    pub single: bool,
    /// Operations from which a GPU is taken; NaN where the model decides.
    pub min_flops: f64,
    /// GPUs to be used, bit by bit; 0 for all.
    pub chosen: u64,
    /// For each of [`Verb::NAMED`] the order from which a GPU was measured to pay in double
    /// precision; NaN where it was not.
    pub breakeven: [f64; Verb::NAMED.len()],
}

/// Facts about the machine. Each is asked for when the decision needs it, the GPUs' last: to find
/// out starts their driver.
pub trait Hardware {
    fn cpu(&self) -> Cpu;
    /// The number of GPUs.
    fn gpus(&self) -> usize;
    /// How fast the first GPU is; `None` where there is none that starts.
    fn first_gpu(&self) -> Option<Gpu>;
}

/// Why a call computes where it does. Times are seconds that the model predicts.
#[derive(Debug, Clone, PartialEq)]
pub enum Reason {
    /// The user named the device.
    Asked,
    /// The work is for a GPU, if there is one.
    ForGpu,
    NoGpu,
    /// Fewer than [`TRIVIAL`] operations, or another threshold of this file.
    Small,
    /// Option `cudafactor.min_flops`.
    MinFlops,
    /// The CPU is as fast as a GPU better than any: no driver was opened.
    NoFasterGpu {
        cpu: f64,
    },
    Model {
        cpu: f64,
        gpu: f64,
    },
    /// Option `cudafactor.breakeven`.
    Breakeven {
        cpu: f64,
        gpu: f64,
    },
    /// An operand is there already.
    Resident,
    /// Only the CPU has the method that was chosen.
    OnlyCpu,
    /// The GPU failed, or had too little memory: what it said.
    FellBack(String),
}

/// The outcome of the first step.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    pub processor: Processor,
    pub reason: Reason,
}

impl DeviceSettings {
    /// The processor for some work.
    ///
    /// `auto` asks for a GPU only when the work is large enough, so that small work opens no
    /// driver. Infinitely many operations are for a GPU wherever there is one, and so are
    /// [`f64::MAX`], unless option `cudafactor.min_flops` says otherwise.
    pub fn choose(&self, work: &Work, hardware: &impl Hardware) -> Choice {
        let choice = |processor, reason| Choice { processor, reason };
        match self.request {
            DeviceRequest::Exactly(processor) => choice(processor, Reason::Asked),
            DeviceRequest::Gpus => choice(Processor::Cuda(self.first()), Reason::ForGpu),
            DeviceRequest::Auto => match self.judge(work, hardware) {
                (true, reason) => choice(Processor::Cuda(self.first()), reason),
                (false, reason) => choice(Processor::Cpu, reason),
            },
        }
    }

    /// Whether the work is for a GPU, and there is one. See `docs/design/device-choice.md`.
    fn judge(&self, work: &Work, hardware: &impl Hardware) -> (bool, Reason) {
        let if_there = |reason| match hardware.gpus() {
            0 => (false, Reason::NoGpu),
            _ => (true, reason),
        };
        // A matrix that is to stay, for work of which nobody knows yet.
        if work.flops == f64::INFINITY {
            return if_there(Reason::ForGpu);
        }
        if !self.min_flops.is_nan() {
            return match work.flops >= self.min_flops {
                true => if_there(Reason::MinFlops),
                false => (false, Reason::MinFlops),
            };
        }
        if work.flops < TRIVIAL {
            return (false, Reason::Small);
        }
        if work.flops >= f64::MAX {
            return if_there(Reason::ForGpu);
        }
        let here = hardware.cpu();
        let cpu = here.seconds(work, self.single);
        let measured = self.measured(work.verb);
        if measured.is_none() && !pays(work, self.single, &here, &Gpu::BEST, 1.0) {
            return (false, Reason::NoFasterGpu { cpu });
        }
        let Some(there) = hardware.first_gpu() else {
            return (false, Reason::NoGpu);
        };
        let gpu = there.seconds(work, self.single);
        let (margin, reason) = match measured {
            None => (MARGIN, Reason::Model { cpu, gpu }),
            Some(n) => (
                margin_at(n, work.verb, self.single, &here, &there),
                Reason::Breakeven { cpu, gpu },
            ),
        };
        (pays(work, self.single, &here, &there, margin), reason)
    }

    /// The order at which a GPU begins to pay, if it was measured. Few GPUs are as fast in double
    /// as in single precision: orders measured in double tell nothing of single.
    fn measured(&self, verb: Verb) -> Option<f64> {
        if self.single {
            return None;
        }
        let named = Verb::NAMED.iter().zip(self.breakeven);
        let mut found = named.filter(|((_, v), n)| *v == verb && !n.is_nan());
        found.next().map(|(_, n)| n)
    }

    /// The GPU that `auto` takes for what one does alone. It may not be there, where the user chose
    /// it.
    pub fn first(&self) -> usize {
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
    pub fn for_gpu(self, hardware: &impl Hardware) -> DeviceSettings {
        let request = match self.request {
            DeviceRequest::Auto if hardware.gpus() > 0 => DeviceRequest::Gpus,
            DeviceRequest::Auto => DeviceRequest::Exactly(Processor::Cpu),
            settled => settled,
        };
        DeviceSettings { request, ..self }
    }

    /// The numbers of GPUs that may share work that is for a GPU.
    pub fn shared_by(&self, hardware: &impl Hardware) -> Vec<usize> {
        match self.request {
            _ if self.chosen != 0 => {
                let bits = 0..u64::BITS as usize;
                bits.filter(|d| self.chosen >> d & 1 == 1).collect()
            }
            DeviceRequest::Exactly(Processor::Cuda(ordinal)) => vec![ordinal],
            DeviceRequest::Exactly(Processor::Cpu) => Vec::new(),
            DeviceRequest::Auto | DeviceRequest::Gpus => (0..hardware.gpus()).collect(),
        }
    }
}

#[cfg(test)]
#[path = "device_tests.rs"]
mod tests;
