//! Dense work on one front of a multifrontal factorization: what a node's unknowns and those that
//! they are joined to share.
//!
//! A front has `own` unknowns that are eliminated, and others. Its panel, by columns, has a row for
//! each and a column for each of its own; what is above the diagonal is not read. The update, of
//! the other unknowns, has its lower triangle.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{cholesky_in_place, cholesky_in_place_scratch};
use faer::linalg::matmul::matmul;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::linalg::triangular_solve::solve_lower_triangular_in_place;
use faer::{Accum, MatMut, MatRef, Par};

use crate::base::error::{Error, Result};
use crate::base::interrupt::Stop;
use crate::base::simd::on_widest;
use crate::base::threads::BRIEF;

/// Fronts with fewer of their own unknowns are too small for faer's kernels.
const SMALL: usize = 24;

/// Columns of a large front that are eliminated together.
const BLOCK: usize = 256;

/// Eliminates: the panel becomes that of the factor L, and `L_others L_others'` is taken off the
/// update. False where a pivot is not positive.
pub(crate) fn eliminate(
    panel: &mut [f64],
    own: usize,
    update: &mut [f64],
    par: Par,
    stop: Stop<'_>,
) -> Result<bool> {
    if own == 0 {
        return Ok(true);
    }
    if own < SMALL {
        return Ok(on_widest(
            #[inline(always)]
            || eliminate_small(panel, own, update),
        ));
    }
    eliminate_blocks(panel, own, update, par, stop, BRIEF)
}

/// In steps of up to so many multiplications.
fn eliminate_blocks(
    panel: &mut [f64],
    own: usize,
    update: &mut [f64],
    par: Par,
    stop: Stop<'_>,
    brief: f64,
) -> Result<bool> {
    let rows = panel.len() / own;
    let others = rows - own;
    let mut update = MatMut::from_column_major_slice_mut(update, others, others);
    let whole = own as f64 * rows as f64 * rows as f64;
    let block = if whole > brief { BLOCK.min(own) } else { own };
    let needed = cholesky_in_place_scratch::<f64>(block, par, Default::default());
    let mut memory = MemBuffer::try_new(needed).map_err(|_| Error::HostMemory {
        needed: needed.unaligned_bytes_required() as u64,
    })?;
    for first in (0..own).step_by(block) {
        let end = (first + block).min(own);
        // Columns at a time of those that are taken from.
        let width = (brief / (block as f64 * rows as f64)) as usize;
        let width = width.max(SMALL);
        stop.poll()?;
        let panel = MatMut::from_column_major_slice_mut(panel, rows, own);
        let (done, mut later) = panel.split_at_col_mut(end);
        let done = done
            .subcols_mut(first, end - first)
            .subrows_mut(first, rows - first);
        let (mut top, mut below) = done.split_at_row_mut(end - first);
        let stack = MemStack::new(&mut memory);
        let params = Default::default();
        let factored = cholesky_in_place(top.as_mut(), Default::default(), par, stack, params);
        if factored.is_err() {
            return Ok(false);
        }
        solve_lower_triangular_in_place(top.as_ref(), below.as_mut().transpose_mut(), par);
        let below = below.as_ref();
        take_off_block(
            later.as_mut().subrows_mut(end, rows - end),
            below,
            width,
            par,
            stop,
        )?;
        let of_others = below.subrows(own - end, others);
        take_off_block(update.as_mut(), of_others, width, par, stop)?;
    }
    Ok(true)
}

/// Takes `l l'` off the leading columns that there are of its lower triangle, by groups of them.
/// What is above the diagonal within a group changes, too.
fn take_off_block(
    mut from: MatMut<'_, f64>,
    l: MatRef<'_, f64>,
    width: usize,
    par: Par,
    stop: Stop<'_>,
) -> Result<()> {
    let (rows, columns) = (from.nrows(), from.ncols());
    if columns <= width && rows == columns {
        triangular::matmul(
            from,
            BlockStructure::TriangularLower,
            Accum::Add,
            l,
            BlockStructure::Rectangular,
            l.transpose(),
            BlockStructure::Rectangular,
            -1.0,
            par,
        );
        return Ok(());
    }
    for first in (0..columns).step_by(width) {
        stop.poll()?;
        let count = width.min(columns - first);
        let into = from
            .as_mut()
            .submatrix_mut(first, first, rows - first, count);
        let by = l.subrows(first, count).transpose();
        matmul(
            into,
            Accum::Add,
            l.subrows(first, rows - first),
            by,
            -1.0,
            par,
        );
    }
    Ok(())
}

/// `y <- y - L[j.., ..k] L[j, ..k]'`, of a panel's first k columns.
#[inline(always)]
fn take_off(done: &[f64], rows: usize, j: usize, y: &mut [f64]) {
    let n = y.len();
    let mut groups = done.chunks_exact(4 * rows);
    for group in &mut groups {
        let column = |k: usize| {
            let c = &group[k * rows + j..(k + 1) * rows];
            (&c[..n], c[0])
        };
        let ((a, fa), (b, fb), (c, fc), (d, fd)) = (column(0), column(1), column(2), column(3));
        for i in 0..n {
            y[i] -= fa * a[i] + fb * b[i] + (fc * c[i] + fd * d[i]);
        }
    }
    for column in groups.remainder().chunks_exact(rows) {
        let column = &column[j..];
        let f = column[0];
        for (y, c) in y.iter_mut().zip(column) {
            *y -= f * c;
        }
    }
}

#[inline(always)]
fn eliminate_small(panel: &mut [f64], own: usize, update: &mut [f64]) -> bool {
    let rows = panel.len() / own;
    let others = rows - own;
    for j in 0..own {
        let (done, rest) = panel.split_at_mut(j * rows);
        let column = &mut rest[j..rows];
        take_off(done, rows, j, column);
        if column[0].is_nan() || column[0] <= 0.0 {
            return false;
        }
        let pivot = column[0].sqrt();
        let by = 1.0 / pivot;
        column.iter_mut().for_each(|v| *v *= by);
        column[0] = pivot;
    }
    for j in 0..others {
        take_off(
            panel,
            rows,
            own + j,
            &mut update[j * others + j..(j + 1) * others],
        );
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_a_large_front_give_what_the_whole_gives() {
        let (own, others) = (600, 130);
        let rows = own + others;
        let entry = |i: usize, j: usize| {
            let d = (i as f64 - j as f64) / 40.0;
            (-d * d).exp() + if i == j { 1.0 } else { 0.0 }
        };
        let panel: Vec<f64> = (0..own * rows).map(|k| entry(k % rows, k / rows)).collect();
        let update: Vec<f64> = (0..others * others)
            .map(|k| entry(own + k % others, own + k / others))
            .collect();
        let run = |brief| {
            let (mut p, mut u) = (panel.clone(), update.clone());
            let done = eliminate_blocks(&mut p, own, &mut u, Par::Seq, Stop::HERE, brief);
            assert!(done.unwrap());
            (p, u)
        };
        let ((p, u), (q, v)) = (run(1e12), run(1e6));
        for j in 0..own {
            assert!((j..rows).all(|i| (p[j * rows + i] - q[j * rows + i]).abs() < 1e-12));
        }
        for j in 0..others {
            assert!((j..others).all(|i| (u[j * others + i] - v[j * others + i]).abs() < 1e-12));
        }
        let mut p = panel.clone();
        p[599 * rows + 599] = -1.0;
        let done = eliminate_blocks(&mut p, own, &mut update.clone(), Par::Seq, Stop::HERE, 1e6);
        assert!(!done.unwrap());
    }
}
