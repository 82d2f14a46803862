//! Eigenvalues and eigenvectors of many small symmetric matrices
//! (`kernels/spectral/eigen_batch.cu`).
//!
//! Three launches solve some of the matrices: to tridiagonal form and Q, rotations of QL, rotations
//! applied to Q. The second one is a chain of operations, so all matrices go through it together.
//!
//! Device memory for these matrices: [`WORK_BYTES`] at most, mostly rotations, for which each has
//! room for three times its entries. A matrix that needs more rotations is not solved.

use std::mem::size_of;

use crate::backend::cuda::driver::buffer::Buffer;
use crate::backend::cuda::driver::context::Context;
use crate::backend::cuda::driver::kernels::{args, scalar, Family, Kernel};
use crate::backend::cuda::matrix::views::View;
use crate::base::error::Result;
use crate::base::probe::tolerance;
use crate::base::progress;
use crate::base::scalar::{try_zeroed, Scalar};
use crate::cost::flops::eigen_flops;

const REDUCE: Kernel = kernel("batch_reduce_block");
const ITERATE: Kernel = kernel("batch_iterate_warp");
const ROTATE: Kernel = kernel("batch_rotate_block");

const fn kernel(name: &'static str) -> Kernel {
    Kernel::new(Family::EigenBatch, name)
}

/// Threads of a block, at most: a row or a column is for one of them.
const THREADS: usize = 256;
/// Matrices of a block whose rotations are found, one for each scheduler of a multiprocessor.
const WARPS: usize = 4;

/// Bytes of workspace for matrices that are solved together.
const WORK_BYTES: usize = 512 << 20;

/// So few bytes are allocated without a query of the free memory.
const FEW_BYTES: usize = 64 << 20;

/// The number of matrices of the largest order whose work takes some hundredths of a second.
const LEAST: usize = 1024;

/// Threads for one matrix while it becomes tridiagonal.
fn threads(n: usize) -> usize {
    match n {
        0..=16 => 32,
        17..=32 => 64,
        33..=64 => 128,
        _ => THREADS,
    }
}

/// Bytes of shared memory of the two kernels with a block for each matrix: `Workspace` in
/// `batch_reduce.cuh`, and that of `batch_rotate.cuh`.
fn shared_bytes<T>(n: usize) -> [usize; 2] {
    let matrix = n * (n | 1);
    let reduce = matrix + 4 * n + threads(n) + 33;
    let rotate = matrix + 7 * n + 32;
    [
        reduce * size_of::<T>(),
        rotate * size_of::<T>() + n * size_of::<i32>(),
    ]
}

/// Whether a block's shared memory holds a matrix of order n.
pub(crate) fn fits<T>(ctx: &Context, n: usize) -> bool {
    n <= THREADS && shared_bytes::<T>(n).iter().max() <= Some(&ctx.properties.shared)
}

/// Rotations that a matrix of order n may need.
fn most_rotations(n: usize) -> usize {
    3 * n * n / 2 + 8 * n
}

/// Integers that list the sweeps of one matrix: `sweeps_stride` in `batch_iterate.cuh`.
fn sweeps_stride(n: usize) -> usize {
    1 + 3 * (4 * n + 64)
}

/// Workspace for some matrices.
struct Work {
    diagonal: Buffer,
    below: Buffer,
    facts: Buffer,
    rotations: Option<Buffer>,
    sweeps: Buffer,
}

impl Work {
    fn bytes<T>(n: usize, vectors: bool) -> usize {
        let rotations = if vectors { 2 * most_rotations(n) } else { 0 };
        (3 * n + 2 + rotations) * size_of::<T>() + sweeps_stride(n) * size_of::<i32>()
    }

    fn new<T: Scalar>(
        ctx: &'static Context,
        n: usize,
        count: usize,
        vectors: bool,
    ) -> Result<Self> {
        let numbers = |each: usize| Buffer::of::<T>(ctx, each * count);
        Ok(Work {
            diagonal: numbers(n)?,
            below: numbers(n)?,
            facts: numbers(n + 2)?,
            rotations: match vectors {
                true => Some(numbers(2 * most_rotations(n))?),
                false => None,
            },
            sweeps: Buffer::of::<i32>(ctx, sweeps_stride(n) * count)?,
        })
    }
}

/// How many of `count` matrices to solve together: as many as there is room for, and as are solved
/// in some hundredths of a second.
fn together<T>(ctx: &'static Context, n: usize, count: usize, vectors: bool) -> Result<usize> {
    let each = Work::bytes::<T>(n, vectors);
    let quick = LEAST.saturating_mul((THREADS / n).pow(3).max(1));
    let wanted = count.min(quick).min(WORK_BYTES / each);
    let bytes = wanted * each;
    let room = match bytes <= FEW_BYTES {
        true => bytes,
        false => bytes.min((ctx.memory()?.0 / 4) as usize),
    };
    Ok((room / each).max(1))
}

/// Values of the matrices that stand side by side in `a`, descending, and their vectors in `z`, in
/// this order and with the signs of the rule. Entries must be of order one.
///
/// Answers the positions of matrices that are not solved, or whose answer fails its check.
pub(crate) fn solve<T: Scalar>(
    ctx: &'static Context,
    a: View<T>,
    w: &mut [T],
    z: Option<View<T>>,
) -> Result<Vec<usize>> {
    let n = a.rows;
    let count = a.cols.checked_div(n).unwrap_or(0);
    if count == 0 {
        return Ok(Vec::new());
    }
    let vectors = z.is_some();
    let step = together::<T>(ctx, n, count, vectors)?;
    let work = Work::new::<T>(ctx, n, step, vectors)?;
    let values = Buffer::of::<T>(ctx, n * count)?;
    let status = Buffer::of::<i32>(ctx, count)?;
    let flops = eigen_flops(n, vectors);
    let all = progress::part(count as f64 * flops);
    for first in (0..count).step_by(step) {
        all.left((count - first) as f64 * flops);
        let many = step.min(count - first);
        let part = |all: View<T>| all.sub(0, first * n, n, many * n);
        let found = (
            values.ptr + (first * n * size_of::<T>()) as u64,
            status.ptr + (first * size_of::<i32>()) as u64,
        );
        start(ctx, &work, part(a), z.map(part), many, found)?;
        ctx.fence()?;
    }
    values.to_slice(w)?;
    let mut failed = try_zeroed::<i32>(count)?;
    status.to_slice(&mut failed)?;
    Ok((0..count).filter(|&i| failed[i] != 0).collect())
}

/// Starts the work on `count` matrices: values and status go to the addresses `found`.
fn start<T: Scalar>(
    ctx: &'static Context,
    work: &Work,
    a: View<T>,
    z: Option<View<T>>,
    count: usize,
    (values, status): (u64, u64),
) -> Result<()> {
    let n = a.rows;
    let order = n as i32;
    let allowed = scalar(T::from_f64(tolerance::<T>(n)));
    let most = most_rotations(n) as i32;
    let to = z.map_or(0, |z| z.ptr);
    let rotations = work.rotations.as_ref().map_or(0, |r| r.ptr);
    let (diagonal, facts, sweeps) = (work.diagonal.ptr, work.facts.ptr, work.sweeps.ptr);
    let [reduce, rotate] = shared_bytes::<T>(n);
    ctx.launch_shared::<T>(
        REDUCE,
        (count, 1),
        threads(n) as u32,
        reduce,
        &args![order, a.ptr, to, diagonal, work.below.ptr, facts],
    )?;
    ctx.launch_shared::<T>(
        ITERATE,
        (count.div_ceil(WARPS), 1),
        32 * WARPS as u32,
        2 * n * WARPS * size_of::<T>(),
        &args![
            order,
            count as i32,
            diagonal,
            work.below.ptr,
            facts,
            allowed,
            values,
            most,
            rotations,
            sweeps,
            status
        ],
    )?;
    if z.is_none() {
        return Ok(());
    }
    ctx.launch_shared::<T>(
        ROTATE,
        (count, 1),
        n.next_multiple_of(32) as u32,
        rotate,
        &args![order, diagonal, facts, allowed, most, rotations, sweeps, to, status],
    )
}
