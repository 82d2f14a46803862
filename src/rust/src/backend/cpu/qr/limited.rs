//! QR with LINPACK's limited column exchanges: R's `dqrdc2`.
//!
//! `dqrdc2` reaches column l with the norm of what remains of it. If that is below `tol` times the
//! column's first norm, the column goes to the far end, and the next one is looked at. What remains
//! of column l after l reflectors depends on those reflectors only, so a panel is reduced as if
//! nothing was dependent; its diagonal of R then *is* the list of the norms `dqrdc2` would have
//! looked at. Where one fails, the panel is restored and reduced column by column. (`dqrdc2`
//! updates its norms instead of computing them, with a relative error far below any useful `tol`.)

use super::factor::apply_chunks;
use super::householder::{apply_reflector, reflector, BlockReflector, Convention};
use crate::backend::cpu::matrix::views::ColumnsMut;
use crate::backend::cpu::vector::norm2;
use crate::base::error::Result;
use crate::base::interrupt;
use crate::base::matrix::Trans;
use crate::base::progress;
use crate::base::scalar::{try_zeroed, Scalar};
use crate::base::threads::share;
use crate::cost::flops::qr_flops;
use crate::device::lapack::PivotedQr;

/// Columns reduced before the others are updated.
const PANEL: usize = 32;

pub(crate) fn qrdc2<T: Scalar>(
    tol: f64,
    mut a: ColumnsMut<'_, T>,
    threads: usize,
) -> Result<PivotedQr<T>> {
    let (m, n) = a.shape();
    let size = m.min(n);
    let mut jpvt: Vec<usize> = (0..n).collect();
    let mut tau: Vec<T> = try_zeroed(size)?;
    let mut limits =
        crate::backend::cpu::elementwise::norms::column_norms(a.as_ref().as_dyn_stride(), threads)?;
    for limit in &mut limits {
        *limit = tol * if *limit == 0.0 { 1.0 } else { *limit };
    }
    // Columns `front..` have been moved behind, and are taken as they are.
    let mut front = n;
    let mut row = 0;
    let all = progress::part(qr_flops((m, n)));
    while row < size {
        interrupt::poll()?;
        all.left(qr_flops((m - row, n - row)));
        let end = if row < front { front } else { n };
        let width = PANEL.min(end - row);
        let corner = a.as_mut().submatrix_mut(row, row, m - row, n - row);
        let (panel, rest) = corner.split_at_col_mut(width);
        let checks = &limits[row..if row < front { row + width } else { row }];
        let Reduced {
            block,
            order,
            moved,
        } = reduce_panel(panel, checks, &mut tau[row..])?;
        let kept = block.width();
        let work = 2.0 * (m - row) as f64 * kept as f64 * rest.ncols() as f64;
        apply_chunks(&block, Trans::Yes, rest, share(threads, work))?;
        if moved > 0 {
            reorder(&mut jpvt[row..row + width], &order);
            reorder(&mut limits[row..row + width], &order);
            // The panel moved its own rows only.
            let above = a.as_mut().submatrix_mut(0, row, row, width);
            reorder_columns(above, &order)?;
            let first = row + width - moved;
            jpvt[first..].rotate_left(moved);
            limits[first..].rotate_left(moved);
            rotate_columns(a.as_mut().subcols_mut(first, n - first), moved)?;
            front -= moved;
        }
        row += kept;
    }
    Ok(PivotedQr {
        tau,
        jpvt,
        rank: front.min(size),
    })
}

/// A reduced panel.
struct Reduced<T> {
    block: BlockReflector<T>,
    /// The order of the panel's columns, if some have moved.
    order: Vec<usize>,
    /// Number of columns at the end of the panel that must move behind all others.
    moved: usize,
}

/// Reduces the columns of `a` whose remaining norm does not fall below the column's entry in
/// `limits` (empty: all), as many as it has rows. Those whose norm does are put behind; all are
/// brought up to date.
fn reduce_panel<T: Scalar>(
    mut a: ColumnsMut<'_, T>,
    limits: &[f64],
    tau: &mut [T],
) -> Result<Reduced<T>> {
    let (m, n) = a.shape();
    let width = m.min(n);
    let mut saved = try_zeroed(if limits.is_empty() { 0 } else { m * n })?;
    for (j, saved) in saved.chunks_exact_mut(m).enumerate() {
        saved.copy_from_slice(a.as_ref().col(j).as_slice());
    }
    let block = BlockReflector::factor(
        a.as_mut().subcols_mut(0, width),
        &mut tau[..width],
        Convention::Linpack,
    )?;
    let dependent =
        |j: usize, norm: f64| limits.get(j).is_some_and(|&limit| falls_below(norm, limit));
    if (0..width).all(|j| !dependent(j, a[(j, j)].into().abs())) {
        if width < n {
            let (_, rest) = a.split_at_col_mut(width);
            block.apply(Trans::Yes, rest, 1)?;
        }
        return Ok(Reduced {
            block,
            order: vec![],
            moved: 0,
        });
    }
    drop(block);
    for (j, saved) in saved.chunks_exact(m).enumerate() {
        a.as_mut().col_mut(j).as_slice_mut().copy_from_slice(saved);
    }
    let mut order: Vec<usize> = (0..n).collect();
    let (mut kept, mut moved) = (0, 0);
    for candidate in 0..n {
        if kept == m {
            break;
        }
        // The position of the candidate: columns before it have moved behind.
        if dependent(candidate, norm2(&a.as_ref().col(kept).as_slice()[kept..])) {
            order[kept..].rotate_left(1);
            rotate_columns(a.as_mut().subcols_mut(kept, n - kept), 1)?;
            moved += 1;
            continue;
        }
        let (mut done, rest) = a.as_mut().split_at_col_mut(kept + 1);
        let column = &mut done.as_mut().col_mut(kept).as_slice_mut()[kept..];
        tau[kept] = reflector(column, Convention::Linpack);
        apply_reflector(tau[kept], &column[1..], rest, kept);
        kept += 1;
    }
    let block = BlockReflector::new(a.as_ref().subcols(0, kept), &tau[..kept])?;
    Ok(Reduced {
        block,
        order,
        moved,
    })
}

/// Puts entry `order[i]` at `i`.
fn reorder<T: Copy>(x: &mut [T], order: &[usize]) {
    let before = x.to_vec();
    for (x, &from) in x.iter_mut().zip(order) {
        *x = before[from];
    }
}

/// Puts column `order[j]` at `j`.
fn reorder_columns<T: Scalar>(mut a: ColumnsMut<'_, T>, order: &[usize]) -> Result<()> {
    let (m, n) = a.shape();
    let mut before = try_zeroed(m * n)?;
    for (j, before) in before.chunks_exact_mut(m.max(1)).enumerate() {
        before.copy_from_slice(a.as_ref().col(j).as_slice());
    }
    for (j, &from) in order.iter().enumerate() {
        let column = &before[from * m..(from + 1) * m];
        a.as_mut().col_mut(j).as_slice_mut().copy_from_slice(column);
    }
    Ok(())
}

/// Moves the first `by` columns behind the others.
fn rotate_columns<T: Scalar>(mut a: ColumnsMut<'_, T>, by: usize) -> Result<()> {
    let (m, n) = a.shape();
    let mut moved = try_zeroed(m * by)?;
    for (j, moved) in moved.chunks_exact_mut(m.max(1)).enumerate() {
        moved.copy_from_slice(a.as_ref().col(j).as_slice());
    }
    for j in by..n {
        let (to, from) = a.as_mut().two_cols_mut(j - by, j);
        to.as_slice_mut().copy_from_slice(from.as_slice_mut());
    }
    for (j, moved) in moved.chunks_exact(m.max(1)).enumerate() {
        a.as_mut()
            .col_mut(n - by + j)
            .as_slice_mut()
            .copy_from_slice(moved);
    }
    Ok(())
}

/// Whether a norm is below its limit or not a number.
fn falls_below(norm: f64, limit: f64) -> bool {
    norm < limit || norm.is_nan() || limit.is_nan()
}
