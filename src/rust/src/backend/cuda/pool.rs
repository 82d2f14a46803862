//! Where a GPU's memory comes from, when buffers are made, and goes when they are dropped.

use cudarc::driver::sys::{self, CUresult};

use super::context::check;
use crate::error::Result;

/// Of the GPU's memory a pool keeps this part, when it is freed, for the next call instead of giving it back to the driver.
const KEEPS: u64 = 8;

/// A memory pool of our own, so that no other user of the driver in this process is disturbed; null where the driver has none.
pub(super) fn create(device: sys::CUdevice, ordinal: usize) -> Result<sys::CUmemoryPool> {
    let mut supported = 0;
    let attribute = sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED;
    // SAFETY: the device exists; the out-parameter is valid.
    let code = unsafe { sys::cuDeviceGetAttribute(&mut supported, attribute, device) };
    if code != CUresult::CUDA_SUCCESS || supported == 0 {
        return Ok(std::ptr::null_mut());
    }
    // SAFETY: the structure is plain data for which zeros are valid: no export handle, no security attributes.
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
    let mut keep = total as u64 / KEEPS;
    // SAFETY: `props` is filled in; the threshold's value is a u64, as the attribute wants.
    unsafe {
        check(sys::cuMemPoolCreate(&mut pool, &props), "cuMemPoolCreate")?;
        let attribute = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
        check(
            sys::cuMemPoolSetAttribute(pool, attribute, std::ptr::from_mut(&mut keep).cast()),
            "cuMemPoolSetAttribute",
        )?;
    }
    Ok(pool)
}
