//! Matrix products by faer's kernel, on several threads.
//!
//! Each thread computes a rectangle of the result with faer's sequential product. That is faster
//! than faer's parallel product, which wakes and joins all threads for every block that it packs.

use faer::linalg::matmul::{matmul, triangular};
use faer::{Accum, MatMut, MatRef, Par};

use super::vector::mirror_upper;
use crate::base::error::Result;
use crate::base::interrupt;
use crate::base::progress;
use crate::base::scalar::{try_zeroed, Scalar};
use crate::base::threads::{join, share};

/// Edge of the tiles of a product. Between tiles there is a check for interrupts, every fraction of
/// a second.
const TILE: usize = 2048;

/// `C <- alpha A B + beta C`; C is not read when `beta` is zero.
pub(crate) fn gemm<T: Scalar>(
    alpha: T,
    a: MatRef<'_, T>,
    b: MatRef<'_, T>,
    beta: T,
    mut c: MatMut<'_, T>,
    threads: usize,
) -> Result<()> {
    let (m, k, n) = (a.nrows(), a.ncols(), b.ncols());
    let (zero, one) = (T::from_f64(0.0), T::from_f64(1.0));
    if k == 0 || beta != zero && beta != one {
        for j in 0..n {
            for i in 0..m {
                let old = c[(i, j)];
                c[(i, j)] = if beta == zero { zero } else { beta * old };
            }
        }
    }
    let mut accum = if beta == zero {
        Accum::Replace
    } else {
        Accum::Add
    };
    let depth = depth(m, n);
    for p in (0..k).step_by(depth) {
        let kb = depth.min(k - p);
        for j in (0..n).step_by(TILE) {
            let nb = TILE.min(n - j);
            for i in (0..m).step_by(TILE) {
                let mb = TILE.min(m - i);
                interrupt::poll()?;
                product(
                    c.as_mut().submatrix_mut(i, j, mb, nb),
                    accum,
                    a.submatrix(i, p, mb, kb),
                    b.submatrix(p, j, kb, nb),
                    alpha,
                    threads,
                )?;
                progress::advance(2.0 * mb as f64 * nb as f64 * kb as f64);
            }
        }
        accum = Accum::Add;
    }
    Ok(())
}

/// The part of the inner dimension taken at a time: more of it if a long and thin product has few
/// tiles of C.
fn depth(m: usize, n: usize) -> usize {
    TILE * (TILE * TILE / (m.min(TILE) * n.min(TILE)).max(1)).clamp(1, 64)
}

/// `C (+)= alpha A B` without checks for interrupts.
pub(crate) fn product<T: Scalar>(
    c: MatMut<'_, T>,
    accum: Accum,
    a: MatRef<'_, T>,
    b: MatRef<'_, T>,
    alpha: T,
    threads: usize,
) -> Result<()> {
    let (m, k, n) = (a.nrows(), a.ncols(), b.ncols());
    let threads = share(threads, m as f64 * k as f64 * n as f64);
    if threads > 1 && k > 16 * m.max(n) {
        return split_depth(c, accum, a, b, alpha, threads);
    }
    split(c, accum, a, b, alpha, threads);
    Ok(())
}

/// One rectangle of C for each thread.
fn split<T: Scalar>(
    c: MatMut<'_, T>,
    accum: Accum,
    a: MatRef<'_, T>,
    b: MatRef<'_, T>,
    alpha: T,
    threads: usize,
) {
    let (m, n) = c.shape();
    if threads < 2 || m.max(n) < 2 {
        return matmul(c, accum, a, b, alpha, Par::Seq);
    }
    // Multiples of the kernel's tile, so that only the last piece has ragged edges.
    let cut = |len: usize| (len * (threads / 2) / threads).next_multiple_of(8).min(len);
    if n >= m {
        let at = cut(n);
        let (c1, c2) = c.split_at_col_mut(at);
        let (b1, b2) = b.split_at_col(at);
        join(
            threads,
            |t| split(c1, accum, a, b1, alpha, t),
            |t| split(c2, accum, a, b2, alpha, t),
        );
    } else {
        let at = cut(m);
        let (c1, c2) = c.split_at_row_mut(at);
        let (a1, a2) = a.split_at_row(at);
        join(
            threads,
            |t| split(c1, accum, a1, b, alpha, t),
            |t| split(c2, accum, a2, b, alpha, t),
        );
    }
}

/// A part of the inner dimension for each thread, when C is small: the parts are summed in a fixed
/// order.
fn split_depth<T: Scalar>(
    mut c: MatMut<'_, T>,
    accum: Accum,
    a: MatRef<'_, T>,
    b: MatRef<'_, T>,
    alpha: T,
    threads: usize,
) -> Result<()> {
    if threads < 2 {
        matmul(c, accum, a, b, alpha, Par::Seq);
        return Ok(());
    }
    let (m, n) = c.shape();
    let at = a.ncols() * (threads / 2) / threads;
    let (a1, a2) = a.split_at_col(at);
    let (b1, b2) = b.split_at_row(at);
    let mut other = try_zeroed(m * n)?;
    let mut other = MatMut::from_column_major_slice_mut(&mut other, m, n);
    let (first, second) = {
        let (c, other) = (c.as_mut(), other.as_mut());
        join(
            threads,
            |t| split_depth(c, accum, a1, b1, alpha, t),
            |t| split_depth(other, Accum::Replace, a2, b2, alpha, t),
        )
    };
    first.and(second)?;
    for j in 0..n {
        for i in 0..m {
            c[(i, j)] += other[(i, j)];
        }
    }
    Ok(())
}

/// `C (+)= alpha A A'` in the lower triangle of C; the other is not touched.
pub(crate) fn rank_update_lower<T: Scalar>(
    mut c: MatMut<'_, T>,
    mut accum: Accum,
    a: MatRef<'_, T>,
    alpha: T,
    threads: usize,
) -> Result<()> {
    let (n, k) = a.shape();
    if n <= TILE {
        let depth = depth(n, n);
        for p in (0..k).step_by(depth) {
            interrupt::poll()?;
            let a = a.subcols(p, depth.min(k - p));
            let work = n as f64 * n as f64 * a.ncols() as f64 / 2.0;
            let threads = share(threads, work);
            if a.ncols() > 16 * n {
                split_depth_lower(c.as_mut(), accum, a, alpha, threads)?;
            } else {
                split_lower(c.as_mut(), accum, a, alpha, threads);
            }
            progress::advance(2.0 * work);
            accum = Accum::Add;
        }
        return Ok(());
    }
    let half = (n / 2).next_multiple_of(64);
    let (c11, _, c21, c22) = c.split_at_mut(half, half);
    let (a1, a2) = a.split_at_row(half);
    let beta = T::from_f64(if accum == Accum::Add { 1.0 } else { 0.0 });
    rank_update_lower(c11, accum, a1, alpha, threads)?;
    gemm(alpha, a2, a1.transpose(), beta, c21, threads)?;
    rank_update_lower(c22, accum, a2, alpha, threads)
}

/// The square below the diagonal is half of the work, the two triangles a quarter each.
fn split_lower<T: Scalar>(
    c: MatMut<'_, T>,
    accum: Accum,
    a: MatRef<'_, T>,
    alpha: T,
    threads: usize,
) {
    let n = c.nrows();
    if threads < 2 && n <= 256 || n < 32 {
        use triangular::BlockStructure::{Rectangular, TriangularLower};
        return triangular::matmul(
            c,
            TriangularLower,
            accum,
            a,
            Rectangular,
            a.transpose(),
            Rectangular,
            alpha,
            Par::Seq,
        );
    }
    let half = (n / 2).next_multiple_of(8);
    let (c11, _, c21, c22) = c.split_at_mut(half, half);
    let (a1, a2) = a.split_at_row(half);
    join(
        threads,
        |t| split(c21, accum, a2, a1.transpose(), alpha, t),
        |t| {
            join(
                t,
                |t| split_lower(c11, accum, a1, alpha, t),
                |t| split_lower(c22, accum, a2, alpha, t),
            )
        },
    );
}

/// Like [`split_depth`], for the lower triangle.
fn split_depth_lower<T: Scalar>(
    mut c: MatMut<'_, T>,
    accum: Accum,
    a: MatRef<'_, T>,
    alpha: T,
    threads: usize,
) -> Result<()> {
    if threads < 2 {
        split_lower(c, accum, a, alpha, 1);
        return Ok(());
    }
    let n = c.nrows();
    let (a1, a2) = a.split_at_col(a.ncols() * (threads / 2) / threads);
    let mut other = try_zeroed(n * n)?;
    let mut other = MatMut::from_column_major_slice_mut(&mut other, n, n);
    let (first, second) = {
        let (c, other) = (c.as_mut(), other.as_mut());
        join(
            threads,
            |t| split_depth_lower(c, accum, a1, alpha, t),
            |t| split_depth_lower(other, Accum::Replace, a2, alpha, t),
        )
    };
    first.and(second)?;
    for j in 0..n {
        for i in j..n {
            c[(i, j)] += other[(i, j)];
        }
    }
    Ok(())
}

/// `C <- B'B`, both triangles, exactly symmetric.
pub(crate) fn crossproduct<T: Scalar>(
    b: MatRef<'_, T>,
    mut c: MatMut<'_, T>,
    threads: usize,
) -> Result<()> {
    let k = b.nrows();
    let (zero, one) = (T::from_f64(0.0), T::from_f64(1.0));
    if k == 0 {
        gemm(one, b.transpose(), b, zero, c.as_mut(), threads)?;
    } else {
        // The lower triangle of the transposed view is the upper one of C.
        let lower = c.as_mut().transpose_mut();
        rank_update_lower(lower, Accum::Replace, b.transpose(), one, threads)?;
    }
    mirror_upper(c);
    Ok(())
}
