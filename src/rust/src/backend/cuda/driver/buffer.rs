//! [`Buffer`]: memory of a GPU, freed when it is dropped.

use std::mem::size_of;
use std::sync::atomic::Ordering;

use cudarc::driver::sys::{self, CUresult};

use super::context::Context;
use crate::backend::cuda::driver::traffic::count;
use crate::base::accounting::{held, relieve, Search};
use crate::base::error::{Error, Result};
use crate::base::scalar::Scalar;

/// Owned device memory; address 0 when empty. It belongs to the stream to which kernels went when
/// it was allocated.
pub(crate) struct Buffer {
    ctx: &'static Context,
    pub ptr: u64,
    bytes: usize,
    beside: bool,
}

/// Remedies before a lack of memory is an error: release the freed memory that the pool keeps; then
/// collect young garbage; then collect all garbage.
const REMEDIES: [Option<Search>; 3] = [None, Some(Search::Light), Some(Search::Full)];

impl Buffer {
    pub(crate) fn new(ctx: &'static Context, bytes: usize) -> Result<Buffer> {
        ctx.bind()?;
        let beside = ctx.is_beside();
        if bytes == 0 {
            return Ok(Buffer {
                ctx,
                ptr: 0,
                bytes,
                beside,
            });
        }
        #[cfg(test)]
        if super::shortage::refuses_this() {
            return Err(ctx.too_little(bytes as u64)?);
        }
        let mut ptr = 0;
        match ctx.with_remedies(|| allocate(ctx, bytes, beside, &mut ptr))? {
            CUresult::CUDA_ERROR_OUT_OF_MEMORY => Err(ctx.too_little(bytes as u64)?),
            code => {
                ctx.check(code, "cuMemAlloc")?;
                let before = ctx.allocated.fetch_add(bytes as u64, Ordering::Relaxed);
                ctx.pool.in_use(before, before + bytes as u64);
                Ok(Buffer {
                    ctx,
                    ptr,
                    bytes,
                    beside,
                })
            }
        }
    }

    /// Room for `count` elements of `U`.
    pub(crate) fn of<U>(ctx: &'static Context, count: usize) -> Result<Buffer> {
        match count.checked_mul(size_of::<U>()) {
            Some(bytes) if bytes <= isize::MAX as usize => Buffer::new(ctx, bytes),
            _ => Err(ctx.too_little(u64::MAX)?),
        }
    }

    /// Like [`Buffer::of`], with all bytes zero.
    pub(crate) fn zeroed<U>(ctx: &'static Context, count: usize) -> Result<Buffer> {
        let b = Buffer::of::<U>(ctx, count)?;
        b.clear(count * size_of::<U>())?;
        Ok(b)
    }

    /// Zeroes the first `bytes` bytes, which must exist.
    pub(crate) fn clear(&self, bytes: usize) -> Result<()> {
        self.fill(0, bytes)
    }

    /// Sets each of the first `bytes` bytes, which must exist, to `value`.
    pub(crate) fn fill(&self, value: u8, bytes: usize) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        self.ctx.bind()?;
        // SAFETY: the buffer has that many bytes.
        let code = unsafe { sys::cuMemsetD8Async(self.ptr, value, bytes, self.ctx.stream_now()) };
        self.ctx.check(code, "cuMemsetD8Async")
    }

    /// Sets each of the first `count` words of four bytes, which must exist, to `word`.
    pub(crate) fn fill_words(&self, word: u32, count: usize) -> Result<()> {
        if count == 0 {
            return Ok(());
        }
        self.ctx.bind()?;
        // SAFETY: the buffer has that many words, and its address is a multiple of their size.
        let code = unsafe { sys::cuMemsetD32Async(self.ptr, word, count, self.ctx.stream_now()) };
        self.ctx.check(code, "cuMemsetD32Async")
    }

    /// A copy of host values. `U` is plain data.
    pub(crate) fn from_slice<U: PlainData>(ctx: &'static Context, values: &[U]) -> Result<Buffer> {
        let b = Buffer::of::<U>(ctx, values.len())?;
        if !values.is_empty() {
            let bytes = std::mem::size_of_val(values);
            count(bytes, 0);
            // SAFETY: both sides have `bytes` bytes; the wait below outlasts the copy.
            let code = unsafe {
                sys::cuMemcpyHtoDAsync_v2(b.ptr, values.as_ptr().cast(), bytes, ctx.stream)
            };
            ctx.check(code, "cuMemcpyHtoD")?;
            ctx.wait()?;
        }
        Ok(b)
    }

    /// Copies the first values back, which must exist, and waits for them.
    pub(crate) fn to_slice<U: PlainData>(&self, values: &mut [U]) -> Result<()> {
        if values.is_empty() {
            return self.ctx.wait();
        }
        self.ctx.bind()?;
        self.ctx.wait()?;
        let bytes = std::mem::size_of_val(values);
        count(0, bytes);
        // SAFETY: both sides have `bytes` bytes, any bytes are a valid `U`, and the wait outlasts
        // the copy.
        let code = unsafe {
            sys::cuMemcpyDtoHAsync_v2(values.as_mut_ptr().cast(), self.ptr, bytes, self.ctx.stream)
        };
        self.ctx.or_drain(self.ctx.check(code, "cuMemcpyDtoH"))?;
        self.ctx.wait()
    }

    /// Like [`Buffer::to_slice`], in a stream in which nothing else is queued. The values must be
    /// complete.
    pub(crate) fn to_slice_in<U: PlainData>(
        &self,
        stream: sys::CUstream,
        values: &mut [U],
    ) -> Result<()> {
        self.ctx.bind()?;
        let bytes = std::mem::size_of_val(values);
        count(0, bytes);
        // SAFETY: as above.
        let code = unsafe {
            sys::cuMemcpyDtoHAsync_v2(values.as_mut_ptr().cast(), self.ptr, bytes, stream)
        };
        self.ctx.check(code, "cuMemcpyDtoH")?;
        // SAFETY: the stream is of this context.
        let code = unsafe { sys::cuStreamSynchronize(stream) };
        self.ctx.check(code, "cuStreamSynchronize")
    }
}

impl Context {
    /// Makes a request to the driver, and again after each remedy while the GPU's memory is short.
    /// Returns the code of the last request.
    pub(super) fn with_remedies(&self, mut request: impl FnMut() -> CUresult) -> Result<CUresult> {
        let mut code = request();
        for remedy in REMEDIES {
            if code != CUresult::CUDA_ERROR_OUT_OF_MEMORY {
                break;
            }
            if let Some(search) = remedy {
                // Only matrices that outlive a call can be garbage.
                if held(self.place()).1 == 0 {
                    break;
                }
                relieve(search);
            }
            self.trim()?;
            code = request();
        }
        Ok(code)
    }
}

/// One request, for an address at `ptr`.
fn allocate(ctx: &Context, bytes: usize, beside: bool, ptr: &mut u64) -> CUresult {
    #[cfg(any(test, feature = "testing"))]
    if ctx.allocated.load(Ordering::Relaxed) + bytes as u64 > super::belief::most_memory() {
        return CUresult::CUDA_ERROR_OUT_OF_MEMORY;
    }
    // SAFETY: the context is current; the pool, where there is one, belongs to its device.
    unsafe {
        if ctx.pool.handle.is_null() {
            sys::cuMemAlloc_v2(ptr, bytes)
        } else {
            sys::cuMemAllocFromPoolAsync(ptr, bytes, ctx.pool.handle, ctx.stream_of(beside))
        }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if self.ptr == 0 {
            return;
        }
        let bytes = self.bytes as u64;
        let before = self.ctx.allocated.fetch_sub(bytes, Ordering::Relaxed);
        // Garbage of one GPU may be collected in the middle of a call to another. An error means a
        // forked child's copy, or a GPU that has failed: then there is nothing to free.
        let _ = self.ctx.visit(|| {
            self.ctx.pool.in_use(before, before - bytes);
            // SAFETY: allocated by the same means; work queued before in its stream uses it first,
            // since a stream runs in order, and cuMemFree waits for the device.
            let _ = unsafe {
                if self.ctx.pool.handle.is_null() {
                    sys::cuMemFree_v2(self.ptr)
                } else {
                    sys::cuMemFreeAsync(self.ptr, self.ctx.stream_of(self.beside))
                }
            };
        });
    }
}

/// Turns the error of too little device memory into None.
pub(crate) fn where_there_is_room<R>(result: Result<R>) -> Result<Option<R>> {
    match result {
        Ok(r) => Ok(Some(r)),
        Err(Error::DeviceMemory { .. }) => Ok(None),
        Err(e) => Err(e),
    }
}

/// Types whose every bit pattern is a value.
pub(crate) trait PlainData: Copy {}
impl<T: Scalar> PlainData for T {}
impl PlainData for i32 {}
impl PlainData for u64 {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_lack_of_memory_is_no_error() {
        let full = Error::DeviceMemory {
            needed: 2,
            free: 1,
            total: 1,
            held: 0,
            objects: 0,
            device: 0,
        };
        assert_eq!(where_there_is_room(Ok(7)), Ok(Some(7)));
        assert_eq!(where_there_is_room::<()>(Err(full)), Ok(None));
        let failed = where_there_is_room::<()>(Err(Error::Interrupted));
        assert_eq!(failed, Err(Error::Interrupted));
    }
}
