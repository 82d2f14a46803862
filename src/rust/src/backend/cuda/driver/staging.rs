//! Pinned host memory, through which matrices are copied between R's memory and the GPU at the
//! speed of the bus.
//!
//! Each worker thread has a lane: a few slots of pinned memory that it fills or empties in turn. A
//! slot has an event that tells when the GPU is done with it. Lanes are allocated at first use and
//! kept, at most `LANES` of them. To pin memory takes 0.4 ms for a MiB, so that a session's first
//! small transfer gets small slots. A larger transfer replaces them.

use std::ptr::null_mut;

use cudarc::driver::sys;

use super::context::Context;
use crate::backend::cuda::driver::chunks::{cut, CopyChunk};
use crate::base::error::Result;
use crate::base::threads::{owns_pool, wanted};

/// Bytes of the largest slot.
const SLOT: usize = 2 << 20;
/// Slots of a lane: one that is filled or emptied, and two in flight.
pub(crate) const SLOTS: usize = 3;
/// More threads copy no faster than the bus takes it.
const LANES: usize = 16;

pub(crate) struct Staging {
    ctx: &'static Context,
    memory: *mut u8,
    /// Bytes of a slot.
    pub slot: usize,
    pub lanes: Vec<Lane>,
}

// SAFETY: the memory belongs to this value alone and may be used from any thread.
unsafe impl Send for Staging {}

/// The slots of one worker.
pub(crate) struct Lane {
    pub slots: [Slot; SLOTS],
    /// The slot to be used next.
    next: usize,
}

// SAFETY: as for `Staging`, of which it is a part.
unsafe impl Send for Lane {}

/// Pinned memory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slot {
    pub memory: *mut u8,
    /// Recorded after each copy from or to the memory.
    pub event: sys::CUevent,
}

/// Workers that copy between the host's memory and staging memory, for the present call; none in a
/// process that has no pool.
pub(crate) fn workers() -> usize {
    if !owns_pool() {
        return 0;
    }
    wanted().min(rayon::current_num_threads()).min(LANES)
}

impl Staging {
    /// Staging memory for transfers of up to so many bytes by so many threads. It also serves
    /// longer transfers, which are faster with longer slots.
    pub(crate) fn new(ctx: &'static Context, bytes: usize, workers: usize) -> Result<Staging> {
        ctx.bind()?;
        let lanes = match owns_pool() {
            true => rayon::current_num_threads().min(LANES),
            false => 1,
        };
        let slot = Staging::slot_for(bytes, workers);
        let mut memory = null_mut();
        // SAFETY: the context is current, the out-parameter valid.
        let code = unsafe { sys::cuMemHostAlloc(&mut memory, lanes * SLOTS * slot, 0) };
        ctx.check(code, "cuMemHostAlloc")?;
        let mut staging = Staging {
            ctx,
            memory: memory.cast(),
            slot,
            lanes: Vec::with_capacity(lanes),
        };
        for lane in 0..lanes {
            let mut slots = [Slot {
                memory: null_mut(),
                event: null_mut(),
            }; SLOTS];
            for (i, one) in slots.iter_mut().enumerate() {
                // SAFETY: within the memory.
                one.memory = unsafe { staging.memory.add((lane * SLOTS + i) * slot) };
                let flags = sys::CUevent_flags::CU_EVENT_DISABLE_TIMING as u32;
                // SAFETY: the context is current, the out-parameter valid.
                let code = unsafe { sys::cuEventCreate(&mut one.event, flags) };
                if let Err(e) = ctx.check(code, "cuEventCreate") {
                    destroy(&slots[..i]);
                    return Err(e);
                }
            }
            staging.lanes.push(Lane { slots, next: 0 });
        }
        Ok(staging)
    }

    pub(crate) fn bytes(&self) -> usize {
        self.lanes.len() * SLOTS * self.slot
    }

    /// Whether a transfer is as fast as with longer slots.
    pub(crate) fn suits(&self, bytes: usize, workers: usize) -> bool {
        self.slot >= Staging::slot_for(bytes, workers)
    }

    fn slot_for(bytes: usize, workers: usize) -> usize {
        cut(bytes, workers, SLOT).0
    }
}

fn destroy(slots: &[Slot]) {
    for slot in slots {
        // SAFETY: made by cuEventCreate, used no more.
        let _ = unsafe { sys::cuEventDestroy_v2(slot.event) };
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if self.ctx.bind().is_err() {
            return;
        }
        // Copies may still be in flight.
        for slot in self.lanes.iter().flat_map(|lane| &lane.slots) {
            let _ = slot.wait(self.ctx);
        }
        for lane in &self.lanes {
            destroy(&lane.slots);
        }
        // SAFETY: allocated by cuMemHostAlloc; no copy is in flight any more.
        let _ = unsafe { sys::cuMemFreeHost(self.memory.cast()) };
    }
}

impl Lane {
    /// The slot that [`Lane::next`] will give.
    pub(crate) fn peek(&self) -> Slot {
        self.slots[self.next]
    }

    /// The slot whose turn it is.
    pub(crate) fn next(&mut self) -> Slot {
        let slot = self.slots[self.next];
        self.next = (self.next + 1) % SLOTS;
        slot
    }
}

impl Slot {
    /// Waits until the GPU is done with it; at once when it never was used.
    pub(crate) fn wait(&self, ctx: &Context) -> Result<()> {
        // SAFETY: the event lives as long as the lane.
        ctx.check(
            unsafe { sys::cuEventSynchronize(self.event) },
            "cuEventSynchronize",
        )
    }

    /// Whether the GPU is done with it.
    pub(crate) fn is_free(&self, ctx: &Context) -> Result<bool> {
        // SAFETY: the event lives as long as the lane.
        match unsafe { sys::cuEventQuery(self.event) } {
            sys::CUresult::CUDA_ERROR_NOT_READY => Ok(false),
            code => ctx.check(code, "cuEventQuery").map(|()| true),
        }
    }

    fn record(&self, ctx: &Context, stream: sys::CUstream) -> Result<()> {
        // SAFETY: event and stream belong to the current context.
        ctx.check(
            unsafe { sys::cuEventRecord(self.event, stream) },
            "cuEventRecord",
        )
    }

    /// Starts the copy of a piece from the memory `up` to its place on the device, or else down
    /// from there.
    ///
    /// # Safety
    /// The piece's memory on the device exists until the copy is done, and the piece fits.
    pub(crate) unsafe fn copy(
        &self,
        ctx: &Context,
        piece: &CopyChunk,
        stream: sys::CUstream,
        up: bool,
    ) -> Result<()> {
        let (memory, bytes) = (self.memory.cast(), piece.bytes());
        let (code, call) = match (piece.is_run(), up) {
            (true, true) => (
                sys::cuMemcpyHtoDAsync_v2(piece.device, memory, bytes, stream),
                "cuMemcpyHtoD",
            ),
            (true, false) => (
                sys::cuMemcpyDtoHAsync_v2(memory, piece.device, bytes, stream),
                "cuMemcpyDtoH",
            ),
            (false, _) => (
                sys::cuMemcpy2DAsync_v2(&rectangle(piece, self.memory, up), stream),
                "cuMemcpy2D",
            ),
        };
        ctx.check(code, call)?;
        self.record(ctx, stream)
    }
}

/// The copy of a piece between a slot, where its columns are adjacent, and the device.
fn rectangle(piece: &CopyChunk, slot: *mut u8, up: bool) -> sys::CUDA_MEMCPY2D {
    let (host, device) = (
        sys::CUmemorytype::CU_MEMORYTYPE_HOST,
        sys::CUmemorytype::CU_MEMORYTYPE_DEVICE,
    );
    // Of the two addresses of an end the driver reads the one of its kind.
    sys::CUDA_MEMCPY2D {
        srcXInBytes: 0,
        srcY: 0,
        srcMemoryType: if up { host } else { device },
        srcHost: slot.cast(),
        srcDevice: piece.device,
        srcArray: null_mut(),
        srcPitch: if up { piece.width } else { piece.device_pitch },
        dstXInBytes: 0,
        dstY: 0,
        dstMemoryType: if up { device } else { host },
        dstHost: slot.cast(),
        dstDevice: piece.device,
        dstArray: null_mut(),
        dstPitch: if up { piece.device_pitch } else { piece.width },
        WidthInBytes: piece.width,
        Height: piece.columns,
    }
}
