//! Eigenvalues of a symmetric tridiagonal matrix, with or without eigenvectors.

use std::mem::size_of;

use super::divide::{copy_columns, join_level, narrowed};
use super::split::{leaves, scale, tear, times_power, Scaled};
use crate::backend::cuda::driver::buffer::Buffer;
use crate::backend::cuda::driver::context::Context;
use crate::backend::cuda::driver::guards::require;
use crate::backend::cuda::driver::kernels::{args, scalar, Family, Kernel};
use crate::backend::cuda::matrix::views::{copy, set_identity, View};
use crate::base::deflate::ascending;
use crate::base::error::{Error, Result};
use crate::base::scalar::{try_zeroed, Scalar};

const LEAVES: Kernel = Kernel::new(Family::Tridiagonal, "leaves_diagonalize_block");
const MULTISECT: Kernel = Kernel::new(Family::Tridiagonal, "values_multisect_lanes");

/// The order of leaves, at most. The time of a leaf grows faster than the square of its order, so
/// that one more level of merges takes less than leaves of order 64.
const LEAF: usize = 48;
/// Threads of a leaf's block, each with a row.
const ROWS: usize = 64;
/// With fewer threads than this a GPU is not filled, and several look for one value.
const MANY_THREADS: usize = 1 << 16;

/// Eigenvalues, ascending, of the matrix with diagonal `d` and off-diagonal `e`, to within a few
/// roundings of its norm. A value beyond the range of the type is infinite. Memory: three vectors.
pub(crate) fn values<T: Scalar>(ctx: &'static Context, d: &[T], e: &[T]) -> Result<Vec<T>> {
    let Scaled { d, e, exponent } = scale(d, e)?;
    let n = d.len();
    if n == 0 {
        return Ok(Vec::new());
    }
    if e.iter().all(|x| *x == 0.0) {
        let mut d = d;
        d.sort_by(f64::total_cmp);
        return Ok(unscaled(d, exponent));
    }
    // Gershgorin's interval, widened by the rounding of counts.
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    let mut squares = vec![0.0; n];
    for i in 0..n {
        let before = if i > 0 { e[i - 1].abs() } else { 0.0 };
        let after = e.get(i).map_or(0.0, |x| x.abs());
        low = low.min(d[i] - before - after);
        high = high.max(d[i] + before + after);
        squares[i] = before * before;
    }
    let (low, high) = (low - 8.0 * T::EPS, high + 8.0 * T::EPS);
    let mut lanes = 1;
    while lanes < 32 && n * lanes < MANY_THREADS {
        lanes *= 2;
    }
    let ratio = (high - low) / (T::EPS / 2.0);
    let steps = (ratio.ln() / (lanes as f64 + 1.0).ln()).ceil() as i32;
    // Its inverse is finite.
    let tiny = if size_of::<T>() == 8 { 1e-290 } else { 1e-30 };
    let d = Buffer::from_slice(ctx, &narrowed::<T>(&d))?;
    let squares = Buffer::from_slice(ctx, &narrowed::<T>(&squares))?;
    let found = Buffer::of::<T>(ctx, n)?;
    let number = |x: f64| scalar(T::from_f64(x));
    ctx.launch::<T>(
        MULTISECT,
        (n * lanes).div_ceil(128),
        1,
        128,
        &args![
            n as i32,
            lanes as i32,
            steps,
            number(low),
            number(high),
            number(tiny),
            d.ptr,
            squares.ptr,
            found.ptr
        ],
    )?;
    ctx.fence()?;
    let mut values = try_zeroed::<T>(n)?;
    found.to_slice(&mut values)?;
    let mut values: Vec<f64> = values.into_iter().map(|x| x.to_f64()).collect();
    values.sort_by(f64::total_cmp);
    Ok(unscaled(values, exponent))
}

/// As [`values`], with orthonormal eigenvectors in the columns of `q`, n x n and column-major, in
/// the order of the values.
///
/// Memory: `q`, and a workspace of n^2 elements. Halves with equal eigenvalues need up to 1.25 n^2.
pub(crate) fn vectors<T: Scalar>(
    ctx: &'static Context,
    d: &[T],
    e: &[T],
    q: View<T>,
) -> Result<Vec<T>> {
    vectors_by(ctx, LEAF, d, e, q)
}

/// With leaves of order at most `leaf`, no more than [`ROWS`].
fn vectors_by<T: Scalar>(
    ctx: &'static Context,
    leaf: usize,
    d: &[T],
    e: &[T],
    q: View<T>,
) -> Result<Vec<T>> {
    let scaled = scale(d, e)?;
    let n = d.len();
    require(
        (q.rows, q.cols, q.rs) == (n, n, 1),
        "vectors have another shape",
    )?;
    if n == 0 {
        return Ok(Vec::new());
    }
    let (bounds, levels) = leaves(n, leaf.clamp(1, ROWS));
    let torn = tear::<T>(&scaled, &bounds);
    let there = Buffer::from_slice(ctx, &bounds)?;
    let mut values = diagonalize(ctx, &torn, &scaled.e, &bounds, &there, q)?;
    let mut work = (Buffer::of::<T>(ctx, 0)?, 0);
    for level in 0..levels {
        let stride = 1 << level;
        let off = &scaled.e;
        join_level(ctx, &bounds, &there, stride, off, &mut values, q, &mut work)?;
    }
    let order = ascending(0, &values);
    let sorted: Vec<f64> = order.iter().map(|&i| values[i]).collect();
    if !order.is_sorted() {
        if work.1 < n * n {
            drop(work);
            work = (Buffer::of::<T>(ctx, n * n)?, n * n);
        }
        let entry = |(to, from): (usize, &usize)| [*from * q.ld() as usize, to * n, n];
        let list: Vec<u64> = order
            .iter()
            .enumerate()
            .flat_map(entry)
            .map(|x| x as u64)
            .collect();
        let list = Buffer::from_slice(ctx, &list)?;
        copy_columns::<T>(ctx, list.ptr, n, n, q.ptr, work.0.ptr)?;
        copy(ctx, View::new(work.0.ptr, n, n, n), q)?;
        ctx.fence()?;
    }
    Ok(unscaled(sorted, scaled.exponent))
}

/// Diagonalizes the leaves; Q is zero outside of them. Returns their values, each leaf's ascending.
fn diagonalize<T: Scalar>(
    ctx: &'static Context,
    d: &[f64],
    e: &[f64],
    bounds: &[i32],
    there: &Buffer,
    q: View<T>,
) -> Result<Vec<f64>> {
    let (n, count) = (d.len(), bounds.len() - 1);
    let order = n.div_ceil(count);
    set_identity(ctx, q)?;
    let d = Buffer::from_slice(ctx, &narrowed::<T>(d))?;
    let e = Buffer::from_slice(ctx, &narrowed::<T>(e))?;
    let found = Buffer::of::<T>(ctx, n)?;
    let failed = Buffer::zeroed::<i32>(ctx, 1)?;
    ctx.launch_shared::<T>(
        LEAVES,
        (count, 1),
        ROWS as u32,
        (order * order + 4 * order) * size_of::<T>() + 8,
        &args![
            order as i32,
            there.ptr,
            d.ptr,
            e.ptr,
            found.ptr,
            q.ptr,
            q.ld(),
            failed.ptr
        ],
    )?;
    ctx.fence()?;
    let mut flag = [0i32];
    failed.to_slice(&mut flag)?;
    if flag[0] != 0 {
        return Err(Error::NotConverged { routine: "dsteqr" });
    }
    let mut values = try_zeroed::<T>(n)?;
    found.to_slice(&mut values)?;
    Ok(values.into_iter().map(|x| x.to_f64()).collect())
}

fn unscaled<T: Scalar>(values: Vec<f64>, exponent: i32) -> Vec<T> {
    let back = |x: f64| T::from_f64(times_power(x, exponent));
    values.into_iter().map(back).collect()
}

#[cfg(test)]
#[path = "tridiagonal_tests.rs"]
mod tests;
