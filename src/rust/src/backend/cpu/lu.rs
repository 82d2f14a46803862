//! LU with partial pivoting.

use faer::Accum;

use super::gemm::product;
use super::triangular::trsm;
use super::vector::{axpy, simd};
use super::ColumnsMut;
use crate::device::LuInfo;
use crate::error::Result;
use crate::interrupt;
use crate::matrix::{Diag, Side, Trans, Uplo};
use crate::scalar::Scalar;

/// Width of the columns eliminated one by one.
const BASE: usize = 16;

pub(crate) fn getrf<T: Scalar>(mut a: ColumnsMut<'_, T>, threads: usize) -> Result<LuInfo> {
    let size = a.nrows().min(a.ncols());
    let mut ipiv = vec![0; size];
    recurse(a.as_mut(), &mut ipiv, threads)?;
    let zero = (0..size).find(|&i| a[(i, i)] == T::from_f64(0.0));
    Ok(LuInfo { ipiv, zero })
}

/// Halves the columns, as LAPACK's `getrf2`; `ipiv` counts from the first row of `a`.
fn recurse<T: Scalar>(a: ColumnsMut<'_, T>, ipiv: &mut [usize], threads: usize) -> Result<()> {
    interrupt::poll()?;
    let (m, n) = a.shape();
    let size = m.min(n);
    if n <= BASE || size <= 1 {
        simd::<T, _>(|| eliminate(a, ipiv));
        return Ok(());
    }
    let half = size / 2;
    let (mut left, mut right) = a.split_at_col_mut(half);
    let (first, second) = ipiv.split_at_mut(half);
    recurse(left.as_mut(), first, threads)?;
    laswp(Trans::No, first, right.as_mut());
    let (mut a12, mut a22) = right.split_at_row_mut(half);
    let (a11, a21) = left.as_ref().split_at_row(half);
    trsm(
        Side::Left,
        Uplo::Lower,
        Trans::No,
        Diag::Unit,
        a11.as_dyn_stride(),
        a12.as_mut().as_dyn_stride_mut(),
        threads,
    )?;
    product(
        a22.as_mut().as_dyn_stride_mut(),
        Accum::Add,
        a21.as_dyn_stride(),
        a12.as_ref().as_dyn_stride(),
        T::from_f64(-1.0),
        threads,
    );
    recurse(a22, second, threads)?;
    let (_, a21) = left.split_at_row_mut(half);
    laswp(Trans::No, second, a21);
    for p in second {
        *p += half;
    }
    Ok(())
}

/// Column by column: the first largest entry, exchange, divide, update what is to the right.
#[inline(always)]
fn eliminate<T: Scalar>(mut a: ColumnsMut<'_, T>, ipiv: &mut [usize]) {
    let n = a.ncols();
    let tiny = faer::traits::math_utils::min_positive::<T>();
    for (k, pivot_row) in ipiv.iter_mut().enumerate() {
        let column = a.as_mut().col_mut(k).as_slice_mut();
        let p = k + first_largest(&column[k..]);
        *pivot_row = p;
        let pivot = column[p];
        if pivot != T::from_f64(0.0) {
            column.swap(k, p);
            // The reciprocal of a subnormal number overflows.
            if pivot >= tiny || -pivot >= tiny {
                let inverse = T::from_f64(1.0) / pivot;
                for x in &mut column[k + 1..] {
                    *x *= inverse;
                }
            } else {
                for x in &mut column[k + 1..] {
                    *x /= pivot;
                }
            }
        }
        let (done, mut rest) = a.as_mut().split_at_col_mut(k + 1);
        let below = &done.as_ref().col(k).as_slice()[k + 1..];
        for j in 0..n - k - 1 {
            let column = rest.as_mut().col_mut(j).as_slice_mut();
            if pivot != T::from_f64(0.0) {
                column.swap(k, p);
            }
            let head = column[k];
            axpy(-head, below, &mut column[k + 1..]);
        }
        if pivot != T::from_f64(0.0) {
            let (mut before, _) = a.as_mut().split_at_col_mut(k);
            for j in 0..k {
                before.as_mut().col_mut(j).as_slice_mut().swap(k, p);
            }
        }
    }
}

/// Position of the first entry of largest absolute value; a NaN is never larger, and one in front is never passed.
#[inline(always)]
fn first_largest<T: Scalar>(x: &[T]) -> usize {
    let abs = |v: T| if v < T::from_f64(0.0) { -v } else { v };
    let mut best = 0;
    let Some(mut largest) = x.first().map(|v| abs(*v)) else {
        return 0;
    };
    for (i, v) in x.iter().enumerate().skip(1) {
        if abs(*v) > largest {
            largest = abs(*v);
            best = i;
        }
    }
    best
}

/// Applies the exchanges to every column, in order or in reverse.
pub(crate) fn laswp<T: Scalar>(trans: Trans, ipiv: &[usize], mut b: ColumnsMut<'_, T>) {
    for j in 0..b.ncols() {
        let column = b.as_mut().col_mut(j).as_slice_mut();
        match trans {
            Trans::No => ipiv
                .iter()
                .enumerate()
                .for_each(|(i, &p)| column.swap(i, p)),
            Trans::Yes => ipiv
                .iter()
                .enumerate()
                .rev()
                .for_each(|(i, &p)| column.swap(i, p)),
        }
    }
}
