//! Tiles on their way between pinned host memory and the device, beside what is computed.

use std::mem::size_of;

use cudarc::driver::sys;
use faer::MatMut;

use super::cholesky::{self, Started};
use super::context::Context;
use super::memory::Matrix;
use super::streams::Event;
use super::transfer::count;
use super::CudaDevice;
use crate::error::{Error, Result};
use crate::scalar::Scalar;
use crate::tiles::machine::TileMachine;

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

impl CudaDevice {
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

impl<T: Scalar> TileMachine<T> for CudaDevice {
    type Mark = Mark;
    type Outcome = Started;

    fn is_host(&self) -> bool {
        false
    }

    fn in_place<'a>(&self, _: MatMut<'a, T>) -> Result<Matrix<'a, T>> {
        Err(Error::Internal {
            what: "a GPU was asked to compute in host memory".into(),
        })
    }

    unsafe fn pin(&self, memory: *mut T, len: usize) -> Result<()> {
        self.ctx.bind()?;
        // For all GPUs.
        let flags = sys::CU_MEMHOSTREGISTER_PORTABLE;
        let code = sys::cuMemHostRegister_v2(memory.cast(), len * size_of::<T>(), flags);
        // Where so much cannot be pinned the driver copies through memory of its own, slowly.
        match self.ctx.check(code, "cuMemHostRegister") {
            Err(Error::DeviceFailed { .. }) => self.ctx.bind(),
            done => done,
        }
    }

    unsafe fn unpin(&self, memory: *mut T) {
        if self.ctx.bind().is_ok() {
            let _ = sys::cuMemHostUnregister(memory.cast());
        }
    }

    fn mark(&self) -> Result<Mark> {
        self.end_of(self.ctx.stream)
    }

    unsafe fn send(&self, from: *const T, to: &mut Matrix<'_, T>, after: &[&Mark]) -> Result<Mark> {
        let (stream, bytes) = (self.ctx.up, to.bytes());
        self.wait_all(stream, after)?;
        let code = sys::cuMemcpyHtoDAsync_v2(to.view().ptr, from.cast(), bytes, stream);
        self.ctx.check(code, "cuMemcpyHtoD")?;
        count(bytes, 0);
        self.end_of(stream)
    }

    unsafe fn fetch(&self, from: &mut Matrix<'_, T>, to: *mut T, after: &[&Mark]) -> Result<Mark> {
        let (stream, bytes) = (self.ctx.down, from.bytes());
        self.wait_all(stream, after)?;
        let code = sys::cuMemcpyDtoHAsync_v2(to.cast(), from.view().ptr, bytes, stream);
        self.ctx.check(code, "cuMemcpyDtoH")?;
        count(0, bytes);
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
        cholesky::start_upper(self.ctx, a.view())
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
