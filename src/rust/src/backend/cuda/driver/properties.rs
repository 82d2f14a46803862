//! Properties of a GPU that launches depend on: number of multiprocessors, clock, shared memory of
//! a block.

use std::mem::size_of;

use cudarc::driver::sys::{self, CUdevice_attribute as Attribute};

use super::context::check;
use super::version::driver_version;
use crate::base::error::Result;
use crate::base::scalar::Scalar;
use crate::cost::integers::IntegerRates;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Properties {
    pub multiprocessors: usize,
    /// Compute capability, major and minor.
    pub capability: (i32, i32),
    /// The newest CUDA the driver knows: 1000 times its version and 10 times what follows the
    /// point.
    pub driver: i32,
    /// Cycles per second, at most.
    pub clock: f64,
    /// Largest shared memory of one block, in bytes.
    pub shared: usize,
    /// Whether cooperative launches are supported, whose blocks are all resident together.
    pub cooperative: bool,
}

/// Seconds of the longest launch.
pub(crate) const LONGEST_LAUNCH: f64 = 0.135;

/// Products in double precision reach this share of what the units could do.
const REACHED: f64 = 0.83;

impl Properties {
    pub(crate) fn of(device: sys::CUdevice) -> Result<Properties> {
        let ask = |which| {
            let mut value = 0;
            // SAFETY: the device exists; the out-parameter is valid.
            let code = unsafe { sys::cuDeviceGetAttribute(&mut value, which, device) };
            check(code, "cuDeviceGetAttribute").map(|()| value)
        };
        let count = |which| Ok(usize::try_from(ask(which)?).unwrap_or(0));
        let properties = Properties {
            multiprocessors: count(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
            capability: (
                ask(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
                ask(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
            ),
            driver: driver_version(),
            // The attribute counts in kHz.
            clock: 1e3 * f64::from(ask(Attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE)?),
            shared: count(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
            cooperative: ask(Attribute::CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH)? != 0,
        };
        #[cfg(any(test, feature = "testing"))]
        let properties = match super::belief::belief() {
            Some(belief) => Properties {
                capability: belief.capability,
                multiprocessors: properties.multiprocessors.min(belief.multiprocessors),
                shared: properties.shared.min(belief.shared),
                ..properties
            },
            None => properties,
        };
        Ok(properties)
    }

    /// Whether products in double precision, on the tensor cores, are about as fast as those in
    /// single precision, so that it pays to compute in double. Other GPUs of these generations
    /// (8.6, 8.9, 10.3, 12.0) have double precision at a 64th of the rate, and the instructions of
    /// the tensor cores for it in microcode or not at all.
    pub(crate) fn double_keeps_up(&self) -> bool {
        matches!(self.capability, (8, 0) | (9, 0) | (10, 0))
    }

    /// Whether arithmetic of that type is fast: in double precision, few GPUs are made for it.
    pub(crate) fn is_fast_in<T: Scalar>(&self) -> bool {
        size_of::<T>() == size_of::<f32>() || self.double_keeps_up()
    }

    /// Whether kernels for double precision on tensor cores are for this GPU. One that is newer
    /// than this library is taken to have such tensor cores.
    pub(crate) fn double_on_tensor_cores(&self) -> bool {
        self.double_keeps_up() || self.capability.0 > 12
    }

    /// Operations in double precision per second on the tensor cores of one multiprocessor, at
    /// most. Few GPUs are made for them.
    fn tensor_rate(&self) -> f64 {
        let per_cycle = match self.capability {
            (9, 0) => 256.0,
            // Without tensor cores for it, but with as many units as are used there.
            (6, 0) | (7, 0) | (8, 0) | (10, 0) => 128.0,
            _ => 4.0,
        };
        per_cycle * self.clock
    }

    /// Operations in single precision per second of one multiprocessor, at most.
    fn single_rate(&self) -> f64 {
        let per_cycle = match self.capability {
            (6, 0) | (7, _) | (8, 0) => 128.0,
            _ => 256.0,
        };
        per_cycle * self.clock
    }

    /// Operations per second of one multiprocessor, at most, in products of that type.
    pub(crate) fn product_rate<T: Scalar>(&self) -> f64 {
        if size_of::<T>() == size_of::<f32>() {
            self.single_rate()
        } else {
            self.tensor_rate()
        }
    }

    /// How many operations in single precision take as long as one in double precision.
    pub(crate) fn single_per_double(&self) -> f64 {
        self.product_rate::<f32>() / self.product_rate::<f64>()
    }

    /// What products from integers depend on. The tensor cores of compute capability 10 and 11 need
    /// other instructions for bytes.
    pub(crate) fn integer_rates(&self) -> IntegerRates {
        const MEASURED: f64 = 132.0 * 1.98e9;
        let cycles = self.clock * self.multiprocessors as f64;
        let per_cycle = match self.capability {
            (7, 5) | (8, 6..) | (12, _) => 2048.0,
            (8, _) => 4096.0,
            (9, 0) => 8192.0,
            _ => 0.0,
        };
        let doubles = self.product_rate::<f64>() * self.multiprocessors as f64;
        IntegerRates {
            doubles: REACHED * doubles,
            bytes: per_cycle * cycles,
            conversions: cycles / MEASURED,
        }
    }

    /// Operations of the longest launch. An interrupt is noticed between launches. It waits for the
    /// running launch and the next one, which may not reach the highest rate: half a second at
    /// most.
    pub(crate) fn launch_operations<T: Scalar>(&self) -> f64 {
        LONGEST_LAUNCH * self.product_rate::<T>() * self.multiprocessors as f64
    }
}
