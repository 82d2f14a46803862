//! Uploads and downloads whole matrices. Columns on the host need not be adjacent.

use crate::backend::cuda::transfer::host_copy::pages_of;
use std::mem::size_of;

use cudarc::driver::sys;
use faer::{MatMut, MatRef};

use super::copy_engine::CopyEngine;
use super::host_copy::{gather, scatter};
use crate::backend::cuda::driver::chunks::{cut, HostDevicePair};
use crate::backend::cuda::driver::context::{try_lock, Context};
use crate::backend::cuda::driver::staging::{workers, Slot, Staging, SLOTS};
use crate::backend::cuda::driver::traffic::count;
use crate::backend::cuda::transfer::stage::Stage;
use crate::base::error::{Error, Result};
use crate::base::interrupt;
use crate::base::matrix::Part;
use crate::base::scalar::{try_zeroed, Scalar};

/// Fewer bytes than this are copied by the caller's thread: waking others takes longer.
const SMALL: usize = 3 << 19;
/// Size of a chunk of such a copy: the bus transfers one while the next is copied.
const PIECE: usize = 256 << 10;
/// Matrices with gaps between columns are copied column by column from this many bytes on.
const WORTH: usize = 256 << 10;

/// Whether columns can be copied one by one: rows are adjacent, and columns do not run backwards.
fn pitch_of(rows: usize, cols: usize, rs: isize, cs: isize) -> Option<usize> {
    let adjacent = rows == 1 || rs == 1;
    match cols {
        1 if adjacent => Some(rows),
        _ if adjacent && cs >= rows as isize => Some(cs as usize),
        _ => None,
    }
}

/// A matrix to be read and its copy on the device.
pub(crate) fn source<T: Scalar>(a: MatRef<'_, T>, device: u64) -> Option<HostDevicePair<T>> {
    let (rows, cols) = (a.nrows(), a.ncols());
    Some(HostDevicePair {
        host: a.as_ptr() as *mut T,
        pitch: pitch_of(rows, cols, a.row_stride(), a.col_stride())?,
        device,
        rows,
        cols,
        left: 0,
    })
}

/// A matrix to be written, and the matrix on the device that it will hold.
pub(crate) fn sink<T: Scalar>(out: &mut MatMut<'_, T>, device: u64) -> Option<HostDevicePair<T>> {
    let (rows, cols) = (out.nrows(), out.ncols());
    Some(HostDevicePair {
        host: out.as_ptr_mut(),
        pitch: pitch_of(rows, cols, out.row_stride(), out.col_stride())?,
        device,
        rows,
        cols,
        left: 0,
    })
}

/// Whether copies of columns are faster than one of the whole. They are not for many short columns.
fn worth_it<T: Scalar>(pair: &HostDevicePair<T>) -> bool {
    pair.pitch == pair.rows || pair.cols == 1 || pair.bytes(Part::All) >= WORTH
}

/// Staging memory for one transfer of `bytes` bytes, the number of threads, and the bytes of a
/// slot. The memory is allocated at first use. None if there are no threads, if too little memory
/// can be pinned, or if another transfer holds it. This call may be part of that transfer, since R
/// code can run while it waits. The driver then copies without staging, slowly.
pub(crate) fn stage(ctx: &'static Context, bytes: usize) -> Result<Option<(Stage, usize, usize)>> {
    let workers = workers();
    let Some(mut staging) = try_lock(&ctx.staging) else {
        return Ok(None);
    };
    if workers == 0 {
        return Ok(None);
    }
    if !staging.as_ref().is_some_and(|s| s.suits(bytes, workers)) {
        match Staging::new(ctx, bytes, workers) {
            Ok(made) => *staging = Some(made),
            // Too little memory can be pinned, unless the GPU has failed.
            Err(Error::DeviceFailed { .. }) => ctx.bind()?,
            Err(e) => return Err(e),
        }
    }
    let slot = staging.as_ref().map(|s| s.slot);
    Ok(slot.map(|slot| (staging, workers, slot)))
}

/// Copies `part` of `a` to the contiguous device matrix at `to`, and perhaps some of the rest. When
/// this returns `a` has been read; work queued in the stream next comes after the copy.
pub(crate) fn upload<T: Scalar>(
    ctx: &'static Context,
    a: MatRef<'_, T>,
    part: Part,
    to: u64,
) -> Result<()> {
    let (rows, cols) = (a.nrows(), a.ncols());
    if rows == 0 || cols == 0 {
        return Ok(());
    }
    let Some(pair) = source(a, to).filter(worth_it) else {
        let mut copy = try_zeroed::<T>(rows * cols)?;
        for (j, column) in copy.chunks_exact_mut(rows).enumerate() {
            for (i, x) in column.iter_mut().enumerate() {
                *x = *a.get(i, j);
            }
        }
        return upload(
            ctx,
            MatRef::from_column_major_slice(&copy, rows, cols),
            part,
            to,
        );
    };
    let bytes = pair.bytes(part);
    count(bytes, 0);
    let Some((mut staging, workers, slot)) = stage(ctx, bytes)? else {
        return direct(ctx, pair, true);
    };
    if bytes < SMALL {
        return ctx.or_drain(send_alone(ctx, &mut staging, pair));
    }
    let (piece, threads) = cut(bytes, workers, slot);
    let pieces = pair.pieces(part, piece);
    ctx.order_up()?;
    let flow = CopyEngine::new(ctx, vec![pieces], Vec::new(), threads, None);
    // SAFETY: `a` is borrowed and the device's matrix has its shape.
    unsafe { flow.run(&mut staging, |_| Ok(())) }?;
    ctx.or_drain(ctx.join_up())
}

/// Copies `part` of the contiguous device matrix at `from` to `out`, zeros to the rest, and waits.
pub(crate) fn download<T: Scalar>(
    ctx: &'static Context,
    from: u64,
    part: Part,
    mut out: MatMut<'_, T>,
) -> Result<()> {
    let (rows, cols) = (out.nrows(), out.ncols());
    if rows == 0 || cols == 0 {
        return ctx.wait();
    }
    let Some(pair) = sink(&mut out, from).filter(worth_it) else {
        let mut copy = try_zeroed::<T>(rows * cols)?;
        let view = MatMut::from_column_major_slice_mut(&mut copy, rows, cols);
        download(ctx, from, part, view)?;
        for (j, column) in copy.chunks_exact(rows).enumerate() {
            for (i, x) in column.iter().enumerate() {
                out[(i, j)] = *x;
            }
        }
        return Ok(());
    };
    let bytes = pair.bytes(part);
    count(0, bytes);
    let Some((mut staging, workers, slot)) = stage(ctx, bytes)? else {
        ctx.wait()?;
        direct(ctx, pair, false)?;
        return ctx.wait();
    };
    if bytes < SMALL {
        return ctx.or_drain(fetch_alone(ctx, &mut staging, pair, slot));
    }
    // SAFETY: `out` is borrowed for longer than the flow below.
    let pages = match pair.pitch == rows {
        true => unsafe { pages_of(pair.host.cast(), rows * cols * size_of::<T>()) },
        false => None,
    };
    ctx.wait()?;
    let (piece, threads) = cut(bytes, workers, slot);
    let pieces = pair.pieces(part, piece);
    let count = pieces.len();
    let flow = CopyEngine::new(ctx, Vec::new(), pieces, threads, pages);
    // SAFETY: `out` is borrowed for writing and the device's matrix has its shape.
    unsafe { flow.run(&mut staging, |flow| flow.release(count)) }
}

/// Copies a small matrix through staging memory, in the stream. It has been read when this returns.
fn send_alone<T: Scalar>(
    ctx: &'static Context,
    staging: &mut Stage,
    pair: HostDevicePair<T>,
) -> Result<()> {
    ctx.bind()?;
    let Some(lane) = staging.as_mut().and_then(|s| s.lanes.first_mut()) else {
        return direct(ctx, pair, true);
    };
    for piece in pair.pieces(Part::All, PIECE) {
        let slot = lane.next();
        if !slot.is_free(ctx)? {
            // The copy before waits for the computation, so check for interrupts.
            ctx.wait()?;
        }
        // SAFETY: the caller's matrices have the piece, which is no longer than a slot.
        unsafe {
            gather(&piece, slot.memory, false);
            slot.copy(ctx, &piece, ctx.stream, true)?;
        }
    }
    Ok(())
}

/// Copies a small matrix back after the work queued in the stream, and waits. `slot`: bytes of a
/// slot.
fn fetch_alone<T: Scalar>(
    ctx: &'static Context,
    staging: &mut Stage,
    pair: HostDevicePair<T>,
    slot: usize,
) -> Result<()> {
    ctx.bind()?;
    let Some(lane) = staging.as_mut().and_then(|s| s.lanes.first_mut()) else {
        ctx.wait()?;
        direct(ctx, pair, false)?;
        return ctx.wait();
    };
    for pieces in pair.pieces(Part::All, slot).chunks(SLOTS) {
        let slots: Vec<Slot> = pieces.iter().map(|_| lane.next()).collect();
        for (slot, piece) in slots.iter().zip(pieces) {
            // SAFETY: the caller's matrices have the piece, which is no longer than a slot. What
            // goes up is before it in the stream.
            unsafe { slot.copy(ctx, piece, ctx.stream, false) }?;
        }
        ctx.wait()?;
        for (slot, piece) in slots.iter().zip(pieces) {
            // SAFETY: as above; the slot holds the piece.
            unsafe { scatter(piece, slot.memory, false) };
        }
    }
    Ok(())
}

/// Bytes copied between two checks for interrupts.
const CHUNK: usize = 256 << 20;

/// Copies without staging memory, in the stream. An upload has read its matrix when this returns; a
/// download is complete after a wait.
fn direct<T: Scalar>(ctx: &'static Context, pair: HostDevicePair<T>, up: bool) -> Result<()> {
    for piece in pair.pieces(Part::All, CHUNK) {
        for j in 0..piece.columns {
            let host = piece.host + j * piece.pitch;
            let device = piece.device + (j * piece.device_pitch) as u64;
            // SAFETY: column j of the piece, which the caller's matrices have.
            let code = unsafe {
                if up {
                    sys::cuMemcpyHtoDAsync_v2(device, host as *const _, piece.width, ctx.stream)
                } else {
                    sys::cuMemcpyDtoHAsync_v2(host as *mut _, device, piece.width, ctx.stream)
                }
            };
            ctx.or_drain(ctx.check(code, "cuMemcpy"))?;
        }
        ctx.or_drain(interrupt::poll())?;
    }
    if up {
        ctx.wait()?;
    }
    Ok(())
}
