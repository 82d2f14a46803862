//! The way of a matrix to and from the host, whose columns may lie apart.

use std::ffi::c_void;
use std::mem::size_of;
use std::ptr::null_mut;

use cudarc::driver::sys;
use faer::{MatMut, MatRef};

use super::context::Context;
use crate::error::Result;
use crate::interrupt;
use crate::scalar::{try_zeroed, Scalar};

/// Bytes copied between two looks at the user's wish to stop.
const CHUNK: usize = 256 << 20;

/// Columns shorter than this are gathered on the host when they are not adjacent: a pitched copy pays per column.
const SHORT_COLUMN: usize = 4096;

/// How a host matrix can travel.
enum Layout {
    Empty,
    /// One run of memory.
    Contiguous,
    /// Contiguous columns, this many elements apart.
    Pitched(usize),
    Scattered,
}

fn layout<T>(rows: usize, cols: usize, rs: isize, cs: isize) -> Layout {
    if rows == 0 || cols == 0 {
        return Layout::Empty;
    }
    let columns = rows == 1 || rs == 1;
    if columns && (cols == 1 || cs == rows as isize) {
        Layout::Contiguous
    } else if columns && cs > rows as isize && rows * size_of::<T>() >= SHORT_COLUMN {
        Layout::Pitched(cs as usize)
    } else {
        Layout::Scattered
    }
}

/// Copies `a` to the contiguous device matrix at `to`, and waits.
pub(super) fn upload<T: Scalar>(ctx: &'static Context, a: MatRef<'_, T>, to: u64) -> Result<()> {
    let (rows, cols) = (a.nrows(), a.ncols());
    match layout::<T>(rows, cols, a.row_stride(), a.col_stride()) {
        Layout::Empty => return Ok(()),
        Layout::Contiguous => {
            let bytes = rows * cols * size_of::<T>();
            let from = a.as_ptr().cast::<u8>();
            for start in (0..bytes).step_by(CHUNK) {
                let len = CHUNK.min(bytes - start);
                // SAFETY: `start + len <= bytes`, the size of the matrix on both sides.
                let code = unsafe {
                    sys::cuMemcpyHtoDAsync_v2(
                        to + start as u64,
                        from.add(start).cast(),
                        len,
                        ctx.stream,
                    )
                };
                ctx.or_drain(ctx.check(code, "cuMemcpyHtoD"))?;
                ctx.or_drain(interrupt::poll())?;
            }
        }
        Layout::Pitched(pitch) => {
            let host = a.as_ptr() as *mut T;
            pitched(ctx, host, pitch, to, rows, cols, true)?;
        }
        Layout::Scattered => {
            let mut copy = try_zeroed::<T>(rows * cols)?;
            for (j, column) in copy.chunks_exact_mut(rows).enumerate() {
                for (i, x) in column.iter_mut().enumerate() {
                    *x = *a.get(i, j);
                }
            }
            return upload(ctx, MatRef::from_column_major_slice(&copy, rows, cols), to);
        }
    }
    ctx.wait()
}

/// Copies the contiguous device matrix at `from` to `out`, and waits.
pub(super) fn download<T: Scalar>(
    ctx: &'static Context,
    from: u64,
    mut out: MatMut<'_, T>,
) -> Result<()> {
    ctx.wait()?;
    let (rows, cols) = (out.nrows(), out.ncols());
    match layout::<T>(rows, cols, out.row_stride(), out.col_stride()) {
        Layout::Empty => return Ok(()),
        Layout::Contiguous => {
            let bytes = rows * cols * size_of::<T>();
            let to = out.as_ptr_mut().cast::<u8>();
            for start in (0..bytes).step_by(CHUNK) {
                let len = CHUNK.min(bytes - start);
                // SAFETY: `start + len <= bytes`, the size of the matrix on both sides.
                let code = unsafe {
                    sys::cuMemcpyDtoHAsync_v2(
                        to.add(start).cast(),
                        from + start as u64,
                        len,
                        ctx.stream,
                    )
                };
                ctx.or_drain(ctx.check(code, "cuMemcpyDtoH"))?;
                ctx.or_drain(interrupt::poll())?;
            }
        }
        Layout::Pitched(pitch) => pitched(ctx, out.as_ptr_mut(), pitch, from, rows, cols, false)?,
        Layout::Scattered => {
            let mut copy = try_zeroed::<T>(rows * cols)?;
            download(
                ctx,
                from,
                MatMut::from_column_major_slice_mut(&mut copy, rows, cols),
            )?;
            for (j, column) in copy.chunks_exact(rows).enumerate() {
                for (i, x) in column.iter().enumerate() {
                    out[(i, j)] = *x;
                }
            }
            return Ok(());
        }
    }
    ctx.wait()
}

/// Copies between host columns `pitch` elements apart and a contiguous device matrix, some columns at a time.
fn pitched<T: Scalar>(
    ctx: &'static Context,
    host: *mut T,
    pitch: usize,
    device: u64,
    rows: usize,
    cols: usize,
    to_device: bool,
) -> Result<()> {
    let size = size_of::<T>();
    let width = rows * size;
    // A pitched copy takes pitches below 2^31 bytes; longer columns go one by one, for which pitch does not matter.
    let step = if pitch * size >= i32::MAX as usize {
        1
    } else {
        (CHUNK / width).max(1)
    };
    for first in (0..cols).step_by(step) {
        let count = step.min(cols - first);
        let host_pitch = if count == 1 { width } else { pitch * size };
        // SAFETY: column `first` exists.
        let at = unsafe { host.add(first * pitch) }.cast::<c_void>();
        let device_at = device + (first * width) as u64;
        let copy = if to_device {
            copy_2d(
                (at, 0),
                host_pitch,
                (null_mut(), device_at),
                width,
                width,
                count,
            )
        } else {
            copy_2d(
                (null_mut(), device_at),
                width,
                (at, 0),
                host_pitch,
                width,
                count,
            )
        };
        // SAFETY: `count` columns from `first` exist on both sides, which the caller keeps until its wait.
        let code = unsafe { sys::cuMemcpy2DAsync_v2(&copy, ctx.stream) };
        ctx.or_drain(ctx.check(code, "cuMemcpy2D"))?;
        ctx.or_drain(interrupt::poll())?;
    }
    Ok(())
}

/// A pitched copy between a host address and a device address; each end has one of the two.
fn copy_2d(
    from: (*mut c_void, u64),
    from_pitch: usize,
    to: (*mut c_void, u64),
    to_pitch: usize,
    width: usize,
    height: usize,
) -> sys::CUDA_MEMCPY2D {
    let kind = |device: u64| {
        if device == 0 {
            sys::CUmemorytype::CU_MEMORYTYPE_HOST
        } else {
            sys::CUmemorytype::CU_MEMORYTYPE_DEVICE
        }
    };
    sys::CUDA_MEMCPY2D {
        srcXInBytes: 0,
        srcY: 0,
        srcMemoryType: kind(from.1),
        srcHost: from.0,
        srcDevice: from.1,
        srcArray: null_mut(),
        srcPitch: from_pitch,
        dstXInBytes: 0,
        dstY: 0,
        dstMemoryType: kind(to.1),
        dstHost: to.0,
        dstDevice: to.1,
        dstArray: null_mut(),
        dstPitch: to_pitch,
        WidthInBytes: width,
        Height: height,
    }
}
