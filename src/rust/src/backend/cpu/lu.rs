//! LU with partial pivoting.

use faer::prelude::IntoConst;

use super::gemm::gemm;
use super::matrix::views::{Columns, ColumnsMut};
use super::triangular::trsm;
use super::vector::axpy;
use crate::base::error::Result;
use crate::base::interrupt;
use crate::base::matrix::{Diag, Side, Trans, Uplo};
use crate::base::progress;
use crate::base::scalar::Scalar;
use crate::base::simd::vectorized;
use crate::base::threads::{batch, join, pieces, share};
use crate::cost::flops::lu_flops;
use crate::device::lapack::LuInfo;

/// Width of the columns eliminated one by one.
const BASE: usize = 8;
/// Width of the panels that one thread factors while the others update the rest.
const PANEL: usize = 128;
/// Columns updated by one thread at a time.
const CHUNK: usize = 256;

pub(crate) fn getrf<T: Scalar>(mut a: ColumnsMut<'_, T>, threads: usize) -> Result<LuInfo> {
    let (m, n) = a.shape();
    let size = m.min(n);
    let mut ipiv = vec![0; size];
    // If the matrix is too narrow, the other threads have nothing to do during the panel.
    let threads = share(threads, m as f64 * n as f64 * size as f64 / 32.0);
    if threads > 1 && n > 2 * PANEL {
        by_panels(a.as_mut(), &mut ipiv, threads)?;
    } else {
        recurse(a.as_mut(), &mut ipiv)?;
    }
    let zero = (0..size).find(|&i| a[(i, i)] == T::from_f64(0.0));
    Ok(LuInfo { ipiv, zero })
}

/// One thread brings the next panel up to date and factors it while the others bring the rest up to
/// date.
fn by_panels<T: Scalar>(
    mut a: ColumnsMut<'_, T>,
    ipiv: &mut [usize],
    threads: usize,
) -> Result<()> {
    let (m, n) = a.shape();
    let size = ipiv.len();
    let first = PANEL.min(size);
    recurse(a.as_mut().subcols_mut(0, first), &mut ipiv[..first])?;
    let (beside_panel, on_rest) = pieces(threads);
    let all = progress::part(lu_flops((m, n)));
    for k in (0..size).step_by(PANEL) {
        interrupt::poll()?;
        all.left(lu_flops((m - k, n - k)));
        let width = PANEL.min(size - k);
        let corner = a.as_mut().submatrix_mut(k, k, m - k, n - k);
        let (panel, rest) = corner.split_at_col_mut(width);
        let next_width = PANEL.min(size - k - width);
        let (next, rest) = rest.split_at_col_mut(next_width);
        let batch = batch(threads, (m - k) * width).min(rest.ncols());
        let (beside, mut rest) = rest.split_at_col_mut(batch);
        let panel: Columns<'_, T> = panel.into_const();
        let (exchanges, others) = ipiv[k..].split_at_mut(width);
        let (exchanges, next_exchanges) = (&*exchanges, &mut others[..next_width]);
        let (first, second) = join(
            threads,
            |_| {
                let mut next = next;
                update(panel, exchanges, next.as_mut())?;
                recurse(next.subrows_mut(width, m - k - width), next_exchanges)
            },
            |_| update_chunks(panel, exchanges, beside, beside_panel),
        );
        first.and(second)?;
        for j in (0..rest.ncols()).step_by(batch.max(1)) {
            interrupt::poll()?;
            let some = batch.min(rest.ncols() - j);
            update_chunks(
                panel,
                exchanges,
                rest.as_mut().subcols_mut(j, some),
                on_rest,
            )?;
        }
    }
    // Each panel's exchanges counted from its own first row, and have not reached the panels before
    // it.
    for k in (0..size).step_by(PANEL) {
        let end = size.min(k + PANEL);
        ipiv[k..end].iter_mut().for_each(|p| *p += k);
    }
    for k in (0..size).step_by(PANEL) {
        let end = size.min(k + PANEL);
        exchange(
            Trans::No,
            end,
            &ipiv[end..],
            a.as_mut().subcols_mut(k, end - k),
        );
    }
    Ok(())
}

/// Updates columns to the right of a factored panel.
fn update<T: Scalar>(
    panel: Columns<'_, T>,
    exchanges: &[usize],
    mut c: ColumnsMut<'_, T>,
) -> Result<()> {
    let width = panel.ncols();
    laswp(Trans::No, exchanges, c.as_mut());
    let (l11, l21) = panel.split_at_row(width);
    let (mut top, bottom) = c.split_at_row_mut(width);
    trsm(
        Side::Left,
        Uplo::Lower,
        Trans::No,
        Diag::Unit,
        l11.as_dyn_stride(),
        top.as_mut().as_dyn_stride_mut(),
        1,
    )?;
    let one = T::from_f64(1.0);
    gemm(
        -one,
        l21.as_dyn_stride(),
        top.as_ref().as_dyn_stride(),
        one,
        bottom.as_dyn_stride_mut(),
        1,
    )
}

/// [`update`] in at most `pieces` pieces, each for any idle thread.
fn update_chunks<T: Scalar>(
    panel: Columns<'_, T>,
    exchanges: &[usize],
    c: ColumnsMut<'_, T>,
    pieces: usize,
) -> Result<()> {
    let n = c.ncols();
    if n <= CHUNK || pieces < 2 {
        return update(panel, exchanges, c);
    }
    let (left, right) = c.split_at_col_mut((n / 2).next_multiple_of(8));
    let (first, second) = join(
        pieces,
        |p| update_chunks(panel, exchanges, left, p),
        |p| update_chunks(panel, exchanges, right, p),
    );
    first.and(second)
}

/// Halves the columns, as LAPACK's `getrf2`, on one thread; `ipiv` counts from the first row of
/// `a`.
fn recurse<T: Scalar>(a: ColumnsMut<'_, T>, ipiv: &mut [usize]) -> Result<()> {
    let (m, n) = a.shape();
    let size = m.min(n);
    if n <= BASE || size <= 1 {
        eliminate(a, ipiv);
        return Ok(());
    }
    if m * n > 1 << 16 {
        interrupt::poll()?;
    }
    let half = match size / 2 {
        half if half > BASE => half.next_multiple_of(BASE),
        half => half,
    };
    let (mut left, mut right) = a.split_at_col_mut(half);
    let (first, second) = ipiv.split_at_mut(half);
    recurse(left.as_mut(), first)?;
    update(left.as_ref(), first, right.as_mut())?;
    recurse(right.subrows_mut(half, m - half), second)?;
    let (_, below) = left.split_at_row_mut(half);
    laswp(Trans::No, second, below);
    second.iter_mut().for_each(|p| *p += half);
    Ok(())
}

vectorized! {
    /// Column by column: the first largest entry, exchange, divide, update what is to the right.
    fn eliminate<'a, T>(a: ColumnsMut<'a, T>, ipiv: &'a mut [usize]) {
        let mut a = a;
        let n = a.ncols();
        let tiny = faer::traits::math_utils::min_positive::<T>();
        for (k, pivot_row) in ipiv.iter_mut().enumerate() {
            let p = k + first_largest(&a.as_ref().col(k).as_slice()[k..]);
            *pivot_row = p;
            let pivot = a[(p, k)];
            if pivot != T::from_f64(0.0) && p != k {
                for j in 0..n {
                    a.as_mut().col_mut(j).as_slice_mut().swap(k, p);
                }
            }
            let (mut done, mut rest) = a.as_mut().split_at_col_mut(k + 1);
            let below = &mut done.as_mut().col_mut(k).as_slice_mut()[k + 1..];
            if pivot != T::from_f64(0.0) {
                // The reciprocal of a subnormal number overflows.
                if pivot >= tiny || -pivot >= tiny {
                    let inverse = T::from_f64(1.0) / pivot;
                    below.iter_mut().for_each(|x| *x *= inverse);
                } else {
                    below.iter_mut().for_each(|x| *x /= pivot);
                }
            }
            for j in 0..n - k - 1 {
                let column = rest.as_mut().col_mut(j).as_slice_mut();
                let head = column[k];
                axpy(-head, below, &mut column[k + 1..]);
            }
        }
    }
}

/// Position of the first entry of largest absolute value; a NaN is never larger, and one in front
/// is never passed.
#[inline(always)]
fn first_largest<T: Scalar>(x: &[T]) -> usize {
    let abs = |v: T| if v < T::from_f64(0.0) { -v } else { v };
    let Some(front) = x.first() else {
        return 0;
    };
    // First the value, which needs no positions; then its position.
    const LANES: usize = 16;
    let mut largest = [abs(*front); LANES];
    let mut chunks = x.chunks_exact(LANES);
    for chunk in &mut chunks {
        for (m, v) in largest.iter_mut().zip(chunk) {
            let v = abs(*v);
            *m = if v > *m { v } else { *m };
        }
    }
    let mut most = largest[0];
    for v in largest
        .iter()
        .copied()
        .chain(chunks.remainder().iter().map(|v| abs(*v)))
    {
        most = if v > most { v } else { most };
    }
    x.iter().position(|v| abs(*v) == most).unwrap_or(0)
}

/// Applies the exchanges to every column, in order or in reverse.
pub(crate) fn laswp<T: Scalar>(trans: Trans, ipiv: &[usize], b: ColumnsMut<'_, T>) {
    exchange(trans, 0, ipiv, b);
}

/// Exchanges row `start + i` with row `ipiv[i]`.
fn exchange<T: Scalar>(trans: Trans, start: usize, ipiv: &[usize], mut b: ColumnsMut<'_, T>) {
    for j in 0..b.ncols() {
        let column = b.as_mut().col_mut(j).as_slice_mut();
        let pairs = ipiv.iter().enumerate();
        match trans {
            Trans::No => pairs.for_each(|(i, &p)| column.swap(start + i, p)),
            Trans::Yes => pairs.rev().for_each(|(i, &p)| column.swap(start + i, p)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use faer::Mat;

    /// More threads in the pool than are wanted change how the work is cut, not its answer.
    #[test]
    fn wanted_threads_of_a_larger_pool() {
        let n = 700;
        let entry = |i: usize, j: usize| ((i * 37 + j * 101 + i * j % 13) % 64) as f64 / 64.0;
        let a = Mat::from_fn(n, n, |i, j| entry(i, j) + if i == j { 4.0 } else { 0.0 });
        let factor = |threads: usize| {
            let mut lu = a.clone();
            let columns = crate::backend::cpu::matrix::views::columns_mut(lu.as_mut()).unwrap();
            let mut ipiv = vec![0; n];
            by_panels(columns, &mut ipiv, threads).unwrap();
            (lu, ipiv)
        };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(5).build();
        let pool = pool.unwrap();
        let (want, pivots) = pool.install(|| factor(5));
        for threads in [2, 3] {
            let (got, found) = pool.install(|| factor(threads));
            assert_eq!(found, pivots);
            assert!((&got - &want).norm_max() < 1e-9 * want.norm_max());
        }
    }
}
