//! Products: `C <- alpha op(A) op(B) + beta C`, whole or one triangle of it.

use super::emulated;
use super::tiled;
use super::vector;
use crate::backend::cuda::driver::buffer::Buffer;
use crate::backend::cuda::driver::context::Context;
use crate::backend::cuda::driver::kernels::{args, scalar, Family, Kernel};
use crate::backend::cuda::gemm::update::{Bound, Update, UpdatedPart, FENCED};
use crate::backend::cuda::matrix::views::{blocks_for, View};
use crate::base::error::Result;
use crate::base::progress;
use crate::base::scalar::Scalar;
use crate::cost::flops::ProductSize;

const MULTIPLY: Kernel = Kernel::new(Family::Gemm, "matrix_multiply_tiled");
const REDUCE: Kernel = Kernel::new(Family::Gemm, "slices_reduce_ordered");
const SCALE: Kernel = Kernel::new(Family::Gemm, "matrix_scale_plain");
const MIRROR: Kernel = Kernel::new(Family::Triangular, "triangle_mirror_tiled");

/// Order of the tile of C that one block makes.
const TILE: usize = 64;

/// With fewer tiles than this a GPU is not filled, and a long sum is cut into slices.
const FEW_TILES: usize = 128;
const BLOCKS_WANTED: usize = 256;
const SHORTEST_SLICE: usize = 256;
/// The same where double precision is slow, so that all multiprocessors take part: one takes 16 us
/// for so much of a tile.
const SHORTEST_SLOW: usize = 16;

/// These products run at a quarter of the rate by which launches are measured, or at less.
const SLOWER: f64 = 4.0;

/// `C <- alpha A B + beta C` for views of fitting shapes.
pub(crate) fn multiply<T: Scalar>(
    ctx: &'static Context,
    update: Update<T>,
    a: View<T>,
    b: View<T>,
    c: View<T>,
) -> Result<()> {
    if c.is_empty() {
        return Ok(());
    }
    if a.cols == 0 || update.alpha == T::from_f64(0.0) {
        return scale(ctx, update, c);
    }
    if vector::multiply(ctx, update, a, b, c)?
        || emulated::product::multiply(ctx, update, (a, b, c), &in_doubles)?
    {
        return Ok(());
    }
    in_doubles(ctx, update, a, b, c)
}

/// Like [`multiply`], by products in T.
pub(super) fn in_doubles<T: Scalar>(
    ctx: &'static Context,
    update: Update<T>,
    a: View<T>,
    b: View<T>,
    c: View<T>,
) -> Result<()> {
    let triangle = update.triangle != UpdatedPart::Full;
    if triangle && c.rows != c.cols && tiled::has_kernels::<T>(ctx) {
        return trapezoid_in_doubles(ctx, update, a, b, c);
    }
    if tiled::multiply(ctx, update, a, b, c)? {
        return Ok(());
    }
    let flops = ctx.properties.launch_operations::<T>() / SLOWER;
    multiply_in_parts(ctx, flops, update, a, b, c)
}

/// The square at the diagonal, and what is below it or to its right: the kernels in tiles have no
/// other triangle.
fn trapezoid_in_doubles<T: Scalar>(
    ctx: &'static Context,
    update: Update<T>,
    a: View<T>,
    b: View<T>,
    c: View<T>,
) -> Result<()> {
    let (n, k) = (c.rows.min(c.cols), a.cols);
    let (top, left) = (a.sub(0, 0, n, k), b.sub(0, 0, k, n));
    in_doubles(ctx, update, top, left, c.sub(0, 0, n, n))?;
    let full = Update {
        triangle: UpdatedPart::Full,
        ..update
    };
    let (rows, cols) = (c.rows - n, c.cols - n);
    match update.triangle {
        UpdatedPart::Lower if rows > 0 => {
            in_doubles(ctx, full, a.sub(n, 0, rows, k), left, c.sub(n, 0, rows, n))
        }
        UpdatedPart::Upper if cols > 0 => {
            in_doubles(ctx, full, top, b.sub(0, n, k, cols), c.sub(0, n, n, cols))
        }
        _ => Ok(()),
    }
}

/// `C <- beta C`
fn scale<T: Scalar>(ctx: &'static Context, update: Update<T>, c: View<T>) -> Result<()> {
    let Update { beta, triangle, .. } = update;
    if beta == T::from_f64(1.0) {
        return Ok(());
    }
    ctx.launch::<T>(
        SCALE,
        blocks_for(c.rows * c.cols),
        1,
        256,
        &args![
            c.rows,
            c.cols,
            scalar(beta),
            c.ptr,
            c.rs,
            c.cs,
            triangle as i32
        ],
    )
}

/// Like [`multiply`], on any GPU and in either precision, with at most about `flops` operations in
/// one launch.
fn multiply_in_parts<T: Scalar>(
    ctx: &'static Context,
    flops: f64,
    update: Update<T>,
    a: View<T>,
    b: View<T>,
    c: View<T>,
) -> Result<()> {
    if c.rs.abs() > c.cs.abs() {
        let update = Update {
            triangle: update.triangle.t(),
            ..update
        };
        return multiply_columns(ctx, flops, update, b.t(), a.t(), c.t());
    }
    multiply_columns(ctx, flops, update, a, b, c)
}

/// Cuts a long product by columns of C; a triangle falls into its diagonal blocks and rectangles.
fn multiply_columns<T: Scalar>(
    ctx: &'static Context,
    flops: f64,
    update: Update<T>,
    a: View<T>,
    b: View<T>,
    c: View<T>,
) -> Result<()> {
    let (m, n, k) = (c.rows, c.cols, a.cols);
    let per_column = 2.0 * m as f64 * k as f64;
    if per_column * n as f64 <= flops {
        return multiply_once(ctx, update, a, b, c);
    }
    let width = ((flops / per_column) as usize / TILE).max(1) * TILE;
    let full = Update {
        triangle: UpdatedPart::Full,
        ..update
    };
    for j in (0..n).step_by(width) {
        let w = width.min(n - j);
        let part = |u: Update<T>, r: usize, rows: usize| {
            if rows == 0 {
                return Ok(());
            }
            multiply_once(
                ctx,
                u,
                a.sub(r, 0, rows, k),
                b.sub(0, j, k, w),
                c.sub(r, j, rows, w),
            )
        };
        match update.triangle {
            UpdatedPart::Full => part(full, 0, m)?,
            UpdatedPart::Lower => {
                let end = (j + w).min(m);
                part(update, j.min(m), end - j.min(m))?;
                part(full, end, m - end)?;
            }
            UpdatedPart::Upper => {
                let start = j.min(m);
                part(full, 0, start)?;
                part(update, start, (j + w).min(m) - start)?;
            }
        }
    }
    Ok(())
}

fn multiply_once<T: Scalar>(
    ctx: &'static Context,
    update: Update<T>,
    a: View<T>,
    b: View<T>,
    c: View<T>,
) -> Result<()> {
    let Update {
        alpha,
        beta,
        triangle,
        stop,
        ..
    } = update;
    let (m, n, k) = (c.rows, c.cols, a.cols);
    let tiles = m.div_ceil(TILE) * n.div_ceil(TILE);
    let shortest = match ctx.properties.is_fast_in::<T>() {
        true => SHORTEST_SLICE,
        false => SHORTEST_SLOW,
    };
    let slices = if tiles >= FEW_TILES {
        1
    } else {
        BLOCKS_WANTED.div_ceil(tiles).min(k / shortest).max(1)
    };
    let slice = k.div_ceil(slices).next_multiple_of(16);
    let slices = k.div_ceil(slice);
    let start = |alpha: T, beta: T, to: u64, rs: i64, cs: i64| {
        ctx.launch::<T>(
            MULTIPLY,
            tiles,
            slices,
            256,
            &args![
                m,
                n,
                k,
                slice,
                scalar(alpha),
                a.ptr,
                a.rs,
                a.cs,
                b.ptr,
                b.rs,
                b.cs,
                scalar(beta),
                to,
                rs,
                cs,
                triangle as i32,
                stop
            ],
        )
    };
    if slices == 1 {
        start(alpha, beta, c.ptr, c.rs, c.cs)?;
    } else {
        let work = Buffer::of::<T>(ctx, slices * m * n)?;
        start(T::from_f64(1.0), T::from_f64(0.0), work.ptr, 1, m as i64)?;
        ctx.launch::<T>(
            REDUCE,
            blocks_for(m * n),
            1,
            256,
            &args![
                m,
                n,
                slices as i32,
                scalar(alpha),
                work.ptr,
                scalar(beta),
                c.ptr,
                c.rs,
                c.cs,
                triangle as i32,
                stop
            ],
        )?;
    }
    let size = ProductSize {
        m,
        n,
        k,
        triangle: triangle != UpdatedPart::Full,
    };
    let operations = size.operations();
    progress::advance(operations);
    let launches = SLOWER * operations / ctx.properties.launch_operations::<T>();
    if launches > FENCED {
        ctx.fence_after(launches)?;
    }
    Ok(())
}

/// `C <- A A'`, exactly symmetric: one triangle is computed and mirrored.
pub(crate) fn square<T: Scalar>(
    ctx: &'static Context,
    bound: Bound,
    a: View<T>,
    c: View<T>,
) -> Result<()> {
    let update = Update {
        triangle: UpdatedPart::Lower,
        bound,
        ..Update::assign()
    };
    if c.is_empty() {
        return Ok(());
    }
    if a.cols > 0 {
        if emulated::product::multiply(ctx, update, (a, a.t(), c), &in_doubles)? {
            return mirror(ctx, c);
        }
        if tiled::square(ctx, a, c)? {
            return Ok(());
        }
    }
    match a.cols {
        0 => scale(ctx, update, c)?,
        _ => in_doubles(ctx, update, a, a.t(), c)?,
    }
    mirror(ctx, c)
}

/// Copies the lower triangle of a square matrix to the upper one.
pub(crate) fn mirror<T: Scalar>(ctx: &'static Context, c: View<T>) -> Result<()> {
    let tiles = c.rows.div_ceil(32);
    ctx.launch::<T>(MIRROR, tiles * tiles, 1, 256, &args![c.rows, c.ptr, c.ld()])
}

#[cfg(test)]
#[path = "gemm_syrk_tests.rs"]
mod tests;
