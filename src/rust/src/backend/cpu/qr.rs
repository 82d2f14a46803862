//! Householder QR.

use faer::{Accum, MatMut, MatRef};

use super::gemm::product;
use super::vector::{axpy, dot, norm2, scale, simd};
use super::{Columns, ColumnsMut};
use crate::error::Result;
use crate::interrupt;
use crate::matrix::Trans;
use crate::scalar::{try_zeroed, Scalar};

/// Reflectors applied together.
const BLOCK: usize = 32;

/// `A = QR` in place; the factors `tau`.
pub(crate) fn geqrf<T: Scalar>(mut a: ColumnsMut<'_, T>, threads: usize) -> Result<Vec<T>> {
    let (m, n) = a.shape();
    let size = m.min(n);
    let mut tau = try_zeroed(size)?;
    for k in (0..size).step_by(BLOCK) {
        interrupt::poll()?;
        let width = BLOCK.min(size - k);
        let corner = a.as_mut().submatrix_mut(k, k, m - k, n - k);
        let (mut panel, rest) = corner.split_at_col_mut(width);
        simd::<T, _>(|| panel_unblocked(panel.as_mut(), &mut tau[k..k + width]));
        if rest.ncols() > 0 {
            let block = BlockReflector::new(panel.as_ref(), &tau[k..k + width], threads)?;
            block.apply(Trans::Yes, rest, threads)?;
        }
    }
    Ok(tau)
}

/// Columns one by one, the remaining columns of the panel updated at once.
#[inline(always)]
fn panel_unblocked<T: Scalar>(mut a: ColumnsMut<'_, T>, tau: &mut [T]) {
    for (k, tau) in tau.iter_mut().enumerate() {
        let (mut done, rest) = a.as_mut().split_at_col_mut(k + 1);
        let column = &mut done.as_mut().col_mut(k).as_slice_mut()[k..];
        *tau = reflector(column);
        apply_reflector(*tau, &column[1..], rest, k);
    }
}

/// Turns `x` into `(beta, v)` with `H x = beta e1`, `H = I - tau (1, v)(1, v)'`; LAPACK's `larfg`.
/// A tail of zeros gives `tau = 0`.
pub(crate) fn reflector<T: Scalar>(x: &mut [T]) -> T {
    let Some((alpha, tail)) = x.split_first_mut() else {
        return T::from_f64(0.0);
    };
    // Norms of subnormal numbers have no accuracy left to make Q orthogonal with.
    let (small, up) = if T::EPS > 1e-10 {
        (1e-31, 2f64.powi(60))
    } else {
        (1e-290, 2f64.powi(600))
    };
    let mut norm = norm2(tail);
    if norm == 0.0 {
        return T::from_f64(0.0);
    }
    let mut head: f64 = (*alpha).into();
    let mut down = 1.0;
    if norm.hypot(head) < small {
        down = 1.0 / up;
        scale(T::from_f64(up), tail);
        head *= up;
        norm = norm2(tail);
    }
    let beta = -norm.hypot(head).copysign(head);
    scale(T::from_f64(1.0 / (head - beta)), tail);
    *alpha = T::from_f64(beta * down);
    T::from_f64((beta - head) / beta)
}

/// `C <- H C` on rows `k..` for the reflector `(1, v)`.
#[inline(always)]
pub(crate) fn apply_reflector<T: Scalar>(tau: T, v: &[T], mut c: ColumnsMut<'_, T>, k: usize) {
    if tau == T::from_f64(0.0) {
        return;
    }
    for j in 0..c.ncols() {
        let column = &mut c.as_mut().col_mut(j).as_slice_mut()[k..];
        let Some((head, tail)) = column.split_first_mut() else {
            continue;
        };
        let w = tau * (*head + dot(v, tail));
        *head -= w;
        axpy(-w, v, tail);
    }
}

/// `I - V T V'` for several reflectors, V with its unit lower trapezoid written out.
pub(crate) struct BlockReflector<T> {
    v: Vec<T>,
    t: Vec<T>,
    rows: usize,
    width: usize,
}

impl<T: Scalar> BlockReflector<T> {
    /// For the reflectors below the diagonal of `a`.
    pub(crate) fn new(a: Columns<'_, T>, tau: &[T], threads: usize) -> Result<Self> {
        let (rows, width) = (a.nrows(), tau.len());
        let mut v = try_zeroed(rows * width)?;
        for (j, column) in v.chunks_exact_mut(rows).enumerate() {
            column[j] = T::from_f64(1.0);
            column[j + 1..].copy_from_slice(&a.col(j).as_slice()[j + 1..]);
        }
        let mut gram = try_zeroed(width * width)?;
        let view = MatRef::from_column_major_slice(&v, rows, width);
        product(
            MatMut::from_column_major_slice_mut(&mut gram, width, width),
            Accum::Replace,
            view.transpose(),
            view,
            T::from_f64(1.0),
            threads,
        );
        // T's column j is -tau_j T (V'v_j) above the diagonal and tau_j on it.
        let mut t: Vec<T> = try_zeroed(width * width)?;
        for j in 0..width {
            let (done, column) = t.split_at_mut(j * width);
            for (l, before) in done.chunks_exact(width).enumerate() {
                axpy(
                    -tau[j] * gram[j * width + l],
                    &before[..=l],
                    &mut column[..=l],
                );
            }
            column[j] = tau[j];
        }
        Ok(BlockReflector { v, t, rows, width })
    }

    /// `C <- Q' C` (`Trans::Yes`) or `Q C`.
    pub(crate) fn apply(
        &self,
        trans: Trans,
        mut c: ColumnsMut<'_, T>,
        threads: usize,
    ) -> Result<()> {
        let n = c.ncols();
        let v = MatRef::from_column_major_slice(&self.v, self.rows, self.width);
        let t = MatRef::from_column_major_slice(&self.t, self.width, self.width);
        let (one, len) = (T::from_f64(1.0), self.width * n);
        let (mut w, mut tw) = (try_zeroed(len)?, try_zeroed(len)?);
        let mut w = MatMut::from_column_major_slice_mut(&mut w, self.width, n);
        let mut tw = MatMut::from_column_major_slice_mut(&mut tw, self.width, n);
        product(
            w.as_mut(),
            Accum::Replace,
            v.transpose(),
            c.as_ref().as_dyn_stride(),
            one,
            threads,
        );
        let t = if trans.is_yes() { t.transpose() } else { t };
        product(tw.as_mut(), Accum::Replace, t, w.as_ref(), one, threads);
        product(
            c.as_mut().as_dyn_stride_mut(),
            Accum::Add,
            v,
            tw.as_ref(),
            -one,
            threads,
        );
        Ok(())
    }
}

/// `C <- Q' C` or `Q C` for the reflectors in `a`.
pub(crate) fn ormqr<T: Scalar>(
    trans: Trans,
    a: Columns<'_, T>,
    tau: &[T],
    mut c: ColumnsMut<'_, T>,
    threads: usize,
) -> Result<()> {
    let m = a.nrows();
    let blocks = tau.len().div_ceil(BLOCK);
    for b in 0..blocks {
        interrupt::poll()?;
        // Q = H1 H2 ...: its transpose applies the first reflector first.
        let k = BLOCK * if trans.is_yes() { b } else { blocks - 1 - b };
        let width = BLOCK.min(tau.len() - k);
        let block =
            BlockReflector::new(a.submatrix(k, k, m - k, width), &tau[k..k + width], threads)?;
        block.apply(trans, c.as_mut().subrows_mut(k, m - k), threads)?;
    }
    Ok(())
}
