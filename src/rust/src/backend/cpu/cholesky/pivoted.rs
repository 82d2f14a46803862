//! Cholesky factorization with diagonal pivoting: the largest remaining diagonal entry first.

use faer::traits::math_utils::{is_nan, sqrt};
use faer::Accum;

use crate::backend::cpu::gemm::rank_update_lower;
use crate::backend::cpu::matrix::views::{Columns, ColumnsMut};
use crate::backend::cpu::vector::{dot, exceeds};
use crate::base::error::Result;
use crate::base::interrupt;
use crate::base::progress;
use crate::base::scalar::{try_zeroed, Scalar};
use crate::base::simd::vectorized;
use crate::cost::flops::cholesky_flops;
use crate::device::lapack::PivotedCholesky;

/// Order of the blocks of the pivoted factorization: LAPACK's, so that the rows it leaves
/// unfinished are LAPACK's too.
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
    let mut squares = try_zeroed(n)?;
    let all = progress::part(cholesky_flops(n));
    for k in (0..n).step_by(PIVOT_BLOCK) {
        interrupt::poll()?;
        all.left(cholesky_flops(n - k));
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
                Accum::Add,
                panel.as_dyn_stride().transpose(),
                T::from_f64(-1.0),
                threads,
            )?;
        }
    }
    Ok(PivotedCholesky { jpvt, rank: n })
}

/// Row `j` of the factor, in the block that begins with row `k`; the rank when the pivot is too
/// small.
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
    let (left, right) = a.as_mut().split_at_col_mut(j + 1);
    let left: Columns<'_, T> = left.as_ref();
    let above = &left.col(j).as_slice()[k..j];
    finish_row(above, k, root, right);
    None
}

vectorized! {
    /// Row `k + above.len()` of the columns to the right, given the rows from `k` to there in the
    /// pivot's column.
    fn finish_row<'a, T>(above: &'a [T], k: usize, root: T, right: ColumnsMut<'a, T>) {
        let mut right = right;
        let j = k + above.len();
        for c in 0..right.ncols() {
            let column = right.as_mut().col_mut(c).as_slice_mut();
            let inner = dot(above, &column[k..j]);
            column[j] = (column[j] - inner) / root;
        }
    }
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
