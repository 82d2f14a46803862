//! Checks of decompositions in O(n^2) operations.
//!
//! A product with a vector w of random signs has the expected squared norm `||R w||^2 = ||R||_F^2`,
//! so an error in any column of a residual R shows. Without vectors, sums of values and of their
//! squares are compared with traces.

use faer::linalg::matmul::matmul;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::{Accum, MatMut, MatRef, Par};

use crate::base::error::Result;
use crate::base::scalar::{try_zeroed, Scalar};

/// The largest error that passes, relative to the norm, for a matrix of this order. Backward stable
/// methods stay far below: residuals of faer and LAPACK are at most about `n eps / 4`.
pub(super) fn tolerance<T: Scalar>(order: usize) -> f64 {
    32.0 * T::EPS * (order as f64 + 8.0)
}

/// Random signs, the same every time (splitmix64).
pub(super) fn signs<T: Scalar>(n: usize) -> Result<Vec<T>> {
    let mut w = try_zeroed(n)?;
    let mut state = 0_u64;
    for w in &mut w {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        *w = T::from_f64(if z >> 63 == 0 { 1.0 } else { -1.0 });
    }
    Ok(w)
}

fn column<T>(x: &[T]) -> MatRef<'_, T> {
    MatRef::from_column_major_slice(x, x.len(), 1)
}

fn column_mut<T>(x: &mut [T]) -> MatMut<'_, T> {
    let n = x.len();
    MatMut::from_column_major_slice_mut(x, n, 1)
}

/// `a x`
pub(super) fn times<T: Scalar>(a: MatRef<'_, T>, x: &[T]) -> Result<Vec<T>> {
    let mut y = try_zeroed(a.nrows())?;
    let one = T::from_f64(1.0);
    matmul(
        column_mut(&mut y),
        Accum::Replace,
        a,
        column(x),
        one,
        Par::Seq,
    );
    Ok(y)
}

/// `a x` with a symmetric matrix, whose lower triangle is read.
pub(super) fn symmetric_times<T: Scalar>(a: MatRef<'_, T>, x: &[T]) -> Result<Vec<T>> {
    let mut y = try_zeroed(a.nrows())?;
    let triangles = [
        (a, BlockStructure::TriangularLower, Accum::Replace),
        (
            a.transpose(),
            BlockStructure::StrictTriangularUpper,
            Accum::Add,
        ),
    ];
    for (a, part, accum) in triangles {
        triangular::matmul(
            column_mut(&mut y),
            BlockStructure::Rectangular,
            accum,
            a,
            part,
            column(x),
            BlockStructure::Rectangular,
            T::from_f64(1.0),
            Par::Seq,
        );
    }
    Ok(y)
}

/// `||x - y||`, NaN if an entry is.
pub(super) fn distance<T: Scalar>(x: &[T], y: &[T]) -> f64 {
    let square = |(x, y): (&T, &T)| (x.to_f64() - y.to_f64()).powi(2);
    x.iter().zip(y).map(square).sum::<f64>().sqrt()
}

/// `x_i d_i`, where `d` may be shorter: then zeros follow.
pub(super) fn scaled<T: Scalar>(x: &[T], d: &[T], len: usize) -> Result<Vec<T>> {
    let mut y = try_zeroed(len)?;
    for (y, (x, d)) in y.iter_mut().zip(x.iter().zip(d)) {
        *y = *x * *d;
    }
    Ok(y)
}

/// Whether the columns of `q` are orthonormal.
pub(super) fn is_orthonormal<T: Scalar>(q: MatRef<'_, T>) -> Result<bool> {
    let w = signs::<T>(q.ncols())?;
    let back = times(q.transpose(), &times(q, &w)?)?;
    let root = (q.ncols() as f64).sqrt();
    Ok(distance(&back, &w) <= tolerance::<T>(q.nrows()) * root)
}

/// Whether values with this sum of products belong to a matrix with that one, up to rounding that
/// is relative to `size`; never for NaN.
pub(super) fn is_near<T: Scalar>(found: f64, expected: f64, size: f64, order: usize) -> bool {
    (found - expected).abs() <= tolerance::<T>(order) * size
}

/// The Frobenius norm.
pub(super) fn frobenius<T: Scalar>(a: MatRef<'_, T>) -> f64 {
    let mut sum = 0.0;
    for j in 0..a.ncols() {
        sum += (0..a.nrows())
            .map(|i| a[(i, j)].to_f64().powi(2))
            .sum::<f64>();
    }
    sum.sqrt()
}

/// As [`frobenius`], of a symmetric matrix, whose lower triangle is read.
pub(super) fn symmetric_frobenius<T: Scalar>(a: MatRef<'_, T>) -> f64 {
    let n = a.ncols();
    let mut sum = 0.0;
    for j in 0..n {
        let below: f64 = (j + 1..n).map(|i| a[(i, j)].to_f64().powi(2)).sum();
        sum += a[(j, j)].to_f64().powi(2) + 2.0 * below;
    }
    sum.sqrt()
}

pub(super) fn sum<T: Scalar>(x: &[T]) -> f64 {
    x.iter().map(|x| x.to_f64()).sum()
}

pub(super) fn squares<T: Scalar>(x: &[T]) -> f64 {
    x.iter().map(|x| x.to_f64().powi(2)).sum()
}

/// The trace.
pub(super) fn trace<T: Scalar>(a: MatRef<'_, T>) -> f64 {
    (0..a.ncols()).map(|i| a[(i, i)].to_f64()).sum()
}
