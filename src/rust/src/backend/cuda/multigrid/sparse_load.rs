//! The way of a sparse symmetric matrix to the device, which checks it and makes the triangle that
//! is not stored (`kernels/multigrid/sparse_load.cu`).

use faer::MatRef;

use crate::backend::cuda::driver::buffer::Buffer;
use crate::backend::cuda::driver::context::Context;
use crate::backend::cuda::driver::kernels::{args, Family, Kernel};
use crate::backend::cuda::elementwise::vectors::THREADS;
use crate::backend::cuda::matrix::views::blocks_for;
use crate::backend::cuda::multigrid::csr::{whole, DeviceCsr, LONG};
use crate::backend::cuda::transfer::matrix::upload;
use crate::base::error::{Error, Result};
use crate::base::matrix::Part;
use crate::base::scalar::Scalar;
use crate::base::sparse::symmetric::Stored;
use crate::base::sparse::view::wrong;
use crate::device::sparse::Columns;

const SCAN_PARTS: Kernel = Kernel::untyped(Family::SparseLoad, "scan_parts_plain");
const SCAN_TOTALS: Kernel = Kernel::untyped(Family::SparseLoad, "scan_totals_plain");
const SCAN_ADD: Kernel = Kernel::untyped(Family::SparseLoad, "scan_add_plain");
const CHECK: Kernel = Kernel::untyped(Family::SparseLoad, "sparse_check_plain");
const SYMMETRIC: Kernel = Kernel::untyped(Family::SparseLoad, "sparse_symmetric_plain");
const LENGTHS: Kernel = Kernel::untyped(Family::SparseLoad, "sparse_lengths_plain");
const ADD: Kernel = Kernel::untyped(Family::SparseLoad, "sparse_add_plain");
const FILL: Kernel = Kernel::untyped(Family::SparseLoad, "sparse_fill_plain");
const ORDER: Kernel = Kernel::untyped(Family::SparseLoad, "sparse_order_plain");
const SCALED: Kernel = Kernel::untyped(Family::SparseLoad, "sparse_scaled_plain");
const DIAGONALS: Kernel = Kernel::untyped(Family::SparseLoad, "sparse_diagonals_plain");

/// Faults, as the kernels note them.
const BROKEN: i32 = 1;
const NOT_FINITE: i32 = 2;
const NOT_SYMMETRIC: i32 = 4;

/// Numbers that a block of a scan has.
const SCANNED: usize = 2048;

/// Entries that kernels number in 31 bits, with what they have at once beyond.
const MOST: usize = i32::MAX as usize - 4096;

fn too_large() -> Error {
    wrong("has too many entries for the GPU")
}

/// Blocks of warps, each with a column.
fn blocks_of_warps(count: usize) -> usize {
    blocks_for(count.saturating_mul(32))
}

/// `out[i]` becomes the sum of the first i of `count` numbers, for i up to `count`; the sum of all.
pub(super) fn scan(ctx: &'static Context, count: usize, x: &Buffer, out: &Buffer) -> Result<usize> {
    let blocks = count.div_ceil(SCANNED);
    if blocks == 0 {
        out.clear(size_of::<i32>())?;
        return Ok(0);
    }
    let totals = Buffer::of::<i32>(ctx, blocks + 1)?;
    let (x, to) = (x.ptr, out.ptr);
    ctx.launch::<f64>(
        SCAN_PARTS,
        blocks,
        1,
        THREADS,
        &args![count, x, to, totals.ptr],
    )?;
    ctx.launch::<f64>(SCAN_TOTALS, 1, 1, 1024, &args![blocks as i32, totals.ptr])?;
    ctx.launch::<f64>(SCAN_ADD, blocks, 1, THREADS, &args![count, totals.ptr, to])?;
    let mut sums = vec![0; blocks + 1];
    totals.to_slice(&mut sums)?;
    usize::try_from(sums[blocks]).map_err(|_| too_large())
}

/// Bits of the host on the device, by the way of matrices, which is a fast one.
fn send<T: Scalar>(ctx: &'static Context, values: &[T]) -> Result<Buffer> {
    let to = Buffer::of::<T>(ctx, values.len())?;
    let x = MatRef::from_column_major_slice(values, values.len(), 1);
    upload(ctx, x, Part::All, to.ptr)?;
    Ok(to)
}

fn send_whole(ctx: &'static Context, values: &[i32]) -> Result<Buffer> {
    send::<f32>(ctx, pulp::bytemuck::cast_slice(values))
}

/// The matrix with its diagonals.
pub(crate) fn finish(
    ctx: &'static Context,
    (n, entries): (usize, usize),
    [starts, index, values]: [Buffer; 3],
) -> Result<DeviceCsr> {
    let mut a = DeviceCsr {
        n,
        entries,
        starts,
        index,
        values,
        own: Buffer::of::<f64>(ctx, n)?,
        diagonal: Buffer::of::<f64>(ctx, n)?,
        long: 0,
        long_rows: Buffer::of::<i32>(ctx, 1 + entries / LONG)?,
    };
    a.long_rows.clear(size_of::<i32>())?;
    let lanes = a.few_lanes();
    ctx.launch::<f64>(
        DIAGONALS,
        (n * lanes).div_ceil(THREADS as usize),
        1,
        THREADS,
        &args![
            lanes as i32,
            n,
            a.starts.ptr,
            a.index.ptr,
            a.values.ptr,
            a.own.ptr,
            a.diagonal.ptr,
            LONG as i32,
            a.long_rows.ptr
        ],
    )?;
    if entries > LONG {
        a.long = whole(&a.long_rows, 1)?[0] as usize;
    }
    Ok(a)
}

/// `diag(by) A diag(by)`, for the address of as many numbers as A has rows.
pub(crate) fn scaled(ctx: &'static Context, a: &DeviceCsr, by: u64) -> Result<DeviceCsr> {
    let made = [
        Buffer::of::<i32>(ctx, a.n + 1)?,
        Buffer::of::<i32>(ctx, a.entries)?,
        Buffer::of::<f64>(ctx, a.entries)?,
    ];
    let [starts, index, values] = [&a.starts, &a.index, &a.values].map(|b| b.ptr);
    let [to_starts, to_index, to_values] = made.each_ref().map(|b| b.ptr);
    let lanes = a.few_lanes();
    let args = args![
        lanes as i32,
        a.n,
        starts,
        index,
        values,
        by,
        to_starts,
        to_index,
        to_values
    ];
    let blocks = (a.n * lanes).div_ceil(THREADS as usize);
    ctx.launch::<f64>(SCALED, blocks, 1, THREADS, &args)?;
    finish(ctx, (a.n, a.entries), made)
}

pub(crate) fn load(ctx: &'static Context, a: Columns<'_>) -> Result<DeviceCsr> {
    let (n, entries) = (a.starts.len().saturating_sub(1), a.index.len());
    a.view().check_starts()?;
    let most = if a.stored == Stored::All {
        MOST
    } else {
        MOST / 2
    };
    if entries > most || n > MOST {
        return Err(too_large());
    }
    let parts = [
        send_whole(ctx, a.starts)?,
        send_whole(ctx, a.index)?,
        send(ctx, a.values)?,
    ];
    let [starts, index, values] = [0, 1, 2].map(|k: usize| parts[k].ptr);
    let stored: i32 = match a.stored {
        Stored::All => 0,
        Stored::Lower => 1,
        Stored::Upper => 2,
    };
    let faults = Buffer::zeroed::<i32>(ctx, 1)?;
    let found = || -> Result<i32> {
        let mut all = [0];
        faults.to_slice(&mut all)?;
        Ok(all[0])
    };
    ctx.launch::<f64>(
        CHECK,
        blocks_of_warps(n),
        1,
        THREADS,
        &args![n, stored, starts, index, values, faults.ptr],
    )?;
    let seen = found()?;
    if seen & BROKEN != 0 {
        return Err(wrong("has rows that are out of order or range"));
    }
    if seen & NOT_FINITE != 0 {
        return Err(Error::NonFiniteIn { argument: "A" });
    }
    if a.stored != Stored::All {
        return mirror(ctx, n, stored, &parts);
    }
    ctx.launch::<f64>(
        SYMMETRIC,
        blocks_of_warps(n),
        1,
        THREADS,
        &args![n, starts, index, values, faults.ptr],
    )?;
    if found()? & NOT_SYMMETRIC != 0 {
        return Err(Error::NotSymmetric { argument: "A" });
    }
    finish(ctx, (n, entries), parts)
}

/// All entries from those of a triangle.
fn mirror(ctx: &'static Context, n: usize, stored: i32, parts: &[Buffer; 3]) -> Result<DeviceCsr> {
    let [starts, index, values] = [0, 1, 2].map(|k: usize| parts[k].ptr);
    let own = Buffer::of::<i32>(ctx, n)?;
    let mirrored = Buffer::zeroed::<i32>(ctx, n)?;
    ctx.launch::<f64>(
        LENGTHS,
        blocks_of_warps(n),
        1,
        THREADS,
        &args![n, stored, starts, index, own.ptr, mirrored.ptr],
    )?;
    let taken = Buffer::of::<i32>(ctx, n)?;
    ctx.launch::<f64>(
        ADD,
        blocks_for(n),
        1,
        THREADS,
        &args![n, own.ptr, mirrored.ptr, taken.ptr],
    )?;
    let to = Buffer::of::<i32>(ctx, n + 1)?;
    let all = scan(ctx, n, &taken, &to)?;
    taken.clear(n * size_of::<i32>())?;
    let made = || -> Result<_> { Ok((Buffer::of::<i32>(ctx, all)?, Buffer::of::<f64>(ctx, all)?)) };
    let ((out_index, out_values), drawn) = (made()?, made()?);
    ctx.launch::<f64>(
        FILL,
        blocks_of_warps(n),
        1,
        THREADS,
        &args![
            n,
            stored,
            starts,
            index,
            values,
            own.ptr,
            mirrored.ptr,
            to.ptr,
            taken.ptr,
            drawn.0.ptr,
            drawn.1.ptr,
            out_index.ptr,
            out_values.ptr
        ],
    )?;
    ctx.launch::<f64>(
        ORDER,
        blocks_for(all),
        1,
        THREADS,
        &args![
            n,
            all,
            stored,
            own.ptr,
            mirrored.ptr,
            to.ptr,
            drawn.0.ptr,
            drawn.1.ptr,
            out_index.ptr,
            out_values.ptr
        ],
    )?;
    finish(ctx, (n, all), [to, out_index, out_values])
}
