//! Device memory: owned buffers, strided views of them, and matrices with a home on the host.

use std::marker::PhantomData;
use std::mem::size_of;

use cudarc::driver::sys::{self, CUresult};
use faer::{MatMut, MatRef};

use super::context::Context;
use super::kernels::{args, Family, Kernel};
use super::transfer::{download, upload};
use crate::error::{Error, Result};
use crate::matrix::Part;
use crate::scalar::Scalar;

const TRIANGLE_KEEP: Kernel = Kernel::new(Family::Triangular, "triangle_keep_plain");
const IDENTITY: Kernel = Kernel::new(Family::Triangular, "identity_set_plain");
const COPY: Kernel = Kernel::new(Family::Norms, "matrix_copy_plain");

/// Owned device memory; address 0 when empty.
pub(super) struct Buffer {
    ctx: &'static Context,
    pub ptr: u64,
}

impl Buffer {
    pub(super) fn new(ctx: &'static Context, bytes: usize) -> Result<Buffer> {
        ctx.bind()?;
        if bytes == 0 {
            return Ok(Buffer { ctx, ptr: 0 });
        }
        let mut code = CUresult::CUDA_SUCCESS;
        for attempt in 0..2 {
            let mut ptr = 0;
            // SAFETY: the context is current; the pool, where there is one, belongs to its device.
            code = unsafe {
                if ctx.pool.is_null() {
                    sys::cuMemAlloc_v2(&mut ptr, bytes)
                } else {
                    sys::cuMemAllocFromPoolAsync(&mut ptr, bytes, ctx.pool, ctx.stream)
                }
            };
            if code == CUresult::CUDA_SUCCESS {
                return Ok(Buffer { ctx, ptr });
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
        Ok(Buffer { ctx, ptr: 0 })
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
        if bytes == 0 {
            return Ok(());
        }
        self.ctx.bind()?;
        // SAFETY: the buffer has that many bytes.
        let code = unsafe { sys::cuMemsetD8Async(self.ptr, 0, bytes, self.ctx.stream) };
        self.ctx.check(code, "cuMemsetD8Async")
    }

    /// A copy of host values. `U` is plain data.
    pub(super) fn from_slice<U: Plain>(ctx: &'static Context, values: &[U]) -> Result<Buffer> {
        let b = Buffer::of::<U>(ctx, values.len())?;
        if !values.is_empty() {
            let bytes = std::mem::size_of_val(values);
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
        // SAFETY: allocated by the same means; work queued before uses it first, since one stream runs in order
        // and cuMemFree waits for the device.
        let _ = unsafe {
            if self.ctx.pool.is_null() {
                sys::cuMemFree_v2(self.ptr)
            } else {
                sys::cuMemFreeAsync(self.ptr, self.ctx.stream)
            }
        };
    }
}

/// Types whose every bit pattern is a value.
pub(super) trait Plain: Copy {}
impl<T: Scalar> Plain for T {}
impl Plain for i32 {}

/// A part of device memory as a matrix: element (i, j) is `i * rs + j * cs` elements from `ptr`.
#[derive(Clone, Copy)]
pub(super) struct View<T> {
    pub ptr: u64,
    pub rows: usize,
    pub cols: usize,
    pub rs: i64,
    pub cs: i64,
    element: PhantomData<T>,
}

impl<T: Scalar> View<T> {
    /// Column-major, `ld` elements from column to column.
    pub(super) fn new(ptr: u64, rows: usize, cols: usize, ld: usize) -> Self {
        View {
            ptr,
            rows,
            cols,
            rs: 1,
            cs: ld as i64,
            element: PhantomData,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows == 0 || self.cols == 0
    }

    /// The transpose.
    pub(super) fn t(self) -> Self {
        View {
            rows: self.cols,
            cols: self.rows,
            rs: self.cs,
            cs: self.rs,
            ..self
        }
    }

    /// Rows `r..r + rows` and columns `c..c + cols`, which must exist.
    pub(super) fn sub(self, r: usize, c: usize, rows: usize, cols: usize) -> Self {
        View {
            ptr: self.address(r, c),
            rows,
            cols,
            ..self
        }
    }

    /// The rows in reverse order.
    pub(super) fn rows_reversed(self) -> Self {
        View {
            ptr: self.address(self.rows.saturating_sub(1), 0),
            rs: -self.rs,
            ..self
        }
    }

    /// Rows and columns in reverse order: an upper triangle becomes a lower one.
    pub(super) fn reversed(self) -> Self {
        self.rows_reversed().t().rows_reversed().t()
    }

    pub(super) fn address(&self, r: usize, c: usize) -> u64 {
        let offset = (r as i64 * self.rs + c as i64 * self.cs) * size_of::<T>() as i64;
        self.ptr.wrapping_add_signed(offset)
    }

    /// Elements from column to column of a column-major view.
    pub(super) fn ld(&self) -> i64 {
        self.cs
    }
}

/// A matrix on the device, and where its contents end.
pub struct Matrix<'a, T> {
    buffer: Buffer,
    rows: usize,
    cols: usize,
    home: Option<MatMut<'a, T>>,
}

impl<'a, T: Scalar> Matrix<'a, T> {
    /// Undefined contents.
    pub(super) fn new(ctx: &'static Context, rows: usize, cols: usize) -> Result<Self> {
        Ok(Matrix {
            buffer: Buffer::of::<T>(ctx, rows.saturating_mul(cols))?,
            rows,
            cols,
            home: None,
        })
    }

    pub(super) fn zeros(ctx: &'static Context, rows: usize, cols: usize) -> Result<Self> {
        let a = Matrix::new(ctx, rows, cols)?;
        a.buffer.clear(rows * cols * size_of::<T>())?;
        Ok(a)
    }

    /// A copy of host data.
    pub(super) fn from_host(ctx: &'static Context, a: MatRef<'_, T>, part: Part) -> Result<Self> {
        let to = Matrix::new(ctx, a.nrows(), a.ncols())?;
        to.refill(ctx, a, part)?;
        Ok(to)
    }

    /// Overwrites with `part` of host data of the same shape, zero elsewhere.
    pub(super) fn refill(&self, ctx: &'static Context, a: MatRef<'_, T>, part: Part) -> Result<()> {
        if (a.nrows(), a.ncols()) != (self.rows, self.cols) {
            return Err(Error::Dimension {
                what: "a matrix is refilled from one of another shape".to_string(),
            });
        }
        ctx.bind()?;
        upload(ctx, a, self.buffer.ptr)?;
        if part == Part::All {
            return Ok(());
        }
        let lower = i32::from(part == Part::Lower);
        ctx.launch::<T>(
            TRIANGLE_KEEP,
            blocks_for(self.rows * self.cols),
            1,
            256,
            &args![self.rows, self.cols, lower, self.buffer.ptr, self.rows],
        )
    }

    pub(super) fn set_identity(&self, ctx: &'static Context) -> Result<()> {
        ctx.launch::<T>(
            IDENTITY,
            blocks_for(self.rows * self.cols),
            1,
            256,
            &args![self.rows, self.cols, self.buffer.ptr, self.rows],
        )
    }

    pub(super) fn with_home(self, home: MatMut<'a, T>) -> Result<Self> {
        if (home.nrows(), home.ncols()) != (self.rows, self.cols) {
            return Err(Error::Dimension {
                what: "a matrix and the place of its result have different shapes".to_string(),
            });
        }
        Ok(Matrix {
            home: Some(home),
            ..self
        })
    }

    pub(super) fn shape(&self) -> (usize, usize) {
        (self.rows, self.cols)
    }

    pub(super) fn view(&self) -> View<T> {
        View::new(self.buffer.ptr, self.rows, self.cols, self.rows)
    }

    /// Brings the contents home, if there is one, and waits.
    pub(super) fn store(self, ctx: &'static Context) -> Result<()> {
        let Matrix { buffer, home, .. } = self;
        match home {
            Some(home) => download(ctx, buffer.ptr, home),
            None => ctx.wait(),
        }
    }

    pub(super) fn read(&self, ctx: &'static Context, out: MatMut<'_, T>) -> Result<()> {
        if (out.nrows(), out.ncols()) != (self.rows, self.cols) {
            return Err(Error::Dimension {
                what: "a matrix is read into one of another shape".to_string(),
            });
        }
        download(ctx, self.buffer.ptr, out)
    }
}

/// Blocks of 256 threads for `count` independent elements, each thread striding over the rest.
pub(super) fn blocks_for(count: usize) -> usize {
    count.div_ceil(256).min(1 << 16)
}

/// `to <- from`, column-major views of one shape.
pub(super) fn copy<T: Scalar>(ctx: &'static Context, from: View<T>, to: View<T>) -> Result<()> {
    let count = from.rows * from.cols;
    ctx.launch::<T>(
        COPY,
        blocks_for(count),
        1,
        256,
        &args![from.rows, from.cols, from.ptr, from.ld(), to.ptr, to.ld()],
    )
}
