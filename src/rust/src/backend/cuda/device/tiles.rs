//! Copies of tiles between pinned host memory and the device, while it computes.

use std::ops::Range;
use std::sync::atomic::Ordering;

use cudarc::driver::sys;
use faer::MatMut;

use super::peers;
use crate::backend::cuda::cholesky;
use crate::backend::cuda::cholesky::factor::Started;
use crate::backend::cuda::driver::context::{lock, Context};
use crate::backend::cuda::driver::streams::Event;
use crate::backend::cuda::driver::traffic::count;
use crate::backend::cuda::matrix::views::Matrix;
use crate::backend::cuda::CudaDevice;
use crate::base::accounting::held;
use crate::base::error::{Error, Result};
use crate::base::interrupt;
use crate::base::processor::Processor;
use crate::base::scalar::Scalar;
use crate::device::async_copy::AsyncCopy;
use crate::tiles::buffer::{touch, Pages};

/// An event, free for another use when this is dropped.
pub struct Mark {
    ctx: &'static Context,
    event: Option<Event>,
}

impl Drop for Mark {
    fn drop(&mut self) {
        if let Some(event) = self.event.take() {
            self.ctx.forget(event);
        }
    }
}

/// Bytes of pinned memory that are kept between calls at most.
const MOST_KEPT: usize = 1 << 30;

/// For all GPUs.
fn pin(ctx: &Context, memory: &Pages) -> Result<()> {
    ctx.bind()?;
    let (start, flags) = (memory.as_ptr().cast_mut(), sys::CU_MEMHOSTREGISTER_PORTABLE);
    // SAFETY: the memory exists, until `unpin`.
    let code = unsafe { sys::cuMemHostRegister_v2(start.cast(), memory.len(), flags) };
    // Where so much cannot be pinned the driver copies through its own memory, slowly.
    match ctx.check(code, "cuMemHostRegister") {
        Err(Error::DeviceFailed { .. }) => {
            ctx.unpinned.store(true, Ordering::Relaxed);
            return ctx.bind();
        }
        done => done?,
    }
    // A forked child has no use for it, and must not share it: a page that both have is copied when
    // it is next written, and the GPU would go on with the other one.
    #[cfg(target_os = "linux")]
    // SAFETY: whole pages of that memory.
    let _ = unsafe { libc::madvise(start.cast(), memory.len(), libc::MADV_DONTFORK) };
    Ok(())
}

/// # Safety
/// No copy from or to it is on its way.
pub(super) unsafe fn unpin(ctx: &Context, memory: Pages) {
    if ctx.bind().is_ok() {
        let _ = sys::cuMemHostUnregister(memory.as_ptr().cast_mut().cast());
    } else {
        // What comes to lie there next would be taken for pinned by other GPUs.
        std::mem::forget(memory);
    }
}

/// Where these entries are, and their bytes.
fn part_of<T: Scalar>(matrix: &Matrix<'_, T>, entries: &Range<usize>) -> (sys::CUdeviceptr, usize) {
    let bytes = size_of::<T>();
    let start = matrix.view().ptr + (entries.start * bytes) as sys::CUdeviceptr;
    (start, entries.len() * bytes)
}

/// Pinned memory, which is given back when this is dropped.
struct Pinned {
    dev: CudaDevice,
    pages: Vec<Pages>,
}

impl Drop for Pinned {
    fn drop(&mut self) {
        for memory in self.pages.drain(..) {
            // SAFETY: nobody has copied from or to it.
            unsafe { self.dev.keep_pinned(memory) };
        }
    }
}

impl CudaDevice {
    /// Memory of the last call, as far as it has the right size, then new memory.
    fn pinned(&self, count: usize, bytes: usize, threads: usize) -> Result<Vec<Pages>> {
        let mut all = Pinned {
            dev: *self,
            pages: Vec::with_capacity(count),
        };
        while all.pages.len() < count {
            let Some(memory) = self.kept(bytes) else {
                break;
            };
            all.pages.push(memory);
        }
        let mut new = Vec::new();
        for _ in all.pages.len()..count {
            interrupt::poll()?;
            new.push(Pages::new(bytes)?);
        }
        touch(&mut new, threads)?;
        for memory in new {
            interrupt::poll()?;
            pin(self.ctx, &memory)?;
            all.pages.push(memory);
        }
        Ok(std::mem::take(&mut all.pages))
    }

    /// # Safety
    /// As [`AsyncCopy::keep`].
    unsafe fn keep_pinned(&self, memory: Pages) {
        let mut kept = lock(&self.ctx.kept);
        let fits = (kept.len() + 1) * memory.len() <= MOST_KEPT;
        let alike = kept.iter().all(|m| m.len() == memory.len());
        let pinned = !self.ctx.unpinned.load(Ordering::Relaxed) && self.ctx.usable().is_ok();
        if fits && alike && pinned {
            kept.push(memory);
        } else {
            unpin(self.ctx, memory);
        }
    }

    /// Memory that was kept; that of another size is released.
    fn kept(&self, bytes: usize) -> Option<Pages> {
        let mut kept = lock(&self.ctx.kept);
        if kept
            .first()
            .is_some_and(|m| Some(m.len()) != Pages::length(bytes))
        {
            let others = std::mem::take(&mut *kept);
            drop(kept);
            // SAFETY: nobody uses memory that is kept.
            others
                .into_iter()
                .for_each(|m| unsafe { unpin(self.ctx, m) });
            return None;
        }
        kept.pop()
    }

    fn end_of(&self, stream: sys::CUstream) -> Result<Mark> {
        Ok(Mark {
            ctx: self.ctx,
            event: Some(self.ctx.mark_in(stream)?),
        })
    }

    fn wait_all(&self, stream: sys::CUstream, after: &[&Mark]) -> Result<()> {
        self.ctx.bind()?;
        for event in after.iter().filter_map(|mark| mark.event.as_ref()) {
            self.ctx.wait_in(stream, event)?;
        }
        Ok(())
    }
}

impl<T: Scalar> AsyncCopy<T> for CudaDevice {
    type Mark = Mark;
    type Outcome = Started;

    fn has_own_memory(&self) -> bool {
        true
    }

    fn with(&self, numbers: &[usize], all: bool) -> Result<Vec<Self>> {
        let mut devs = vec![*self];
        for number in numbers.iter().filter(|d| **d != self.ordinal()) {
            match CudaDevice::open(*number) {
                Ok(dev) => devs.push(dev),
                Err(e) if all || e == Error::Interrupted => return Err(e),
                Err(_) => {}
            }
        }
        Ok(devs)
    }

    fn free(&self) -> Result<u64> {
        let usage = self.usage()?;
        Ok(usage.free + usage.pooled)
    }

    fn held(&self) -> u64 {
        held(Processor::Cuda(self.ordinal())).1
    }

    fn speed(&self) -> f64 {
        let properties = &self.ctx.properties;
        properties.multiprocessors as f64 * properties.product_rate::<T>()
    }

    fn in_place<'a>(&self, _: MatMut<'a, T>) -> Result<Matrix<'a, T>> {
        Err(Error::Internal {
            what: "a GPU was asked to compute in host memory".into(),
        })
    }

    fn pages(&self, count: usize, bytes: usize, threads: usize) -> Result<Vec<Pages>> {
        self.pinned(count, bytes, threads)
    }

    unsafe fn keep(&self, memory: Pages) {
        self.keep_pinned(memory);
    }

    fn mark(&self) -> Result<Mark> {
        self.end_of(self.ctx.stream)
    }

    unsafe fn send(
        &self,
        from: *const T,
        to: &mut Matrix<'_, T>,
        entries: Range<usize>,
        after: &[&Mark],
    ) -> Result<Mark> {
        let (stream, (to, bytes)) = (self.ctx.up, part_of(to, &entries));
        self.wait_all(stream, after)?;
        let code = sys::cuMemcpyHtoDAsync_v2(to, from.cast(), bytes, stream);
        self.ctx.check(code, "cuMemcpyHtoD")?;
        count(bytes, 0);
        self.end_of(stream)
    }

    unsafe fn fetch(
        &self,
        from: &mut Matrix<'_, T>,
        entries: Range<usize>,
        to: *mut T,
        after: &[&Mark],
    ) -> Result<Mark> {
        let (stream, (from, bytes)) = (self.ctx.down, part_of(from, &entries));
        self.wait_all(stream, after)?;
        let code = sys::cuMemcpyDtoHAsync_v2(to.cast(), from, bytes, stream);
        self.ctx.check(code, "cuMemcpyDtoH")?;
        count(0, bytes);
        self.end_of(stream)
    }

    fn reaches(&self, other: &Self) -> Result<bool> {
        peers::reaches(self.ctx, other.ctx)
    }

    fn copies_from(&self, other: &Self) -> Result<bool> {
        peers::copies(self.ctx, other.ctx)
    }

    fn place(&self, matrix: &mut Matrix<'_, T>) -> Result<usize> {
        Ok(matrix.view().ptr as usize)
    }

    unsafe fn copy(
        &self,
        from: &Self,
        place: usize,
        to: &mut Matrix<'_, T>,
        after: &[&Mark],
    ) -> Result<Mark> {
        let stream = self.ctx.across;
        self.wait_all(stream, after)?;
        peers::copy(
            self.ctx,
            from.ctx,
            place as sys::CUdeviceptr,
            to.view().ptr,
            to.bytes(),
        )?;
        self.end_of(stream)
    }

    fn follow(&self, mark: &Mark) -> Result<()> {
        self.wait_all(self.ctx.stream, &[mark])
    }

    fn is_past(&self, mark: &Mark) -> Result<bool> {
        match &mark.event {
            Some(event) => self.ctx.is_past(event),
            None => Ok(true),
        }
    }

    fn start_potrf(&self, a: &mut Matrix<'_, T>) -> Result<Started> {
        cholesky::factor::start_upper(self.ctx, a.view())
    }

    fn outcome(&self, outcome: &Started) -> Result<()> {
        outcome.outcome(self.ctx)
    }

    fn drain(&self) {
        if self.ctx.bind().is_ok() {
            let _ = self.ctx.or_drain::<()>(Err(Error::Interrupted));
        }
    }
}
