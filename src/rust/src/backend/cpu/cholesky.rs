//! Cholesky factorizations.

use faer::traits::math_utils::{is_nan, sqrt};
use faer::MatMut;

use super::gemm::rank_update_lower;
use super::triangular::trsm;
use super::vector::{axpy, dot, exceeds, simd};
use super::{Columns, ColumnsMut};
use crate::device::PivotedCholesky;
use crate::error::{Error, Result};
use crate::interrupt;
use crate::matrix::{Diag, Side, Trans, Uplo};
use crate::scalar::Scalar;

/// Order of the diagonal blocks factored in a buffer of their own.
const BASE: usize = 64;

/// `A = LL'` in the lower triangle of any layout: R's upper factor is the lower one of the transposed view.
pub(crate) fn potrf<T: Scalar>(a: MatMut<'_, T>, threads: usize) -> Result<()> {
    recurse(a, 0, threads)
}

/// Factors `a`, whose first row is row `start` of the whole matrix.
fn recurse<T: Scalar>(a: MatMut<'_, T>, start: usize, threads: usize) -> Result<()> {
    interrupt::poll()?;
    let n = a.nrows();
    if n <= BASE {
        return base(a, start);
    }
    let half = (n / 2).div_ceil(BASE) * BASE;
    let (mut a11, _, mut a21, mut a22) = a.split_at_mut(half, half);
    recurse(a11.as_mut(), start, threads)?;
    trsm(
        Side::Right,
        Uplo::Lower,
        Trans::Yes,
        Diag::NonUnit,
        a11.as_ref(),
        a21.as_mut(),
        threads,
    )?;
    rank_update_lower(a22.as_mut(), a21.as_ref(), T::from_f64(-1.0), threads);
    recurse(a22, start + half, threads)
}

/// A block small enough for the first level of cache, by columns.
fn base<T: Scalar>(mut a: MatMut<'_, T>, start: usize) -> Result<()> {
    let n = a.nrows();
    let mut buffer = [T::from_f64(0.0); BASE * BASE];
    for j in 0..n {
        for i in j..n {
            buffer[j * BASE + i] = a[(i, j)];
        }
    }
    let failed = simd::<T, _>(|| factor_block(&mut buffer, n));
    if let Some(j) = failed {
        return Err(Error::NotPositiveDefinite {
            order: start + j + 1,
        });
    }
    for j in 0..n {
        for i in j..n {
            a[(i, j)] = buffer[j * BASE + i];
        }
    }
    Ok(())
}

/// The first column whose pivot is not positive, if any.
#[inline(always)]
fn factor_block<T: Scalar>(a: &mut [T; BASE * BASE], n: usize) -> Option<usize> {
    for j in 0..n {
        let (done, rest) = a.split_at_mut(j * BASE);
        let column = &mut rest[j..n];
        for l in done.chunks_exact(BASE) {
            axpy(-l[j], &l[j..n], column);
        }
        let pivot = column[0];
        if !exceeds(pivot, T::from_f64(0.0)) {
            return Some(j);
        }
        let root = sqrt(&pivot);
        column[0] = root;
        for x in &mut column[1..] {
            *x /= root;
        }
    }
    None
}

/// Order of the blocks of the pivoted factorization: LAPACK's, so that the rows it leaves unfinished are LAPACK's too.
const PIVOT_BLOCK: usize = 64;

/// `P'AP = U'U` in the upper triangle, by LAPACK's `pstrf`.
pub(crate) fn pstrf<T: Scalar>(
    tol: f64,
    mut a: ColumnsMut<'_, T>,
    threads: usize,
) -> Result<PivotedCholesky> {
    let n = a.nrows();
    let mut jpvt: Vec<usize> = (0..n).collect();
    // The largest diagonal entry; a NaN is never larger, and one in front is never passed.
    let mut largest = match n {
        0 => return Ok(PivotedCholesky { jpvt, rank: 0 }),
        _ => a[(0, 0)],
    };
    for i in 1..n {
        if a[(i, i)] > largest {
            largest = a[(i, i)];
        }
    }
    if !exceeds(largest, T::from_f64(0.0)) {
        return Ok(PivotedCholesky { jpvt, rank: 0 });
    }
    let stop = if tol < 0.0 {
        n as f64 * T::EPS / 2.0 * largest.into()
    } else {
        tol
    };
    let mut squares = vec![T::from_f64(0.0); n];
    for k in (0..n).step_by(PIVOT_BLOCK) {
        interrupt::poll()?;
        let end = n.min(k + PIVOT_BLOCK);
        squares[k..].fill(T::from_f64(0.0));
        for j in k..end {
            if let Some(rank) = pivot_step(&mut a, k, j, stop, &mut squares, &mut jpvt) {
                return Ok(PivotedCholesky { jpvt, rank });
            }
        }
        if end < n {
            let (_, panel, _, rest) = a.as_mut().split_at_mut(end, end);
            let panel = panel.as_ref().subrows(k, end - k);
            rank_update_lower(
                rest.as_dyn_stride_mut().transpose_mut(),
                panel.as_dyn_stride().transpose(),
                T::from_f64(-1.0),
                threads,
            );
        }
    }
    Ok(PivotedCholesky { jpvt, rank: n })
}

/// Row `j` of the factor, in the block that begins with row `k`; the rank when the pivot is too small.
fn pivot_step<T: Scalar>(
    a: &mut ColumnsMut<'_, T>,
    k: usize,
    j: usize,
    stop: f64,
    squares: &mut [T],
    jpvt: &mut [usize],
) -> Option<usize> {
    let n = a.nrows();
    let mut best: Option<(usize, T)> = None;
    for i in j..n {
        if j > k {
            let above = a[(j - 1, i)];
            squares[i] += above * above;
        }
        let rest = a[(i, i)] - squares[i];
        if best.map_or(!is_nan(&rest), |(_, b)| rest > b) {
            best = Some((i, rest));
        }
    }
    // Only NaN left: LAPACK takes the first of them and stops.
    let (p, pivot) = best.unwrap_or((j, a[(j, j)] - squares[j]));
    if j > 0 && !exceeds(pivot.into(), stop) {
        a[(j, j)] = pivot;
        return Some(j);
    }
    if p != j {
        a[(p, p)] = a[(j, j)];
        exchange(a, j, p);
        squares.swap(j, p);
        jpvt.swap(j, p);
    }
    let root = sqrt(&pivot);
    a[(j, j)] = root;
    let (left, mut right) = a.as_mut().split_at_col_mut(j + 1);
    let left: Columns<'_, T> = left.as_ref();
    let above = &left.col(j).as_slice()[k..j];
    simd::<T, _>(|| {
        for c in 0..right.ncols() {
            let column = right.as_mut().col_mut(c).as_slice_mut();
            let inner = dot(above, &column[k..j]);
            column[j] = (column[j] - inner) / root;
        }
    });
    None
}

/// Exchanges rows and columns `j < p` in the upper triangle, apart from the two diagonal entries.
fn exchange<T: Scalar>(a: &mut ColumnsMut<'_, T>, j: usize, p: usize) {
    let n = a.nrows();
    for i in 0..j {
        let (x, y) = (a[(i, j)], a[(i, p)]);
        a[(i, j)] = y;
        a[(i, p)] = x;
    }
    for c in p + 1..n {
        let (x, y) = (a[(j, c)], a[(p, c)]);
        a[(j, c)] = y;
        a[(p, c)] = x;
    }
    for i in j + 1..p {
        let (x, y) = (a[(j, i)], a[(i, p)]);
        a[(j, i)] = y;
        a[(i, p)] = x;
    }
}
