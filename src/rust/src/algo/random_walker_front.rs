//! Dense work on one front of a multifrontal factorization: what a node's unknowns and those that they are joined to share.
//!
//! A front has `own` unknowns that are eliminated, and others. Its panel, by columns, has a row for each and a column for each of its own; what is above the diagonal is not read. The update, of the other
//! unknowns, has its lower triangle.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{cholesky_in_place, cholesky_in_place_scratch};
use faer::linalg::matmul::matmul;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::linalg::triangular_solve::{
    solve_lower_triangular_in_place, solve_upper_triangular_in_place,
};
use faer::{Accum, MatMut, MatRef, Par};

/// Fronts with fewer of their own unknowns are too small for faer's kernels.
const SMALL: usize = 24;

/// As many right-hand sides are worth faer's kernels.
const MANY: usize = 4;

/// Eliminates: the panel becomes that of the factor L, and `L_others L_others'` is taken off the update. False where a pivot is not positive.
pub(super) fn eliminate(panel: &mut [f64], own: usize, update: &mut [f64], par: Par) -> bool {
    if own == 0 {
        return true;
    }
    if own < SMALL {
        return pulp::Arch::new().dispatch(
            #[inline(always)]
            || eliminate_small(panel, own, update),
        );
    }
    let rows = panel.len() / own;
    let others = rows - own;
    let whole = MatMut::from_column_major_slice_mut(panel, rows, own);
    let (mut top, mut below) = whole.split_at_row_mut(own);
    let Ok(mut memory) = MemBuffer::try_new(cholesky_in_place_scratch::<f64>(
        own,
        par,
        Default::default(),
    )) else {
        return false;
    };
    let stack = MemStack::new(&mut memory);
    let done = cholesky_in_place(
        top.as_mut(),
        Default::default(),
        par,
        stack,
        Default::default(),
    );
    if done.is_err() {
        return false;
    }
    solve_lower_triangular_in_place(top.as_ref(), below.as_mut().transpose_mut(), par);
    triangular::matmul(
        MatMut::from_column_major_slice_mut(update, others, others),
        BlockStructure::TriangularLower,
        Accum::Add,
        below.as_ref(),
        BlockStructure::Rectangular,
        below.as_ref().transpose(),
        BlockStructure::Rectangular,
        -1.0,
        par,
    );
    true
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
        // Not for NaN either.
        if !(column[0] > 0.0) {
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

/// `x_own <- L_own^-1 x_own`, and `L_others x_own` taken off the others, for every column of x, which has a row for each unknown of the front.
pub(super) fn forward(panel: &[f64], own: usize, x: &mut [f64], columns: usize) {
    if own == 0 {
        return;
    }
    let rows = panel.len() / own;
    if own >= SMALL && columns >= MANY {
        let l = MatRef::from_column_major_slice(panel, rows, own);
        let x = MatMut::from_column_major_slice_mut(x, rows, columns);
        let (mut top, below) = x.split_at_row_mut(own);
        let (l_top, l_below) = l.split_at_row(own);
        solve_lower_triangular_in_place(l_top, top.as_mut(), Par::Seq);
        return matmul(below, Accum::Add, l_below, top.as_ref(), -1.0, Par::Seq);
    }
    pulp::Arch::new().dispatch(
        #[inline(always)]
        || {
            for (j, l) in panel.chunks_exact(rows).enumerate() {
                let by = 1.0 / l[j];
                for x in x.chunks_exact_mut(rows) {
                    let f = x[j] * by;
                    x[j] = f;
                    for (x, l) in x[j + 1..].iter_mut().zip(&l[j + 1..]) {
                        *x -= f * l;
                    }
                }
            }
        },
    );
}

/// `x_own <- L_own^-T (x_own - L_others' x_others)`, for every column of x.
pub(super) fn backward(panel: &[f64], own: usize, x: &mut [f64], columns: usize) {
    if own == 0 {
        return;
    }
    let rows = panel.len() / own;
    if own >= SMALL && columns >= MANY {
        let l = MatRef::from_column_major_slice(panel, rows, own);
        let x = MatMut::from_column_major_slice_mut(x, rows, columns);
        let (mut top, below) = x.split_at_row_mut(own);
        let (l_top, l_below) = l.split_at_row(own);
        let below = below.as_ref();
        matmul(
            top.as_mut(),
            Accum::Add,
            l_below.transpose(),
            below,
            -1.0,
            Par::Seq,
        );
        return solve_upper_triangular_in_place(l_top.transpose(), top, Par::Seq);
    }
    pulp::Arch::new().dispatch(
        #[inline(always)]
        || {
            for (j, l) in panel.chunks_exact(rows).enumerate().rev() {
                let by = 1.0 / l[j];
                for x in x.chunks_exact_mut(rows) {
                    x[j] = (x[j] - dot(&l[j + 1..], &x[j + 1..])) * by;
                }
            }
        },
    );
}

#[inline(always)]
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 16];
    let (mut a, mut b) = (a.chunks_exact(16), b.chunks_exact(16));
    for (a, b) in (&mut a).zip(&mut b) {
        for k in 0..16 {
            sums[k] += a[k] * b[k];
        }
    }
    let rest = a.remainder().iter().zip(b.remainder());
    rest.map(|(a, b)| a * b).sum::<f64>() + sums.iter().sum::<f64>()
}
