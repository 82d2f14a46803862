//! Least squares for many problems.

use super::factor::ormqr;
use super::limited::qrdc2;
use crate::backend::cpu::matrix::views::ColumnsMut;
use crate::backend::cpu::triangular::trsm;
use crate::base::error::Result;
use crate::base::interrupt;
use crate::base::matrix::{Diag, Side, Trans, Uplo};
use crate::base::progress;
use crate::base::scalar::Scalar;
use crate::base::threads::{join, share, BRIEF};
use crate::cost::flops::{apply_flops, qr_flops};
use crate::device::batched::{ProblemShape, Ranks};

/// Cost of a problem in addition to its arithmetic, in multiplications: memory for its panels, and
/// calls.
const FIXED: f64 = 4000.0;

/// [`Problems`](crate::device::batched::Problems) in host memory.
pub(crate) struct Parts<'a, T> {
    pub shape: ProblemShape,
    pub count: usize,
    pub x: ColumnsMut<'a, T>,
    pub y: ColumnsMut<'a, T>,
    pub residuals: ColumnsMut<'a, T>,
    pub coefficients: ColumnsMut<'a, T>,
    pub qraux: ColumnsMut<'a, T>,
}

impl<'a, T> Parts<'a, T> {
    /// Whether there are rows, and the shapes of the matrices agree with the number of problems.
    pub(crate) fn fit(&self) -> bool {
        let (ProblemShape { m, n, q }, count) = (self.shape, self.count);
        m > 0
            && self.x.shape() == (m, n * count)
            && self.y.shape() == (m, q * count)
            && self.residuals.shape() == (m, q * count)
            && self.coefficients.shape() == (n, q * count)
            && self.qraux.shape() == (n, count)
    }

    /// The first problems, and the others.
    fn split(self, first: usize) -> (Self, Self) {
        let ProblemShape { n, q, .. } = self.shape;
        let (x, later_x) = self.x.split_at_col_mut(first * n);
        let (y, later_y) = self.y.split_at_col_mut(first * q);
        let (residuals, later_residuals) = self.residuals.split_at_col_mut(first * q);
        let (coefficients, later_coefficients) = self.coefficients.split_at_col_mut(first * q);
        let (qraux, later_qraux) = self.qraux.split_at_col_mut(first);
        let now = Parts {
            shape: self.shape,
            count: first,
            x,
            y,
            residuals,
            coefficients,
            qraux,
        };
        let later = Parts {
            shape: self.shape,
            count: self.count - first,
            x: later_x,
            y: later_y,
            residuals: later_residuals,
            coefficients: later_coefficients,
            qraux: later_qraux,
        };
        (now, later)
    }
}

/// Solves the problems, some on each thread.
pub(crate) fn qrls_batched<T: Scalar>(
    tol: f64,
    parts: Parts<'_, T>,
    threads: usize,
) -> Result<Ranks> {
    let (ProblemShape { m, n, q }, count) = (parts.shape, parts.count);
    let mut ranks = Ranks::zeros(n, count)?;
    let each = m as f64 * n as f64 * (n + 2 * q) as f64 + FIXED;
    let step = ((BRIEF * threads as f64 / each) as usize).max(1);
    let flops = qr_flops((m, n)) + apply_flops(m, n, q);
    let all = progress::part(count as f64 * flops);
    let mut rest = parts;
    for first in (0..count).step_by(step) {
        interrupt::poll()?;
        all.left((count - first) as f64 * flops);
        let many = step.min(count - first);
        let (part, later) = rest.split(many);
        rest = later;
        let jpvt = &mut ranks.jpvt[first * n..(first + many) * n];
        let rank = &mut ranks.rank[first..first + many];
        solve(tol, part, jpvt, rank, share(threads, each * many as f64))?;
    }
    Ok(ranks)
}

/// Solves problems on `threads` threads, or one problem on all.
fn solve<T: Scalar>(
    tol: f64,
    parts: Parts<'_, T>,
    jpvt: &mut [i32],
    rank: &mut [i32],
    threads: usize,
) -> Result<()> {
    let (n, count) = (parts.shape.n, parts.count);
    if threads > 1 && count > 1 {
        let half = (count * (threads / 2) / threads).max(1);
        let (left, right) = parts.split(half);
        let (jpvt1, jpvt2) = jpvt.split_at_mut(half * n);
        let (rank1, rank2) = rank.split_at_mut(half);
        let (left, right) = join(
            threads,
            |t| solve(tol, left, jpvt1, rank1, t),
            |t| solve(tol, right, jpvt2, rank2, t),
        );
        return left.and(right);
    }
    let mut rest = parts;
    for (i, rank) in rank.iter_mut().enumerate() {
        let (one, later) = rest.split(1);
        rest = later;
        *rank = solve_one(tol, one, &mut jpvt[i * n..(i + 1) * n], threads)?;
    }
    Ok(())
}

/// Solves one problem; its rank.
fn solve_one<T: Scalar>(
    tol: f64,
    one: Parts<'_, T>,
    jpvt: &mut [i32],
    threads: usize,
) -> Result<i32> {
    let Parts {
        mut x,
        mut y,
        mut residuals,
        mut coefficients,
        qraux,
        ..
    } = one;
    let zero = T::from_f64(0.0);
    let info = qrdc2(tol, x.as_mut(), threads)?;
    let (k, reflectors) = (info.rank, &info.tau[..info.rank]);
    ormqr(Trans::Yes, x.as_ref(), reflectors, y.as_mut(), threads)?;
    for c in 0..y.ncols() {
        let effects = y.as_mut().col_mut(c).as_slice_mut();
        let b = coefficients.as_mut().col_mut(c).as_slice_mut();
        b[..k].copy_from_slice(&effects[..k]);
        b[k..].fill(zero);
        let rest = residuals.as_mut().col_mut(c).as_slice_mut();
        rest[..k].fill(zero);
        rest[k..].copy_from_slice(&effects[k..]);
    }
    if k > 0 {
        let r = x.as_ref().as_dyn_stride().submatrix(0, 0, k, k);
        let b = coefficients.as_dyn_stride_mut().subrows_mut(0, k);
        let (upper, not) = (Uplo::Upper, Trans::No);
        trsm(Side::Left, upper, not, Diag::NonUnit, r, b, threads)?;
    }
    ormqr(Trans::No, x.as_ref(), reflectors, residuals, threads)?;
    to_linpack(x, &info.tau, qraux);
    for (to, from) in jpvt.iter_mut().zip(&info.jpvt) {
        *to = *from as i32;
    }
    Ok(k as i32)
}

/// Converts the result of [`qrdc2`] to LINPACK's form: reflector j times `tau_j`, which is
/// `qraux[j]`; in the columns that have no reflector `qraux` holds the norm of what remains, the
/// last entry.
fn to_linpack<T: Scalar>(mut x: ColumnsMut<'_, T>, tau: &[T], mut qraux: ColumnsMut<'_, T>) {
    let m = x.nrows();
    for j in 0..x.ncols() {
        let column = x.as_mut().col_mut(j).as_slice_mut();
        let aux = &mut qraux.as_mut().col_mut(0).as_slice_mut()[j];
        if j + 1 < m {
            *aux = tau[j];
            for v in &mut column[j + 1..] {
                *v *= tau[j];
            }
        } else {
            let last: f64 = column[m - 1].into();
            *aux = T::from_f64(last.abs());
        }
    }
}
