//! Householder QR.

use super::householder::{apply_reflector, BlockReflector, Convention};
use crate::backend::cpu::matrix::views::{Columns, ColumnsMut};
use crate::base::error::Result;
use crate::base::interrupt;
use crate::base::matrix::Trans;
use crate::base::progress;
use crate::base::scalar::{try_zeroed, Scalar};
use crate::base::threads::{batch, join, pieces, share};
use crate::cost::flops::{form_flops, qr_flops, reflect_flops};

/// Reflectors applied together: more for larger matrices, where the panel is the smaller part.
fn block_width(m: usize, n: usize) -> usize {
    match m.min(n) {
        0..128 => 16,
        128..512 => 32,
        512..1536 => 64,
        _ => 128,
    }
}

/// Columns updated by one thread at a time.
const CHUNK: usize = 256;

/// `A[i,j] <- below[j] A[i,j]` under the diagonal, `rows[i] A[i,j]` on and above it; The factor is
/// 1 beyond the end of a list.
pub(crate) fn scale_trapezoids<T: Scalar>(
    below: &[T],
    rows: &[T],
    a: ColumnsMut<'_, T>,
    threads: usize,
) {
    let threads = share(threads, 4.0 * a.nrows() as f64 * a.ncols() as f64);
    scale_columns(below, rows, a, 0, threads);
}

/// For a matrix whose columns begin with column `first`.
fn scale_columns<T: Scalar>(
    below: &[T],
    rows: &[T],
    mut a: ColumnsMut<'_, T>,
    first: usize,
    threads: usize,
) {
    let cols = a.ncols();
    if threads > 1 && cols > 1 {
        let (left, right) = a.split_at_col_mut(cols / 2);
        join(
            threads,
            |t| scale_columns(below, rows, left, first, t),
            |t| scale_columns(below, rows, right, first + cols / 2, t),
        );
        return;
    }
    for j in 0..cols {
        let column = a.as_mut().col_mut(j).as_slice_mut();
        let at = column.len().min(first + j + 1);
        let (upper, lower) = column.split_at_mut(at);
        for (x, factor) in upper.iter_mut().zip(rows) {
            *x *= *factor;
        }
        if let Some(factor) = below.get(first + j) {
            lower.iter_mut().for_each(|x| *x *= *factor);
        }
    }
}

/// `A = QR` in place; the factors `tau`.
pub(crate) fn geqrf<T: Scalar>(mut a: ColumnsMut<'_, T>, threads: usize) -> Result<Vec<T>> {
    let (m, n) = a.shape();
    let size = m.min(n);
    let mut tau = try_zeroed(size)?;
    if size == 0 {
        return Ok(tau);
    }
    let threads = share(threads, m as f64 * n as f64 * size as f64 / 16.0);
    let (beside_panel, on_rest) = pieces(threads);
    let width = block_width(m, n);
    let mut width_now = width.min(size);
    let mut block = BlockReflector::factor(
        a.as_mut().subcols_mut(0, width_now),
        &mut tau[..width_now],
        Convention::Lapack,
    )?;
    let all = progress::part(qr_flops((m, n)));
    for k in (0..size).step_by(width) {
        interrupt::poll()?;
        all.left(qr_flops((m - k, n - k)));
        let rest = a
            .as_mut()
            .submatrix_mut(k, k + width_now, m - k, n - k - width_now);
        let next_width = width.min(size - k - width_now);
        let (next, rest) = rest.split_at_col_mut(next_width);
        let batch = batch(threads, 2 * (m - k) * width).min(rest.ncols());
        let (beside, mut rest) = rest.split_at_col_mut(batch);
        let next_tau = &mut tau[k + width_now..k + width_now + next_width];
        // One thread brings the next panel up to date and factors it while the others bring the
        // rest up to date.
        let (next_block, updated) = join(
            threads,
            |_| {
                let mut next = next;
                block.apply(Trans::Yes, next.as_mut(), 1)?;
                let below = next.subrows_mut(width_now, m - k - width_now);
                BlockReflector::factor(below, next_tau, Convention::Lapack)
            },
            |_| apply_chunks(&block, Trans::Yes, beside, beside_panel),
        );
        updated?;
        for j in (0..rest.ncols()).step_by(batch.max(1)) {
            interrupt::poll()?;
            let some = batch.min(rest.ncols() - j);
            apply_chunks(
                &block,
                Trans::Yes,
                rest.as_mut().subcols_mut(j, some),
                on_rest,
            )?;
        }
        block = next_block?;
        width_now = next_width;
    }
    Ok(tau)
}

/// Applies a block in at most `pieces` pieces, each for any idle thread. A single piece is still
/// split so that parts fit the cache.
pub(crate) fn apply_chunks<T: Scalar>(
    block: &BlockReflector<T>,
    trans: Trans,
    c: ColumnsMut<'_, T>,
    pieces: usize,
) -> Result<()> {
    let n = c.ncols();
    if n <= CHUNK || pieces < 2 && n <= 2 * CHUNK {
        return block.apply(trans, c, 1);
    }
    let (left, right) = c.split_at_col_mut((n / 2).next_multiple_of(8));
    let (first, second) = join(
        pieces,
        |p| apply_chunks(block, trans, left, p),
        |p| apply_chunks(block, trans, right, p),
    );
    first.and(second)
}

/// Up to this number of columns it is not worth forming a block.
const FEW: usize = 4;

fn one_by_one<T: Scalar>(
    trans: Trans,
    a: Columns<'_, T>,
    tau: &[T],
    mut c: ColumnsMut<'_, T>,
) -> Result<()> {
    for step in 0..tau.len() {
        if step % 64 == 0 {
            interrupt::poll()?;
        }
        let k = if trans.is_yes() {
            step
        } else {
            tau.len() - 1 - step
        };
        let v = &a.col(k).as_slice()[k + 1..];
        apply_reflector(tau[k], v, c.as_mut(), k);
    }
    Ok(())
}

/// `C <- Q' C` or `Q C` for the reflectors in `a`.
pub(crate) fn ormqr<T: Scalar>(
    trans: Trans,
    a: Columns<'_, T>,
    tau: &[T],
    mut c: ColumnsMut<'_, T>,
    threads: usize,
) -> Result<()> {
    let (m, n) = c.shape();
    if n <= FEW {
        return one_by_one(trans, a, tau, c);
    }
    let width = block_width(m, tau.len());
    let blocks = tau.len().div_ceil(width);
    let flops = |from: usize| {
        let from = from.min(tau.len());
        reflect_flops((m - from, tau.len() - from), n)
    };
    let all = progress::part(flops(0));
    for b in 0..blocks {
        all.left(match trans.is_yes() {
            true => flops(b * width),
            false => flops(0) - flops((blocks - b) * width),
        });
        // Q = H1 H2 ...: its transpose applies the first reflector first.
        let k = width * if trans.is_yes() { b } else { blocks - 1 - b };
        let width = width.min(tau.len() - k);
        let below = c.as_mut().subrows_mut(k, m - k);
        apply_block(trans, a, k, &tau[k..k + width], below, threads)?;
    }
    Ok(())
}

/// The reflectors from column `k` of `a` on, with factors `tau`, applied to rows `k..` of a matrix.
fn apply_block<T: Scalar>(
    trans: Trans,
    a: Columns<'_, T>,
    k: usize,
    tau: &[T],
    mut c: ColumnsMut<'_, T>,
    threads: usize,
) -> Result<()> {
    let ((rows, n), width) = (c.shape(), tau.len());
    let block = BlockReflector::new(a.submatrix(k, k, rows, width), tau)?;
    let work = 2.0 * rows as f64 * width as f64 * n as f64;
    let threads = share(threads, work);
    let batch = batch(threads, 2 * rows * width);
    for j in (0..n).step_by(batch) {
        interrupt::poll()?;
        let some = batch.min(n - j);
        let part = c.as_mut().subcols_mut(j, some);
        apply_chunks(&block, trans, part, threads)?;
    }
    Ok(())
}

/// `Q <-` the first columns of the product of the reflectors in `a`, no fewer than there are
/// reflectors.
pub(crate) fn orgqr<T: Scalar>(
    a: Columns<'_, T>,
    tau: &[T],
    mut q: ColumnsMut<'_, T>,
    threads: usize,
) -> Result<()> {
    let (m, n) = q.shape();
    for j in 0..n {
        let column = q.as_mut().col_mut(j).as_slice_mut();
        column.fill(T::from_f64(0.0));
        column[j] = T::from_f64(1.0);
    }
    // The last block comes first: columns before it are still those of the identity, zero where it
    // reflects.
    let width = block_width(m, tau.len());
    let flops = |from: usize| {
        let from = from.min(tau.len());
        form_flops((m - from, tau.len() - from), n - from)
    };
    let all = progress::part(flops(0));
    for k in (0..tau.len()).step_by(width).rev() {
        all.left(flops(0) - flops(k + width));
        let width = width.min(tau.len() - k);
        let part = q.as_mut().submatrix_mut(k, k, m - k, n - k);
        apply_block(Trans::No, a, k, &tau[k..k + width], part, threads)?;
    }
    Ok(())
}
