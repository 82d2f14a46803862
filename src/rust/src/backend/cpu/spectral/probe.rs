//! Checks of decompositions in O(n^2) operations.
//!
//! Without vectors, sums of values and of their squares are compared with traces. For products with
//! vectors see [`base::probe`](crate::base::probe).

use faer::linalg::matmul::matmul;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::{Accum, MatMut, MatRef, Par};

use crate::base::error::Result;
pub(super) use crate::base::probe::{distance, is_near, scaled, signs, squares, sum, tolerance};
use crate::base::scalar::{try_zeroed, Scalar};

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

/// Whether the columns of `q` are orthonormal.
pub(super) fn is_orthonormal<T: Scalar>(q: MatRef<'_, T>) -> Result<bool> {
    let w = signs::<T>(q.ncols())?;
    let back = times(q.transpose(), &times(q, &w)?)?;
    let root = (q.ncols() as f64).sqrt();
    Ok(distance(&back, &w) <= tolerance::<T>(q.nrows()) * root)
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

/// The trace.
pub(super) fn trace<T: Scalar>(a: MatRef<'_, T>) -> f64 {
    (0..a.ncols()).map(|i| a[(i, i)].to_f64()).sum()
}
