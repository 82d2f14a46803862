//! Device memory: owned buffers.

use std::mem::size_of;

use cudarc::driver::sys::{self, CUresult};

use super::context::Context;
use super::transfer::count;
use crate::error::{Error, Result};
use crate::scalar::Scalar;

/// Owned device memory; address 0 when empty. It belongs to the stream that kernels went to when it was made.
pub(super) struct Buffer {
    ctx: &'static Context,
    pub ptr: u64,
    beside: bool,
}

impl Buffer {
    pub(super) fn new(ctx: &'static Context, bytes: usize) -> Result<Buffer> {
        ctx.bind()?;
        let beside = ctx.is_beside();
        if bytes == 0 {
            return Ok(Buffer {
                ctx,
                ptr: 0,
                beside,
            });
        }
        let mut code = CUresult::CUDA_SUCCESS;
        for attempt in 0..2 {
            let mut ptr = 0;
            // SAFETY: the context is current; the pool, where there is one, belongs to its device.
            code = unsafe {
                if ctx.pool.is_null() {
                    sys::cuMemAlloc_v2(&mut ptr, bytes)
                } else {
                    sys::cuMemAllocFromPoolAsync(&mut ptr, bytes, ctx.pool, ctx.stream_of(beside))
                }
            };
            if code == CUresult::CUDA_SUCCESS {
                return Ok(Buffer { ctx, ptr, beside });
            }
            if code != CUresult::CUDA_ERROR_OUT_OF_MEMORY {
                break;
            }
            if attempt == 0 && !ctx.pool.is_null() {
                ctx.wait()?;
                // SAFETY: the pool is ours and its freed memory is no longer in use.
                let _ = unsafe { sys::cuMemPoolTrimTo(ctx.pool, 0) };
            }
        }
        if code == CUresult::CUDA_ERROR_OUT_OF_MEMORY {
            let (free, total) = ctx.memory()?;
            return Err(Error::DeviceMemory {
                needed: bytes as u64,
                free,
                total,
                device: ctx.ordinal,
            });
        }
        ctx.check(code, "cuMemAlloc")?;
        Ok(Buffer {
            ctx,
            ptr: 0,
            beside,
        })
    }

    /// Room for `count` elements of `U`.
    pub(super) fn of<U>(ctx: &'static Context, count: usize) -> Result<Buffer> {
        match count.checked_mul(size_of::<U>()) {
            Some(bytes) if bytes <= isize::MAX as usize => Buffer::new(ctx, bytes),
            _ => {
                let (free, total) = ctx.memory()?;
                Err(Error::DeviceMemory {
                    needed: u64::MAX,
                    free,
                    total,
                    device: ctx.ordinal,
                })
            }
        }
    }

    /// As [`Buffer::of`], all bytes zero.
    pub(super) fn zeroed<U>(ctx: &'static Context, count: usize) -> Result<Buffer> {
        let b = Buffer::of::<U>(ctx, count)?;
        b.clear(count * size_of::<U>())?;
        Ok(b)
    }

    /// Zeroes the first `bytes` bytes, which must exist.
    pub(super) fn clear(&self, bytes: usize) -> Result<()> {
        self.fill(0, bytes)
    }

    /// Sets each of the first `bytes` bytes, which must exist, to `value`.
    pub(super) fn fill(&self, value: u8, bytes: usize) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        self.ctx.bind()?;
        // SAFETY: the buffer has that many bytes.
        let code = unsafe { sys::cuMemsetD8Async(self.ptr, value, bytes, self.ctx.stream_now()) };
        self.ctx.check(code, "cuMemsetD8Async")
    }

    /// Sets each of the first `count` words of four bytes, which must exist, to `word`.
    pub(super) fn fill_words(&self, word: u32, count: usize) -> Result<()> {
        if count == 0 {
            return Ok(());
        }
        self.ctx.bind()?;
        // SAFETY: the buffer has that many words, and its address is a multiple of their size.
        let code = unsafe { sys::cuMemsetD32Async(self.ptr, word, count, self.ctx.stream_now()) };
        self.ctx.check(code, "cuMemsetD32Async")
    }

    /// A copy of host values. `U` is plain data.
    pub(super) fn from_slice<U: Plain>(ctx: &'static Context, values: &[U]) -> Result<Buffer> {
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
    pub(super) fn to_slice<U: Plain>(&self, values: &mut [U]) -> Result<()> {
        if values.is_empty() {
            return self.ctx.wait();
        }
        self.ctx.bind()?;
        self.ctx.wait()?;
        let bytes = std::mem::size_of_val(values);
        count(0, bytes);
        // SAFETY: both sides have `bytes` bytes, any bytes are a valid `U`, and the wait outlasts the copy.
        let code = unsafe {
            sys::cuMemcpyDtoHAsync_v2(values.as_mut_ptr().cast(), self.ptr, bytes, self.ctx.stream)
        };
        self.ctx.or_drain(self.ctx.check(code, "cuMemcpyDtoH"))?;
        self.ctx.wait()
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if self.ptr == 0 || self.ctx.bind().is_err() {
            return;
        }
        // SAFETY: allocated by the same means; work queued before in its stream uses it first, since a stream runs in order, and
        // cuMemFree waits for the device.
        let stream = self.ctx.stream_of(self.beside);
        let _ = unsafe {
            if self.ctx.pool.is_null() {
                sys::cuMemFree_v2(self.ptr)
            } else {
                sys::cuMemFreeAsync(self.ptr, stream)
            }
        };
    }
}

/// Nothing where there was too little memory.
pub(super) fn where_there_is_room<R>(result: Result<R>) -> Result<Option<R>> {
    match result {
        Ok(r) => Ok(Some(r)),
        Err(Error::DeviceMemory { .. }) => Ok(None),
        Err(e) => Err(e),
    }
}

/// Types whose every bit pattern is a value.
pub(super) trait Plain: Copy {}
impl<T: Scalar> Plain for T {}
impl Plain for i32 {}
impl Plain for u64 {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_lack_of_memory_is_no_error() {
        let full = Error::DeviceMemory {
            needed: 2,
            free: 1,
            total: 1,
            device: 0,
        };
        assert_eq!(where_there_is_room(Ok(7)), Ok(Some(7)));
        assert_eq!(where_there_is_room::<()>(Err(full)), Ok(None));
        let failed = where_there_is_room::<()>(Err(Error::Interrupted));
        assert_eq!(failed, Err(Error::Interrupted));
    }
}
