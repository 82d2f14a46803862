//! QR with column exchanges: LAPACK's rule and R's.

use super::qr::{apply_reflector, reflector};
use super::vector::{norm2, simd};
use super::ColumnsMut;
use crate::device::PivotedQr;
use crate::error::Result;
use crate::interrupt;
use crate::scalar::{try_zeroed, Scalar};

/// The column of largest remaining norm next; LAPACK's `geqp3`.
pub(crate) fn geqp3<T: Scalar>(mut a: ColumnsMut<'_, T>, _threads: usize) -> Result<PivotedQr<T>> {
    let (m, n) = a.shape();
    let size = m.min(n);
    let mut jpvt: Vec<usize> = (0..n).collect();
    let mut tau = try_zeroed(size)?;
    // The norm as updated, and as last computed.
    let mut now: Vec<f64> = (0..n)
        .map(|j| norm2(a.as_ref().col(j).as_slice()))
        .collect();
    let mut exact = now.clone();
    let threshold = T::EPS.sqrt();
    for k in 0..size {
        interrupt::poll()?;
        let mut p = k;
        for j in k + 1..n {
            if now[j] > now[p] {
                p = j;
            }
        }
        if p != k {
            let (x, y) = a.as_mut().two_cols_mut(k, p);
            x.as_slice_mut().swap_with_slice(y.as_slice_mut());
            jpvt.swap(k, p);
            now[p] = now[k];
            exact[p] = exact[k];
        }
        let (mut done, mut rest) = a.as_mut().split_at_col_mut(k + 1);
        let column = &mut done.as_mut().col_mut(k).as_slice_mut()[k..];
        tau[k] = reflector(column);
        simd::<T, _>(|| apply_reflector(tau[k], &column[1..], rest.as_mut(), k));
        for j in k + 1..n {
            if now[j] == 0.0 {
                continue;
            }
            let column = rest.as_ref().col(j - k - 1).as_slice();
            let ratio = column[k].into().abs() / now[j];
            let left = ((1.0 + ratio) * (1.0 - ratio)).max(0.0);
            if left * (now[j] / exact[j]).powi(2) <= threshold {
                now[j] = norm2(&column[k + 1..]);
                exact[j] = now[j];
            } else {
                now[j] *= left.sqrt();
            }
        }
    }
    Ok(PivotedQr {
        tau,
        jpvt,
        rank: size,
    })
}

/// Columns in order, those whose remaining norm falls below `tol` times their first norm last; R's `dqrdc2`.
pub(crate) fn qrdc2<T: Scalar>(
    tol: f64,
    mut a: ColumnsMut<'_, T>,
    _threads: usize,
) -> Result<PivotedQr<T>> {
    let (m, n) = a.shape();
    let size = m.min(n);
    let mut jpvt: Vec<usize> = (0..n).collect();
    let mut tau = try_zeroed(size)?;
    let mut now: Vec<f64> = (0..n)
        .map(|j| norm2(a.as_ref().col(j).as_slice()))
        .collect();
    let mut first: Vec<f64> = now
        .iter()
        .map(|&v| if v == 0.0 { 1.0 } else { v })
        .collect();
    // Columns `kept..` have been moved behind.
    let mut kept = n;
    for l in 0..size {
        interrupt::poll()?;
        while l < kept && falls_below(now[l], first[l] * tol) {
            for j in l + 1..n {
                let (x, y) = a.as_mut().two_cols_mut(j - 1, j);
                x.as_slice_mut().swap_with_slice(y.as_slice_mut());
            }
            jpvt[l..].rotate_left(1);
            now[l..].rotate_left(1);
            first[l..].rotate_left(1);
            kept -= 1;
        }
        if l + 1 == m {
            break;
        }
        let (mut done, mut rest) = a.as_mut().split_at_col_mut(l + 1);
        let column = &mut done.as_mut().col_mut(l).as_slice_mut()[l..];
        tau[l] = linpack_reflector(column);
        if tau[l] == T::from_f64(0.0) {
            continue;
        }
        simd::<T, _>(|| apply_reflector(tau[l], &column[1..], rest.as_mut(), l));
        for (j, norm) in now[l + 1..].iter_mut().enumerate() {
            if *norm == 0.0 {
                continue;
            }
            let column = rest.as_ref().col(j).as_slice();
            let left = (1.0 - (column[l].into().abs() / *norm).powi(2)).max(0.0);
            if left < 1e-6 {
                *norm = norm2(&column[l + 1..]);
            } else {
                *norm *= left.sqrt();
            }
        }
    }
    Ok(PivotedQr {
        tau,
        jpvt,
        rank: kept.min(m),
    })
}

/// Like [`reflector`], but a column that is zero below its head is reflected too, as LINPACK does.
fn linpack_reflector<T: Scalar>(x: &mut [T]) -> T {
    let tau = reflector(x);
    match x.first_mut() {
        Some(head) if tau == T::from_f64(0.0) && *head != T::from_f64(0.0) => {
            *head = -*head;
            T::from_f64(2.0)
        }
        _ => tau,
    }
}

/// Whether a norm is below its limit or not a number.
fn falls_below(norm: f64, limit: f64) -> bool {
    norm < limit || norm.is_nan() || limit.is_nan()
}
