//! One level of divide and conquer: all merges of neighbouring blocks (`kernels/spectral`).

use std::mem::size_of;

use super::split::rounded;
use super::tables::tables;
use crate::backend::cuda::driver::buffer::{Buffer, PlainData};
use crate::backend::cuda::driver::context::Context;
use crate::backend::cuda::driver::kernels::{args, Family, Kernel};
use crate::backend::cuda::gemm::gemm_syrk::multiply;
use crate::backend::cuda::gemm::update::Update;
use crate::backend::cuda::matrix::views::View;
use crate::base::deflate::{deflate, Merge, Place};
use crate::base::error::Result;
use crate::base::scalar::{try_zeroed, Scalar};

const ENDS: Kernel = Kernel::new(Family::Tridiagonal, "ends_gather_plain");
const ROTATE: Kernel = Kernel::new(Family::Tridiagonal, "columns_rotate_chain");
const COPY: Kernel = Kernel::new(Family::Tridiagonal, "columns_copy_listed");
const SOLVE: Kernel = Kernel::new(Family::Tridiagonal, "secular_solve_warp");
const RESTORE: Kernel = Kernel::new(Family::Tridiagonal, "secular_restore_warp");
const VECTORS: Kernel = Kernel::new(Family::Tridiagonal, "secular_vectors_warp");

const THREADS: u32 = 256;
/// Threads of a block with a warp for each root.
const ROOTS: u32 = 128;

/// Blocks of [`THREADS`] threads for so many rows of a column, at most as many as a grid takes.
fn slices(rows: usize) -> usize {
    rows.div_ceil(THREADS as usize).clamp(1, 1024)
}

/// Several arrays in one buffer, and their addresses.
fn packed<U: PlainData, const N: usize>(
    ctx: &'static Context,
    parts: [&[U]; N],
) -> Result<(Buffer, [u64; N])> {
    let all: Vec<U> = parts.concat();
    let buffer = Buffer::from_slice(ctx, &all)?;
    let mut at = buffer.ptr;
    let addresses = parts.map(|p| {
        let here = at;
        at += size_of_val(p) as u64;
        here
    });
    Ok((buffer, addresses))
}

/// Copies of columns, in a list of offsets.
pub(super) fn copy_columns<T: Scalar>(
    ctx: &'static Context,
    list: u64,
    count: usize,
    rows: usize,
    from: u64,
    to: u64,
) -> Result<()> {
    let args = args![list, from, to];
    ctx.launch::<T>(COPY, count, slices(rows), THREADS, &args)
}

/// Joins the blocks that begin at `bounds[2 p stride]` and `bounds[(2 p + 1) stride]`, for all p.
/// `values` has the eigenvalues of the blocks, by column of Q; `off` the off-diagonal entries.
/// `bounds_there` is a copy of `bounds` on the GPU. `work` is replaced by a larger buffer if the
/// level needs one.
#[allow(clippy::too_many_arguments)]
pub(super) fn join_level<T: Scalar>(
    ctx: &'static Context,
    bounds: &[i32],
    bounds_there: &Buffer,
    stride: usize,
    off: &[f64],
    values: &mut [f64],
    q: View<T>,
    work: &mut (Buffer, usize),
) -> Result<()> {
    let n = values.len();
    let count = (bounds.len() - 1) / (2 * stride);
    let largest = n.div_ceil(count);
    let ends = Buffer::of::<T>(ctx, n)?;
    ctx.launch::<T>(
        ENDS,
        count,
        slices(largest),
        THREADS,
        &args![bounds_there.ptr, stride as i32, q.ptr, q.ld(), ends.ptr],
    )?;
    let mut z = try_zeroed::<T>(n)?;
    ends.to_slice(&mut z)?;
    let mut z: Vec<f64> = z.into_iter().map(|x| x.to_f64()).collect();
    let level: Vec<Merge> = (0..count)
        .map(|p| {
            let at = |i: usize| bounds[(2 * p + i) * stride] as usize;
            let (start, mid, end) = (at(0), at(1), at(2));
            let place = Place { start, mid, end };
            deflate(place, off[mid - 1], T::EPS, values, &mut z)
        })
        .collect();
    let roots = solve(ctx, &level, values, &z, largest, q, work)?;
    let mut first = 0;
    for merge in &level {
        let Place { start, end, .. } = merge.place;
        let k = merge.poles.len();
        if k > 0 {
            let mut new: Vec<f64> = roots[first..first + k].to_vec();
            new.extend(merge.deflated.iter().map(|&i| values[i]));
            values[start..end].copy_from_slice(&new);
            first += k;
        }
    }
    ctx.fence()
}

/// Rotates, solves the secular equations and multiplies. Returns the roots, merge by merge; the
/// columns of a merge are then those of its roots, followed by the deflated ones.
fn solve<T: Scalar>(
    ctx: &'static Context,
    level: &[Merge],
    d: &[f64],
    z: &[f64],
    largest: usize,
    q: View<T>,
    work: &mut (Buffer, usize),
) -> Result<Vec<f64>> {
    let t = tables(level, d, z, q.ld() as usize);
    let [rotations, rho, poles, weights] =
        [&t.rotations, &t.rho, &t.d, &t.z].map(|x| narrowed::<T>(x));
    let (_ints, [chains, columns, owner, merges, lists]) =
        packed(ctx, [&t.chains, &t.columns, &t.owner, &t.merges, &t.lists])?;
    let (_reals, [rotations, rho, poles, weights]) =
        packed(ctx, [&rotations[..], &rho[..], &poles[..], &weights[..]])?;
    ctx.launch::<T>(
        ROTATE,
        t.chains.len() / 4,
        slices(largest),
        THREADS,
        &args![chains, columns, rotations, q.ptr, q.ld()],
    )?;
    let roots = t.d.len();
    if roots == 0 {
        return Ok(Vec::new());
    }
    let (_longs, [places, out, back]) = packed(ctx, [&t.places, &t.out, &t.back])?;
    if work.1 < t.workspace {
        // The old one is freed first.
        *work = (Buffer::of::<T>(ctx, 0)?, 0);
        *work = (Buffer::of::<T>(ctx, t.workspace)?, t.workspace);
    }
    let space = work.0.ptr;
    copy_columns::<T>(ctx, out, t.out.len() / 3, largest, q.ptr, space)?;
    let pole = Buffer::of::<i32>(ctx, roots)?;
    let [offset, values, restored] = [
        Buffer::of::<T>(ctx, roots)?,
        Buffer::of::<T>(ctx, roots)?,
        Buffer::of::<T>(ctx, roots)?,
    ];
    let grid = roots.div_ceil(ROOTS as usize / 32);
    ctx.launch::<T>(
        SOLVE,
        grid,
        1,
        ROOTS,
        &args![roots, owner, merges, rho, poles, weights, pole.ptr, offset.ptr, values.ptr],
    )?;
    ctx.launch::<T>(
        RESTORE,
        grid,
        1,
        ROOTS,
        &args![
            roots,
            owner,
            merges,
            poles,
            weights,
            pole.ptr,
            offset.ptr,
            restored.ptr
        ],
    )?;
    let at = |offset: usize| space + (offset * size_of::<T>()) as u64;
    // The two halves of S take turns in one place.
    for half in 0..2 {
        ctx.launch::<T>(
            VECTORS,
            grid,
            1,
            ROOTS,
            &args![
                roots,
                owner,
                merges,
                half as i32,
                lists,
                places,
                poles,
                restored.ptr,
                pole.ptr,
                offset.ptr,
                space
            ],
        )?;
        for p in t.products.iter().filter(|p| p.half == half) {
            let a = View::<T>::new(at(p.a), p.rows, p.depth, p.rows);
            let s = View::<T>::new(at(p.s), p.depth, p.cols, p.depth);
            let c = q.sub(p.row, p.col, p.rows, p.cols);
            multiply(ctx, Update::assign().by_norms(), a, s, c)?;
        }
    }
    copy_columns::<T>(ctx, back, t.back.len() / 3, largest, space, q.ptr)?;
    let mut found = try_zeroed::<T>(roots)?;
    values.to_slice(&mut found)?;
    Ok(found
        .into_iter()
        .map(|x| rounded::<T>(x.to_f64()))
        .collect())
}

/// Numbers of the element type.
pub(super) fn narrowed<T: Scalar>(x: &[f64]) -> Vec<T> {
    x.iter().map(|x| T::from_f64(*x)).collect()
}
