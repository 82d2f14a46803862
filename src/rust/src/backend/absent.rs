//! The GPU backend of a build that has none: no GPU is found, and opening one is an error.
//!
//! [`CudaDevice`] is another name of the CPU's device, so that code for a GPU compiles. No value of
//! it comes from here: [`open`](CpuDevice::open) fails.

use crate::backend::cpu::CpuDevice;
use crate::base::error::{Error, Result};
use crate::device::report::Usage;

pub type CudaDevice = CpuDevice;

fn absent<R>() -> Result<R> {
    Err(Error::DeviceUnavailable {
        reason: "this build of cudafactor has no GPU backend; only Linux builds have one"
            .to_owned(),
    })
}

impl CpuDevice {
    /// # Errors
    /// Always: there is no GPU to open.
    pub fn open(_ordinal: usize) -> Result<CudaDevice> {
        absent()
    }

    /// No GPU.
    pub fn opened() -> Vec<CudaDevice> {
        Vec::new()
    }

    pub fn ordinal(&self) -> usize {
        0
    }

    pub fn usage(&self) -> Result<Usage> {
        absent()
    }

    pub fn release(&self) -> Result<()> {
        absent()
    }

    pub fn fault(&self) -> Result<()> {
        absent()
    }
}

/// No bytes.
pub fn bytes_moved() -> (u64, u64) {
    (0, 0)
}

pub mod driver {
    pub mod probe {
        use crate::device::report::{GpuInfo, ProbeStep};

        pub fn device_count() -> usize {
            0
        }

        pub fn info() -> Vec<GpuInfo> {
            Vec::new()
        }

        pub fn probe() -> Vec<ProbeStep> {
            vec![ProbeStep {
                step: "GPU backend".to_owned(),
                ok: false,
                detail: "this build of cudafactor has none".to_owned(),
                fix: "use Linux with an NVIDIA GPU; everything else runs on the CPU here"
                    .to_owned(),
            }]
        }
    }

    pub mod speed {
        use crate::base::error::Result;
        use crate::cost::model::Gpu;

        /// # Errors
        /// Always: there is no GPU.
        pub fn of(_ordinal: usize) -> Result<Gpu> {
            super::super::absent()
        }
    }
}
