//! What of a GPU's memory is in use, and how it is given back.

use std::sync::atomic::Ordering;

use cudarc::driver::sys::{self, CUmemPool_attribute};

use super::tiles::unpin;
#[cfg(any(test, feature = "testing"))]
use crate::backend::cuda::driver::belief;
use crate::backend::cuda::driver::context::{lock, try_lock, Context, CONTEXTS};
use crate::backend::cuda::driver::staging::Staging;
use crate::backend::cuda::CudaDevice;
use crate::base::accounting::held;
use crate::base::error::{Error, Result};
use crate::base::processor::Processor;
use crate::device::report::Usage;

impl Context {
    pub(crate) fn place(&self) -> Processor {
        Processor::Cuda(self.ordinal)
    }

    /// Bytes of memory free and in all.
    pub(crate) fn memory(&self) -> Result<(u64, u64)> {
        self.bind()?;
        let (mut free, mut total) = (0, 0);
        // SAFETY: the context is current; out-parameters are valid.
        self.check(
            unsafe { sys::cuMemGetInfo_v2(&mut free, &mut total) },
            "cuMemGetInfo",
        )?;
        let (free, total) = (free as u64, total as u64);
        #[cfg(any(test, feature = "testing"))]
        let (free, total) = {
            let most = belief::most_memory();
            let left = most.saturating_sub(self.allocated.load(Ordering::Relaxed));
            (free.min(left), total.min(most))
        };
        Ok((free, total))
    }

    /// The error for an allocation of so many bytes that is not possible.
    pub(crate) fn too_little(&self, needed: u64) -> Result<Error> {
        let (free, total) = self.memory()?;
        let (held, objects) = held(self.place());
        Ok(Error::DeviceMemory {
            needed,
            free,
            total,
            held,
            objects,
            device: self.ordinal,
        })
    }

    /// Waits, and gives the pool's freed memory back to the driver.
    pub(crate) fn trim(&self) -> Result<()> {
        self.wait()?;
        if !self.pool.handle.is_null() {
            // Nothing is left to wait for, but the pool gives back only what a synchronization has
            // seen to be free.
            // SAFETY: the context is current.
            self.check(unsafe { sys::cuCtxSynchronize() }, "cuCtxSynchronize")?;
            // SAFETY: the pool is ours and its freed memory is no longer in use.
            let _ = unsafe { sys::cuMemPoolTrimTo(self.pool.handle, 0) };
        }
        Ok(())
    }

    /// Bytes of memory that buffers can have without a remedy, and in all.
    pub(crate) fn room(&self) -> Result<(u64, u64)> {
        let (free, total) = self.memory()?;
        Ok((free + self.pooled()?, total))
    }

    /// What the pool has of the driver beyond what is in use.
    fn pooled(&self) -> Result<u64> {
        if self.pool.handle.is_null() {
            return Ok(0);
        }
        self.bind()?;
        let (mut reserved, mut used) = (0u64, 0u64);
        let get = |attribute, value: &mut u64| {
            // SAFETY: the pool is ours; both attributes are of type u64.
            let code = unsafe {
                sys::cuMemPoolGetAttribute(
                    self.pool.handle,
                    attribute,
                    std::ptr::from_mut(value).cast(),
                )
            };
            self.check(code, "cuMemPoolGetAttribute")
        };
        get(
            CUmemPool_attribute::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT,
            &mut reserved,
        )?;
        get(
            CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_CURRENT,
            &mut used,
        )?;
        Ok(reserved.saturating_sub(used))
    }
}

impl CudaDevice {
    /// The GPUs that this process has opened and can still use.
    pub fn opened() -> Vec<CudaDevice> {
        // Copied, so that what is done with them may open others.
        let all: Vec<&'static Context> = lock(&CONTEXTS).clone();
        all.into_iter()
            .filter(|ctx| ctx.usable().is_ok())
            .map(|ctx| CudaDevice { ctx })
            .collect()
    }

    /// Bytes of memory free and in all.
    pub fn memory(&self) -> Result<(u64, u64)> {
        self.ctx.memory()
    }

    pub fn usage(&self) -> Result<Usage> {
        self.ctx.wait()?;
        let (free, total) = self.ctx.memory()?;
        Ok(Usage {
            free,
            total,
            allocated: self.ctx.allocated.load(Ordering::Relaxed),
            pooled: self.ctx.pooled()?,
            staging: self.staging_bytes() as u64,
        })
    }

    /// Bytes of pinned host memory that copies go through.
    pub fn staging_bytes(&self) -> usize {
        let lanes = try_lock(&self.ctx.staging).and_then(|s| s.as_ref().map(Staging::bytes));
        let tiles: usize = lock(&self.ctx.kept).iter().map(|m| m.len()).sum();
        lanes.unwrap_or(0) + tiles
    }

    /// Gives that memory back, unless a copy uses it now; the next copy makes it again.
    pub fn release_staging(&self) {
        let kept = try_lock(&self.ctx.staging).and_then(|mut staging| staging.take());
        drop(kept);
        let tiles = std::mem::take(&mut *lock(&self.ctx.kept));
        for memory in tiles {
            // SAFETY: nobody uses memory that is kept.
            unsafe { unpin(self.ctx, memory) };
        }
    }

    /// Gives back all memory that no matrix holds: what is kept for the next call, on the GPU and
    /// for copies.
    pub fn release(&self) -> Result<()> {
        for sums in &self.ctx.sums {
            let kept = lock(sums).take();
            drop(kept);
        }
        self.release_staging();
        self.ctx.trim()
    }
}
