//! What tests and benchmarks of other libraries in this process need of a device: its stream, its
//! addresses, its clock.

use std::ffi::c_void;
use std::mem::size_of;
use std::time::Instant;

use cudarc::driver::sys;

use crate::backend::cuda::driver::context::Context;
use crate::backend::cuda::driver::guards::require;
use crate::backend::cuda::matrix::views::Matrix;
use crate::backend::cuda::{spectral, CudaDevice};
use crate::base::error::Result;
use crate::base::scalar::Scalar;

impl<T: Scalar> Matrix<'_, T> {
    /// The device address of the first element; columns follow one another without gaps.
    pub fn address(&self) -> u64 {
        self.view().ptr
    }
}

impl CudaDevice {
    /// The stream (`cudaStream_t`) in which everything here runs, in order. Work of other libraries
    /// put into it comes after all that was asked of the device before.
    pub fn stream(&self) -> *mut c_void {
        self.ctx.stream.cast()
    }

    /// Copies a matrix to another of the same shape, on the device. Does not wait.
    pub fn copy<T: Scalar>(&self, from: &Matrix<'_, T>, to: &mut Matrix<'_, T>) -> Result<()> {
        require(
            from.shape() == to.shape(),
            "a matrix is copied to one of another shape",
        )?;
        let (rows, cols) = from.shape();
        let bytes = rows * cols * size_of::<T>();
        if bytes == 0 {
            return Ok(());
        }
        self.ctx.bind()?;
        // SAFETY: both sides hold that many bytes and are different allocations, one of them
        // borrowed mutably.
        let code = unsafe {
            sys::cuMemcpyDtoDAsync_v2(to.address(), from.address(), bytes, self.ctx.stream)
        };
        self.ctx.check(code, "cuMemcpyDtoDAsync")
    }

    /// Runs `work` and waits. Answers its value and its milliseconds by the device's clock, from
    /// the end of earlier work in the stream to the end of what `work` put into it.
    pub fn timed<R>(&self, work: impl FnOnce() -> R) -> Result<(R, f64)> {
        let (start, end) = (Moment::new(self.ctx)?, Moment::new(self.ctx)?);
        start.record()?;
        let value = work();
        end.record()?;
        self.ctx.wait()?;
        let mut ms = 0.0f32;
        // SAFETY: both events were recorded in this context's stream and, after the wait, have
        // happened.
        let code = unsafe { sys::cuEventElapsedTime(&mut ms, start.event, end.event) };
        self.ctx.check(code, "cuEventElapsedTime")?;
        Ok((value, f64::from(ms)))
    }

    /// As `syev` with vectors; the milliseconds of each stage by the host's clock.
    pub fn syev_stages<T: Scalar>(
        &self,
        a: &Matrix<'_, T>,
        w: &mut [T],
        z: &mut Matrix<'_, T>,
    ) -> Result<Vec<(&'static str, f64)>> {
        self.ctx.wait()?;
        let (mut times, mut since) = (Vec::new(), Instant::now());
        spectral::symmetric::decompose(self.ctx, a.view(), w, Some(z.view()), |stage| {
            self.ctx.wait()?;
            times.push((stage, since.elapsed().as_secs_f64() * 1e3));
            since = Instant::now();
            Ok(())
        })?;
        Ok(times)
    }
}

/// An event that takes the time.
struct Moment {
    ctx: &'static Context,
    event: sys::CUevent,
}

impl Moment {
    fn new(ctx: &'static Context) -> Result<Moment> {
        ctx.bind()?;
        let mut event = std::ptr::null_mut();
        let flags = sys::CUevent_flags::CU_EVENT_DEFAULT as u32;
        // SAFETY: the context is current; the out-parameter is valid.
        let code = unsafe { sys::cuEventCreate(&mut event, flags) };
        ctx.check(code, "cuEventCreate")?;
        Ok(Moment { ctx, event })
    }

    fn record(&self) -> Result<()> {
        self.ctx.bind()?;
        // SAFETY: event and stream belong to the current context.
        let code = unsafe { sys::cuEventRecord(self.event, self.ctx.stream) };
        self.ctx.check(code, "cuEventRecord")
    }
}

impl Drop for Moment {
    fn drop(&mut self) {
        if self.ctx.bind().is_ok() {
            // SAFETY: created here, destroyed once.
            let _ = unsafe { sys::cuEventDestroy_v2(self.event) };
        }
    }
}
