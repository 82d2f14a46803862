//! QR factorization with column pivoting, as LAPACK's `geqp3`.

use faer::MatMut;

use super::householder::{reflector, Convention};
use crate::backend::cpu::gemm::gemm;
use crate::backend::cpu::matrix::views::{Columns, ColumnsMut};
use crate::backend::cpu::vector::{axpy, dot, four_dots, norm2};
use crate::base::error::Result;
use crate::base::interrupt;
use crate::base::progress;
use crate::base::scalar::{try_zeroed, Scalar};
use crate::base::simd::vectorized;
use crate::base::threads::{inside, join, share};
use crate::cost::flops::qr_flops;
use crate::device::lapack::PivotedQr;

/// Columns reduced before the others are updated by a product.
const PANEL: usize = 32;

/// Reading an entry from memory costs about as much as this many multiplications.
const READ: f64 = 24.0;

/// The state between panels; everything counts from the whole matrix's first column.
struct Pivoting<T> {
    tau: Vec<T>,
    jpvt: Vec<usize>,
    /// Norms of what remains of each column, as updated and as last computed.
    now: Vec<f64>,
    exact: Vec<f64>,
}

/// A panel's workspace, with one row for each column of the matrix from the panel's first on.
struct Space<'a, T> {
    /// The factor by which V is multiplied to update a column.
    f: ColumnsMut<'a, T>,
    /// The rows of R, transposed: written into the matrix one by one, each would touch every
    /// column.
    r: ColumnsMut<'a, T>,
}

pub(crate) fn geqp3<T: Scalar>(mut a: ColumnsMut<'_, T>, threads: usize) -> Result<PivotedQr<T>> {
    let (m, n) = a.shape();
    let size = m.min(n);
    let now =
        crate::backend::cpu::elementwise::norms::column_norms(a.as_ref().as_dyn_stride(), threads)?;
    let mut state = Pivoting {
        tau: try_zeroed(size)?,
        jpvt: (0..n).collect(),
        exact: now.clone(),
        now,
    };
    let (mut f, mut r) = (try_zeroed(n * PANEL)?, try_zeroed(n * PANEL)?);
    let mut done = 0;
    let all = progress::part(qr_flops((m, n)));
    while done < size {
        all.left(qr_flops((m - done, n - done)));
        let (rows, width) = (n - done, PANEL.min(size - done));
        let shaped = |x| {
            let x = MatMut::from_column_major_slice_mut(x, rows, width);
            crate::backend::cpu::matrix::views::columns_mut(x)
        };
        let space = Space {
            f: shaped(&mut f[..rows * width])?,
            r: shaped(&mut r[..rows * width])?,
        };
        // It pays only if a pass over the remaining matrix is shared.
        let pass = READ * (m - done) as f64 * rows as f64;
        let work = if share(threads, pass) > 1 {
            pass * width as f64
        } else {
            0.0
        };
        let (a, state) = (a.as_mut(), &mut state);
        done += inside(threads, work, || panel(a, space, done, state, threads))?;
    }
    Ok(PivotedQr {
        tau: state.tau,
        jpvt: state.jpvt,
        rank: size,
    })
}

/// Reduces up to `f.ncols()` columns from row and column `start` on, and returns their number.
/// Stops early where a norm has lost its accuracy, since only an updated column has a norm to
/// compute.
fn panel<T: Scalar>(
    mut a: ColumnsMut<'_, T>,
    space: Space<'_, T>,
    start: usize,
    state: &mut Pivoting<T>,
    threads: usize,
) -> Result<usize> {
    let Space { mut f, mut r } = space;
    let (m, n) = a.shape();
    let threshold = T::EPS.sqrt();
    let mut stale = vec![];
    let mut k = 0;
    while k < f.ncols() && stale.is_empty() {
        // Every column takes a pass over the remaining matrix.
        interrupt::poll()?;
        let row = start + k;
        bring_forward(&mut a, [&mut f, &mut r], start, row, state);
        let (mut left, mut right) = a.as_mut().split_at_col_mut(row);
        let before = left.as_mut().subcols_mut(start, k);
        let before: Columns<'_, T> = before.as_ref();
        let (mut column, right) = right.as_mut().split_at_col_mut(1);
        let column = &mut column.as_mut().col_mut(0).as_slice_mut()[row..];
        let above = f.as_ref().subcols(0, k);
        bring_up_to_date(before, above, k, row, column);
        state.tau[row] = reflector(column, Convention::Lapack);
        let (tau, beta) = (state.tau[row], column[0]);
        column[0] = T::from_f64(1.0);
        let work = READ * column.len() as f64 * right.ncols() as f64;
        let (done, mut now) = f.as_mut().split_at_col_mut(k);
        let now = now.as_mut().col_mut(0).as_slice_mut();
        now[..=k].fill(T::from_f64(0.0));
        let heads = &mut r.as_mut().col_mut(k).as_slice_mut()[k + 1..];
        let threads = share(threads, work);
        products(
            tau,
            column,
            right.as_ref(),
            row,
            &mut now[k + 1..],
            heads,
            threads,
        );
        take_off_earlier(tau, before, done.as_ref(), row, column, now);
        take_off_row(before, row, f.as_ref(), k, heads);
        for j in row + 1..n {
            let head = heads[j - row - 1];
            if state.now[j] == 0.0 {
                continue;
            }
            let ratio = head.into().abs() / state.now[j];
            let left = ((1.0 + ratio) * (1.0 - ratio)).max(0.0);
            if left * (state.now[j] / state.exact[j]).powi(2) <= threshold {
                stale.push(j);
            } else {
                state.now[j] *= left.sqrt();
            }
        }
        column[0] = beta;
        k += 1;
    }
    let end = start + k;
    for j in start + 1..n {
        let column = a.as_mut().col_mut(j).as_slice_mut();
        for i in 0..k.min(j - start) {
            column[start + i] = r[(j - start, i)];
        }
    }
    if end < n && end < m {
        let (panel, rest) = a
            .as_mut()
            .submatrix_mut(end, start, m - end, n - start)
            .split_at_col_mut(k);
        gemm(
            T::from_f64(-1.0),
            panel.as_ref().as_dyn_stride(),
            f.as_ref()
                .submatrix(k, 0, n - end, k)
                .as_dyn_stride()
                .transpose(),
            T::from_f64(1.0),
            rest.as_dyn_stride_mut(),
            threads,
        )?;
    }
    for j in stale {
        let norm = norm2(&a.as_ref().col(j).as_slice()[end..]);
        state.now[j] = norm;
        state.exact[j] = norm;
    }
    Ok(k)
}

/// Exchanges column `row` with the first column of largest norm.
fn bring_forward<T: Scalar>(
    a: &mut ColumnsMut<'_, T>,
    space: [&mut ColumnsMut<'_, T>; 2],
    start: usize,
    row: usize,
    state: &mut Pivoting<T>,
) {
    let mut p = row;
    for j in row + 1..state.now.len() {
        if state.now[j] > state.now[p] {
            p = j;
        }
    }
    if p == row {
        return;
    }
    let (x, y) = a.as_mut().two_cols_mut(row, p);
    x.as_slice_mut().swap_with_slice(y.as_slice_mut());
    for x in space {
        for l in 0..row - start {
            let column = x.as_mut().col_mut(l).as_slice_mut();
            column.swap(row - start, p - start);
        }
    }
    state.jpvt.swap(row, p);
    state.now[p] = state.now[row];
    state.exact[p] = state.exact[row];
}

vectorized! {
    /// `heads -= A[row, ] F'` for the columns of F up to `k`, the last with the reflector's leading
    /// one.
    fn take_off_row<'a, T>(
        v: Columns<'a, T>,
        row: usize,
        f: Columns<'a, T>,
        k: usize,
        heads: &'a mut [T],
    ) {
        for l in 0..=k {
            let by = if l < k { v[(row, l)] } else { T::from_f64(1.0) };
            axpy(-by, &f.col(l).as_slice()[k + 1..], heads);
        }
    }
}

/// `out <- tau A[row.., ]' v`, some columns for each thread; `heads` gets row `row`, which is in
/// reach now.
fn products<T: Scalar>(
    tau: T,
    v: &[T],
    a: Columns<'_, T>,
    row: usize,
    out: &mut [T],
    heads: &mut [T],
    threads: usize,
) {
    if threads > 1 && out.len() > 1 {
        let at = out.len() * (threads / 2) / threads;
        let (out1, out2) = out.split_at_mut(at);
        let (heads1, heads2) = heads.split_at_mut(at);
        let (a1, a2) = a.split_at_col(at);
        join(
            threads,
            |t| products(tau, v, a1, row, out1, heads1, t),
            |t| products(tau, v, a2, row, out2, heads2, t),
        );
        return;
    }
    products_on_one_thread(tau, v, a, row, out, heads);
}

vectorized! {
    fn products_on_one_thread<'a, T>(
        tau: T,
        v: &'a [T],
        a: Columns<'a, T>,
        row: usize,
        out: &'a mut [T],
        heads: &'a mut [T],
    ) {
        let below = |j: usize| &a.col(j).as_slice()[row..];
        let mut fours = out.chunks_exact_mut(4);
        let mut j = 0;
        for out in &mut fours {
            let columns = [below(j), below(j + 1), below(j + 2), below(j + 3)];
            let products = four_dots(v, columns);
            for (i, column) in columns.into_iter().enumerate() {
                out[i] = tau * products[i];
                heads[j + i] = column[0];
            }
            j += 4;
        }
        for out in fours.into_remainder() {
            *out = tau * dot(v, below(j));
            heads[j] = below(j)[0];
            j += 1;
        }
    }
}

vectorized! {
    /// `x -= V f'`, for row `k` of F.
    fn bring_up_to_date<'a, T>(
        v: Columns<'a, T>,
        f: Columns<'a, T>,
        k: usize,
        row: usize,
        x: &'a mut [T],
    ) {
        for l in 0..v.ncols() {
            axpy(-f[(k, l)], &v.col(l).as_slice()[row..], x);
        }
    }
}

vectorized! {
    /// `out -= tau F V'x`: the products were taken with columns that are not up to date.
    fn take_off_earlier<'a, T>(
        tau: T,
        v: Columns<'a, T>,
        f: Columns<'a, T>,
        row: usize,
        x: &'a [T],
        out: &'a mut [T],
    ) {
        for l in 0..v.ncols() {
            let inner = dot(&v.col(l).as_slice()[row..], x);
            axpy(-tau * inner, f.col(l).as_slice(), out);
        }
    }
}
