//! The memory pool of a GPU, from which buffers are allocated and to which they return.

use cudarc::driver::sys::{self, CUresult};

use super::context::check;
use crate::base::error::Result;

/// A pool keeps up to 1 / `KEEPS` of the GPU's memory, when it is freed, for the next call.
const KEEPS: u64 = 8;

/// The threshold of the driver is renewed when the bytes in use pass a multiple of this.
const STEP: u64 = 256 << 20;

/// A memory pool, and how many bytes it keeps that are not in use. Null if the driver has no pools.
#[derive(Clone, Copy)]
pub(crate) struct Pool {
    pub handle: sys::CUmemoryPool,
    keeps: u64,
}

impl Pool {
    /// Tells the pool that `now` bytes are in use instead of `before`. The driver's threshold
    /// includes them. If they alone exceeded it, each small buffer would be released at once and
    /// allocated again, which takes longer than most work in it.
    pub(super) fn in_use(&self, before: u64, now: u64) {
        if self.handle.is_null() || before / STEP == now / STEP {
            return;
        }
        let mut keep = now.saturating_add(self.keeps);
        let attribute = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
        // SAFETY: the pool is ours; the threshold's value is a u64, as the attribute wants. Where
        // it stays as it was nothing is lost but time.
        let _ = unsafe {
            sys::cuMemPoolSetAttribute(self.handle, attribute, std::ptr::from_mut(&mut keep).cast())
        };
    }
}

/// Creates a separate pool, so that no other user of the driver in this process is affected.
pub(crate) fn create(device: sys::CUdevice, ordinal: usize) -> Result<Pool> {
    let mut supported = 0;
    let attribute = sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED;
    // SAFETY: the device exists; the out-parameter is valid.
    let code = unsafe { sys::cuDeviceGetAttribute(&mut supported, attribute, device) };
    if code != CUresult::CUDA_SUCCESS || supported == 0 {
        return Ok(Pool {
            handle: std::ptr::null_mut(),
            keeps: 0,
        });
    }
    // SAFETY: the structure is plain data for which zeros are valid: no export handle, no security
    // attributes.
    let mut props: sys::CUmemPoolProps = unsafe { std::mem::zeroed() };
    props.allocType = sys::CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;
    props.location.type_ = sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
    props.location.id = ordinal as i32;
    let mut pool = std::ptr::null_mut();
    let mut total = 0;
    // SAFETY: the device exists; the out-parameter is valid.
    check(
        unsafe { sys::cuDeviceTotalMem_v2(&mut total, device) },
        "cuDeviceTotalMem",
    )?;
    // SAFETY: `props` is filled in; the out-parameter is valid.
    check(
        unsafe { sys::cuMemPoolCreate(&mut pool, &props) },
        "cuMemPoolCreate",
    )?;
    let made = Pool {
        handle: pool,
        keeps: total as u64 / KEEPS,
    };
    made.in_use(u64::MAX, 0);
    Ok(made)
}
